// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "io/checkpoint/transport.hpp"

#include <array>

#include "io/checkpoint/direct_transport.hpp"
#include "io/checkpoint/parallel_transport.hpp"

namespace tessera::io {

std::string_view name_of(Transport transport) {
  constexpr std::array<std::string_view, 3> names{"direct", "independent", "collective"};
  return names[static_cast<std::size_t>(transport)];
}

std::unique_ptr<PieceTransport> make_transport(Transport transport, Communicator& ranks) {
  if (transport == Transport::direct) return std::make_unique<DirectTransport>();
  return make_parallel_transport(transport, ranks);
}

}  // namespace tessera::io
