// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "test/support/allocation_watch.hpp"

#include <cxxabi.h>
#include <dlfcn.h>
#include <execinfo.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <memory>

#include "core/base/error.hpp"

// The allocator of the GNU C library under its own names, behind the public ones that are replaced here.
extern "C" {
void* __libc_malloc(std::size_t bytes);
void* __libc_calloc(std::size_t count, std::size_t bytes);
void* __libc_realloc(void* memory, std::size_t bytes);
void* __libc_memalign(std::size_t alignment, std::size_t bytes);
}

namespace tessera::test {
namespace {

constexpr int k_frames = 24;

struct Record {
  std::array<void*, k_frames> frames;
  int count = 0;
};

std::array<Record, 1 << 15> records;
std::atomic<std::size_t> recorded{0};
std::atomic<bool> watching{false};
thread_local bool recording = false;  // finding the callers may allocate itself

void note() {
  if (!watching.load(std::memory_order_relaxed) || recording) return;
  recording = true;
  const std::size_t index = recorded.fetch_add(1);
  if (index < records.size()) records[index].count = backtrace(records[index].frames.data(), k_frames);
  recording = false;
}

std::string library_of(const Dl_info& info) {
  return info.dli_fname == nullptr ? std::string() : std::filesystem::path(info.dli_fname).filename().string();
}

std::string name_of(const Dl_info& info) {
  if (info.dli_sname == nullptr) return "?";
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> name(abi::__cxa_demangle(info.dli_sname, nullptr, nullptr, &status),
                                                         &std::free);
  return status == 0 ? name.get() : info.dli_sname;
}

bool is_standard(const std::string& library) {
  return library.starts_with("libstdc++") || library.starts_with("libc.so") || library.starts_with("ld-linux");
}

AllocationSite site_of(const Record& record) {
  AllocationSite site;
  constexpr int own = 2;  // note() and the replaced function
  for (int frame = own; frame < record.count; ++frame) {
    Dl_info info{};
    if (dladdr(record.frames[static_cast<std::size_t>(frame)], &info) == 0) continue;
    const std::string library = library_of(info);
    site.callers.push_back(library + ": " + name_of(info));
    if (site.library.empty() && !is_standard(library)) site.library = library;
  }
  return site;
}

}  // namespace

AllocationWatch::AllocationWatch() {
  void* warm[1];
  backtrace(warm, 1);  // the first call loads a library
  recorded.store(0);
  watching.store(true);
}

AllocationWatch::~AllocationWatch() {
  watching.store(false);
}

std::vector<AllocationSite> AllocationWatch::sites() {
  watching.store(false);
  std::vector<AllocationSite> sites;
  TESSERA_CHECK(recorded.load() <= records.size(), "more allocations than can be watched");
  for (std::size_t i = 0; i < recorded.load(); ++i) sites.push_back(site_of(records[i]));
  return sites;
}

std::vector<AllocationSite> ours(std::vector<AllocationSite> sites) {
  const std::string program = std::filesystem::read_symlink("/proc/self/exe").filename().string();
  std::erase_if(sites, [&](const AllocationSite& site) {
    return site.library != program && !site.library.starts_with("libtessera");
  });
  return sites;
}

std::string describe(const std::vector<AllocationSite>& sites) {
  std::string text;
  for (const AllocationSite& site : sites) {
    text += site.library;
    for (const std::string& caller : site.callers) text += "\n    " + caller;
    text += "\n";
  }
  return text;
}

}  // namespace tessera::test

#define TESSERA_TEST_REPLACES __attribute__((noinline, visibility("default")))

extern "C" {

TESSERA_TEST_REPLACES void* malloc(std::size_t bytes) {
  tessera::test::note();
  return __libc_malloc(bytes);
}

TESSERA_TEST_REPLACES void* calloc(std::size_t count, std::size_t bytes) {
  tessera::test::note();
  return __libc_calloc(count, bytes);
}

TESSERA_TEST_REPLACES void* realloc(void* memory, std::size_t bytes) {
  tessera::test::note();
  return __libc_realloc(memory, bytes);
}

TESSERA_TEST_REPLACES void* memalign(std::size_t alignment, std::size_t bytes) {
  tessera::test::note();
  return __libc_memalign(alignment, bytes);
}

TESSERA_TEST_REPLACES void* aligned_alloc(std::size_t alignment, std::size_t bytes) {
  tessera::test::note();
  return __libc_memalign(alignment, bytes);
}

TESSERA_TEST_REPLACES int posix_memalign(void** memory, std::size_t alignment, std::size_t bytes) {
  tessera::test::note();
  *memory = __libc_memalign(alignment, bytes);
  return *memory == nullptr ? ENOMEM : 0;
}
}
