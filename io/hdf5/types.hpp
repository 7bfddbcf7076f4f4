// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  the HDF5 description of our element types, both ways.
// Used: the sources of io/hdf5 and the MPI-IO transport.
// Must not know: files.
#pragma once

#include <optional>

#include "io/hdf5/handle.hpp"
#include "io/hdf5/layout_file.hpp"

namespace tessera::io::hdf5 {

/// A new HDF5 type. The caller holds a Turn.
Object type_of(Element element);

/// Which element type an HDF5 type is, if any. The caller holds a Turn.
std::optional<Element> element_of_type(Id type);

}  // namespace tessera::io::hdf5
