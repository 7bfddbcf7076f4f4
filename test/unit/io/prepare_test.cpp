// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "io/text/prepare.hpp"

#include <random>

#include "error_matchers.hpp"
#include "io/dataset/dataset.hpp"
#include "io/text/line_reader.hpp"
#include "io/text/text_inputs.hpp"
#include "io/text/text_of_json.hpp"
#include "temporary_folder.hpp"

namespace tessera::io {
namespace {

/// The texts of a dataset, as the byte tokenizer gives them back.
std::vector<std::string> documents_of(const std::filesystem::path& path) {
  const Dataset dataset(path);
  const auto tokenizer = make_tokenizer("bytes");
  std::vector<std::string> texts;
  for (std::int64_t document = 0; document < dataset.documents(); ++document) {
    const std::int64_t first = dataset.document_start(document);
    std::vector<std::int32_t> ids(static_cast<std::size_t>(dataset.document_start(document + 1) - first));
    dataset.read(first, ids);
    EXPECT_EQ(ids.back(), tokenizer->eod());
    texts.push_back(tokenizer->decode(ids));
  }
  return texts;
}

class PrepareTest : public testing::Test {
 protected:
  PrepareReport run(std::vector<std::string> inputs, std::int64_t max_bad = 0) {
    PrepareOptions options;
    for (const std::string& input : inputs) options.inputs.push_back((folder_ / input).native());
    options.output = folder_ / "out.h5";
    options.max_bad = max_bad;
    return prepare(options, *make_tokenizer("bytes"));
  }

  std::vector<std::string> documents() const { return documents_of(folder_ / "out.h5"); }

  TemporaryFolder folder_;
};

TEST(ByteTokenizerTest, EveryByteComesBack) {
  const auto tokenizer = make_tokenizer("bytes");
  std::string text;
  for (int byte = 0; byte < 256; ++byte) text.push_back(static_cast<char>(byte));
  std::vector<std::int32_t> ids{7};
  tokenizer->encode(text, ids);
  EXPECT_EQ(ids.size(), 257U);
  EXPECT_EQ(ids[256], 255);
  EXPECT_EQ(tokenizer->decode(std::span(ids).subspan(1)), text);
  EXPECT_EQ(tokenizer->vocab_size(), 257);
  ids = {72, 256, 105};
  EXPECT_EQ(tokenizer->decode(ids), "Hi");
  ids = {257};
  expect_error(ErrorKind::data, "id 257", [&] { tokenizer->decode(ids); });
  expect_error(ErrorKind::configuration, "no tokenizer 'byte'", [] { make_tokenizer("byte"); });
}

// Acceptance case B48: what real files contain.
TEST_F(PrepareTest, NastyLines) {
  const std::string huge(10 << 20, 'h');
  spill(folder_ / "a.jsonl",
        "\xef\xbb\xbf"
        "{\"text\": \"\"}\n"
        "{\"text\": \"first\"}\r\n"
        "\n"
        "  \t\r\n"
        "{\"id\": 3, \"nested\": {\"text\": \"no\"}, \"text\": \"sec\\u00f6nd\\r\\n\"}\n"
        "{\"text\": \"\"}\n"
        "{\"text\": \"" +
            huge +
            "\"}\n"
            "{\"text\": \"nul \\u0000 byte\"}\n"
            "{\"text\": \"one\", \"text\": \"two\"}\n"
            "{\"text\": \"no final newline\"}");
  const PrepareReport report = run({"a.jsonl"});
  EXPECT_EQ(documents(), (std::vector<std::string>{"first", "sec\xc3\xb6nd\r\n", huge, std::string("nul \0 byte", 10),
                                                   "two", "no final newline"}));
  EXPECT_EQ(report.documents, 6);
  EXPECT_EQ(report.empty, 2);
  EXPECT_EQ(report.blank, 2);
  EXPECT_EQ(report.bad, 0);
  EXPECT_EQ(report.text_bytes, 5 + 9 + (10 << 20) + 10 + 3 + 16);
  EXPECT_EQ(report.tokens, report.text_bytes + report.documents);
}

TEST_F(PrepareTest, BadLinesAreErrorsOrCounted) {
  spill(folder_ / "bad.jsonl",
        "{\"text\": \"good\"}\n"
        "{\"text\": null}\n"
        "{\"title\": \"x\"}\n"
        "{\"text\": 3}\n"
        "{\"text\": [\"a\"]}\n"
        "{\"text\": \"broken\n"
        "[\"text\"]\n"
        "\"text\"\n"
        "{\"text\": \"\xff\xfe\"}\n"
        "{\"text\": \"lone \\ud800 half\"}\n"
        "{\"text\": \"a\"} {\"text\": \"b\"}\n"
        "nonsense\n"
        "{\"text\": \"good too\"}\n");
  const std::string place = (folder_ / "bad.jsonl").native();
  expect_error(ErrorKind::data, place + ":2 (byte 17): 'text' is null, not a string", [&] { run({"bad.jsonl"}); });
  EXPECT_FALSE(std::filesystem::exists(folder_ / "out.h5"));
  expect_error(ErrorKind::data, place + ":12 (byte ", [&] { run({"bad.jsonl"}, 10); });
  const PrepareReport report = run({"bad.jsonl"}, 11);
  EXPECT_EQ(documents(), (std::vector<std::string>{"good", "good too"}));
  EXPECT_EQ(report.bad, 11);
  ASSERT_EQ(report.bad_lines.size(), 10U);
  using testing::HasSubstr;
  EXPECT_THAT(
      report.bad_lines,
      testing::ElementsAre(HasSubstr(":2 "), HasSubstr("no key 'text'"), HasSubstr("is a number"),
                           HasSubstr("is an array"), HasSubstr(":6 (byte 75): no valid JSON at byte 17"),
                           HasSubstr(":7 (byte 92): not an object"), HasSubstr(":8 "), HasSubstr("no valid JSON"),
                           HasSubstr("no valid JSON"), HasSubstr("no valid JSON at byte 15")));
}

TEST_F(PrepareTest, DirectoriesPatternsAndPlainFiles) {
  std::filesystem::create_directories(folder_ / "d/sub");
  std::filesystem::create_directories(folder_ / "d/.hidden");
  spill(folder_ / "d/b.txt",
        "\xef\xbb\xbf"
        "line\r\nline");
  spill(folder_ / "d/a.txt", "first");
  spill(folder_ / "d/empty.txt", "");
  spill(folder_ / "d/sub/c.jsonl", "{\"text\": \"from a line\"}\n");
  spill(folder_ / "d/picture.png", "no text");
  spill(folder_ / "d/.hidden/e.txt", "hidden");
  const PrepareReport report = run({"d", "d/*.txt", "d/picture.png"});
  EXPECT_EQ(documents(),
            (std::vector<std::string>{"first", "line\r\nline", "from a line", "first", "line\r\nline", "no text"}));
  EXPECT_EQ(report.files, 8);
  EXPECT_EQ(report.empty, 2);
  expect_error(ErrorKind::not_found, "nowhere: No such file", [&] { run({"d", "nowhere"}); });
  expect_error(ErrorKind::not_found, "no text in", [&] { run({"d/*.csv"}); });
}

TEST_F(PrepareTest, RefusesWhatHasNoText) {
  spill(folder_ / "empty.jsonl", "");
  expect_error(ErrorKind::data, "no documents", [&] { run({"empty.jsonl"}); });
  spill(folder_ / "packed.jsonl", std::string("\x1f\x8b\x08\x00\x00", 5));
  expect_error(ErrorKind::data, "is compressed", [&] { run({"packed.jsonl"}); });
  EXPECT_FALSE(std::filesystem::exists(folder_ / "out.h5"));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "out.h5.tokens.tmp"));
}

TEST_F(PrepareTest, TheSameInputGivesTheSameFile) {
  spill(folder_ / "a.txt", "some text");
  run({"a.txt"});
  const std::string first = slurp(folder_ / "out.h5");
  run({"a.txt"});
  EXPECT_TRUE(slurp(folder_ / "out.h5") == first);
}

TEST(LineReaderTest, LinesOfAllLengths) {
  const TemporaryFolder folder;
  const unsigned seed = std::random_device{}();
  std::mt19937 random(seed);
  for (const bool final_newline : {true, false}) {
    std::vector<std::string> lines;
    std::string text;
    for (int i = 0; i < 300; ++i) {
      const bool last = i == 299;
      lines.emplace_back(last ? 5 : random() % (i % 50 == 0 ? 3'000'000 : 300), static_cast<char>('a' + i % 26));
      text += lines.back();
      if (!last || final_newline) text += '\n';
    }
    spill(folder / "lines", text);
    LineReader reader(folder / "lines");
    std::int64_t offset = 0;
    for (std::size_t i = 0; i < lines.size(); ++i) {
      ASSERT_TRUE(reader.next());
      ASSERT_TRUE(reader.line() == lines[i]) << "line " << i << ", seed " << seed;
      ASSERT_EQ(reader.offset(), offset);
      ASSERT_EQ(reader.number(), static_cast<std::int64_t>(i + 1));
      ASSERT_EQ(reader.terminated(), final_newline || i != 299);
      offset += static_cast<std::int64_t>(lines[i].size()) + 1;
    }
    EXPECT_FALSE(reader.next());
    EXPECT_FALSE(reader.next());
  }
}

TEST(TextOfJsonTest, SurvivesAnyBytes) {
  const unsigned seed = std::random_device{}();
  std::mt19937 random(seed);
  const std::string pieces[] = {"{",   "}",  "[",    "]",     "\"",   "text", ":", ",",
                                "\\u", "d8", "null", "1e999", "\xc3", "\n",   " "};
  for (int round = 0; round < 20000; ++round) {
    std::string line;
    for (auto i = random() % 20; i > 0; --i) line += pieces[random() % std::size(pieces)];
    std::string why;
    const auto text = text_of_json(line, "text", why);
    ASSERT_EQ(text.has_value(), why.empty()) << line << ", seed " << seed;
  }
  std::string why;
  EXPECT_FALSE(text_of_json(std::string(1 << 20, '['), "text", why).has_value());
  EXPECT_EQ(text_of_json("{\"text\": {\"text\": \"x\"}, \"text\": \"y\"}", "text", why), "y");
  EXPECT_EQ(text_of_json("{\"body\": \"b\"}", "body", why), "b");
}

}  // namespace
}  // namespace tessera::io
