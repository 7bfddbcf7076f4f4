// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "core/module/module.hpp"
#include "modules/strategy/data_parallel/data_parallel.hpp"

using namespace tessera;

TESSERA_MODULE(strategy, data_parallel, "the batch split over ranks, gradients summed in buckets") {
  registrar.add<Strategy>("data_parallel", [](const Settings& settings) {
    return std::make_unique<DataParallel>(settings.get<std::int64_t>("strategy.bucket_bytes"));
  });
}
