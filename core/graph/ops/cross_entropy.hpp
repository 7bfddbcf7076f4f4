// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  the loss of logits that may be split over the vocabulary: maximum, sums of exponentials, token loss.
// Used: the builder, gradient rules, passes.
// Must not know: kernels, layouts of a particular strategy.
#pragma once

#include "core/graph/op.hpp"

namespace tessera::ops {

extern const Op row_max;  ///< logits ..v -> .., the maximum; Partial(max) over v; not differentiated
extern const Op
    softmax_sums;  ///< logits ..v, shift .., target .. -> e = exp(logits - shift) ..v, sum of e .., target's logit ..
extern const Op softmax_sums_grad;  ///< e ..v, dsum .., dlogit .., target .. -> dlogits ..v
extern const Op token_loss;         ///< sum .., shift .., target's logit .. -> log(sum) + shift - logit
extern const Op token_loss_grad;    ///< dy .., sum .. -> dsum .., dlogit ..

}  // namespace tessera::ops
