// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "io/log/trace_writer.hpp"

#include "io/log/json_text.hpp"

namespace tessera::io {
namespace {

constexpr std::size_t k_buffer_bytes = 1 << 20;
constexpr std::size_t k_event_bytes = 4096;

}  // namespace

TraceWriter::TraceWriter(const std::filesystem::path& path, std::int64_t max_events)
    : file_(path, Access::create), max_events_(max_events) {
  buffer_.reserve(k_buffer_bytes + k_event_bytes);
}

TraceWriter::~TraceWriter() {
  try {
    close();
  } catch (const Error&) {  // a trace is not worth more noise while something else ends
  }
}

void TraceWriter::begin(std::string_view name, std::string_view category, char phase, int rank, int stream) {
  buffer_.append(events_++ == 0 ? "[\n{\"name\":" : ",\n{\"name\":");
  append_json(buffer_, name);
  buffer_.append(",\"cat\":");
  append_json(buffer_, category);
  buffer_.append(",\"ph\":\"").append(1, phase).append("\",\"pid\":");
  append_json(buffer_, std::int64_t{rank});
  buffer_.append(",\"tid\":");
  append_json(buffer_, std::int64_t{stream});
}

void TraceWriter::end() {
  buffer_.append("}");
  if (buffer_.size() < k_buffer_bytes) return;
  file_.append(buffer_);
  buffer_.clear();
}

void TraceWriter::metadata(std::string_view kind, int rank, int stream, std::string_view name) {
  begin(kind, "__metadata", 'M', rank, stream);
  buffer_.append(",\"args\":{\"name\":");
  append_json(buffer_, name);
  buffer_.append("}");
  end();
}

void TraceWriter::name_rank(int rank, std::string_view name) {
  metadata("process_name", rank, 0, name);
}

void TraceWriter::name_stream(int rank, int stream, std::string_view name) {
  metadata("thread_name", rank, stream, name);
}

void TraceWriter::event(std::string_view name, std::string_view category, double start, double duration, int rank,
                        int stream) {
  if (events_ >= max_events_) {
    ++left_out_;
    return;
  }
  begin(name, category, 'X', rank, stream);
  buffer_.append(",\"ts\":");
  append_json(buffer_, start);
  buffer_.append(",\"dur\":");
  append_json(buffer_, duration);
  end();
}

void TraceWriter::close() {
  if (!open_) return;
  open_ = false;
  buffer_.append(events_ == 0 ? "[]\n" : "\n]\n");
  file_.append(buffer_);
  file_.close();
}

}  // namespace tessera::io
