// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "io/text/prepare.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "io/dataset/dataset_writer.hpp"
#include "io/file.hpp"
#include "io/output.hpp"
#include "io/text/line_reader.hpp"
#include "io/text/text_inputs.hpp"
#include "io/text/text_of_json.hpp"

namespace tessera::io {
namespace {

constexpr std::int64_t k_max_document_bytes = std::int64_t{4} << 30;
constexpr std::size_t k_bad_lines_kept = 10;

struct Compression {
  std::string_view magic;
  std::string_view tool;
};
constexpr std::array<Compression, 4> k_compressions{{{"\x1f\x8b", "gunzip"},
                                                     {"\x28\xb5\x2f\xfd", "unzstd"},
                                                     {"\xfd"
                                                      "7zXZ",
                                                      "unxz"},
                                                     {"BZh", "bunzip2"}}};

void refuse_compressed(const std::filesystem::path& path) {
  std::string head(8, '\0');
  const File file(path, Access::read);
  head.resize(static_cast<std::size_t>(std::min<std::int64_t>(file.size(), 8)));
  file.read(0, head.data(), static_cast<std::int64_t>(head.size()));
  for (const Compression& compression : k_compressions) {
    if (head.starts_with(compression.magic)) {
      throw Error(ErrorKind::data, fmt::format("{} is compressed", path.native()),
                  fmt::format("Decompress it first: {}.", compression.tool));
    }
  }
}

class Preparation {
 public:
  Preparation(const PrepareOptions& options, const Tokenizer& tokenizer)
      : options_(options),
        tokenizer_(tokenizer),
        writer_(options.output, {std::string(tokenizer.name()), std::string(tokenizer.digest()), tokenizer.vocab_size(),
                                 tokenizer.eod()}) {}

  void add(const TextInput& input) {
    refuse_compressed(input.path);
    ++report_.files;
    if (input.format == TextFormat::jsonl) {
      add_lines(input.path);
    } else {
      add_text(without_byte_order_mark(read_text(input.path, k_max_document_bytes)));
    }
  }

  PrepareReport finish() {
    writer_.finish();
    report_.documents = writer_.documents();
    report_.tokens = writer_.tokens();
    return std::move(report_);
  }

 private:
  void add_text(std::string_view text) {
    if (text.empty()) {
      ++report_.empty;
      return;
    }
    ids_.clear();
    tokenizer_.encode(text, ids_);
    ids_.push_back(tokenizer_.eod());
    writer_.append(ids_);
    report_.text_bytes += static_cast<std::int64_t>(text.size());
  }

  void add_lines(const std::filesystem::path& path) {
    LineReader lines(path);
    std::string why;
    while (lines.next()) {
      const std::string_view line = lines.number() == 1 ? without_byte_order_mark(lines.line()) : lines.line();
      if (line.find_first_not_of(" \t\r") == std::string_view::npos) {
        ++report_.blank;
      } else if (const std::optional<std::string> text = text_of_json(line, options_.text_key, why)) {
        add_text(*text);
      } else {
        count_bad(fmt::format("{}:{} (byte {}): {}", path.native(), lines.number(), lines.offset(), why));
      }
    }
  }

  void count_bad(std::string message) {
    if (++report_.bad > options_.max_bad) {
      throw Error(ErrorKind::data, message,
                  options_.max_bad == 0 ? "Mend the line, or allow some bad ones with --max-bad N."
                                        : fmt::format("{} bad lines were allowed (--max-bad).", options_.max_bad));
    }
    if (report_.bad_lines.size() < k_bad_lines_kept) report_.bad_lines.push_back(std::move(message));
  }

  const PrepareOptions& options_;
  const Tokenizer& tokenizer_;
  DatasetWriter writer_;
  PrepareReport report_;
  std::vector<std::int32_t> ids_;
};

}  // namespace

PrepareReport prepare(const PrepareOptions& options, const Tokenizer& tokenizer) {
  const std::vector<TextInput> inputs = expand_inputs(options.inputs);
  std::vector<std::filesystem::path> paths;
  for (const TextInput& input : inputs) paths.push_back(input.path);
  check_output(options.output, paths);
  Preparation preparation(options, tokenizer);
  for (const TextInput& input : inputs) preparation.add(input);
  return preparation.finish();
}

}  // namespace tessera::io
