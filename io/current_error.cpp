// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "io/current_error.hpp"

#include <fmt/core.h>

#include <filesystem>
#include <new>
#include <system_error>

#include "io/file.hpp"

namespace tessera::io {
namespace {

constexpr const char* k_defect = "This is a defect of Tessera. Please report it.";

}  // namespace

Error current_error() {
  try {
    throw;
  } catch (const Error& error) {
    return error;
  } catch (const std::bad_alloc&) {
    return {ErrorKind::resources, "out of memory",
            "Use a smaller train.micro_batch or train.global_batch, more ranks, or a node with more memory."};
  } catch (const std::filesystem::filesystem_error& error) {
    return system_error("cannot use", error.path1(), error.code().value());
  } catch (const std::system_error& error) {
    if (error.code() == std::errc::resource_unavailable_try_again)
      return {ErrorKind::resources, fmt::format("no thread or process can be made: {}", error.what()),
              "Raise the limits of processes (ulimit -u) and of address space (ulimit -v), or start fewer ranks."};
    return {ErrorKind::io, error.what(), "Check the file system and the disk."};
  } catch (const std::exception& error) {
    return {ErrorKind::internal, error.what(), k_defect};
  } catch (...) {
    return {ErrorKind::internal, "an unknown exception", k_defect};
  }
}

}  // namespace tessera::io
