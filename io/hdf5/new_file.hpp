// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  what all files that we make have in common: format, alignment, attributes, dataspaces.
// Used: create_file and join_files.
// Must not know: how the bytes of a dataset are stored.
#pragma once

#include <filesystem>
#include <vector>

#include "io/hdf5/handle.hpp"
#include "io/hdf5/layout_file.hpp"

namespace tessera::io::hdf5 {

/// Attaches attributes to an open object. The caller holds a Turn. Strings have fixed length, in UTF-8.
void write_attributes(Id object, const std::vector<Attribute>& attributes, const Place& place);

/// A new file in the 1.10 format with our alignment, and these attributes at its root. The caller holds a Turn.
Object new_file(const std::filesystem::path& path, const std::vector<Attribute>& attributes, const Place& place);

/// The dataspace of a dataset. The caller holds a Turn.
Object space_of(const Extent& dataset, const Place& place);

/// How links are made: groups on the way are made with them. The caller holds a Turn.
Object links_with_groups(const Place& place);

}  // namespace tessera::io::hdf5
