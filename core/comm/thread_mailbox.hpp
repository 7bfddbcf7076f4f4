// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  messages between pairs of thread ranks, in order.
// Used: the thread communicator only.
// Must not know: slots, recorders.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "core/comm/communicator.hpp"
#include "core/comm/thread_world.hpp"

namespace tessera {

/// Whoever comes second copies. A small message whose receiver has not come is put into a buffer, so that its sender
/// may go on; a large one waits in its sender's memory. All that a pair can ever need is made with its first message:
/// how many messages wait depends on who is fast.
class ThreadMailbox {
 public:
  static constexpr std::int64_t k_buffered_bytes = 8192;
  static constexpr int k_buffered_messages = 64;  ///< for each pair and direction; more wait like large ones

  ThreadMailbox(std::shared_ptr<ThreadWorld> world, std::vector<int> world_ranks);

  /// True when the call is done. Otherwise `completion` will tell. Throws Error{disagreement}, on both sides, when what
  /// was sent is not what is received.
  bool send(int from, int to, ConstView in, const Completion& completion);
  bool receive(int to, int from, View out, const Completion& completion);

 private:
  enum class Side : std::uint8_t { sender, receiver };
  struct Message {
    Side side = Side::sender;
    ConstView from = {};  // of a sender
    View to = {};         // of a receiver
    Completion completion = {};
    int buffer = -1;
    int next = -1;
  };
  struct Queue {  // all entries are of one side
    int first = -1;
    int last = -1;
    int buffered = 0;
    bool open = false;  // whether its buffers and entries are made
  };

  Queue& queue(int from, int to);
  void make_room();
  bool has(const Queue& queue, Side side) const;
  void push(Queue& queue, const Message& message);
  Message pop(Queue& queue);
  int fill_buffer(ConstView in);
  void check(int from, int to, ConstView in, View out) const;
  static void copy(ConstView in, View out);

  const std::shared_ptr<ThreadWorld> world_;
  const std::vector<int> world_ranks_;
  std::mutex mutex_;
  std::vector<Queue> queues_;  // [from, to]
  std::vector<Message> messages_;
  int free_message_ = -1;
  std::vector<std::unique_ptr<std::byte[]>> buffers_;
  std::vector<int> free_buffers_;
};

}  // namespace tessera
