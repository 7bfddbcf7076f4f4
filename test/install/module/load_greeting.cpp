// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// load_greeting FOLDER: loads greeting/polite from the folder, or from the installation, and checks what it says.
#include <core/config/resolve.hpp>
#include <core/module/loader.hpp>
#include <cstdio>

#include "greeting.hpp"

int main(int, char** argv) {
  try {
    tessera::Registry registry;
    tessera::ModuleLoader loader(registry, tessera::module_search_path(argv[1], {}, {}));
    const tessera::ModuleRecord& record = loader.load("greeting", "polite");
    const tessera::Settings settings = tessera::settings_of({{"polite.whom", "tester"}}, record.manifest.options);
    const std::string text = registry.create<Greeting>("polite", settings)->text();
    std::printf("%s %s: %s\n", record.manifest.full_name().c_str(), record.manifest.version.c_str(), text.c_str());
    return text == "how do you do, tester" && record.manifest.version == "4.5.6" ? 0 : 1;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 70;
  }
}
