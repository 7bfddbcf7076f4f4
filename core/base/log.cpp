// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "core/base/log.hpp"

#include <fmt/core.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <boost/log/attributes/constant.hpp>
#include <boost/log/attributes/value_extraction.hpp>
#include <boost/log/core.hpp>
#include <boost/log/expressions/formatter.hpp>
#include <boost/log/expressions/message.hpp>
#include <boost/log/sinks/basic_sink_backend.hpp>
#include <boost/log/sinks/sync_frontend.hpp>
#include <boost/log/sources/record_ostream.hpp>
#include <boost/smart_ptr/make_shared_object.hpp>
#include <chrono>
#include <cstdlib>
#include <ctime>
#include <string>

#include "core/base/line_output.hpp"
#include "core/base/printable.hpp"

namespace tessera {

namespace {

namespace logging = boost::log;

struct Rank {
  int rank = 0, world = 0;  ///< world 0: none
};

std::atomic<Severity> least_shown = Severity::info;
std::atomic<Rank> process_rank = Rank{.rank = 0, .world = 1};
thread_local Rank thread_rank;

Rank current_rank() {
  return thread_rank.world > 0 ? thread_rank : process_rank.load(std::memory_order_relaxed);
}

/// "2026-03-01T10:11:12.345Z"
std::string utc_now() {
  using namespace std::chrono;
  const auto now = system_clock::now().time_since_epoch();
  const std::time_t whole = duration_cast<seconds>(now).count();
  std::tm parts{};
  gmtime_r(&whole, &parts);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z", parts.tm_year + 1900, parts.tm_mon + 1,
                     parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec,
                     duration_cast<milliseconds>(now).count() % 1000);
}

bool stderr_has_colour() {
  const char* terminal = std::getenv("TERM");
  return isatty(STDERR_FILENO) == 1 && std::getenv("NO_COLOR") == nullptr && terminal != nullptr &&
         std::string_view(terminal) != "dumb";
}

std::string_view colour_of(Severity severity) {
  constexpr std::array<std::string_view, 5> colours{"\x1b[2m", "\x1b[2m", "", "\x1b[33m", "\x1b[31m"};
  return colours[static_cast<std::size_t>(severity)];
}

/// Writes each formatted record at once, so that lines of many ranks do not mix.
class StderrBackend : public logging::sinks::basic_formatted_sink_backend<char, logging::sinks::synchronized_feeding> {
 public:
  void consume(const logging::record_view& record, const std::string& formatted) {
    const auto severity = logging::extract_or_default<Severity>("Severity", record, Severity::info);
    const std::string_view colour = colour_ ? colour_of(severity) : std::string_view{};
    standard_error().write(fmt::format("{}{}{}\n", colour, printable(formatted), colour.empty() ? "" : "\x1b[0m"));
  }

 private:
  const bool colour_ = stderr_has_colour();
};

void format(const logging::record_view& record, logging::formatting_ostream& out) {
  const auto severity = logging::extract_or_default<Severity>("Severity", record, Severity::info);
  const auto topic = logging::extract_or_default<std::string>("Topic", record, std::string());
  const auto rank = logging::extract_or_default<Rank>("Rank", record, Rank{});
  out << utc_now() << ' ' << name_of(severity) << ' ';
  if (rank.world > 1) out << "rank " << rank.rank << '/' << rank.world << ' ';
  out << topic << ": " << record[logging::expressions::smessage];
}

/// Boost's core with our one sink, made at the first message.
logging::core& boost_core() {
  static const boost::shared_ptr<logging::core> core = [] {
    using Sink = logging::sinks::synchronous_sink<StderrBackend>;
    const auto sink = boost::make_shared<Sink>();
    sink->set_formatter(&format);
    auto made = logging::core::get();
    made->add_sink(sink);
    return made;
  }();
  return *core;
}

}  // namespace

std::string_view name_of(Severity severity) {
  constexpr std::array<std::string_view, 5> names{"trace", "debug", "info", "warning", "error"};
  return names[static_cast<std::size_t>(severity)];
}

bool log_enabled(Severity severity) {
  if (severity < least_shown.load(std::memory_order_relaxed)) return false;
  return severity >= Severity::warning || current_rank().rank == 0;
}

void log(Severity severity, std::string_view topic, std::string_view message) {
  if (!log_enabled(severity)) return;
  logging::core& core = boost_core();
  logging::attribute_set attributes;
  attributes["Severity"] = logging::attributes::constant<Severity>(severity);
  attributes["Topic"] = logging::attributes::constant<std::string>(std::string(topic));
  attributes["Rank"] = logging::attributes::constant<Rank>(current_rank());
  logging::record record = core.open_record(attributes);
  if (!record) return;
  logging::record_ostream stream(record);
  stream.write(message.data(), static_cast<std::streamsize>(message.size()));
  stream.flush();
  core.push_record(std::move(record));
}

void set_log_level(Severity least) {
  least_shown = least;
}

void set_log_rank(int rank, int world) {
  process_rank = Rank{.rank = rank, .world = world};
}

LogRankScope::LogRankScope(int rank, int world) {
  thread_rank = {.rank = rank, .world = world};
}

LogRankScope::~LogRankScope() {
  thread_rank = {};
}

}  // namespace tessera
