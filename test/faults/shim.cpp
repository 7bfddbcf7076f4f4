// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// Loaded before the C library by the fault driver: calls on files of checkpoints fail as a broken disk's would, and a
// rank's clock is wrong.
//   SHIM_RANK=R           only this rank; else all
//   SHIM_FAIL=CALL:K:E    from its K-th time on, CALL fails with errno E (a number); "short": it does half of the work
//   SHIM_PATHS=TEXT       only files whose path has it; else "step-"
//   SHIM_CLOCK=SECONDS    added to the time of day
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <string>

namespace {

bool is_meant() {
  static const bool meant = [] {
    const char* wanted = getenv("SHIM_RANK");
    const char* rank = getenv("OMPI_COMM_WORLD_RANK");
    return wanted == nullptr || strcmp(wanted, rank == nullptr ? "0" : rank) == 0;
  }();
  return meant;
}

struct Plan {
  std::string call;
  int first = 1;
  int error = 0;  // 0: short
  std::string paths = "step-";
};

const Plan& plan() {
  static const Plan read = [] {
    Plan plan;
    const char* text = getenv("SHIM_FAIL");
    char call[32] = "", error[32] = "";
    if (text != nullptr && sscanf(text, "%31[^:]:%d:%31s", call, &plan.first, error) == 3 && is_meant()) {
      plan.call = call;
      plan.error = atoi(error);
    }
    if (const char* paths = getenv("SHIM_PATHS")) plan.paths = paths;
    return plan;
  }();
  return read;
}

bool is_due(const char* call, const char* path) {
  static std::atomic<int> count{0};
  if (plan().call != call || strstr(path, plan().paths.c_str()) == nullptr) return false;
  return ++count >= plan().first;
}

bool is_due(const char* call, int descriptor) {
  if (plan().call != call) return false;
  char path[4096] = "";
  const std::string link = "/proc/self/fd/" + std::to_string(descriptor);
  const ssize_t size = readlink(link.c_str(), path, sizeof path - 1);
  return size > 0 && is_due(call, path);
}

template <class Function>
Function* next(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

long clock_shift() {
  static const long shift = [] {
    const char* text = getenv("SHIM_CLOCK");
    return text != nullptr && is_meant() ? atol(text) : 0;
  }();
  return shift;
}

int fail() {
  errno = plan().error;
  return -1;
}

}  // namespace

extern "C" {

ssize_t pwrite64(int descriptor, const void* data, size_t bytes, off64_t offset) {
  static auto* const real = next<ssize_t(int, const void*, size_t, off64_t)>("pwrite64");
  if (!is_due("pwrite", descriptor)) return real(descriptor, data, bytes, offset);
  return plan().error != 0 ? fail() : real(descriptor, data, (bytes + 1) / 2, offset);
}

ssize_t pwrite(int descriptor, const void* data, size_t bytes, off_t offset) {
  return pwrite64(descriptor, data, bytes, offset);
}

ssize_t pread64(int descriptor, void* data, size_t bytes, off64_t offset) {
  static auto* const real = next<ssize_t(int, void*, size_t, off64_t)>("pread64");
  if (!is_due("pread", descriptor)) return real(descriptor, data, bytes, offset);
  return plan().error != 0 ? fail() : real(descriptor, data, (bytes + 1) / 2, offset);
}

ssize_t pread(int descriptor, void* data, size_t bytes, off_t offset) {
  return pread64(descriptor, data, bytes, offset);
}

ssize_t write(int descriptor, const void* data, size_t bytes) {
  static auto* const real = next<ssize_t(int, const void*, size_t)>("write");
  if (!is_due("write", descriptor)) return real(descriptor, data, bytes);
  return plan().error != 0 ? fail() : real(descriptor, data, (bytes + 1) / 2);
}

int fsync(int descriptor) {
  static auto* const real = next<int(int)>("fsync");
  return is_due("fsync", descriptor) ? fail() : real(descriptor);
}

int fdatasync(int descriptor) {
  static auto* const real = next<int(int)>("fdatasync");
  return is_due("fsync", descriptor) ? fail() : real(descriptor);
}

int close(int descriptor) {
  static auto* const real = next<int(int)>("close");
  const bool due = is_due("close", descriptor);
  const int result = real(descriptor);
  return due ? fail() : result;
}

int open64(const char* path, int flags, ...) {
  static auto* const real = next<int(const char*, int, ...)>("open64");
  va_list more;
  va_start(more, flags);
  const mode_t mode = va_arg(more, mode_t);
  va_end(more);
  return is_due("open", path) ? fail() : real(path, flags, mode);
}

int open(const char* path, int flags, ...) {
  va_list more;
  va_start(more, flags);
  const mode_t mode = va_arg(more, mode_t);
  va_end(more);
  return open64(path, flags, mode);
}

int rename(const char* from, const char* to) {
  static auto* const real = next<int(const char*, const char*)>("rename");
  return is_due("rename", from) ? fail() : real(from, to);
}

int fallocate(int descriptor, int mode, off_t offset, off_t bytes) {
  static auto* const real = next<int(int, int, off_t, off_t)>("fallocate");
  return is_due("fallocate", descriptor) ? fail() : real(descriptor, mode, offset, bytes);
}

int memfd_create(const char* name, unsigned flags) {
  static auto* const real = next<int(const char*, unsigned)>("memfd_create");
  return plan().call == "memfd_create" ? fail() : real(name, flags);
}

int clock_gettime(clockid_t clock, timespec* time) {
  static auto* const real = next<int(clockid_t, timespec*)>("clock_gettime");
  const int result = real(clock, time);
  if (clock == CLOCK_REALTIME) time->tv_sec += clock_shift();
  return result;
}

}  // extern "C"
