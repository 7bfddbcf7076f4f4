// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "core/module/module.hpp"
#include "modules/strategy/tensor_parallel/tensor_parallel.hpp"

using namespace tessera;

TESSERA_MODULE(strategy, tensor_parallel, "matrices and vocabulary split over ranks, the sequence between them too") {
  registrar.add<Strategy>("tensor_parallel", [](const Settings& settings) {
    const auto residual = settings.get<bool>("parallel.sequence") ? TensorParallel::Residual::split
                                                                  : TensorParallel::Residual::replicated;
    return std::make_unique<TensorParallel>(settings.get<std::int64_t>("model.heads"),
                                            settings.get<std::int64_t>("model.kv_heads"), residual);
  });
}
