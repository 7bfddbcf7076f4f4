// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "core/module/module.hpp"

#include <algorithm>
#include <cstring>
#include <exception>

#include "core/base/error.hpp"

namespace tessera {

namespace {

void write_text(std::string_view text, char* buffer, std::uint32_t capacity) noexcept {
  if (capacity == 0) return;
  const std::size_t length = std::min<std::size_t>(text.size(), capacity - 1);
  std::memcpy(buffer, text.data(), length);
  buffer[length] = '\0';
}

/// Runs the work; what it throws becomes text. Whether it threw nothing.
template <class Work>
bool guarded(Work work, char* buffer, std::uint32_t capacity) noexcept {
  try {
    work();
    return true;
  } catch (const std::exception& error) {
    write_text(error.what(), buffer, capacity);
  } catch (...) {
    write_text("something that is no std::exception was thrown", buffer, capacity);
  }
  return false;
}

}  // namespace

std::int32_t call_supported(SupportedFunction function, char* why, std::uint32_t capacity) noexcept {
  int score = 0;
  const auto ask = [&] {
    std::string reason;
    score = function(reason);
    if (score == 0) write_text(reason, why, capacity);
  };
  return guarded(ask, why, capacity) ? score : 0;
}

std::int32_t call_enroll(void (*function)(Registrar&), tessera_registrar* registrar, char* error,
                         std::uint32_t capacity) noexcept {
  return guarded([&] { function(*reinterpret_cast<Registrar*>(registrar)); }, error, capacity) ? 0 : 1;
}

}  // namespace tessera
