// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "mpi/native.hpp"

#include <fmt/core.h>

#include <array>
#include <string>

#include "core/base/error.hpp"

namespace tessera::mpi {
namespace {

struct ClassKind {
  int error_class;
  ErrorKind kind;
};

const std::array k_kinds{
    ClassKind{MPI_ERR_IO, ErrorKind::io},
    ClassKind{MPI_ERR_FILE, ErrorKind::io},
    ClassKind{MPI_ERR_NO_SPACE, ErrorKind::io},
    ClassKind{MPI_ERR_QUOTA, ErrorKind::io},
    ClassKind{MPI_ERR_READ_ONLY, ErrorKind::cannot_create},
    ClassKind{MPI_ERR_ACCESS, ErrorKind::permission},
    ClassKind{MPI_ERR_NO_SUCH_FILE, ErrorKind::not_found},
    ClassKind{MPI_ERR_NO_MEM, ErrorKind::resources},
#ifdef MPIX_ERR_PROC_FAILED
    ClassKind{MPIX_ERR_PROC_FAILED, ErrorKind::peer_lost},
#endif
};

ErrorKind kind_of(int code) {
  int error_class = MPI_ERR_UNKNOWN;
  MPI_Error_class(code, &error_class);
  for (const ClassKind& entry : k_kinds) {
    if (entry.error_class == error_class) {
      return entry.kind;
    }
  }
  return ErrorKind::internal;
}

}  // namespace

void check(int code, std::string_view call) {
  if (code == MPI_SUCCESS) {
    return;
  }
  std::array<char, MPI_MAX_ERROR_STRING + 1> text{};
  int length = 0;
  MPI_Error_string(code, text.data(), &length);
  throw Error(kind_of(code),
              fmt::format("{}: {}", call, std::string_view(text.data(), static_cast<std::size_t>(length))));
}

}  // namespace tessera::mpi
