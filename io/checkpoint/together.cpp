// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "io/checkpoint/together.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <string_view>

#include "core/base/error.hpp"
#include "core/device/immediate_stream.hpp"
#include "io/current_error.hpp"

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

/// Nobody reads more of one error.
constexpr std::size_t k_most_text = 1 << 16;

Error error_of(const std::exception_ptr& exception) {
  try {
    std::rethrow_exception(exception);
  } catch (...) {
    return current_error();
  }
}

/// The text of one rank on all of them.
std::string text_of(Communicator& ranks, int root, std::string_view text) {
  std::int64_t bytes = static_cast<std::int64_t>(text.size());
  call(ranks, CallKind::broadcast, 1, DType::i64, [&](const CallContext& context) {
    return ranks.broadcast({&bytes, 1, DType::i64}, root, context);
  });
  std::string result(static_cast<std::size_t>(bytes), '\0');
  if (ranks.rank() == root) result = text;
  call(ranks, CallKind::broadcast, bytes, DType::u8, [&](const CallContext& context) {
    return ranks.broadcast({result.data(), bytes, DType::u8}, root, context);
  });
  return result;
}

/// Throws the error of the first rank that has one.
void throw_first(Communicator& ranks, const std::exception_ptr& mine) {
  const Error own = mine ? error_of(mine) : Error(ErrorKind::internal, "");
  const std::int64_t kind = mine ? static_cast<std::int64_t>(own.kind()) : 0;
  const std::vector<std::int64_t> kinds =
      all_gather(ranks, {&kind, 1}, std::vector<std::int64_t>(static_cast<std::size_t>(ranks.size()), 1));
  const auto found = std::find_if(kinds.begin(), kinds.end(), [](std::int64_t other) { return other != 0; });
  TESSERA_CHECK(found != kinds.end(), "ranks did not agree, but none has an error");
  const auto rank = static_cast<int>(found - kinds.begin());
  const std::string message = text_of(ranks, rank, std::string_view(own.what()).substr(0, k_most_text));
  const std::string hint = text_of(ranks, rank, std::string_view(own.hint()).substr(0, k_most_text));
  const std::string who = ranks.size() > 1 ? fmt::format("rank {}: ", rank) : "";
  throw Error(static_cast<ErrorKind>(*found), who + message, hint);
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
  if (!ranks.agree(mine == nullptr)) throw_first(ranks, mine);
}

void together(Communicator& ranks, const std::function<void()>& action) {
  agree_on(ranks, caught(action));
}

void on_root(Communicator& ranks, const std::function<void()>& action) {
  agree_on(ranks, ranks.rank() == 0 ? caught(action) : nullptr);
}

std::string from_root(Communicator& ranks, const std::string& text) {
  return text_of(ranks, 0, text);
}

std::vector<std::int64_t> gather(Communicator& ranks, std::span<const std::int64_t> mine) {
  const auto size = static_cast<std::int64_t>(mine.size());
  const std::vector<std::int64_t> counts =
      all_gather(ranks, {&size, 1}, std::vector<std::int64_t>(static_cast<std::size_t>(ranks.size()), 1));
  return all_gather(ranks, mine, counts);
}

}  // namespace tessera::io
