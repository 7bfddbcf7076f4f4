// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  the data of the reference models as a batch source; sample g is column g mod 24 of step 1 + g ÷ 24.
// Used: parity tests.
// Must not know: layouts, how a model is built.
#pragma once

#include "core/train/batch_source.hpp"

namespace tessera::reference {

class ReferenceSource final : public BatchSource {
 public:
  void fill(std::int64_t first_sample, std::int64_t samples, const BatchView& view) override;
  std::uint64_t digest(std::int64_t first_sample, std::int64_t samples) const override;
};

}  // namespace tessera::reference
