// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "mpi/messages.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "core/base/error.hpp"

namespace tessera::mpi {
namespace {

/// Calls piece(first byte, bytes) for each piece. An empty message has none.
template <class Piece>
void cut(std::int64_t bytes, std::int64_t piece_bytes, const Piece& piece) {
  for (std::int64_t first = 0; first < bytes; first += piece_bytes) {
    piece(first, static_cast<int>(std::min(piece_bytes, bytes - first)));
  }
}

}  // namespace

void Messages::reserve(std::size_t messages) {
  requests_.reserve(messages);
  statuses_.reserve(messages);
  expected_.reserve(messages);
}

void Messages::send(const Route& route, const void* data, std::int64_t bytes, int to) {
  cut(bytes, route.piece_bytes, [&](std::int64_t first, int count) {
    requests_.push_back(MPI_REQUEST_NULL);
    expected_.push_back({to, -1});
    check(MPI_Isend(static_cast<const std::byte*>(data) + first, count, MPI_BYTE, to, route.tag, route.comm,
                    &requests_.back()),
          "MPI_Isend");
  });
}

void Messages::receive(const Route& route, void* data, std::int64_t bytes, int from) {
  cut(bytes, route.piece_bytes, [&](std::int64_t first, int count) {
    requests_.push_back(MPI_REQUEST_NULL);
    expected_.push_back({from, count});
    check(MPI_Irecv(static_cast<std::byte*>(data) + first, count, MPI_BYTE, from, route.tag, route.comm,
                    &requests_.back()),
          "MPI_Irecv");
  });
}

bool Messages::test() {
  if (requests_.empty()) {
    return true;
  }
  int done = 0;
  statuses_.resize(requests_.size());
  const int code = MPI_Testall(static_cast<int>(requests_.size()), requests_.data(), &done, statuses_.data());
  if (code == MPI_SUCCESS && done == 0) {
    return false;
  }
  check_all(code);
  clear();
  return true;
}

void Messages::clear() {
  requests_.clear();
  expected_.clear();
}

void Messages::check_all(int code) {
  for (std::size_t i = 0; i < requests_.size(); ++i) {
    const Expected& expected = expected_[i];
    if (code == MPI_ERR_IN_STATUS && statuses_[i].MPI_ERROR != MPI_ERR_PENDING) {
      check(statuses_[i].MPI_ERROR,
            fmt::format("message {} member {}", expected.bytes < 0 ? "to" : "from", expected.peer));
    }
    if (code == MPI_SUCCESS && expected.bytes >= 0) {
      int bytes = 0;
      check(MPI_Get_count(&statuses_[i], MPI_BYTE, &bytes), "MPI_Get_count");
      TESSERA_CHECK(bytes == expected.bytes, fmt::format("{} bytes came from member {}, {} were expected", bytes,
                                                         expected.peer, expected.bytes));
    }
  }
  check(code, "MPI_Testall");
}

}  // namespace tessera::mpi
