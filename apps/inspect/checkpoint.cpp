// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "apps/inspect/checkpoint.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "apps/inspect/state_text.hpp"
#include "core/comm/self_communicator.hpp"
#include "io/checkpoint/blocks.hpp"
#include "io/checkpoint/checkpoint_reader.hpp"
#include "io/checkpoint/folders.hpp"
#include "io/hash.hpp"

namespace tessera::apps {
namespace {

constexpr std::string_view k_model = "/model/";

/// The tensors and files that are not as the manifest says.
std::vector<std::string> damages(const io::CheckpointReader& reader, Communicator& ranks) {
  const io::Manifest& manifest = reader.manifest();
  const io::FileContents contents = io::read_contents(reader.folder(), manifest.files, manifest.tensors, ranks);
  std::vector<std::string> found;
  for (std::size_t f = 0; f < manifest.files.size(); ++f) {
    const io::ManifestFile& file = manifest.files[f];
    for (std::size_t block = 0; block < file.blocks.size(); ++block) {
      if (contents.blocks[f][block] == file.blocks[block]) continue;
      const std::int64_t from = static_cast<std::int64_t>(block) * io::k_hash_block;
      found.push_back(fmt::format("{}: the checksum of bytes {} to {} differs", file.name, from,
                                  std::min(from + io::k_hash_block, file.bytes)));
    }
  }
  for (std::size_t t = 0; t < manifest.tensors.size(); ++t) {
    const io::ManifestTensor& tensor = manifest.tensors[t];
    if (contents.digests[t] != tensor.digest)
      found.push_back(fmt::format("{}: its digest is {}, it was saved with {}", tensor.tensor.path,
                                  io::to_string(contents.digests[t]), io::to_string(tensor.digest)));
  }
  return found;
}

void verify(const io::CheckpointReader& reader, Communicator& ranks) {
  const std::vector<std::string> found = damages(reader, ranks);
  if (found.empty()) return;
  std::string message = fmt::format("{} is damaged:", reader.folder().native());
  for (const std::string& sentence : found) message += "\n  " + sentence;
  throw Error(ErrorKind::data, message, "Use another checkpoint, or copy this one again.");
}

Table files_table(const io::Manifest& manifest) {
  Table table{"files", "files", {{"name", "name"}, {"bytes", "size"}, {"blocks", "checksums"}}};
  for (const io::ManifestFile& file : manifest.files)
    table.add({file.name, Cell::bytes(file.bytes), static_cast<std::int64_t>(file.blocks.size())});
  return table;
}

Table tensors_table(const io::Manifest& manifest) {
  Table table{"tensors",
              "tensors",
              {{"path", "path"},
               {"shape", "shape"},
               {"dtype", "dtype"},
               {"bytes", "size"},
               {"file", "file"},
               {"stacked", "layers"},
               {"digest", "digest"}}};
  for (const io::ManifestTensor& entry : manifest.tensors) {
    const io::LogicalTensor& tensor = entry.tensor;
    const auto layers = static_cast<std::int64_t>(tensor.stack.size());
    table.add({tensor.path, to_string(tensor.shape), name_of(tensor.dtype), Cell::bytes(tensor.bytes()), entry.file,
               layers == 0 ? Cell::nothing() : Cell(layers), io::to_string(entry.digest)});
  }
  return table;
}

void add_state(Document& document, const std::string& state) {
  Table table{"state", "state", {{"name", "name"}, {"value", "value"}}};
  for (const auto& [name, value] : state_rows(state)) table.add({name, value});
  if (!table.rows.empty()) document.add(std::move(table));
}

Document describe(const io::CheckpointReader& reader) {
  const io::Manifest& manifest = reader.manifest();
  std::int64_t parameters = 0, bytes = 0;
  for (const io::ManifestTensor& entry : manifest.tensors)
    if (entry.tensor.path.starts_with(k_model)) parameters += entry.tensor.shape.count();
  for (const io::ManifestFile& file : manifest.files) bytes += file.bytes;
  Document document(fmt::format("checkpoint {}", reader.folder().native()));
  document.add("kind", "kind", "checkpoint");
  document.add("step", "step", manifest.step);
  document.add("program", "written by", manifest.program);
  document.add("parameters", "parameters", parameters);
  document.add("bytes", "size", Cell::bytes(bytes));
  return document;
}

Document complete(Document document, const io::CheckpointReader& reader, Communicator& ranks, Depth depth) {
  if (depth == Depth::everything) {
    verify(reader, ranks);
    document.add("verified", "verified", Cell::of_json("OK: every checksum and digest is as it was saved", "true"));
  }
  document.add(files_table(reader.manifest()));
  document.add(tensors_table(reader.manifest()));
  add_state(document, reader.state());
  return document;
}

}  // namespace

bool is_checkpoint(const std::filesystem::path& folder) {
  const std::string name = folder.filename().native();
  return std::filesystem::exists(folder / io::k_manifest_file) || io::step_of(name.substr(0, name.find('.')));
}

Document inspect_checkpoint(const std::filesystem::path& folder, Depth depth) {
  const std::unique_ptr<Communicator> ranks = make_self_communicator();
  const io::CheckpointReader reader(folder, *ranks, io::Verify::sizes);
  return complete(describe(reader), reader, *ranks, depth);
}

Document inspect_newest(const std::filesystem::path& directory, Depth depth) {
  const std::unique_ptr<Communicator> ranks = make_self_communicator();
  std::vector<std::string> passed_over;
  const auto reader = io::CheckpointReader::newest(directory, *ranks, io::Verify::sizes, passed_over);
  if (!reader) {
    std::string message = fmt::format("{} holds no checkpoint that is whole", directory.native());
    for (const std::string& sentence : passed_over) message += "\n  " + sentence;
    throw Error(passed_over.empty() ? ErrorKind::not_found : ErrorKind::data, message,
                "Give a dataset file, a checkpoint folder (step-00001000), or the folder that holds such folders.");
  }
  Document document = describe(*reader);
  const std::size_t all = io::list_checkpoints(directory).size();
  document.add("checkpoints", "in this folder", static_cast<std::int64_t>(all));
  Table table{"passed_over", "passed over", {{"reason", "reason"}}};
  for (const std::string& sentence : passed_over) table.add({sentence});
  if (!table.rows.empty()) document.add(std::move(table));
  return complete(std::move(document), *reader, *ranks, depth);
}

}  // namespace tessera::apps
