// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "core/module/module.hpp"
#include "core/scheduler/kernel_table.hpp"
#include "modules/optimizer/lion/lion.hpp"

using namespace tessera;

TESSERA_MODULE(optimizer, lion, "the sign of an interpolated momentum, with decoupled weight decay") {
  registrar.add<Optimizer>("lion", [](const Settings& settings) {
    return std::make_unique<lion::Lion>(lion::Options{settings.get<double>("optimizer.beta1"),
                                                      settings.get<double>("optimizer.beta2"),
                                                      settings.get<double>("optimizer.weight_decay")});
  });
  registrar.add<KernelSet>("lion", [](const Settings&) {
    return std::make_unique<KernelSet>(KernelSet{"host", lion::kernels()});
  });
}
