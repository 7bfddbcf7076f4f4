// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <cstdio>
#include <filesystem>
#include <memory>

#include "core/module/abi.h"
#include "core/module/search_path.hpp"

extern "C" std::size_t tessera_test_descriptor_bytes();

namespace tessera {
namespace {

TEST(Abi, CAndCxxSeeTheSameDescriptor) {
  EXPECT_EQ(tessera_test_descriptor_bytes(), sizeof(tessera_module_descriptor));
}

/// Names of the symbols that a library defines for others.
std::vector<std::string> exported_symbols(const std::filesystem::path& library) {
  const std::string command = "nm -D --defined-only --format=posix '" + library.string() + "'";
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> pipe(popen(command.c_str(), "r"), &pclose);
  std::vector<std::string> names;
  std::array<char, 4096> line{};
  while (std::fgets(line.data(), line.size(), pipe.get()) != nullptr) {
    const std::string text = line.data();
    names.push_back(text.substr(0, text.find(' ')));
  }
  return names;
}

TEST(Abi, AModuleExportsItsDescriptorAndNothingElse) {
  EXPECT_THAT(exported_symbols(TESSERA_TEST_MODULES "/test_good.so"), testing::ElementsAre(TESSERA_ABI_SYMBOL));
  std::error_code none;  // the folder is absent where no module was built
  for (const auto& entry : std::filesystem::directory_iterator(installed_modules_folder(), none)) {
    if (entry.path().extension() == ".so") {
      EXPECT_THAT(exported_symbols(entry.path()), testing::ElementsAre(TESSERA_ABI_SYMBOL)) << entry.path();
    }
  }
}

}  // namespace
}  // namespace tessera
