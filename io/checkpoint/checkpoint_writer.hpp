// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  saving logical tensors so that a checkpoint is there as a whole or not at all.
// Used: the trainer, `tessera convert`.
// Must not know: layouts; every rank hands over the boxes that it has.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/comm/communicator.hpp"
#include "io/checkpoint/tensor.hpp"
#include "io/checkpoint/transport.hpp"

namespace tessera::io {

struct SaveOptions {
  std::filesystem::path directory;  ///< checkpoint.dir; made if it is not there
  std::int64_t step = 0;            ///< the folder becomes directory/step-00001000
  Transport transport = Transport::direct;
  int keep = 0;  ///< checkpoint.keep: how many to keep, this one included; 0: all

  /// Called on every rank at the start of each step of the protocol with its name (open, declare, write, agree, sync,
  /// verify, manifest, rename, latest, prune). May throw, which is treated as a failure of that step on that rank.
  std::function<void(std::string_view step)> observer;

  /// checkpoint.files: over how many files the rows (entries of dim 0) of each tensor are spread: "model.000.h5", ....
  /// "model.h5" then joins them for other programs.
  int files = 1;
};

struct SaveReport {
  std::filesystem::path folder;
  std::int64_t bytes = 0;                      ///< of all files
  std::vector<std::filesystem::path> removed;  ///< older checkpoints; on rank 0
};

/// One save. All ranks make one, declare the same, write what they have, and commit:
///
///   open     leftovers of interrupted saves are removed, step-....tmp is made
///   declare  rank 0 makes the HDF5 file with all its space; offsets are told to all
///   write    bytes go to their places; digests are formed on the way
///   agree    every rank's writes succeeded, and each element was written once
///   sync     files, then the folder, are on the disk
///   verify   everything is read back and must have the digests that memory had
///   manifest sizes, checksums, digests
///   rename   the folder gets its name; its parent is synced. From here on the checkpoint counts.
///   latest   a hint for people
///   prune    older ones go
///
/// Where any rank fails, all ranks throw the same Error, the temporary folder is removed, and older checkpoints are as
/// they were. An object that is destroyed before commit() removes its temporary folder.
class CheckpointWriter {
 public:
  /// Collective. `ranks` must outlive the writer and be used for nothing else meanwhile.
  CheckpointWriter(SaveOptions options, Communicator& ranks);
  ~CheckpointWriter();
  CheckpointWriter(const CheckpointWriter&) = delete;
  CheckpointWriter& operator=(const CheckpointWriter&) = delete;

  /// Collective; the same on all ranks. Makes a file ("model.h5") with these tensors. Their numbers follow one
  /// another, across files; returns that of the first one. Throws on all ranks: Error{disagreement}, Error{io} when
  /// the file system has no room for it.
  int declare(const std::string& file, std::span<const LogicalTensor> tensors);

  /// Writes boxes; every element of every tensor must be written by exactly one rank, once. Not collective (but see
  /// Transport::collective), never throws for a failing disk: the failure is kept for commit().
  void write(std::span<const Piece> pieces);

  /// What else a resumed run needs, as JSON. Rank 0's text counts.
  void set_state(std::string json);

  /// Collective. Returns when the checkpoint is complete, verified and permanent.
  SaveReport commit();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace tessera::io
