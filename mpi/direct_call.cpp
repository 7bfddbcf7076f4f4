// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "mpi/direct_call.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>

#include "core/base/error.hpp"

namespace tessera::mpi {

using Place = NodeParcel::Place;

void DirectCall::reserve(int members) {
  calls_.reserve(static_cast<std::size_t>(members));
  share_.reserve(members);
}

void DirectCall::start(NodeGroup& group, const Request& request, std::uint64_t number) {
  group_ = &group;
  request_ = request;
  number_ = number;
  step_ = Step::show;
}

DirectCall::Outcome DirectCall::advance() {
  switch (request_.kind) {
    case CallKind::send:
      return advance_send();
    case CallKind::receive:
      return advance_receive();
    default:
      return advance_collective();
  }
}

DirectCall::Outcome DirectCall::advance_collective() {
  if (step_ == Step::show) {
    if (!group_->try_show(number_, own())) return Outcome::waiting;
    step_ = Step::meet;
  }
  if (step_ == Step::meet) {
    if (group_->turn() != number_ || !group_->all_show(number_)) return Outcome::waiting;
    meet();
    const bool refused = is_refused();
    const bool inside = own_place() == Place::inside;
    if (!refused) share_.run(calls_, group_->rank(), inside ? Division::each_for_itself : Division::among_members);
    const bool stays = !refused && others_need_mine();
    group_->finish(number_);
    if (!stays) {
      group_->next_turn();
      return refused ? Outcome::refused : Outcome::done;
    }
    step_ = Step::finish;
  }
  if (!group_->all_finished(number_)) return Outcome::waiting;
  group_->next_turn();
  return Outcome::done;
}

CollectiveCall DirectCall::own() const {
  const auto counts = [](std::span<const std::int64_t> given) { return given.empty() ? nullptr : given.data(); };
  return {.kind = request_.kind,
          .op = request_.op,
          .in = request_.in,
          .out = request_.out.data,
          .send_counts = counts(request_.send_counts),
          .receive_counts = counts(request_.receive_counts),
          .root = request_.kind == CallKind::broadcast ? request_.peer : -1};
}

void DirectCall::meet() {
  calls_.clear();
  for (int member = 0; member < group_->size(); ++member)
    calls_.push_back(member == group_->rank() ? own() : group_->shown(member, number_));
  const auto rank = static_cast<std::size_t>(group_->rank());
  for (std::size_t i = 0; i < calls_.size(); ++i) {
    if (fits(calls_, i, rank)) continue;
    throw Error(ErrorKind::disagreement,
                fmt::format("collective call {} of a group of {}: rank {} made {}, rank {} made {}", number_ + 1,
                            group_->size(), group_->world_rank(group_->rank()), describe(calls_[rank]),
                            group_->world_rank(static_cast<int>(i)), describe(calls_[i])));
  }
}

bool DirectCall::is_refused() const {
  for (int member = 0; member < group_->size(); ++member)
    if (group_->place(member, number_) == Place::elsewhere) return true;
  return false;
}

/// Whether others read, or write, this rank's own buffers while they do their shares.
bool DirectCall::others_need_mine() const {
  const bool reads_only = request_.kind == CallKind::broadcast && request_.peer != group_->rank();
  return !reads_only && own_place() != Place::inside;
}

DirectCall::Outcome DirectCall::advance_send() {
  NodeMail& mail = group_->mail();
  if (step_ == Step::show) {
    const auto place = mail.try_send(request_.peer, number_, request_.in);
    if (!place) return Outcome::waiting;
    if (*place != Place::shared) return *place == Place::inside ? Outcome::done : Outcome::refused;
    step_ = Step::finish;
  }
  return mail.taken(request_.peer, number_) ? Outcome::done : Outcome::waiting;
}

DirectCall::Outcome DirectCall::advance_receive() {
  NodeMail& mail = group_->mail();
  const auto message = mail.arrived(request_.peer, number_);
  if (!message) return Outcome::waiting;
  const View out = request_.out;
  if (message->count != out.count || message->dtype != out.dtype)
    throw Error(ErrorKind::disagreement,
                fmt::format("rank {} sends {} {} where rank {} receives {} {}", group_->world_rank(request_.peer),
                            message->count, name_of(message->dtype), group_->world_rank(group_->rank()), out.count,
                            name_of(out.dtype)));
  const bool elsewhere = message->data == nullptr;
  if (!elsewhere && out.count > 0)
    std::memcpy(out.data, message->data, static_cast<std::size_t>(out.count * size_of(out.dtype)));
  mail.take(request_.peer, number_);
  return elsewhere ? Outcome::refused : Outcome::done;
}

}  // namespace tessera::mpi
