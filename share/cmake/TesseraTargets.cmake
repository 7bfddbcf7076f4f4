# SPDX-FileCopyrightText: The Tessera authors
# SPDX-License-Identifier: Apache-2.0
#
# One function per kind of thing: library, module, test.

# tessera_add_library(NAME): a shared library whose sources its folders add with target_sources(). Installs it, and the
# headers below the calling folder.
function(tessera_add_library name)
  add_library(${name} SHARED)
  add_library(tessera::${name} ALIAS ${name})
  target_link_libraries(${name} PRIVATE tessera_flags)
  target_compile_features(${name} PUBLIC cxx_std_20)
  target_include_directories(${name} PUBLIC
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}/tessera>)
  set_target_properties(${name} PROPERTIES VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR})
  install(TARGETS ${name} EXPORT tessera
    LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT Runtime NAMELINK_COMPONENT Development)
  install(DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/tessera COMPONENT Development
    FILES_MATCHING PATTERN "*.hpp" PATTERN "*.h")
endfunction()

# tessera_add_test(NAME SOURCES … [LIBRARIES …] [LABELS …] [RANKS n]): a GoogleTest program. With RANKS it is started by
# mpirun on that many ranks, and has the main program of test/support/mpi_main.cpp; called again with another number it
# adds only a test. A test that hangs is ended after the time of the preset, which is far beyond what any takes.
function(tessera_add_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "RANKS" "SOURCES;LIBRARIES;LABELS")
  if(NOT TARGET ${name})
    add_executable(${name} ${arg_SOURCES})
    if(arg_RANKS)
      set(main tessera_mpi_test_main)
    else()
      set(main tessera_test_main)
    endif()
    target_link_libraries(${name} PRIVATE tessera_flags ${main} tessera ${arg_LIBRARIES})
    target_precompile_headers(${name} REUSE_FROM tessera_test_main)
    set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/test"
                          POSITION_INDEPENDENT_CODE OFF)
  endif()
  if(arg_RANKS)
    set(test_name ${name}.ranks${arg_RANKS})
    add_test(NAME ${test_name} COMMAND ${PROJECT_SOURCE_DIR}/test/support/mpirun.sh ${arg_RANKS} $<TARGET_FILE:${name}>)
    set_tests_properties(${test_name} PROPERTIES PROCESSORS 2)
  else()
    set(test_name ${name})
    add_test(NAME ${test_name} COMMAND ${name})
  endif()
  set_tests_properties(${test_name} PROPERTIES LABELS "${arg_LABELS}" WORKING_DIRECTORY "${PROJECT_BINARY_DIR}/test")
endfunction()
