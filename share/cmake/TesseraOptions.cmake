# SPDX-FileCopyrightText: The Tessera authors
# SPDX-License-Identifier: Apache-2.0
#
# The options of a build, the language level, and the two interface targets that carry flags.

option(TESSERA_TESTS "Build the tests" OFF)
option(TESSERA_NATIVE "Optimise kernels for the processor of this machine" ON)
option(TESSERA_OPENMP "Threads within a rank" ON)
option(TESSERA_ONEDNN "fp32 matrix products by oneDNN as variants that a table of kernels may choose" ON)
option(TESSERA_MODULES_STATIC "Link the modules into the program instead of loading them" OFF)
set(TESSERA_SANITIZE "" CACHE STRING "Sanitizers, as given to -fsanitize=")

if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "" FORCE)
endif()

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/bin")
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/lib")
# From the program, from a library, from a module below lib/tessera/modules.
set(CMAKE_INSTALL_RPATH "$ORIGIN/../${CMAKE_INSTALL_LIBDIR}" "$ORIGIN" "$ORIGIN/../..")
set(CMAKE_INSTALL_DEFAULT_COMPONENT_NAME Runtime)
set(CMAKE_BUILD_RPATH_USE_ORIGIN ON)

find_program(TESSERA_CCACHE ccache)
if(TESSERA_CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER "${TESSERA_CCACHE}")
  set(CMAKE_C_COMPILER_LAUNCHER "${TESSERA_CCACHE}")
endif()

find_package(Threads REQUIRED)
find_package(fmt REQUIRED)
if(TESSERA_OPENMP)
  find_package(OpenMP REQUIRED COMPONENTS CXX)
endif()

# How our own code is compiled. Linked privately, never exported.
add_library(tessera_flags INTERFACE)
target_compile_options(tessera_flags INTERFACE
  -Wall -Wextra -Wpedantic -Werror -Wconversion -Wshadow -Wnon-virtual-dtor -Woverloaded-virtual
  $<$<CONFIG:Release>:-O3>)
target_link_options(tessera_flags INTERFACE -Wl,-z,defs)
if(TESSERA_SANITIZE)
  # gcc 12 sees uninitialised variants and vectors where a sanitizer's checks are woven in.
  add_compile_options(-fsanitize=${TESSERA_SANITIZE} -fno-omit-frame-pointer -O1 -Wno-maybe-uninitialized)
  add_link_options(-fsanitize=${TESSERA_SANITIZE})
endif()

# How kernels are compiled: for this processor, with vectorised reductions written by hand, never by reordering.
add_library(tessera_kernel_flags INTERFACE)
target_compile_options(tessera_kernel_flags INTERFACE -fno-math-errno -fno-trapping-math -fopenmp-simd)
if(TESSERA_NATIVE)
  target_compile_options(tessera_kernel_flags INTERFACE -march=native -mprefer-vector-width=512)
endif()
if(TESSERA_OPENMP)
  target_link_libraries(tessera_kernel_flags INTERFACE OpenMP::OpenMP_CXX)
endif()
