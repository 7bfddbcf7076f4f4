// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "core/host/host_pages.hpp"

#include <fmt/core.h>
#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>

#include "core/base/error.hpp"

namespace tessera {
namespace {

constexpr std::size_t k_page = 4096;
constexpr std::size_t k_huge_page = std::size_t{2} << 20;
constexpr std::align_val_t k_cache_line{64};

constexpr std::size_t round_up(std::size_t bytes, std::size_t unit) {
  return (bytes + unit - 1) / unit * unit;
}

/// Only what is mapped has to end with a page.
std::size_t whole_pages(std::size_t bytes) {
  return bytes < k_huge_page ? bytes : round_up(bytes, k_page);
}

/// Maps one huge page too many and gives back what lies before the first and behind the last whole page. Null where
/// there is no more.
std::byte* map_aligned(std::size_t bytes) {
  void* const mapped = mmap(nullptr, bytes + k_huge_page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) return nullptr;
  auto* const all = static_cast<std::byte*>(mapped);
  const auto address = reinterpret_cast<std::uintptr_t>(all);
  const std::size_t before = round_up(address, k_huge_page) - address;
  if (before > 0) munmap(all, before);
  if (before < k_huge_page) munmap(all + before + bytes, k_huge_page - before);
  madvise(all + before, bytes, MADV_HUGEPAGE);  // a wish: refused where the system has no such pages
  return all + before;
}

/// Blocks below a huge page come from the heap: mapping each of them would cost more than using it.
void* take(std::size_t bytes) {
  return bytes < k_huge_page ? ::operator new(bytes, k_cache_line, std::nothrow) : map_aligned(bytes);
}

void give_back(void* memory, std::size_t bytes) noexcept {
  if (bytes < k_huge_page)
    ::operator delete(memory, k_cache_line);
  else
    munmap(memory, bytes);
}

}  // namespace

HostPages::~HostPages() {
  for (const auto& [memory, bytes] : blocks_) give_back(memory, bytes);
}

void* HostPages::allocate(std::int64_t bytes) {
  const std::size_t whole = whole_pages(static_cast<std::size_t>(bytes));
  void* const memory = take(whole);
  if (memory == nullptr)
    throw Error(ErrorKind::resources,
                fmt::format("the host cannot give {} bytes of memory: {}", bytes, std::strerror(errno)),
                "Lower train.micro_batch or train.memory_limit, or start fewer ranks on this node.");
  blocks_.emplace(memory, whole);
  return memory;
}

bool HostPages::release(void* memory) noexcept {
  const auto block = blocks_.find(memory);
  if (block == blocks_.end()) return false;
  give_back(memory, block->second);
  blocks_.erase(block);
  return true;
}

}  // namespace tessera
