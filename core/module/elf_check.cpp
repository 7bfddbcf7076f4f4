// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "core/module/elf_check.hpp"

#include <elf.h>
#include <fmt/core.h>

#include <array>
#include <cstring>
#include <fstream>
#include <optional>

namespace tessera {

namespace {

/// e_machine of the processor that this is compiled for.
#if defined(__x86_64__)
constexpr int k_machine = EM_X86_64;
#elif defined(__aarch64__)
constexpr int k_machine = EM_AARCH64;
#else
constexpr int k_machine = EM_PPC64;
#endif

template <class Record>
std::optional<Record> read_at(std::ifstream& file, std::uint64_t offset) {
  Record record;
  std::array<char, sizeof(Record)> bytes{};
  if (!file.seekg(static_cast<std::streamoff>(offset)) || !file.read(bytes.data(), bytes.size())) return std::nullopt;
  std::memcpy(&record, bytes.data(), sizeof record);
  return record;
}

bool is_shared_library(const Elf64_Ehdr& header) {
  return std::memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 && header.e_ident[EI_CLASS] == ELFCLASS64 &&
         header.e_type == ET_DYN && header.e_phentsize == sizeof(Elf64_Phdr);
}

}  // namespace

std::string elf_fault(const std::filesystem::path& path) {
  std::error_code code;
  if (!std::filesystem::exists(path, code)) return "does not exist";
  if (!std::filesystem::is_regular_file(path, code)) return "is not a regular file";
  const std::uint64_t size = std::filesystem::file_size(path, code);
  std::ifstream file(path, std::ios::binary);
  if (!file) return "cannot be opened for reading";

  const auto header = read_at<Elf64_Ehdr>(file, 0);
  if (!header || !is_shared_library(*header)) return "is not a shared library";
  if (header->e_machine != k_machine)
    return fmt::format("is for another processor (ELF machine {})", header->e_machine);
  // The table of sections is the last thing in the file, but it may have been stripped; segments are what is mapped.
  std::uint64_t needed = header->e_shoff + std::uint64_t{header->e_shnum} * header->e_shentsize;
  for (std::uint64_t i = 0; i < header->e_phnum; ++i) {
    const auto segment = read_at<Elf64_Phdr>(file, header->e_phoff + i * sizeof(Elf64_Phdr));
    if (!segment) return fmt::format("is cut short: it ends at byte {} within its own header", size);
    if (segment->p_type == PT_LOAD) needed = std::max(needed, segment->p_offset + segment->p_filesz);
  }
  if (needed > size) return fmt::format("is cut short: it has {} of {} bytes", size, needed);
  return {};
}

}  // namespace tessera
