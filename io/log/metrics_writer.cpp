// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "io/log/metrics_writer.hpp"

#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include "core/base/log.hpp"
#include "io/log/json_text.hpp"
#include "io/output.hpp"
#include "io/text/line_reader.hpp"

namespace tessera::io {
namespace {

constexpr std::size_t k_line_bytes = 4096;
constexpr std::size_t k_copy_bytes = 1 << 20;

bool is_of_earlier_step(const LineReader& lines, std::int64_t first_step) {
  if (!lines.terminated()) return false;
  const nlohmann::json json = nlohmann::json::parse(lines.line(), nullptr, false);
  if (!json.is_object()) return false;
  const auto step = json.find("step");
  return step != json.end() && step->is_number_integer() && step->get<std::int64_t>() < first_step;
}

/// Copies the lines before `first_step` to `to`; gives the number of the others.
std::int64_t copy_earlier(const std::filesystem::path& from, std::int64_t first_step, File& to) {
  LineReader lines(from);
  std::string kept;
  std::int64_t dropped = 0;
  while (lines.next()) {
    if (!is_of_earlier_step(lines, first_step)) {
      ++dropped;
      continue;
    }
    kept.append(lines.line()).push_back('\n');
    if (kept.size() < k_copy_bytes) continue;
    to.append(kept);
    kept.clear();
  }
  to.append(kept);
  return dropped;
}

/// metrics.jsonl becomes metrics.jsonl.1, or what is free: it tells of another run, or is no file of ours.
void put_aside(const std::filesystem::path& path) {
  std::filesystem::path place;
  for (int number = 1; place.empty() || std::filesystem::exists(place); ++number)
    place = fmt::format("{}.{}", path.native(), number);
  rename_path(path, place);
  log_info("metrics",
           fmt::format("{} was there, of an earlier run: it is {} now", path.native(), place.filename().native()));
}

std::int64_t cut_file(const std::filesystem::path& path, std::int64_t first_step) {
  check_output(path);
  if (!std::filesystem::exists(path)) return 0;
  std::filesystem::path temporary = path;
  temporary += ".tmp";
  File file(temporary, Access::create);
  const std::int64_t dropped = copy_earlier(path, first_step, file);
  const bool nothing_kept = file.size() == 0;
  file.sync();
  file.close();
  if (dropped > 0 && nothing_kept) put_aside(path);
  rename_path(temporary, path);
  return dropped;
}

}  // namespace

MetricsWriter::MetricsWriter(const std::filesystem::path& path, std::int64_t first_step)
    : dropped_(cut_file(path, first_step)), file_(path, Access::append) {
  line_.reserve(k_line_bytes);
}

void MetricsWriter::name(std::string_view text) {
  line_.append(line_.empty() ? "{" : ", ");
  append_json(line_, text);
  line_.append(": ");
}

MetricsWriter& MetricsWriter::begin(std::int64_t step) {
  line_.clear();
  return field("step", step);
}

MetricsWriter& MetricsWriter::field(std::string_view text, double value) {
  name(text);
  append_json(line_, value);
  return *this;
}

MetricsWriter& MetricsWriter::field(std::string_view text, std::int64_t value) {
  name(text);
  append_json(line_, value);
  return *this;
}

MetricsWriter& MetricsWriter::field(std::string_view text, std::string_view value) {
  name(text);
  append_json(line_, value);
  return *this;
}

MetricsWriter& MetricsWriter::json(std::string_view text, std::string_view value) {
  name(text);
  line_.append(value);
  return *this;
}

MetricsWriter& MetricsWriter::flag(std::string_view text, bool value) {
  name(text);
  line_.append(value ? "true" : "false");
  return *this;
}

void MetricsWriter::end() {
  line_.append("}\n");
  if (!file_.exists()) {  // somebody removed it, or its folder: from here on there is one again
    if (file_.path().has_parent_path()) make_folder(file_.path().parent_path());
    file_ = File(file_.path(), Access::append);
    log_warning("metrics", file_.path().native() + " was removed while the run goes on: a new one begins");
  }
  if (torn_) line_.insert(line_.begin(), '\n');
  torn_ = true;
  file_.append(line_);
  torn_ = false;
}

}  // namespace tessera::io
