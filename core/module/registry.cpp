// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "core/module/registry.hpp"

#include <cxxabi.h>
#include <fmt/core.h>

#include <cstdlib>

#include "core/base/error.hpp"
#include "core/config/nearest.hpp"

namespace tessera {

namespace {

/// "tessera::Optimizer"
std::string name_of_type(std::type_index type) {
  const std::unique_ptr<char, void (*)(void*)> name(abi::__cxa_demangle(type.name(), nullptr, nullptr, nullptr),
                                                    &std::free);
  return name ? name.get() : type.name();
}

Error taken(std::type_index type, std::string_view name, std::string_view owner, std::string_view first) {
  return {ErrorKind::configuration,
          fmt::format("{} adds a {} named '{}', which {} has added already", owner, name_of_type(type), name, first),
          "Two modules with the same name cannot be loaded together: rename one, or leave one out."};
}

}  // namespace

void Registry::check_free(const Key& key, std::string_view owner) const {
  if (const auto found = entries_.find(key); found != entries_.end())
    throw taken(key.first, key.second, owner, found->second.owner);
}

void Registry::insert(Key key, Entry entry) {
  check_free(key, entry.owner);
  entries_.emplace(std::move(key), std::move(entry));
}

const Registry::Entry& Registry::find(const Key& key) const {
  if (const auto found = entries_.find(key); found != entries_.end()) return found->second;
  const std::vector<std::string> names = names_of(key.first);
  std::string hint = did_you_mean(key.second, names);
  if (hint.empty()) {
    hint = names.empty() ? "None is registered: its module was not loaded." : "There are:";
    for (const std::string& name : names) hint.append(" ").append(name);
  }
  throw Error(ErrorKind::not_found, fmt::format("there is no {} named '{}'", name_of_type(key.first), key.second),
              hint);
}

std::vector<std::string> Registry::names_of(std::type_index interface) const {
  std::vector<std::string> names;
  for (auto entry = entries_.lower_bound({interface, {}}); entry != entries_.end() && entry->first.first == interface;
       ++entry)
    names.push_back(entry->first.second);
  return names;
}

void Registrar::take(Registry::Key key, std::shared_ptr<const void> factory) {
  registry_.check_free(key, owner_);
  const auto [place, added] = added_.try_emplace(std::move(key), Registry::Entry{owner_, std::move(factory)});
  if (!added) throw taken(place->first.first, place->first.second, owner_, "it");
}

std::size_t Registrar::commit() {
  const std::size_t count = added_.size();
  for (const auto& [key, entry] : added_) registry_.check_free(key, owner_);
  registry_.entries_.merge(added_);
  added_.clear();
  return count;
}

}  // namespace tessera
