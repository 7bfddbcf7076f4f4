// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "core/graph/label_rule.hpp"

#include <algorithm>
#include <map>

#include <fmt/core.h>

namespace tessera {
namespace {

/// "sbi, oi*" -> {"sbi", "oi*"}; an empty word is a scalar.
std::vector<std::string> words(std::string_view list) {
  std::vector<std::string> result(1);
  for (char c : list) {
    if (c == ',')
      result.emplace_back();
    else if (c != ' ')
      result.back() += c;
  }
  return result;
}

bool take_mark(std::string& word, char mark) {
  const bool marked = !word.empty() && word.back() == mark;
  if (marked) word.pop_back();
  return marked;
}

std::string expand_dots(const std::string& word, const std::string& leading) {
  return word.starts_with("..") ? leading + word.substr(2) : word;
}

/// Inputs in the order in which they choose: binding ones, those with a priority, the others.
std::vector<int> order_of(const Op& op, const std::vector<bool>& binding) {
  std::vector<int> order;
  auto add = [&](int i) {
    if (std::find(order.begin(), order.end(), i) == order.end()) order.push_back(i);
  };
  const auto inputs = static_cast<int>(binding.size());
  for (int i = 0; i < inputs; ++i)
    if (binding[static_cast<std::size_t>(i)]) add(i);
  for (char digit : op.priority) add(digit - '0');
  for (int i = 0; i < inputs; ++i) add(i);
  return order;
}

bool listed(std::string_view digits, int i) {
  return digits.find(static_cast<char>('0' + i)) != std::string_view::npos;
}

/// Whether a list of labels names this one; '.' names all leading dims, which have capital letters.
bool contains(std::string_view labels, char label) {
  return labels.find(label) != std::string_view::npos ||
         (label >= 'A' && label <= 'Z' && labels.find('.') != std::string_view::npos);
}

DType principal_dtype(std::span<const Type> in) {
  for (const Type& type : in)
    if (type != k_absent && is_floating(type.dtype)) return type.dtype;
  return in.empty() ? DType::f64 : in[0].dtype;
}

/// The choice of labels and the layouts that follow from it.
class Chooser {
 public:
  Chooser(const Op& op, const LayoutArgs& args)
      : op_(op),
        args_(args),
        labels_(labels_of(op, args.types)),
        order_(order_of(op, labels_.binding)),
        passed_(args.in.size()) {}

  LayoutAnswer answer() {
    for (int a = 0; a < args_.mesh.axes(); ++a) choose(static_cast<AxisId>(a));
    for (const auto& [label, axes] : axes_of_) ordered_[label] = in_order(label, axes);
    LayoutAnswer answer;
    for (std::size_t i = 0; i < args_.in.size(); ++i) {
      Layout layout = splits(labels_.in[i]);
      layout.set_partial(passed_[i], Merge::sum);
      answer.in.push_back(layout);
    }
    for (const std::string& word : labels_.out) answer.out.push_back(output(word));
    return answer;
  }

 private:
  void choose(AxisId axis) {
    for (char label : candidates(axis)) {
      if (forbidden(label, axis)) continue;
      axes_of_[label].push_back(axis);
      return;
    }
    pass_partial(axis);
  }

  std::string candidates(AxisId axis) const {
    std::string result;
    if (args_.hint != nullptr) {
      const Placement wish = args_.hint->of(axis);
      if (wish.is_split()) {
        const char label = labels_.out[0][static_cast<std::size_t>(wish.dim)];
        const bool in_inputs = std::any_of(labels_.in.begin(), labels_.in.end(),
                                           [&](const std::string& word) { return contains(word, label); });
        if (in_inputs || contains(op_.free, label)) result += label;
      }
    }
    for (int i : order_) {
      const auto index = static_cast<std::size_t>(i);
      if (!args_.present[index]) continue;
      const Placement have = args_.in[index].of(axis);
      if (have.is_split()) result += labels_.in[index][static_cast<std::size_t>(have.dim)];
    }
    return result;
  }

  /// A label must not be split when the op needs it whole, or when a binding input has it and does not split it.
  bool forbidden(char label, AxisId axis) const {
    if (contains(op_.whole, label)) return true;
    for (std::size_t i = 0; i < labels_.in.size(); ++i) {
      const std::size_t dim = labels_.in[i].find(label);
      if (labels_.binding[i] && args_.present[i] && dim != std::string::npos &&
          args_.in[i].of(axis) != Placement::split(static_cast<int>(dim)))
        return true;
    }
    return false;
  }

  void pass_partial(AxisId axis) {
    bool any = false;
    for (std::size_t i = 0; i < args_.in.size(); ++i) {
      if (!args_.present[i] || args_.in[i].of(axis) != Placement::partial(Merge::sum)) continue;
      if (!listed(op_.passes_partial, static_cast<int>(i))) return;
      any = true;
    }
    if (!any) return;
    partial_out_ = partial_out_ | AxisSet::of(axis);
    for (std::size_t i = 0; i < args_.in.size(); ++i)
      if (listed(op_.passes_partial, static_cast<int>(i))) passed_[i] = passed_[i] | AxisSet::of(axis);
  }

  /// The axes of one label, outer first: in the order of the input (or hint) that has most of them, the rest behind.
  AxisList in_order(char label, const std::vector<AxisId>& axes) const {
    AxisList best;
    auto consider = [&](const Layout& layout, const std::string& word) {
      const std::size_t dim = word.find(label);
      if (dim == std::string::npos) return;
      AxisList list;
      for (AxisId axis : layout.splits(static_cast<int>(dim)))
        if (std::find(axes.begin(), axes.end(), axis) != axes.end()) list.push_back(axis);
      if (list.size() > best.size()) best = list;
    };
    for (int i : order_) {
      const auto index = static_cast<std::size_t>(i);
      if (args_.present[index]) consider(args_.in[index], labels_.in[index]);
    }
    if (args_.hint != nullptr) consider(*args_.hint, labels_.out[0]);
    for (auto axis = axes.rbegin(); axis != axes.rend(); ++axis)
      if (!best.has(*axis)) best.push_back(*axis);
    return best;
  }

  Layout splits(const std::string& word) const {
    Layout layout;
    for (std::size_t dim = 0; dim < word.size(); ++dim)
      if (const auto found = ordered_.find(word[dim]); found != ordered_.end())
        layout.splits(static_cast<int>(dim)) = found->second;
    return layout;
  }

  Layout output(const std::string& word) const {
    Layout layout = splits(word);
    layout.set_partial(partial_out_, Merge::sum);
    for (const auto& [label, axes] : ordered_) {
      if (contains(word, label)) continue;
      const bool sum = contains(op_.sum, label), max = contains(op_.max, label);
      TESSERA_CHECK(sum || max, fmt::format("op {}: label {} is split and vanishes", op_.name, label));
      layout.set_partial(axes.set(), sum ? Merge::sum : Merge::max);
    }
    return layout;
  }

  const Op& op_;
  const LayoutArgs& args_;
  Labels labels_;
  std::vector<int> order_;
  std::map<char, std::vector<AxisId>> axes_of_;
  std::map<char, AxisList> ordered_;
  std::vector<AxisSet> passed_;
  AxisSet partial_out_;
};

}  // namespace

Labels labels_of(const Op& op, std::span<const Type> in) {
  const std::size_t arrow = op.labels.find("->");
  TESSERA_CHECK(arrow != std::string_view::npos, fmt::format("op {} has no labels", op.name));
  Labels labels{words(op.labels.substr(0, arrow)), words(op.labels.substr(arrow + 2)), {}, {}};
  TESSERA_CHECK(labels.in.size() == in.size(),
                fmt::format("op {} takes {} inputs, got {}", op.name, labels.in.size(), in.size()));
  for (std::string& word : labels.in) labels.binding.push_back(take_mark(word, '*'));
  for (std::string& word : labels.out) labels.accumulated.push_back(take_mark(word, '~'));

  std::string leading;
  for (std::size_t i = 0; i < in.size(); ++i) {
    if (!labels.in[i].starts_with("..") || in[i] == k_absent) continue;
    const int dims = in[i].shape.rank() - static_cast<int>(labels.in[i].size() - 2);
    for (int d = 0; d < dims; ++d) leading += static_cast<char>('A' + d);
    break;
  }
  for (std::string& word : labels.in) word = expand_dots(word, leading);
  for (std::string& word : labels.out) word = expand_dots(word, leading);
  for (std::size_t i = 0; i < in.size(); ++i)
    TESSERA_CHECK(
        in[i] == k_absent || static_cast<int>(labels.in[i].size()) == in[i].shape.rank(),
        fmt::format("op {}: input {} is {}, labels are {}", op.name, i, to_string(in[i].shape), labels.in[i]));
  return labels;
}

std::vector<Type> type_by_labels(const Op& op, const TypeArgs& args) {
  const Labels labels = labels_of(op, args.in);
  std::map<char, std::int64_t> extents;
  for (std::size_t i = 0; i < args.in.size(); ++i) {
    if (args.in[i] == k_absent) continue;
    for (std::size_t dim = 0; dim < labels.in[i].size(); ++dim) {
      const std::int64_t extent = args.in[i].shape[static_cast<int>(dim)];
      const auto [it, fresh] = extents.emplace(labels.in[i][dim], extent);
      TESSERA_CHECK(it->second == extent,
                    fmt::format("op {}: dim {} is {} and {}", op.name, labels.in[i][dim], it->second, extent));
    }
  }
  const DType dtype = principal_dtype(args.in);
  std::vector<Type> out;
  for (std::size_t o = 0; o < labels.out.size(); ++o) {
    Type type{{}, labels.accumulated[o] ? accumulation_of(dtype) : dtype};
    for (char label : labels.out[o]) {
      TESSERA_CHECK(extents.contains(label), fmt::format("op {}: extent of {} is unknown", op.name, label));
      type.shape.append(extents[label]);
    }
    out.push_back(type);
  }
  return out;
}

std::vector<Type> f64_scalar(const TypeArgs&) {
  return {{Shape{}, DType::f64}};
}

LayoutAnswer layout_by_labels(const Op& op, const LayoutArgs& args) {
  return Chooser(op, args).answer();
}

std::vector<Type> type_of(const Op& op, const TypeArgs& args) {
  return op.type != nullptr ? op.type(args) : type_by_labels(op, args);
}

LayoutAnswer layout_of(const Op& op, const LayoutArgs& args) {
  return op.layout != nullptr ? op.layout(op, args) : layout_by_labels(op, args);
}

}  // namespace tessera
