// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "test/support/kernel_runner.hpp"

#include <algorithm>

#include "core/host/host_device.hpp"

namespace tessera::test {
namespace {

constexpr std::int64_t k_guard = 64;
constexpr auto k_pattern = std::byte{0xff};  // NaN in every floating type

std::vector<Tensor> tensors_of(const std::vector<TensorValue>& values) {
  std::vector<Tensor> tensors;
  for (const TensorValue& value : values) tensors.push_back(value.tensor());
  return tensors;
}

std::vector<Tensor> without_data(std::span<const Tensor> tensors) {
  std::vector<Tensor> bare(tensors.begin(), tensors.end());
  for (Tensor& tensor : bare) tensor.data = nullptr;
  return bare;
}

}  // namespace

void launch_kernel(std::string_view op, DType dtype, std::span<const Tensor> in, std::span<const Tensor> out,
                   const Attributes& attributes, std::uint32_t accumulate, const StepInputs& step, int threads,
                   std::int32_t round, std::string_view variant) {
  HostDevice device(threads);
  const KernelEntry* kernel = device.find(op, dtype, variant);
  TESSERA_CHECK(kernel != nullptr, std::string(op) + " " + std::string(name_of(dtype)));
  TESSERA_CHECK((accumulate & ~kernel->accumulates) == 0, std::string(op) + " cannot accumulate");
  const std::int64_t bytes =
      kernel->workspace == nullptr ? 0 : kernel->workspace(without_data(in), without_data(out), attributes, threads);
  auto* const memory = static_cast<std::byte*>(device.allocate(bytes + 2 * k_guard, Reach::rank));
  std::fill_n(memory, bytes + 2 * k_guard, k_pattern);
  kernel->launch({.in = in,
                  .out = out,
                  .attributes = attributes,
                  .workspace = {memory + k_guard, static_cast<std::size_t>(bytes)},
                  .step = step,
                  .stream = device.stream(StreamRole::compute),
                  .accumulate = accumulate,
                  .round = round});
  const auto untouched = [](const std::byte* guard) {
    return std::all_of(guard, guard + k_guard, [](std::byte b) { return b == k_pattern; });
  };
  const bool inside = untouched(memory) && untouched(memory + k_guard + bytes);
  device.release(memory);
  TESSERA_CHECK(inside, std::string(op) + " wrote outside its workspace");
}

void run_kernel(KernelRun& run, int threads) {
  launch_kernel(run.op, run.dtype, tensors_of(run.in), tensors_of(run.out), run.attributes, run.accumulate, run.step,
                threads, run.round, run.variant);
}

std::vector<Values> results_of(KernelRun run, int threads) {
  run_kernel(run, threads);
  std::vector<Values> results;
  for (const TensorValue& value : run.out) results.push_back(value.tensor().data ? value.values() : Values{});
  return results;
}

bool same_for_any_threads(const KernelRun& run) {
  const auto bytes_with = [&](int threads) {
    KernelRun copy = run;
    run_kernel(copy, threads);
    std::vector<std::vector<std::byte>> bytes;
    for (const TensorValue& value : copy.out) bytes.push_back(value.bytes());
    return bytes;
  };
  const auto one = bytes_with(1);
  return one == bytes_with(2) && one == bytes_with(3);
}

}  // namespace tessera::test
