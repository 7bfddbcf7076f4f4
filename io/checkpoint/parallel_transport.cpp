// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "io/checkpoint/parallel_transport.hpp"

#include "mpi/native.hpp"  // before HDF5's header, which includes MPI's with other settings
// clang-format off
#include <hdf5.h>
// clang-format on
#include <fmt/core.h>

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "io/checkpoint/together.hpp"
#include "io/file.hpp"
#include "io/hdf5/handle.hpp"
#include "io/hdf5/types.hpp"

namespace tessera::io {
namespace {

using hdf5::check;
using hdf5::Object;
using hdf5::own;
using hdf5::Place;

// MPI-IO counts in 32 bits in places, and implementations have failed above 2 GiB.
constexpr std::int64_t k_call_bytes = 256 << 20;

/// Cuts a piece along its outermost dims until every part is small enough for one call.
void cut(const Piece& piece, std::int64_t element, std::vector<Piece>& parts) {
  const std::int64_t bytes = piece.box.extent.count() * element;
  int dim = 0;
  while (dim < piece.box.extent.rank() && piece.box.extent[dim] <= 1) ++dim;
  if (bytes == 0) return;
  if (bytes <= k_call_bytes || dim == piece.box.extent.rank()) {
    parts.push_back(piece);
    return;
  }
  Piece first = piece;
  Piece second = piece;
  first.box.extent[dim] = piece.box.extent[dim] / 2;
  second.box.start[dim] += first.box.extent[dim];
  second.box.extent[dim] -= first.box.extent[dim];
  second.data = static_cast<const std::byte*>(piece.data) +
                first.box.extent[dim] * piece.strides[static_cast<std::size_t>(dim)] * element;
  cut(first, element, parts);
  cut(second, element, parts);
}

class ParallelTransport final : public PieceTransport {
 public:
  ParallelTransport(Transport transport, Communicator& ranks, MPI_Comm communicator)
      : transport_(transport), ranks_(ranks), communicator_(communicator) {
    const hdf5::Turn turn;
    transfer_ = own(H5Pcreate(H5P_DATASET_XFER), ErrorKind::internal, {"prepare", "a transfer"});
    const H5FD_mpio_xfer_t mode = transport == Transport::collective ? H5FD_MPIO_COLLECTIVE : H5FD_MPIO_INDEPENDENT;
    check(H5Pset_dxpl_mpio(transfer_.get(), mode), ErrorKind::internal, {"prepare", "a transfer"});
  }

  void open(const std::filesystem::path& path) override;
  void write(std::span<const Piece> pieces, std::span<const Target> targets) override;
  void finish() override;

 private:
  void write_together(const std::vector<Piece>& parts, std::span<const Target> targets);
  void write_one(const Piece* part, const Target& target);
  const void* dense(const Piece& part, const Target& target);

  Transport transport_;
  Communicator& ranks_;
  MPI_Comm communicator_;
  Object transfer_;
  std::vector<std::filesystem::path> paths_;
  std::vector<Object> files_;
  std::vector<std::byte> packed_;
};

void ParallelTransport::open(const std::filesystem::path& path) {
  const hdf5::Turn turn;
  const Place place{"open", path.native()};
  const Object access = own(H5Pcreate(H5P_FILE_ACCESS), ErrorKind::internal, place);
  check(H5Pset_fapl_mpio(access.get(), communicator_, MPI_INFO_NULL), ErrorKind::internal, place);
  files_.push_back(own(H5Fopen(path.c_str(), H5F_ACC_RDWR, access.get()), ErrorKind::io, place));
  paths_.push_back(path);
}

void ParallelTransport::write(std::span<const Piece> pieces, std::span<const Target> targets) {
  std::vector<Piece> parts;
  for (const Piece& piece : pieces)
    cut(piece, size_of(targets[static_cast<std::size_t>(piece.tensor)].tensor.dtype), parts);
  if (transport_ == Transport::collective) {
    write_together(parts, targets);
    return;
  }
  for (const Piece& part : parts) write_one(&part, targets[static_cast<std::size_t>(part.tensor)]);
}

/// All ranks make the same calls on the same tensors; who has nothing left for one takes part with nothing. A rank that
/// fails goes on, since the others would wait for it, and throws at the end.
void ParallelTransport::write_together(const std::vector<Piece>& parts, std::span<const Target> targets) {
  std::vector<std::vector<const Piece*>> mine(targets.size());
  std::vector<std::int64_t> rounds;
  for (const Piece& part : parts) mine[static_cast<std::size_t>(part.tensor)].push_back(&part);
  for (const auto& list : mine) rounds.push_back(static_cast<std::int64_t>(list.size()));
  const std::vector<std::int64_t> all = gather(ranks_, rounds);
  for (std::size_t i = 0; i < all.size(); ++i) rounds[i % rounds.size()] = std::max(rounds[i % rounds.size()], all[i]);
  std::exception_ptr failure;
  for (std::size_t tensor = 0; tensor < targets.size(); ++tensor) {
    for (std::size_t round = 0; round < static_cast<std::size_t>(rounds[tensor]); ++round) {
      try {
        write_one(round < mine[tensor].size() ? mine[tensor][round] : nullptr, targets[tensor]);
      } catch (...) {
        if (!failure) failure = std::current_exception();
      }
    }
  }
  if (failure) std::rethrow_exception(failure);
}

/// One H5Dwrite; `part` is null for a rank that only takes part.
void ParallelTransport::write_one(const Piece* part, const Target& target) {
  const hdf5::Turn turn;
  const Place place{"write", paths_[static_cast<std::size_t>(target.file)].native(), target.tensor.path};
  const Object dataset =
      own(H5Dopen2(files_[static_cast<std::size_t>(target.file)].get(), target.tensor.path.c_str(), H5P_DEFAULT),
          ErrorKind::io, place);
  const Object type = hdf5::type_of(hdf5::element_of(target.tensor.dtype));
  const Object there = own(H5Dget_space(dataset.get()), ErrorKind::io, place);
  const hsize_t count = part == nullptr ? 1 : static_cast<hsize_t>(part->box.extent.count());
  const Object here = own(H5Screate_simple(1, &count, nullptr), ErrorKind::io, place);
  const std::int64_t nothing = 0;
  const void* data = &nothing;
  if (part == nullptr) {
    check(H5Sselect_none(there.get()), ErrorKind::io, place);
    check(H5Sselect_none(here.get()), ErrorKind::io, place);
  } else {
    data = dense(*part, target);
    const std::vector<hsize_t> start(part->box.start.begin(), part->box.start.end());
    const std::vector<hsize_t> extent(part->box.extent.begin(), part->box.extent.end());
    if (!start.empty()) {
      check(H5Sselect_hyperslab(there.get(), H5S_SELECT_SET, start.data(), nullptr, extent.data(), nullptr),
            ErrorKind::io, place);
    }
  }
  check(H5Dwrite(dataset.get(), type.get(), here.get(), there.get(), transfer_.get(), data), ErrorKind::io, place);
}

/// The elements of a part one behind the other: where they are, or copied.
const void* ParallelTransport::dense(const Piece& part, const Target& target) {
  if (part.strides == dense_strides(part.box.extent)) return part.data;
  const std::int64_t element = size_of(target.tensor.dtype);
  packed_.resize(static_cast<std::size_t>(part.box.extent.count() * element));
  std::byte* to = packed_.data();
  for_each_run(target.tensor.shape, part.box, part.strides, [&](std::int64_t, std::int64_t offset, std::int64_t count) {
    std::memcpy(to, static_cast<const std::byte*>(part.data) + offset * element,
                static_cast<std::size_t>(count * element));
    to += count * element;
  });
  return packed_.data();
}

void ParallelTransport::finish() {
  for (Object& file : files_) file.close();
  files_.clear();
  for (const std::filesystem::path& path : paths_) {
    File file(path, Access::overwrite);
    file.sync();
    file.close();
  }
}

}  // namespace

std::unique_ptr<PieceTransport> make_parallel_transport(Transport transport, Communicator& ranks) {
  MPI_Comm communicator = MPI_COMM_NULL;
  try {
    communicator = mpi::native_handle(ranks);
  } catch (const Error& error) {
    throw Error(ErrorKind::unavailable,
                fmt::format("the {} transport needs ranks of MPI: {}", name_of(transport), error.what()),
                "Use the direct transport, or start with mpirun.");
  }
  return std::make_unique<ParallelTransport>(transport, ranks, communicator);
}

}  // namespace tessera::io
