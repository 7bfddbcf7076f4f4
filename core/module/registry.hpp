// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  named factories, sorted by what they make. Which interfaces exist is known to those who add and create.
// Used: core (built-in things), modules (through a Registrar), whoever makes an object by the name in the run file.
// Must not know: the interfaces, where factories come from.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <typeindex>
#include <utility>
#include <vector>

#include "core/config/settings.hpp"

namespace tessera {

/// Makes one object from the resolved run. Throws Error if the settings do not suit it.
template <class Interface>
using Factory = std::function<std::unique_ptr<Interface>(const Settings&)>;

class Registry {
 public:
  /// Throws Error{configuration} that names both owners if the name is taken. `owner`: "core", "optimizer/adamw".
  template <class Interface>
  void add(std::string_view name, Factory<Interface> factory, std::string_view owner = "core") {
    insert({typeid(Interface), std::string(name)}, {std::string(owner), erased(std::move(factory))});
  }

  /// Throws Error{not_found} that names what there is.
  template <class Interface>
  std::unique_ptr<Interface> create(std::string_view name, const Settings& settings) const {
    const Entry& entry = find({typeid(Interface), std::string(name)});
    return (*static_cast<const Factory<Interface>*>(entry.factory.get()))(settings);
  }

  template <class Interface>
  bool has(std::string_view name) const {
    return entries_.contains({typeid(Interface), std::string(name)});
  }

  /// In alphabetical order.
  template <class Interface>
  std::vector<std::string> names() const {
    return names_of(typeid(Interface));
  }

  /// Who added it. Throws as create does.
  template <class Interface>
  const std::string& owner(std::string_view name) const {
    return find({typeid(Interface), std::string(name)}).owner;
  }

 private:
  friend class Registrar;

  using Key = std::pair<std::type_index, std::string>;
  struct Entry {
    std::string owner;
    std::shared_ptr<const void> factory;  ///< a Factory of the key's type
  };

  template <class Interface>
  static std::shared_ptr<const void> erased(Factory<Interface> factory) {
    return std::make_shared<const Factory<Interface>>(std::move(factory));
  }

  void check_free(const Key& key, std::string_view owner) const;
  void insert(Key key, Entry entry);
  const Entry& find(const Key& key) const;
  std::vector<std::string> names_of(std::type_index interface) const;

  std::map<Key, Entry> entries_;
};

/// The registry as one module sees it while it enrolls: it can add, under its own name. Nothing is in the registry
/// before `commit`, so a module that fails half-way leaves nothing behind.
class Registrar {
 public:
  Registrar(Registry& registry, std::string owner) : registry_(registry), owner_(std::move(owner)) {}

  /// As Registry::add.
  template <class Interface>
  void add(std::string_view name, Factory<Interface> factory) {
    take({typeid(Interface), std::string(name)}, Registry::erased(std::move(factory)));
  }

  /// Enters all that was added; called by the loader. Says how many there were.
  std::size_t commit();

 private:
  void take(Registry::Key key, std::shared_ptr<const void> factory);

  Registry& registry_;
  std::string owner_;
  std::map<Registry::Key, Registry::Entry> added_;
};

}  // namespace tessera
