// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  tokens as rows of experts. A rank lays the rows of its own tokens out by expert; that is one part of a dim p that
//       the tokens' axes split. Where experts are spread over ranks, the next op asks for rows split by expert, and the
//       all-to-all is the conversion that follows: nothing here moves data between ranks.
// Used: the builder, gradient rules.
// Must not know: kernels, collectives.
#pragma once

#include "core/graph/op.hpp"

namespace tessera::ops {

/// choice sbk -> index i32 epc, counts i32 ep, further i32 ep; attributes::ExpertRows. Row c of part p that goes to
/// expert e holds the token and choice whose place among the part's own (token · k + choice) is `index`; -1: the row is
/// empty. Rows stand in the order of tokens, `counts` of them, the first ones.
///
/// p is as long as there are ranks that hold different tokens, and c as long as the attributes say. Where more rows
/// come the first c are of round 0, the next c of round 1, … (KernelCall::round); `further` rounds hold all.
extern const Op expert_plan;
/// further ep -> i32: the largest
extern const Op expert_rounds;

/// x sbh, index epc, choice sbk -> rows epch, zero where empty
extern const Op take_rows;
/// rows epch, index epc, choice sbk -> sbh: the sum of a token's rows
extern const Op put_rows;

/// weights sbk, index epc, choice sbk -> epc, zero where empty
extern const Op take_gates;
/// d epc, index epc, choice sbk -> sbk
extern const Op put_gates;

extern const Op row_scale;  ///< rows epcf, gates epc -> epcf
extern const Op row_dot;    ///< x epcf, y epcf -> epc

}  // namespace tessera::ops
