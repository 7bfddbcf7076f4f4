// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "core/comm/thread_mailbox.hpp"

#include <fmt/core.h>

#include <cstring>

namespace tessera {

ThreadMailbox::ThreadMailbox(std::shared_ptr<ThreadWorld> world, std::vector<int> world_ranks)
    : world_(std::move(world)),
      world_ranks_(std::move(world_ranks)),
      queues_(world_ranks_.size() * world_ranks_.size()) {}

ThreadMailbox::Queue& ThreadMailbox::queue(int from, int to) {
  Queue& queue = queues_[static_cast<std::size_t>(from) * world_ranks_.size() + static_cast<std::size_t>(to)];
  if (!queue.open) make_room();
  queue.open = true;
  return queue;
}

/// Buffers for one pair more, and entries for as many messages as its ranks may have under way.
void ThreadMailbox::make_room() {
  for (int i = 0; i < k_buffered_messages; ++i) {
    free_buffers_.push_back(static_cast<int>(buffers_.size()));
    buffers_.push_back(std::make_unique<std::byte[]>(k_buffered_bytes));
  }
  free_buffers_.reserve(buffers_.size());
  messages_.reserve(buffers_.size() * (k_buffered_messages + Communicator::k_slots) / k_buffered_messages);
}

bool ThreadMailbox::has(const Queue& queue, Side side) const {
  return queue.first >= 0 && messages_[static_cast<std::size_t>(queue.first)].side == side;
}

void ThreadMailbox::push(Queue& queue, const Message& message) {
  if (free_message_ < 0) {
    free_message_ = static_cast<int>(messages_.size());
    messages_.emplace_back();
  }
  const int entry = free_message_;
  Message& stored = messages_[static_cast<std::size_t>(entry)];
  free_message_ = stored.next;
  stored = message;
  stored.next = -1;
  (queue.first < 0 ? queue.first : messages_[static_cast<std::size_t>(queue.last)].next) = entry;
  queue.last = entry;
}

ThreadMailbox::Message ThreadMailbox::pop(Queue& queue) {
  const int entry = queue.first;
  Message& stored = messages_[static_cast<std::size_t>(entry)];
  const Message message = stored;
  queue.first = stored.next;
  stored.next = free_message_;
  free_message_ = entry;
  return message;
}

int ThreadMailbox::fill_buffer(ConstView in) {
  const int buffer = free_buffers_.back();
  free_buffers_.pop_back();
  if (in.count > 0) {
    std::memcpy(buffers_[static_cast<std::size_t>(buffer)].get(), in.data,
                static_cast<std::size_t>(in.count * size_of(in.dtype)));
  }
  return buffer;
}

void ThreadMailbox::check(int from, int to, ConstView in, View out) const {
  if (in.count == out.count && in.dtype == out.dtype) return;
  world_->abort(ErrorKind::disagreement,
                fmt::format("rank {} sends {} {} where rank {} receives {} {}",
                            world_ranks_[static_cast<std::size_t>(from)], in.count, name_of(in.dtype),
                            world_ranks_[static_cast<std::size_t>(to)], out.count, name_of(out.dtype)));
  world_->throw_if_aborted();
}

void ThreadMailbox::copy(ConstView in, View out) {
  if (in.count > 0) std::memcpy(out.data, in.data, static_cast<std::size_t>(in.count * size_of(in.dtype)));
}

bool ThreadMailbox::send(int from, int to, ConstView in, const Completion& completion) {
  std::unique_lock lock(mutex_);
  Queue& pending = queue(from, to);
  if (has(pending, Side::receiver)) {
    const Message receiver = pop(pending);
    lock.unlock();
    check(from, to, in, receiver.to);
    const ThreadWorld::Transfer transfer(*world_);
    copy(in, receiver.to);
    complete(*world_, receiver.completion);
    return true;
  }
  Message message{.side = Side::sender, .from = in, .completion = completion};
  const bool buffered = in.count * size_of(in.dtype) <= k_buffered_bytes && pending.buffered < k_buffered_messages;
  if (buffered) {
    message.buffer = fill_buffer(in);
    message.from.data = buffers_[static_cast<std::size_t>(message.buffer)].get();
    ++pending.buffered;
  }
  push(pending, message);
  return buffered;
}

bool ThreadMailbox::receive(int to, int from, View out, const Completion& completion) {
  std::unique_lock lock(mutex_);
  Queue& pending = queue(from, to);
  if (!has(pending, Side::sender)) {
    push(pending, {.side = Side::receiver, .to = out, .completion = completion});
    return false;
  }
  const Message sender = pop(pending);
  lock.unlock();
  check(from, to, sender.from, out);
  const ThreadWorld::Transfer transfer(*world_);
  copy(sender.from, out);
  if (sender.buffer < 0) {
    complete(*world_, sender.completion);
    return true;
  }
  lock.lock();
  --pending.buffered;
  free_buffers_.push_back(sender.buffer);
  return true;
}

}  // namespace tessera
