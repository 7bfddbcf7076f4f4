// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "core/module/module.hpp"
#include "core/scheduler/kernel_table.hpp"
#include "modules/optimizer/adamw/adamw.hpp"

using namespace tessera;

TESSERA_MODULE(optimizer, adamw, "Adam with decoupled weight decay") {
  registrar.add<Optimizer>("adamw", [](const Settings& settings) {
    return std::make_unique<adamw::AdamW>(
        adamw::Options{settings.get<double>("optimizer.beta1"), settings.get<double>("optimizer.beta2"),
                       settings.get<double>("optimizer.epsilon"), settings.get<double>("optimizer.weight_decay")});
  });
  registrar.add<KernelSet>("adamw", [](const Settings&) {
    return std::make_unique<KernelSet>(KernelSet{"host", adamw::kernels()});
  });
}
