# SPDX-FileCopyrightText: The Tessera authors
# SPDX-License-Identifier: Apache-2.0
#
# The install tree besides what each target installs itself. Components: Runtime is what a machine needs that trains;
# Development is what it needs to build programs and modules against Tessera: headers, and the package that
# find_package(tessera) finds. The tree may be moved as a whole.
include(CMakePackageConfigHelpers)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/tessera)
set(data_dir ${CMAKE_INSTALL_DATADIR}/tessera)

# Data are where the program looks for them: ../share/tessera from its own folder.
foreach(folder IN ITEMS models configs machines)
  if(EXISTS ${PROJECT_SOURCE_DIR}/share/${folder})
    install(DIRECTORY share/${folder} DESTINATION ${data_dir} COMPONENT Runtime)
  endif()
endforeach()
install(DIRECTORY slurm DESTINATION ${data_dir} COMPONENT Runtime USE_SOURCE_PERMISSIONS)
install(DIRECTORY share/doc/ DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT Runtime)
install(FILES README.md CHANGELOG.md LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT Runtime)

install(EXPORT tessera NAMESPACE tessera:: DESTINATION ${package_dir} FILE tesseraTargets.cmake COMPONENT Development)
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/tesseraConfig.cmake.in
  ${PROJECT_BINARY_DIR}/cmake/tesseraConfig.cmake INSTALL_DESTINATION ${package_dir} PATH_VARS data_dir)
# Modules are built against exactly the engine that loads them.
write_basic_package_version_file(${PROJECT_BINARY_DIR}/cmake/tesseraConfigVersion.cmake COMPATIBILITY ExactVersion)
install(FILES ${PROJECT_BINARY_DIR}/cmake/tesseraConfig.cmake ${PROJECT_BINARY_DIR}/cmake/tesseraConfigVersion.cmake
  DESTINATION ${package_dir} COMPONENT Development)

# tessera_add_module() for modules that are built outside this tree, and the files that it is made of.
install(FILES
  ${CMAKE_CURRENT_LIST_DIR}/TesseraModule.cmake
  ${CMAKE_CURRENT_LIST_DIR}/module_exports.map
  ${CMAKE_CURRENT_LIST_DIR}/module_manifest.cmake
  ${CMAKE_CURRENT_LIST_DIR}/module_options.cpp.in
  DESTINATION ${package_dir} COMPONENT Development)
