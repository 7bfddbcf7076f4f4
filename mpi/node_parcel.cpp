// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "mpi/node_parcel.hpp"

#include <cstring>

namespace tessera::mpi {

void NodeParcel::put(const NodeMemory& memory, ConstView view) {
  const std::int64_t bytes = view.data == nullptr ? 0 : view.count * size_of(view.dtype);
  count_ = view.count;
  dtype_ = view.dtype;
  if (bytes <= k_inside_bytes) {
    place_ = Place::inside;
    if (bytes > 0) std::memcpy(inside_.data(), view.data, static_cast<std::size_t>(bytes));
    return;
  }
  const auto offset = memory.offset_of(view.data, bytes);
  place_ = offset ? Place::shared : Place::elsewhere;
  offset_ = offset.value_or(0);
}

ConstView NodeParcel::view(const NodeMemory& memory, int local_rank) const {
  const void* data = place_ == Place::inside   ? inside_.data()
                     : place_ == Place::shared ? memory.at(local_rank, offset_)
                                               : nullptr;
  return {data, count_, dtype_};
}

}  // namespace tessera::mpi
