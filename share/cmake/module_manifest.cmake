# SPDX-FileCopyrightText: The Tessera authors
# SPDX-License-Identifier: Apache-2.0
#
# Run by the build after a module was linked: writes the manifest beside the library. The build tag is read out of the
# library itself, so it says what is in there, whatever flags it was compiled with.
#   cmake -DLIBRARY=… -DMANIFEST=… -DKIND=… -DNAME=… -DVERSION=… -DSUMMARY=… -DOPTIONS=FILE -P module_manifest.cmake
cmake_minimum_required(VERSION 3.25)
file(STRINGS ${LIBRARY} tags REGEX "^tessera abi [0-9]+\\.[0-9]+, ")
list(LENGTH tags count)
if(NOT count EQUAL 1)
  message(FATAL_ERROR "${LIBRARY} holds ${count} build tags; a module has exactly one TESSERA_MODULE(…)")
endif()
string(REGEX MATCH "abi ([0-9]+)\\.([0-9]+)" ignored "${tags}")
set(abi_major ${CMAKE_MATCH_1})
set(abi_minor ${CMAKE_MATCH_2})
set(options "[]")
if(OPTIONS)
  file(READ ${OPTIONS} options)
endif()

set(manifest "{}")
string(JSON manifest SET "${manifest}" abi_major ${abi_major})
string(JSON manifest SET "${manifest}" abi_minor ${abi_minor})
set(BUILD_TAG "${tags}")
cmake_path(GET LIBRARY FILENAME LIBRARY)
foreach(field IN ITEMS kind name version summary build_tag library)
  string(TOUPPER ${field} variable)
  set(value "${${variable}}")
  string(REPLACE "\\" "\\\\" value "${value}")
  string(REPLACE "\"" "\\\"" value "${value}")
  string(JSON manifest SET "${manifest}" ${field} "\"${value}\"")
endforeach()
string(JSON manifest SET "${manifest}" options "${options}")
file(WRITE ${MANIFEST} "${manifest}\n")
