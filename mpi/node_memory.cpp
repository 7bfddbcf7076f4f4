// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "mpi/node_memory.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>

#include "core/base/error.hpp"
#include "core/base/unique_handle.hpp"
#include "mpi/native.hpp"

namespace tessera::mpi {
namespace {

constexpr std::uint64_t k_page = 4096;

// The first page of a file: a secret, and behind it the bell.
constexpr std::uint64_t k_bell_offset = 64;
constexpr std::uint64_t k_address_space = std::uint64_t{1} << 46;  // half of what a process has

struct DescriptorTraits {
  using Handle = int;
  static Handle null() noexcept { return -1; }
  static void close(Handle handle) { ::close(handle); }
};
using UniqueDescriptor = UniqueHandle<DescriptorTraits>;

/// How peers find a file and know that it is the right one.
struct Card {
  std::int64_t process = 0;
  std::int64_t descriptor = -1;
  std::uint64_t secret = 0;
};
constexpr int k_card_words = sizeof(Card) / sizeof(std::int64_t);

constexpr std::uint64_t round_up(std::uint64_t bytes, std::uint64_t unit) {
  return (bytes + unit - 1) / unit * unit;
}

std::string reason() {
  return std::strerror(errno);
}

}  // namespace

class NodeMemory::File {
 public:
  File() : descriptor_(memfd_create("tessera", MFD_CLOEXEC)) {
    if (!descriptor_) {
      throw Error(ErrorKind::unavailable, fmt::format("memfd_create: {}", reason()));
    }
    grow(k_page);
    Card& card = card_;
    card.process = getpid();
    card.descriptor = descriptor_.get();
    if (getrandom(&card.secret, sizeof(card.secret), 0) != sizeof(card.secret) ||
        pwrite(descriptor_.get(), &card.secret, sizeof(card.secret), 0) != sizeof(card.secret)) {
      throw Error(ErrorKind::unavailable, fmt::format("memory file: {}", reason()));
    }
  }

  const Card& card() const { return card_; }

  void grow(std::uint64_t bytes) {
    if (ftruncate(descriptor_.get(), static_cast<off_t>(bytes)) != 0) {
      throw Error(ErrorKind::resources,
                  fmt::format("the host cannot give {} bytes of shared memory: {}", bytes, reason()),
                  errno == EFBIG ? "Raise the limit of the size of a file (ulimit -f), which holds for memory, too."
                                 : "Lower train.micro_batch or train.memory_limit, or start fewer ranks on this node.");
    }
  }

  void punch(std::uint64_t offset, std::uint64_t bytes) noexcept {
    (void)fallocate(descriptor_.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(offset),
                    static_cast<off_t>(bytes));
  }

  /// Maps the file of a card, which may be another process's.
  static std::byte* map(const Card& card, std::size_t span) {
    const std::string path = fmt::format("/proc/{}/fd/{}", card.process, card.descriptor);
    const UniqueDescriptor descriptor(open(path.c_str(), O_RDWR | O_CLOEXEC));
    std::uint64_t secret = 0;
    if (!descriptor || pread(descriptor.get(), &secret, sizeof(secret), 0) != sizeof(secret)) {
      throw Error(ErrorKind::unavailable, fmt::format("{}: {}", path, reason()));
    }
    if (secret != card.secret) {
      throw Error(ErrorKind::unavailable, fmt::format("{} is not the file of the other rank", path));
    }
    void* base = mmap(nullptr, span, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, descriptor.get(), 0);
    if (base == MAP_FAILED) {
      throw Error(ErrorKind::unavailable, fmt::format("mmap of {} bytes: {}", span, reason()));
    }
    return static_cast<std::byte*>(base);
  }

 private:
  UniqueDescriptor descriptor_;
  Card card_;
};

NodeMemory::NodeMemory(const Environment& environment) : own_(environment.layout().facts.local_rank) {
  const RankLayout& layout = environment.layout();
  for (int rank = 0; rank < layout.facts.size; ++rank) {
    if (layout.node_of_rank[static_cast<std::size_t>(rank)] == layout.node) {
      world_ranks_.push_back(rank);
    }
  }
  std::string problem;
  try {
    file_ = std::make_unique<File>();
    end_ = k_page;
  } catch (const Error& error) {
    problem = error.what();
  }
  try {
    map_peers(layout.facts, layout.node);
  } catch (const Error& error) {
    problem = problem.empty() ? error.what() : problem;
  }
  int failed = problem.empty() ? 0 : 1;
  check(MPI_Allreduce(MPI_IN_PLACE, &failed, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD), "MPI_Allreduce");
  if (failed != 0) {
    close();
    throw Error(ErrorKind::unavailable,
                fmt::format("ranks of a node cannot share memory: {}", problem.empty() ? "see another rank" : problem));
  }
}

NodeMemory::~NodeMemory() {
  close();
}

void NodeMemory::close() noexcept {
  for (std::byte* base : bases_) {
    if (base != nullptr) {
      munmap(base, span_);
    }
  }
}

void NodeMemory::map_peers(const RankFacts& facts, int node) {
  MPI_Comm handle = MPI_COMM_NULL;
  check(MPI_Comm_split(MPI_COMM_WORLD, node, facts.rank, &handle), "MPI_Comm_split");
  const UniqueComm comm(handle);
  const Card own = file_ == nullptr ? Card{} : file_->card();
  std::vector<Card> cards(static_cast<std::size_t>(facts.local_size));
  check(MPI_Allgather(&own, k_card_words, MPI_INT64_T, cards.data(), k_card_words, MPI_INT64_T, handle),
        "MPI_Allgather");
  const auto pages =
      static_cast<std::uint64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  span_ = std::min(round_up(pages, k_page), k_address_space / cards.size() / k_page * k_page);
  std::exception_ptr error;
  for (const Card& card : cards) {
    bases_.push_back(nullptr);
    try {
      bases_.back() = File::map(card, span_);
    } catch (const Error&) {
      error = std::current_exception();
    }
  }
  // A file may be closed only after all have opened it.
  check(MPI_Barrier(handle), "MPI_Barrier");
  if (error) {
    std::rethrow_exception(error);
  }
}

int NodeMemory::local_rank(int world_rank) const {
  const auto found = std::lower_bound(world_ranks_.begin(), world_ranks_.end(), world_rank);
  TESSERA_CHECK(found != world_ranks_.end() && *found == world_rank,
                fmt::format("rank {} is not on this node", world_rank));
  return static_cast<int>(found - world_ranks_.begin());
}

NodeBell& NodeMemory::bell(int local_rank) const {
  return *std::launder(reinterpret_cast<NodeBell*>(at(local_rank, k_bell_offset)));
}

void* NodeMemory::allocate(std::int64_t bytes) {
  TESSERA_CHECK(bytes >= 0, fmt::format("{} bytes", bytes));
  const std::uint64_t rounded = round_up(static_cast<std::uint64_t>(bytes), k_page);
  if (rounded > span_ - end_) {
    throw Error(ErrorKind::resources, fmt::format("{} bytes of shared memory are more than this node has", bytes),
                "Lower train.micro_batch or train.memory_limit, or start fewer ranks on this node.");
  }
  file_->grow(end_ + rounded);
  blocks_.emplace_back(end_, rounded);
  end_ += rounded;
  return at(own_, blocks_.back().first);
}

void NodeMemory::release(void* memory) noexcept {
  const auto block = std::find_if(blocks_.begin(), blocks_.end(),
                                  [&](const auto& candidate) { return at(own_, candidate.first) == memory; });
  if (block != blocks_.end()) {
    file_->punch(block->first, block->second);
    blocks_.erase(block);
  }
}

std::optional<std::uint64_t> NodeMemory::offset_of(const void* data, std::int64_t bytes) const {
  const auto first = reinterpret_cast<std::uintptr_t>(bases_[static_cast<std::size_t>(own_)]);
  const auto address = reinterpret_cast<std::uintptr_t>(data);
  if (address < first || address - first > end_ || static_cast<std::uint64_t>(bytes) > end_ - (address - first)) {
    return std::nullopt;
  }
  return address - first;
}

std::shared_ptr<NodeMemory> find_node_memory(const Environment& environment, std::string& why_not) {
  if (environment.layout().nodes == environment.size()) {
    why_not = "no two ranks are on one node";
    return nullptr;
  }
  try {
    return std::make_shared<NodeMemory>(environment);
  } catch (const Error& error) {
    why_not = error.what();
    return nullptr;
  }
}

}  // namespace tessera::mpi
