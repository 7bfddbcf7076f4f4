// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  expecting an Error of a kind, with a part of its text.
// Used: tests of io.
// Must not know: what fails.
#pragma once

#include <gmock/gmock.h>

#include <string>

#include "core/base/error.hpp"

namespace tessera::io {

/// Runs `action`; fails the test unless it throws an Error of `kind` whose message contains `part`.
template <class Action>
void expect_error(ErrorKind kind, const std::string& part, Action&& action) {
  try {
    action();
    ADD_FAILURE() << "no error was thrown; expected one with \"" << part << "\"";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), kind) << error.what();
    EXPECT_THAT(std::string(error.what()), testing::HasSubstr(part));
  }
}

}  // namespace tessera::io
