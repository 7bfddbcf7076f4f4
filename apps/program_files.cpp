// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "apps/program_files.hpp"

#include <elf.h>
#include <link.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <vector>

#include <fmt/core.h>

#include "core/base/content_hash.hpp"

namespace tessera::apps {
namespace {

constexpr std::string_view k_own_library = "libtessera";
constexpr const char* k_program = "/proc/self/exe";

/// Hexadecimal digits of the note that the linker leaves; empty: none.
std::string build_id(const dl_phdr_info& object) {
  for (int i = 0; i < object.dlpi_phnum; ++i) {
    const ElfW(Phdr)& header = object.dlpi_phdr[i];
    if (header.p_type != PT_NOTE) continue;
    const auto* at = reinterpret_cast<const char*>(object.dlpi_addr + header.p_vaddr);
    const char* const end = at + header.p_memsz;
    while (at + sizeof(ElfW(Nhdr)) <= end) {
      ElfW(Nhdr) note;
      std::memcpy(&note, at, sizeof note);
      const char* const name = at + sizeof note;
      const char* const content = name + (note.n_namesz + 3U) / 4U * 4U;
      if (note.n_type == NT_GNU_BUILD_ID && std::string_view(name, note.n_namesz).starts_with("GNU")) {
        std::string id;
        for (unsigned byte = 0; byte < note.n_descsz; ++byte)
          id += fmt::format("{:02x}", static_cast<unsigned char>(content[byte]));
        return id;
      }
      at = content + (note.n_descsz + 3U) / 4U * 4U;
    }
  }
  return {};
}

int add_line(dl_phdr_info* object, std::size_t, void* lines) {
  const std::string_view path = object->dlpi_name;  // empty: the program, which comes first
  const std::string name = path.empty() ? "tessera" : std::filesystem::path(path).filename().string();
  if (!path.empty() && !name.starts_with(k_own_library)) return 0;
  std::string id = build_id(*object);
  if (id.empty()) id = to_string(file_content_hash(path.empty() ? k_program : path));
  static_cast<std::vector<std::string>*>(lines)->push_back(fmt::format("{} {}\n", name, id));
  return 0;
}

}  // namespace

std::string program_text() {
  std::vector<std::string> lines;
  dl_iterate_phdr(add_line, &lines);
  std::sort(lines.begin(), lines.end());
  std::string text;
  for (const std::string& line : lines) text += line;
  return text;
}

}  // namespace tessera::apps
