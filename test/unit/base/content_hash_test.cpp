// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "core/base/content_hash.hpp"

#include <gmock/gmock.h>

#include <fstream>

#include "core/base/error.hpp"

namespace tessera {
namespace {

TEST(ContentHash, IsTheReferenceValue) {
  // XXH3_128bits("") of the specification.
  EXPECT_EQ(to_string(content_hash("")), "99aa06d3014798d86001c324468d497f");
  EXPECT_NE(content_hash("a"), content_hash("b"));
}

TEST(ContentHash, OfAFileIsThatOfItsBytes) {
  std::string bytes(200'001, '\0');
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>(i * 7);
  const std::string path = testing::TempDir() + "content_hash_test.bin";
  std::ofstream(path, std::ios::binary) << bytes;
  EXPECT_EQ(file_content_hash(path), content_hash(bytes));
  EXPECT_THROW(file_content_hash(path + ".missing"), Error);
}

}  // namespace
}  // namespace tessera
