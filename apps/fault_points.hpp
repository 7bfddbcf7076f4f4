// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  faults on purpose: what the variable TESSERA_FAULT wants to happen at named points of a run, so that tests can
//       see how the run ends. Without the variable nothing happens.
// Used: verbs say that they have come to a point; the fault driver sets the variable.
// Must not know: what runs there.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/train/batch_source.hpp"

namespace tessera::apps {

enum class FaultAction : std::uint8_t {
  signal,     ///< the process gets a signal, once
  error,      ///< an exception that is no Error
  no_memory,  ///< std::bad_alloc
  nan,        ///< the caller makes a number of its weights not finite
  flip,       ///< the caller changes a bit of its weights
  pause,      ///< a tenth of a second goes by
};

enum class FaultTarget : std::uint8_t { self, launcher };

/// "at=POINT do=ACTION", with "rank=R" (else: all) and "step=S" (else: every step). ACTION is a signal (KILL, STOP,
/// USR1, TERM, INT, HUP, SEGV), with "to=launcher" to the parent process instead, or error, no_memory, nan, flip,
/// pause.
struct PlannedFault {
  std::string point;
  FaultAction action = FaultAction::error;
  int signal = 0;
  FaultTarget target = FaultTarget::self;
  bool done = false;  ///< what happens once has happened
  bool met = false;   ///< this rank came to the point
  std::optional<int> rank;
  std::optional<std::int64_t> step;
};

/// Faults separated by semicolons. Throws Error{usage}.
std::vector<PlannedFault> parse_faults(std::string_view text);

class FaultPoints {
 public:
  /// Reads TESSERA_FAULT, and warns where it is set. Throws Error{usage}.
  FaultPoints(int rank, int size);

  /// Warns of what never happened.
  ~FaultPoints();
  FaultPoints(const FaultPoints&) = delete;
  FaultPoints& operator=(const FaultPoints&) = delete;

  bool any() const { return !planned_.empty(); }

  /// Does what is planned for this rank at this point, except `nan` and `flip`, which are returned for the caller to
  /// do.
  std::optional<FaultAction> reached(std::string_view point, std::int64_t step = 0);

 private:
  int rank_;
  std::vector<PlannedFault> planned_;
};

/// A source of samples that comes to a point each time before it gives some.
class FaultySource final : public BatchSource {
 public:
  FaultySource(BatchSource& source, FaultPoints& faults, std::string point)
      : source_(source), faults_(faults), point_(std::move(point)) {}

  void fill(std::int64_t first_sample, std::int64_t samples, const BatchView& view) override {
    faults_.reached(point_);
    source_.fill(first_sample, samples, view);
  }
  std::uint64_t digest(std::int64_t first_sample, std::int64_t samples) const override {
    return source_.digest(first_sample, samples);
  }

 private:
  BatchSource& source_;
  FaultPoints& faults_;
  std::string point_;
};

}  // namespace tessera::apps
