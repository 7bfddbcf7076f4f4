# SPDX-FileCopyrightText: The Tessera authors
# SPDX-License-Identifier: Apache-2.0
#
# Run by the build: cmake -DFOLDER=… -DOUTPUT=… -P interface_hash.cmake. Writes the hash of all headers of core.
cmake_minimum_required(VERSION 3.25)
file(GLOB_RECURSE headers RELATIVE ${FOLDER} ${FOLDER}/core/*.hpp ${FOLDER}/core/*.h)
list(SORT headers)
set(hashes "")
foreach(header IN LISTS headers)
  file(SHA256 ${FOLDER}/${header} hash)
  string(APPEND hashes "${header} ${hash}\n")
endforeach()
string(SHA256 hash "${hashes}")
string(SUBSTRING ${hash} 0 16 hash)
file(WRITE ${OUTPUT} "#define TESSERA_INTERFACE_HASH \"${hash}\"\n")
