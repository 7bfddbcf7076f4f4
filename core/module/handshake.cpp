// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "core/module/handshake.hpp"

#include <dlfcn.h>
#include <fmt/core.h>

#include <array>

#include "core/base/error.hpp"
#include "core/module/elf_check.hpp"

namespace tessera {

namespace {

constexpr const char* k_rebuild =
    "Build the module against this engine: tessera_add_module, in the same build or the installed one.";

Error refusal(ErrorKind kind, const Manifest& manifest, std::string_view what, const char* hint) {
  const std::string place = manifest.library.empty() ? "linked in" : manifest.library.string();
  return {kind, fmt::format("module {} ({}): {}", manifest.full_name(), place, what), hint};
}

Error refusal(const Manifest& manifest, std::string_view what) {
  return refusal(ErrorKind::configuration, manifest, what, k_rebuild);
}

/// What dlerror has to say. It forgets when it is asked, so it is asked once.
std::string linker_message() {
  const char* text = dlerror();
  return text == nullptr ? "no reason was given" : text;
}

}  // namespace

const tessera_module_descriptor& open_module(const Manifest& manifest) {
  if (const std::string fault = elf_fault(manifest.library); !fault.empty())
    throw refusal(fault == "does not exist" ? ErrorKind::not_found : ErrorKind::configuration, manifest,
                  "the library " + fault, "Build or install the module again.");
  void* handle = dlopen(manifest.library.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (handle == nullptr) throw refusal(manifest, "the library cannot be loaded: " + linker_message());
  const void* symbol = dlsym(handle, TESSERA_ABI_SYMBOL);
  if (symbol == nullptr) throw refusal(manifest, "the library exports no " TESSERA_ABI_SYMBOL ": " + linker_message());
  return *static_cast<const tessera_module_descriptor*>(symbol);
}

void check_descriptor(const Manifest& manifest, const tessera_module_descriptor& descriptor) {
  if (descriptor.struct_size < sizeof(tessera_module_descriptor))
    throw refusal(manifest, fmt::format("its descriptor has {} bytes, {} are needed", descriptor.struct_size,
                                        sizeof(tessera_module_descriptor)));
  if (descriptor.abi_major != TESSERA_ABI_MAJOR)  // nothing behind this field can be trusted
    throw refusal(manifest, build_fault(descriptor.abi_major, descriptor.abi_minor, {}));
  for (const void* field :
       {static_cast<const void*>(descriptor.build_tag), static_cast<const void*>(descriptor.kind),
        static_cast<const void*>(descriptor.name), static_cast<const void*>(descriptor.version),
        static_cast<const void*>(descriptor.summary), static_cast<const void*>(descriptor.options),
        reinterpret_cast<const void*>(descriptor.supported), reinterpret_cast<const void*>(descriptor.enroll)})
    if (field == nullptr) throw refusal(manifest, "its descriptor has an empty field");
  if (const std::string fault = build_fault(descriptor.abi_major, descriptor.abi_minor, descriptor.build_tag);
      !fault.empty())
    throw refusal(manifest, fault);
  if (manifest.kind != descriptor.kind || manifest.name != descriptor.name || manifest.version != descriptor.version)
    throw refusal(manifest, fmt::format("the library is {}/{} {}, its manifest says {} {}", descriptor.kind,
                                        descriptor.name, descriptor.version, manifest.full_name(), manifest.version));
}

int enroll_module(const Manifest& manifest, const tessera_module_descriptor& descriptor, Registry& registry) {
  std::array<char, 1024> text{};
  const int score = descriptor.supported(text.data(), text.size());
  if (score <= 0)
    throw refusal(ErrorKind::unavailable, manifest, fmt::format("it does not suit this machine: {}", text.data()),
                  "Choose another module, or a machine that has what it needs.");
  if (score > 100) throw refusal(manifest, fmt::format("it gives itself {} of 100 points", score));
  Registrar registrar(registry, manifest.full_name());
  if (descriptor.enroll(reinterpret_cast<tessera_registrar*>(&registrar), text.data(), text.size()) != 0)
    throw refusal(ErrorKind::configuration, manifest, fmt::format("it failed to enroll: {}", text.data()),
                  "The message is the module's own.");
  if (registrar.commit() == 0) throw refusal(manifest, "it enrolled nothing");
  return score;
}

}  // namespace tessera
