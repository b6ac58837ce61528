#include "model_zoo/network/series_parallel.hpp"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <set>
#include <utility>

namespace ddl {
namespace {

/// Maximum nesting of branches. Deeper nesting would make a drawing unreadable. The maximum also limits the recursion.
constexpr int deepest_branches = 20;
/// Maximum number of tensors that are drawn separately at one place before the rest is listed layer by layer.
constexpr int most_set_apart = 64;

class Decomposition {
 public:
  explicit Decomposition(const Model& model)
      : model_(model), region_(model.layers.size(), 0), position_(model.layers.size(), 0) {}

  /// Returns the series of `layers`, which must be in order, and must read only `entry` and one another.
  Series decompose(const std::vector<int>& layers, int entry, int depth) {
    if (depth == deepest_branches) return plain(layers, entry);
    Series series;
    for (const std::vector<int>& segment : segments(layers, entry)) {
      // The next segment begins with the output of this segment's last layer.
      append_segment(segment, entry, depth, series);
      entry = segment.back();
    }
    return series;
  }

 private:
  [[nodiscard]] const Layer& at(int layer) const { return model_.layers[static_cast<std::size_t>(layer)]; }

  void mark(const std::vector<int>& layers) {
    ++regions_;
    for (std::size_t i = 0; i < layers.size(); ++i) {
      region_[static_cast<std::size_t>(layers[i])] = regions_;
      position_[static_cast<std::size_t>(layers[i])] = i;
    }
  }
  [[nodiscard]] bool is_marked(int layer) const {
    return layer >= 0 && region_[static_cast<std::size_t>(layer)] == regions_;
  }

  /// Positions of the first and the last layer that read a tensor.
  struct Readers {
    std::size_t first = 0, last = 0;
    bool any = false;
    void add(std::size_t reader) {
      if (!any) first = reader;
      last = reader;
      any = true;
    }
  };
  /// Returns the readers of each tensor, indexed by the position of the producer. The last element belongs to `entry`.
  std::vector<Readers> readers_of(const std::vector<int>& layers, int entry) {
    mark(layers);
    std::vector<Readers> readers(layers.size() + 1);
    for (std::size_t i = 0; i < layers.size(); ++i) {
      for (const int input : at(layers[i]).inputs) {
        if (set_apart_.contains({layers[i], input})) continue;
        if (is_marked(input)) {
          readers[position_[static_cast<std::size_t>(input)]].add(i);
        } else if (input == entry) {
          readers.back().add(i);
        }
      }
    }
    return readers;
  }

  /// Cuts the layers into segments. A cut is after each layer whose output is the only live tensor there.
  std::vector<std::vector<int>> segments(const std::vector<int>& layers, int entry) {
    const std::vector<Readers> readers = readers_of(layers, entry);
    std::vector<std::vector<int>> result;
    std::vector<int> segment;
    std::size_t reach = readers.back().last;
    for (std::size_t i = 0; i < layers.size(); ++i) {
      segment.push_back(layers[i]);
      const bool is_cut = reach <= i;
      reach = std::max(reach, readers[i].last);
      if (!is_cut && i + 1 < layers.size()) continue;
      result.push_back(std::move(segment));
      segment.clear();
    }
    return result;
  }

  void append_segment(const std::vector<int>& segment, int entry, int depth, Series& series) {
    const int join = segment.back();
    if (segment.size() == 1) {
      series.push_back(element(join, entry));
      return;
    }
    std::vector<std::vector<int>> branches = branches_of(segment);
    // If no layer reads the end of a branch, such as the loss of a side branch, no layer joins the branch with others.
    std::set<int> read;
    for (const int input : at(join).inputs) {
      if (!set_apart_.contains({join, input})) read.insert(input);
    }
    const auto first_side = std::stable_partition(branches.begin(), branches.end(), [&](const std::vector<int>& branch) {
      return std::any_of(branch.begin(), branch.end(), [&](int layer) { return read.contains(layer); });
    });
    const std::vector<std::vector<int>> sides(first_side, branches.end());
    branches.erase(first_side, branches.end());
    const bool skips = read.contains(entry);
    if (sides.empty() && branches.size() + (skips ? 1 : 0) < 2) {
      if (set_farthest_apart(segment, entry)) {
        append(decompose(segment, entry, depth + 1), series);
      } else {
        append(plain(segment, entry), series);
      }
      return;
    }
    for (const std::vector<int>& side : sides) {
      series.push_back({.layer = -1, .branches = {decompose(side, entry, depth + 1)}, .from = {}});
    }
    if (branches.size() + (skips ? 1 : 0) < 2) {
      // The remaining layers start at the same tensor as the side branches.
      std::vector<int> rest;
      if (!branches.empty()) rest = branches.front();
      rest.push_back(join);
      append(decompose(rest, entry, depth + 1), series);
      return;
    }
    SeriesElement joined{.layer = join, .branches = {}, .from = apart(join)};
    for (const std::vector<int>& branch : branches) {
      read.erase(branch.back());
      joined.branches.push_back(decompose(branch, entry, depth + 1));
    }
    read.erase(entry);
    // If several layers of the segment read a branch, the branch ends at the last of them.
    joined.from.insert(joined.from.end(), read.begin(), read.end());
    if (skips) joined.branches.emplace_back();
    series.push_back(std::move(joined));
  }

  static void append(Series more, Series& series) { std::move(more.begin(), more.end(), std::back_inserter(series)); }

  /// Divides all layers except the last into independent groups. The first group contains the first layer.
  std::vector<std::vector<int>> branches_of(const std::vector<int>& segment) {
    mark(segment);
    std::vector<std::size_t> group(segment.size() - 1);
    std::iota(group.begin(), group.end(), std::size_t{0});
    const auto root = [&group](std::size_t i) {
      while (group[i] != i) i = group[i] = group[group[i]];
      return i;
    };
    for (std::size_t i = 0; i + 1 < segment.size(); ++i) {
      for (const int input : at(segment[i]).inputs) {
        if (!is_marked(input) || set_apart_.contains({segment[i], input})) continue;
        const std::size_t a = root(position_[static_cast<std::size_t>(input)]);
        const std::size_t b = root(i);
        group[std::max(a, b)] = std::min(a, b);
      }
    }
    std::vector<std::vector<int>> branches;
    std::vector<std::size_t> number(segment.size() - 1, segment.size());
    for (std::size_t i = 0; i + 1 < segment.size(); ++i) {
      std::size_t& at_root = number[root(i)];
      if (at_root == segment.size()) {
        at_root = branches.size();
        branches.emplace_back();
      }
      branches[at_root].push_back(segment[i]);
    }
    return branches;
  }

  /// Finds the tensor with several readers whose last reader is farthest away. All readers of this
  /// tensor except the first one then list it in `from`.
  bool set_farthest_apart(const std::vector<int>& segment, int entry) {
    const std::vector<Readers> readers = readers_of(segment, entry);
    const auto reach = [&](std::size_t p) {
      if (readers[p].first == readers[p].last) return std::size_t{0};
      return readers[p].last - (p < segment.size() ? p : 0);
    };
    std::size_t farthest = 0;
    for (std::size_t p = 1; p < readers.size(); ++p) {
      if (reach(p) > reach(farthest)) farthest = p;
    }
    if (reach(farthest) == 0 || ++times_set_apart_ > most_set_apart) return false;
    const int producer = farthest < segment.size() ? segment[farthest] : entry;
    for (std::size_t i = readers[farthest].first + 1; i <= readers[farthest].last; ++i) {
      const std::vector<int>& inputs = at(segment[i]).inputs;
      if (std::find(inputs.begin(), inputs.end(), producer) != inputs.end()) set_apart_.emplace(segment[i], producer);
    }
    return true;
  }

  [[nodiscard]] std::vector<int> apart(int layer) const {
    std::vector<int> from;
    for (const int input : at(layer).inputs) {
      if (set_apart_.contains({layer, input})) from.push_back(input);
    }
    return from;
  }

  [[nodiscard]] SeriesElement element(int layer, int previous) const {
    SeriesElement result{.layer = layer, .branches = {}, .from = {}};
    for (const int input : at(layer).inputs) {
      if (input != previous) result.from.push_back(input);
    }
    return result;
  }

  /// Returns a series of single layers, each with its inputs.
  [[nodiscard]] Series plain(const std::vector<int>& layers, int entry) const {
    Series series;
    for (const int layer : layers) {
      series.push_back(element(layer, entry));
      entry = layer;
    }
    return series;
  }

  const Model& model_;
  std::vector<int> region_;            ///< for each layer, the last region that the layer was marked in
  std::vector<std::size_t> position_;  ///< for each layer, its position in its region
  int regions_ = 0;
  int times_set_apart_ = 0;
  std::set<std::pair<int, int>> set_apart_;  ///< pairs of reader and producer that are drawn separately
};

}  // namespace

Series series_of(const Model& model) {
  std::vector<int> layers(model.layers.size());
  std::iota(layers.begin(), layers.end(), 0);
  return Decomposition(model).decompose(layers, -1, 0);
}

}  // namespace ddl
