// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "core/module/elf_check.hpp"

#include <gmock/gmock.h>

#include "test/unit/module/fixture.hpp"

namespace tessera {
namespace {

TEST(ElfCheck, CompleteLibrariesPass) {
  EXPECT_EQ(elf_fault(TESSERA_TEST_MODULES "/test_good.so"), "");
}

TEST(ElfCheck, OtherFilesAreNamed) {
  const ModuleFolder folder;
  const std::string whole = text_of(TESSERA_TEST_MODULES "/test_good.so");
  const auto fault = [&](std::string_view bytes) {
    write_text(folder.library("x"), bytes);
    return elf_fault(folder.library("x"));
  };
  EXPECT_EQ(fault(""), "is not a shared library");
  EXPECT_EQ(fault("#!/bin/sh"), "is not a shared library");
  EXPECT_THAT(fault(std::string_view(whole).substr(0, whole.size() - 1)), testing::HasSubstr("is cut short: it has"));
  std::string other = whole;
  other[18] = '\x15';  // e_machine: PowerPC
  EXPECT_EQ(fault(other), "is for another processor (ELF machine 21)");
  EXPECT_EQ(elf_fault(folder.path()), "is not a regular file");
  EXPECT_EQ(elf_fault(folder.path() / "none"), "does not exist");
}

}  // namespace
}  // namespace tessera
