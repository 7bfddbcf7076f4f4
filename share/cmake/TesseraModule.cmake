# SPDX-FileCopyrightText: The Tessera authors
# SPDX-License-Identifier: Apache-2.0
#
# How a module is built, in this tree and against an installed one (find_package(tessera) brings this file).
include_guard(GLOBAL)

# tessera_add_module(KIND kind NAME name SOURCES … [VERSION version] [OPTIONS file] [LIBRARIES …] [FOLDER path]
#                    [NO_INSTALL])
#
# Makes <kind>_<name>.so and its manifest <kind>_<name>.json in lib/tessera/modules of the build (or in FOLDER), and
# installs both. One of the sources has a TESSERA_MODULE(kind, name, "summary") { … }. OPTIONS is options.json if there
# is one. With TESSERA_MODULES_STATIC the same sources become a part of the program instead.
function(tessera_add_module)
  cmake_parse_arguments(PARSE_ARGV 0 arg "NO_INSTALL" "KIND;NAME;VERSION;OPTIONS;FOLDER" "SOURCES;LIBRARIES")
  foreach(required IN ITEMS KIND NAME SOURCES)
    if(NOT arg_${required})
      message(FATAL_ERROR "tessera_add_module needs ${required}")
    endif()
  endforeach()
  if(NOT arg_VERSION)
    set(arg_VERSION ${PROJECT_VERSION})
  endif()
  set(module ${arg_KIND}_${arg_NAME})
  tessera_module_options(options_file)
  if(TESSERA_MODULES_STATIC AND NOT arg_FOLDER)
    add_library(module_${module} OBJECT)
    target_compile_definitions(module_${module} PRIVATE TESSERA_MODULE_SYMBOL=tessera_module_of_${module})
    set_property(GLOBAL APPEND PROPERTY TESSERA_LINKED_MODULES ${module})
  else()
    add_library(module_${module} MODULE)
    tessera_module_library()
  endif()
  target_sources(module_${module} PRIVATE ${arg_SOURCES} ${CMAKE_CURRENT_BINARY_DIR}/${module}_options.cpp)
  target_compile_features(module_${module} PRIVATE cxx_std_20)
  target_compile_definitions(module_${module} PRIVATE TESSERA_MODULE_KIND="${arg_KIND}" TESSERA_MODULE_NAME="${arg_NAME}"
                             TESSERA_MODULE_VERSION="${arg_VERSION}")
  target_link_libraries(module_${module} PRIVATE tessera::tessera ${arg_LIBRARIES})
  if(TARGET tessera_flags)  # inside the tree: our warnings, and headers that are made first
    target_link_libraries(module_${module} PRIVATE tessera_flags)
    add_dependencies(module_${module} tessera_interface_hash)
  else()  # elsewhere: the folder is seen under the name that it has in the tree
    set(view ${CMAKE_CURRENT_BINARY_DIR}/${module}_view)
    file(MAKE_DIRECTORY ${view}/modules/${arg_KIND})
    file(CREATE_LINK ${CMAKE_CURRENT_SOURCE_DIR} ${view}/modules/${arg_KIND}/${arg_NAME} SYMBOLIC)
    target_include_directories(module_${module} PRIVATE ${view})
  endif()
  if(TARGET tessera_modules AND NOT arg_FOLDER)
    add_dependencies(tessera_modules module_${module})
  endif()
  set_target_properties(module_${module} PROPERTIES CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
endfunction()

# Embeds the options; in the caller's scope `result` is the file, or empty. Part of tessera_add_module.
function(tessera_module_options result)
  set(file "${arg_OPTIONS}")
  if(NOT file AND EXISTS ${CMAKE_CURRENT_SOURCE_DIR}/options.json)
    set(file options.json)
  endif()
  set(options "[]")
  if(file)
    cmake_path(ABSOLUTE_PATH file BASE_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR})
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
    file(READ ${file} options)
  endif()
  configure_file(${CMAKE_CURRENT_FUNCTION_LIST_DIR}/module_options.cpp.in ${module}_options.cpp @ONLY)
  set(${result} "${file}" PARENT_SCOPE)
endfunction()

# What only a library that is loaded needs: its place, its one symbol, its manifest. Part of tessera_add_module.
function(tessera_module_library)
  set(folder "${arg_FOLDER}")
  if(NOT folder)
    set(folder ${PROJECT_BINARY_DIR}/lib/tessera/modules)
  endif()
  tessera_module_summary(summary)
  set(exports ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/module_exports.map)
  set_target_properties(module_${module} PROPERTIES
    PREFIX "" SUFFIX .so OUTPUT_NAME ${module} LIBRARY_OUTPUT_DIRECTORY ${folder} LINK_DEPENDS ${exports}
    INSTALL_RPATH "$ORIGIN/../..")
  target_link_options(module_${module} PRIVATE -Wl,-z,defs -Wl,--version-script=${exports})
  add_custom_command(TARGET module_${module} POST_BUILD
    COMMAND ${CMAKE_COMMAND} "-DLIBRARY=$<TARGET_FILE:module_${module}>" "-DMANIFEST=${folder}/${module}.json"
            -DKIND=${arg_KIND} -DNAME=${arg_NAME} -DVERSION=${arg_VERSION} "-DSUMMARY=${summary}"
            "-DOPTIONS=${options_file}"
            -P ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/module_manifest.cmake
    BYPRODUCTS ${folder}/${module}.json VERBATIM)
  if(NOT arg_NO_INSTALL)
    include(GNUInstallDirs)
    install(TARGETS module_${module} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/tessera/modules)
    install(FILES ${folder}/${module}.json DESTINATION ${CMAKE_INSTALL_LIBDIR}/tessera/modules)
  endif()
endfunction()

# The summary stands once, in the source: TESSERA_MODULE(kind, name, "summary"). Part of tessera_add_module.
function(tessera_module_summary result)
  foreach(source IN LISTS arg_SOURCES)
    cmake_path(ABSOLUTE_PATH source BASE_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR})
    file(READ ${source} text)
    if(text MATCHES "TESSERA_MODULE(_IF)?\\([a-z0-9_]+,[ \n]*[a-z0-9_]+,[ \n]*\"([^\"]*)\"")
      set(${result} "${CMAKE_MATCH_2}" PARENT_SCOPE)
      set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${source})
      return()
    endif()
  endforeach()
  message(FATAL_ERROR "no source of module ${arg_KIND} ${arg_NAME} has a TESSERA_MODULE(kind, name, \"summary\")")
endfunction()

# tessera_linked_modules(TARGET): a library whose table holds the modules that are part of the program, usually none.
function(tessera_linked_modules target)
  get_property(modules GLOBAL PROPERTY TESSERA_LINKED_MODULES)
  set(declarations "")
  set(table "")
  foreach(module IN LISTS modules)
    string(APPEND declarations "extern const tessera_module_descriptor tessera_module_of_${module};\n")
    string(APPEND table "&tessera_module_of_${module}, ")
  endforeach()
  configure_file(${CMAKE_CURRENT_FUNCTION_LIST_DIR}/linked_modules.cpp.in linked_modules.cpp @ONLY)
  add_library(${target} STATIC ${CMAKE_CURRENT_BINARY_DIR}/linked_modules.cpp)
  target_link_libraries(${target} PUBLIC tessera::tessera)
  foreach(module IN LISTS modules)
    target_sources(${target} PRIVATE $<TARGET_OBJECTS:module_${module}>)
  endforeach()
endfunction()
