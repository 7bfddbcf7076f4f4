// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  choosing experts for tokens: scores, the best of them, and the losses that keep experts balanced.
// Used: the builder, gradient rules.
// Must not know: kernels, where experts are.
#pragma once

#include "core/graph/op.hpp"

namespace tessera::ops {

extern const Op softmax;       ///< x ..e -> ..e, in the accumulation type
extern const Op softmax_grad;  ///< dy ..e, y ..e -> dx ..e
extern const Op sigmoid;       ///< x .. -> .., in the accumulation type
extern const Op sigmoid_grad;  ///< dy .., y .. -> dx ..

/// scores ..e, bias e (may be absent; it changes the choice only) -> i32 ..k, the best first, ties to the lower index;
/// attributes::TopK. No gradient.
extern const Op top_k;

extern const Op take;       ///< scores ..e, choice ..k -> ..k
extern const Op take_grad;  ///< d ..k, choice ..k -> ..e; attributes::Extent

extern const Op normalise;       ///< x ..k -> factor · x ÷ Σ x, 0 where Σ x is 0; attributes::Factor
extern const Op normalise_grad;  ///< dy ..k, x ..k -> dx ..k; attributes::Factor

/// choice sbk -> be: the share of a sequence's choices that went to each expert, times the number of experts (f of
/// Fedus et al. 2021); attributes::ExpertShare. No gradient.
extern const Op expert_share;
/// choice sbk -> e: how many choices went to each expert, f64 or f32 (exact up to 2²⁴); attributes::ExpertLoad. No
/// gradient.
extern const Op expert_load;
extern const Op sequence_mean;       ///< scores sbe -> be: the mean over a sequence of attributes::Extent tokens
extern const Op sequence_mean_grad;  ///< d be, scores sbe -> sbe

/// share be, mean be -> scalar f64: Σ share · mean. One value per sequence is summed, so no layout and no cut into
/// micro-batches changes it. No gradient flows to the share.
extern const Op balance_loss;
extern const Op balance_loss_grad;  ///< d scalar, share be -> be

/// logits sbe -> scalar f64: Σ (log Σ exp)² ÷ length of the sequence (Zoph et al. 2022), attributes::Extent.
extern const Op z_loss;
extern const Op z_loss_grad;  ///< d scalar, logits sbe -> sbe

/// -> scalar f64: loss scale · factor; attributes::Factor. What an auxiliary loss starts from.
extern const Op auxiliary_seed;

}  // namespace tessera::ops
