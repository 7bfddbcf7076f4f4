// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  loops over elements of any storage type, written once on the arithmetic type.
// Used: kernels of the host.
// Must not know: what is computed.
#pragma once

#include <tuple>

#include "core/host/parallel.hpp"
#include "core/host/vector.hpp"

namespace tessera::host {

/// Elements that are widened at a time; a few such buffers fit the first-level cache.
inline constexpr std::int64_t k_chunk = 512;

template <class T>
void widen(const T* source, Accumulation<T>* target, std::int64_t count) {
  constexpr std::int64_t lanes = k_lanes<Accumulation<T>>;
  std::int64_t i = 0;
  for (; i + lanes <= count; i += lanes) store(target + i, load(source + i));
  for (; i < count; ++i) target[i] = widen(source[i]);
}

template <class T>
void narrow(const Accumulation<T>* source, T* target, std::int64_t count) {
  constexpr std::int64_t lanes = k_lanes<Accumulation<T>>;
  std::int64_t i = 0;
  for (; i + lanes <= count; i += lanes) store(target + i, load(source + i));
  for (; i < count; ++i) target[i] = narrow<T>(source[i]);
}

/// Up to k_chunk elements as the arithmetic type: the memory itself, or a widened copy of it.
template <class T>
class Reader {
 public:
  using A = Accumulation<T>;

  const A* operator()(const T* source, std::int64_t count) {
    if constexpr (std::is_same_v<T, A>) {
      return source;
    } else {
      widen(source, buffer_, count);
      return buffer_;
    }
  }

 private:
  alignas(64) A buffer_[std::is_same_v<T, A> ? 1 : k_chunk];
};

/// Room for up to k_chunk results of the arithmetic type: the memory itself, or a buffer that `flush` rounds into it. A
/// null target takes results that nobody reads.
template <class T>
class Writer {
 public:
  using A = Accumulation<T>;

  A* operator()(T* target) {
    if constexpr (std::is_same_v<T, A>) {
      if (target != nullptr) return target;
    }
    return buffer_;
  }

  void flush(T* target, std::int64_t count) {
    if constexpr (!std::is_same_v<T, A>) {
      if (target != nullptr) narrow(buffer_, target, count);
    }
  }

 private:
  alignas(64) A buffer_[k_chunk];
};

/// A pointer moved on, null stays null.
template <class T>
T* offset(T* pointer, std::int64_t count) {
  return pointer == nullptr ? nullptr : pointer + count;
}

/// out[i] = function(in[i]…), all of element type T; the output may be one of the inputs.
template <class T, class Function, class... In>
void map(int threads, std::int64_t count, T* out, const Function& function, const In*... in) {
  if (out == nullptr) return;
  parallel_ranges(threads, count, 1, [&](std::int64_t begin, std::int64_t end) {
    Writer<T> writer;
    std::tuple<Reader<In>...> readers;
    for (std::int64_t at = begin; at < end; at += k_chunk) {
      const std::int64_t n = std::min(k_chunk, end - at);
      std::apply(
          [&](auto&... reader) {
            const auto loop = [&](Accumulation<T>* y, const auto*... x) {
#pragma omp simd
              for (std::int64_t i = 0; i < n; ++i) y[i] = function(x[i]...);
            };
            loop(writer(out + at), reader(in + at, n)...);
          },
          readers);
      writer.flush(out + at, n);
    }
  });
}

/// first[i], second[i] = function(in[i]…), a pair. Either output may be null.
template <class T, class Function, class... In>
void map_two(int threads, std::int64_t count, T* first, T* second, const Function& function, const In*... in) {
  parallel_ranges(threads, count, 2, [&](std::int64_t begin, std::int64_t end) {
    Writer<T> first_writer, second_writer;
    std::tuple<Reader<In>...> readers;
    for (std::int64_t at = begin; at < end; at += k_chunk) {
      const std::int64_t n = std::min(k_chunk, end - at);
      T* const first_target = offset(first, at);
      T* const second_target = offset(second, at);
      std::apply(
          [&](auto&... reader) {
            const auto loop = [&](Accumulation<T>* u, Accumulation<T>* v, const auto*... x) {
#pragma omp simd
              for (std::int64_t i = 0; i < n; ++i) {
                const auto result = function(x[i]...);
                u[i] = result.first;
                v[i] = result.second;
              }
            };
            loop(first_writer(first_target), second_writer(second_target), reader(in + at, n)...);
          },
          readers);
      first_writer.flush(first_target, n);
      second_writer.flush(second_target, n);
    }
  });
}

}  // namespace tessera::host
