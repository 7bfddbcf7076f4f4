// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  the names inside a dataset file.
// Used: its writer and its reader.
// Must not know: either of them.
#pragma once

#include <cstdint>

#include "io/hash.hpp"
#include "io/hdf5/layout_file.hpp"

namespace tessera::io::dataset_format {

inline constexpr const char* k_name = "tessera-dataset";
inline constexpr std::int64_t k_version = 1;
inline constexpr const char* k_tokens = "/tokens";
inline constexpr const char* k_documents = "/documents";
inline constexpr const char* k_tokens_hash = "/tokens_hash";
inline constexpr const char* k_documents_hash = "/documents_hash";

/// The narrowest type that holds every id of a vocabulary.
constexpr hdf5::Element element_for(std::int64_t vocabulary) {
  return vocabulary <= 65536 ? hdf5::Element::u16 : hdf5::Element::u32;
}

}  // namespace tessera::io::dataset_format
