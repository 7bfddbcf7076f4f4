# SPDX-FileCopyrightText: The Tessera authors
# SPDX-License-Identifier: Apache-2.0
#
# The install tree: headers under include/tessera, libraries, modules, and the package that find_package(tessera) finds.
include(CMakePackageConfigHelpers)

install(DIRECTORY core DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/tessera FILES_MATCHING PATTERN "*.hpp" PATTERN "*.h")
install(EXPORT tessera NAMESPACE tessera:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/tessera FILE tesseraTargets.cmake)
