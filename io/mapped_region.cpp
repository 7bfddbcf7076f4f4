// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "io/mapped_region.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>

#include "io/file.hpp"

namespace tessera::io {

void MappingTraits::close(Handle mapping) {
  ::munmap(mapping.address, mapping.bytes);
}

MappedRegion::MappedRegion(const std::filesystem::path& path, std::int64_t offset, std::int64_t bytes) {
  const File file(path, Access::read);
  if (offset < 0 || bytes <= 0 || file.size() - offset < bytes) {
    throw Error(ErrorKind::data, fmt::format("{} has {} bytes, bytes {} to {} were expected", path.native(),
                                             file.size(), offset, offset + bytes));
  }
  const std::int64_t page = ::sysconf(_SC_PAGESIZE);
  const std::int64_t start = offset / page * page;
  const UniqueHandle<DescriptorTraits> descriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!descriptor) throw system_error("cannot open", path, errno);
  const auto length = static_cast<std::size_t>(offset - start + bytes);
  void* address = ::mmap(nullptr, length, PROT_READ, MAP_SHARED, descriptor.get(), start);
  if (address == MAP_FAILED) throw system_error("cannot map", path, errno);
  mapping_ = UniqueHandle<MappingTraits>({address, length});
  data_ = static_cast<const std::byte*>(address) + (offset - start);
}

}  // namespace tessera::io
