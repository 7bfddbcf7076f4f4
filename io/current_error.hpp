// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  any exception as an Error: what is known of the failures of libraries, and what is a defect of ours.
// Used: ranks that agree on an error, programs that report one.
// Must not know: who reads it.
#pragma once

#include "core/base/error.hpp"

namespace tessera::io {

/// The exception that is being handled.
Error current_error();

}  // namespace tessera::io
