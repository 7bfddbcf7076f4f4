// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  a comparison of a layout with one rank, for people and for programs.
// Used: the verb `verify`.
// Must not know: how it was made.
#pragma once

#include <cstdint>

#include "apps/document.hpp"
#include "core/train/layout_comparison.hpp"

namespace tessera::apps {

/// A row of gradients is that of a field of the model, by the layer where it is worst, or that of a tensor.
enum class Detail : std::uint8_t { fields, tensors };

/// Tables of steps and of gradients, what differs by name, and the verdict.
void add_comparison(Document& document, const LayoutComparison& comparison, Detail detail);

}  // namespace tessera::apps
