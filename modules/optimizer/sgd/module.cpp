// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "core/module/module.hpp"
#include "core/scheduler/kernel_table.hpp"
#include "modules/optimizer/sgd/sgd.hpp"

using namespace tessera;

TESSERA_MODULE(optimizer, sgd, "stochastic gradient descent, with or without momentum") {
  registrar.add<Optimizer>("sgd", [](const Settings& settings) {
    return std::make_unique<sgd::Sgd>(
        sgd::Options{settings.get<double>("sgd.momentum"), settings.get<double>("optimizer.weight_decay")});
  });
  registrar.add<KernelSet>("sgd", [](const Settings&) {
    return std::make_unique<KernelSet>(KernelSet{"host", sgd::kernels()});
  });
}
