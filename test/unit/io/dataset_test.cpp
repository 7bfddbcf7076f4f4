// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "io/dataset/dataset.hpp"

#include <cstdlib>
#include <numeric>
#include <random>

#include "error_matchers.hpp"
#include "io/hdf5/layout_file.hpp"
#include "temporary_folder.hpp"

namespace tessera::io {
namespace {

using Document = std::vector<std::int32_t>;

void write_dataset(const std::filesystem::path& path, std::int64_t vocabulary, const std::vector<Document>& documents) {
  DatasetWriter writer(path, {"test", "digest of test", vocabulary, vocabulary - 1});
  for (const Document& document : documents) writer.append(document);
  writer.finish();
}

Document read_all(const Dataset& dataset) {
  Document tokens(static_cast<std::size_t>(dataset.tokens()));
  dataset.read(0, tokens);
  return tokens;
}

TEST(DatasetTest, KeepsDocumentsAndAttributes) {
  const TemporaryFolder folder;
  write_dataset(folder / "data.h5", 257, {{1, 2, 3, 4, 256}, {256}, {7, 8, 256}});
  const Dataset dataset(folder / "data.h5");
  EXPECT_EQ(dataset.tokens(), 9);
  EXPECT_EQ(dataset.documents(), 3);
  EXPECT_EQ(dataset.max_id(), 256);
  EXPECT_EQ(dataset.vocabulary().tokenizer, "test");
  EXPECT_EQ(dataset.vocabulary().tokenizer_digest, "digest of test");
  EXPECT_EQ(dataset.vocabulary().size, 257);
  EXPECT_EQ(dataset.vocabulary().eod, 256);
  EXPECT_EQ(read_all(dataset), (Document{1, 2, 3, 4, 256, 256, 7, 8, 256}));
  Document part(3);
  dataset.read(4, part);
  EXPECT_EQ(part, (Document{256, 256, 7}));
  std::vector<std::int64_t> owners;
  for (std::int64_t token = 0; token < 9; ++token) owners.push_back(dataset.document_of(token));
  EXPECT_EQ(owners, (std::vector<std::int64_t>{0, 0, 0, 0, 0, 1, 2, 2, 2}));
  EXPECT_EQ(dataset.document_start(3), 9);
  EXPECT_NO_THROW(dataset.verify());
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path()), {}), 1) << "temporary files are left";
}

// Acceptance case B49: ids near the edge of 16 bits survive, and the width follows the vocabulary.
TEST(DatasetTest, WidthFollowsTheVocabulary) {
  const TemporaryFolder folder;
  for (const std::int32_t vocabulary : {65499, 65500, 65535, 65536, 65537, 131072}) {
    Document ids;
    for (const std::int32_t id : {0, 32767, 32768, 65499, 65535, 65536, vocabulary - 1})
      if (id < vocabulary) ids.push_back(id);
    const std::filesystem::path path = folder / std::to_string(vocabulary);
    write_dataset(path, vocabulary, {ids});
    EXPECT_EQ(read_all(Dataset(path)), ids);
    const hdf5::FileLayout layout = hdf5::describe_file(path);
    EXPECT_EQ(layout.find("/tokens")->element, vocabulary <= 65536 ? hdf5::Element::u16 : hdf5::Element::u32);
  }
}

TEST(DatasetTest, RefusesIdsOutsideTheVocabulary) {
  const TemporaryFolder folder;
  DatasetWriter writer(folder / "data.h5", {"test", "", 100, 99});
  writer.append(Document{99});
  expect_error(ErrorKind::data, "document 1 has id 100, the vocabulary has 100", [&] {
    writer.append(Document{5, 100});
  });
  expect_error(ErrorKind::data, "document 1 has id -1", [&] { writer.append(Document{-1}); });
  expect_error(ErrorKind::data, "document 1 has no tokens", [&] { writer.append(Document{}); });
  expect_error(ErrorKind::configuration, "end-of-document id 100", [&] {
    DatasetWriter(folder / "other.h5", {"test", "", 100, 100});
  });
  expect_error(ErrorKind::data, "no documents", [&] {
    DatasetWriter(folder / "other.h5", {"test", "", 100, 0}).finish();
  });
  EXPECT_FALSE(std::filesystem::exists(folder / "other.h5"));
}

TEST(DatasetTest, NamesTheDocumentOfAForeignId) {
  const TemporaryFolder folder;
  write_dataset(folder / "data.h5", 100, {{1, 2}, {3, 4, 5}});
  const hdf5::FileLayout layout = hdf5::describe_file(folder / "data.h5");
  std::string bytes = slurp(folder / "data.h5");
  bytes[static_cast<std::size_t>(layout.find("/tokens")->offset + 2 * 3)] = 120;
  spill(folder / "data.h5", bytes);
  const Dataset dataset(folder / "data.h5");
  expect_error(ErrorKind::data, "document 1 has id 120 as its token 1, the vocabulary has 100",
               [&] { read_all(dataset); });
  expect_error(ErrorKind::data, "checksum of the tokens", [&] { dataset.verify(); });
}

TEST(DatasetTest, ManyDocumentsInSeveralBlocks) {
  const TemporaryFolder folder;
  DatasetWriter writer(folder / "data.h5", {"test", "", 70000, 69999});
  Document document(1000);
  std::int64_t checksum = 0;
  for (std::int32_t i = 0; i < 3000; ++i) {
    std::iota(document.begin(), document.end(), i);
    for (std::int32_t id : document) checksum += id;
    writer.append(document);
  }
  writer.finish();
  const Dataset dataset(folder / "data.h5");
  dataset.verify();
  const Document tokens = read_all(dataset);
  EXPECT_EQ(std::accumulate(tokens.begin(), tokens.end(), std::int64_t{0}), checksum);
  EXPECT_EQ(tokens[2999 * 1000 + 5], 2999 + 5);
  EXPECT_EQ(dataset.document_of(2'999'999), 2999);
}

/// What a damaged file does: an Error (of data or not found), or the same content as before.
enum class Outcome { error, same, changed };

Outcome outcome_of(const std::filesystem::path& path, const Document& expected) {
  try {
    const Dataset dataset(path);
    dataset.verify();
    return read_all(dataset) == expected && dataset.vocabulary().tokenizer == "test" ? Outcome::same : Outcome::changed;
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::data) << error.what();
    return Outcome::error;
  }
}

TEST(DatasetTest, EveryTruncationIsAnError) {
  const TemporaryFolder folder;
  write_dataset(folder / "data.h5", 257, {Document(100, 5), {1, 2, 256}});
  const std::string bytes = slurp(folder / "data.h5");
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    spill(folder / "cut.h5", bytes.substr(0, length));
    ASSERT_EQ(outcome_of(folder / "cut.h5", {}), Outcome::error) << length;
  }
}

TEST(DatasetTest, EveryFlippedBitIsAnErrorOrHarmless) {
  const TemporaryFolder folder;
  write_dataset(folder / "data.h5", 257, {Document(100, 5), {1, 2, 256}});
  const Document expected = read_all(Dataset(folder / "data.h5"));
  const std::string bytes = slurp(folder / "data.h5");
  const hdf5::FileLayout layout = hdf5::describe_file(folder / "data.h5");
  const unsigned seed = std::random_device{}();
  std::mt19937 random(seed);
  std::size_t errors = 0;
  for (std::size_t byte = 0; byte < bytes.size(); ++byte) {
    std::string damaged = bytes;
    damaged[byte] = static_cast<char>(damaged[byte] ^ 1 << random() % 8);
    spill(folder / "flip.h5", damaged);
    const Outcome outcome = outcome_of(folder / "flip.h5", expected);
    ASSERT_NE(outcome, Outcome::changed) << "byte " << byte << ", seed " << seed;
    errors += outcome == Outcome::error;
    for (const hdf5::Extent& dataset : layout.datasets) {
      const auto at = static_cast<std::int64_t>(byte) - dataset.offset;
      if (at >= 0 && at < dataset.bytes()) {
        EXPECT_EQ(outcome, Outcome::error) << dataset.path << " byte " << at;
      }
    }
  }
  EXPECT_GT(errors, 500U);
}

TEST(DatasetTest, OtherFilesAreRefusedWithASentence) {
  const TemporaryFolder folder;
  expect_error(ErrorKind::not_found, "No such file", [&] { Dataset(folder / "nowhere.h5"); });
  spill(folder / "text.h5", "this is text");
  expect_error(ErrorKind::data, "text.h5: HDF5", [&] { Dataset(folder / "text.h5"); });
  hdf5::FileLayout layout{{{"/other", hdf5::Element::f32, {3}, {}}}, {}};
  hdf5::create_file(folder / "other.h5", layout);
  expect_error(ErrorKind::data, "attribute format is missing", [&] { Dataset(folder / "other.h5"); });
}

TEST(DatasetTest, FingerprintFollowsTheContent) {
  const TemporaryFolder folder;
  write_dataset(folder / "a.h5", 257, {{1, 2, 3}});
  write_dataset(folder / "b.h5", 257, {{1, 2, 3}});
  write_dataset(folder / "c.h5", 257, {{1, 2}, {3}});
  write_dataset(folder / "d.h5", 257, {{1, 2, 4}});
  EXPECT_EQ(Dataset(folder / "a.h5").fingerprint(), Dataset(folder / "b.h5").fingerprint());
  EXPECT_NE(Dataset(folder / "a.h5").fingerprint(), Dataset(folder / "c.h5").fingerprint());
  EXPECT_NE(Dataset(folder / "a.h5").fingerprint(), Dataset(folder / "d.h5").fingerprint());
}

TEST(DatasetTest, ReadableFromPython) {
  if (std::system("/usr/bin/python3 -c 'import h5py' 2>/dev/null") != 0)
    GTEST_SKIP() << "python3 with h5py is not here";
  const TemporaryFolder folder;
  write_dataset(folder / "data.h5", 257, {{1, 2, 256}, {7, 256}});
  spill(folder / "read.py",
        "import h5py, sys\n"
        "f = h5py.File(sys.argv[1], 'r')\n"
        "assert f['tokens'].dtype == 'uint16' and list(f['tokens']) == [1, 2, 256, 7, 256]\n"
        "assert list(f['documents']) == [0, 3, 5]\n"
        "assert f.attrs['vocab_size'] == 257 and f.attrs['tokenizer'] == b'test', f.attrs['tokenizer']\n");
  EXPECT_EQ(
      std::system(("/usr/bin/python3 " + (folder / "read.py").native() + " " + (folder / "data.h5").native()).c_str()),
      0);
}

}  // namespace
}  // namespace tessera::io
