// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "core/module/search_path.hpp"

#include <gmock/gmock.h>

namespace tessera {
namespace {

TEST(SearchPath, FlagEnvironmentConfigurationInstallation) {
  const std::vector<std::string> configured{"/c", "/a"};
  const auto folders = module_search_path("/a:/b", ":/e:/b/:", configured);
  std::vector<std::string> found;
  for (const SearchFolder& folder : folders) found.push_back(folder.path.string() + " " + folder.reason);
  EXPECT_THAT(found, testing::ElementsAre("/a --module-path", "/b --module-path", "/e TESSERA_MODULE_PATH",
                                          "/b/ TESSERA_MODULE_PATH", "/c modules.path",
                                          installed_modules_folder().string() + " installation"));
}

TEST(SearchPath, InstallationIsBesideTheLibrary) {
  EXPECT_TRUE(installed_modules_folder().string().ends_with("lib/tessera/modules")) << installed_modules_folder();
}

}  // namespace
}  // namespace tessera
