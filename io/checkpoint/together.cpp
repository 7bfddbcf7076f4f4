// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "io/checkpoint/together.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <new>

#include "core/base/error.hpp"
#include "core/device/immediate_stream.hpp"

namespace tessera::io {
namespace {

/// A call with the scratch that the communicator asks for.
template <class Call>
void call(Communicator& ranks, CallKind kind, std::int64_t count, DType dtype, Call&& post) {
  ImmediateStream stream(StreamRole::io);
  std::vector<std::byte> workspace(static_cast<std::size_t>(ranks.workspace_bytes(kind, count, dtype)));
  const CallContext context{stream, workspace};
  post(context).wait();
}

std::vector<std::int64_t> all_gather(Communicator& ranks, std::span<const std::int64_t> mine,
                                     const std::vector<std::int64_t>& counts) {
  std::int64_t total = 0;
  for (std::int64_t count : counts) total += count;
  std::vector<std::int64_t> all(static_cast<std::size_t>(total));
  call(ranks, CallKind::all_gather, total, DType::i64, [&](const CallContext& context) {
    return ranks.all_gather({mine.data(), static_cast<std::int64_t>(mine.size()), DType::i64},
                            {all.data(), total, DType::i64}, counts, context);
  });
  return all;
}

/// An error as a message of fixed size, so that it travels in one exchange. Long texts are cut.
struct Report {
  std::int64_t kind = 0;  ///< 0: none
  std::array<char, 1024> message{};
  std::array<char, 504> hint{};
};
static_assert(sizeof(Report) % sizeof(std::int64_t) == 0);

Report report_of(const std::exception_ptr& error) {
  Report report;
  const auto fill = [&](ErrorKind kind, std::string_view message, std::string_view hint) {
    report.kind = static_cast<std::int64_t>(kind);
    message.copy(report.message.data(), report.message.size() - 1);
    hint.copy(report.hint.data(), report.hint.size() - 1);
  };
  if (!error) return report;
  try {
    std::rethrow_exception(error);
  } catch (const Error& known) {
    fill(known.kind(), known.what(), known.hint());
  } catch (const std::bad_alloc&) {
    fill(ErrorKind::resources, "out of memory", "Use a smaller train.micro_batch or train.global_batch, or a node with more memory.");
  } catch (const std::exception& other) {
    fill(ErrorKind::internal, other.what(), "");
  } catch (...) {
    fill(ErrorKind::internal, "an unknown exception", "");
  }
  return report;
}

std::exception_ptr caught(const std::function<void()>& action) {
  try {
    action();
    return nullptr;
  } catch (...) {
    return std::current_exception();
  }
}

}  // namespace

void agree_on(Communicator& ranks, const std::exception_ptr& mine) {
  if (ranks.agree(mine == nullptr)) return;
  constexpr std::int64_t words = sizeof(Report) / sizeof(std::int64_t);
  const Report report = report_of(mine);
  std::array<std::int64_t, words> flat;
  std::memcpy(flat.data(), &report, sizeof report);
  const std::vector<std::int64_t> counts(static_cast<std::size_t>(ranks.size()), words);
  const std::vector<std::int64_t> all = all_gather(ranks, flat, counts);
  for (int rank = 0; rank < ranks.size(); ++rank) {
    Report theirs;
    std::memcpy(static_cast<void*>(&theirs), all.data() + rank * words, sizeof theirs);
    if (theirs.kind == 0) continue;
    const std::string who = ranks.size() > 1 ? fmt::format("rank {}: ", rank) : "";
    throw Error(static_cast<ErrorKind>(theirs.kind), who + theirs.message.data(), theirs.hint.data());
  }
  throw Error(ErrorKind::internal, "ranks did not agree, but none has an error");
}

void together(Communicator& ranks, const std::function<void()>& action) {
  agree_on(ranks, caught(action));
}

void on_root(Communicator& ranks, const std::function<void()>& action) {
  agree_on(ranks, ranks.rank() == 0 ? caught(action) : nullptr);
}

std::string from_root(Communicator& ranks, const std::string& text) {
  std::int64_t bytes = static_cast<std::int64_t>(text.size());
  call(ranks, CallKind::broadcast, 1, DType::i64, [&](const CallContext& context) {
    return ranks.broadcast({&bytes, 1, DType::i64}, 0, context);
  });
  std::string result = ranks.rank() == 0 ? text : std::string(static_cast<std::size_t>(bytes), '\0');
  call(ranks, CallKind::broadcast, bytes, DType::u8, [&](const CallContext& context) {
    return ranks.broadcast({result.data(), bytes, DType::u8}, 0, context);
  });
  return result;
}

std::vector<std::int64_t> gather(Communicator& ranks, std::span<const std::int64_t> mine) {
  const auto size = static_cast<std::int64_t>(mine.size());
  const std::vector<std::int64_t> counts =
      all_gather(ranks, {&size, 1}, std::vector<std::int64_t>(static_cast<std::size_t>(ranks.size()), 1));
  return all_gather(ranks, mine, counts);
}

}  // namespace tessera::io
