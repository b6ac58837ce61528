#include "cli/documents/model_drawing.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/report/figures.hpp"
#include "core/find.hpp"
#include "model_zoo/network/series_parallel.hpp"

namespace ddl {
namespace {

/// Preferred width of the drawing, which fits a terminal of 80 columns.
constexpr std::size_t drawing_width = 80;
/// Minimum number of columns that remain for a layer at any depth of the drawing.
constexpr std::size_t least_room = 40;
constexpr std::size_t longest_word = 44;
/// Maximum length of a repeating sequence of unnamed layers, in layers.
constexpr std::size_t longest_period = 32;

std::string shortened(std::string text, std::size_t columns) {
  if (display_width(text) <= columns) return text;
  std::size_t end = 0;
  for (std::size_t shown = 0; end < text.size(); ++end) {
    const bool starts_letter = (static_cast<unsigned char>(text[end]) & 0xC0U) != 0x80U;
    if (starts_letter && ++shown > columns - 3) break;
  }
  return text.substr(0, end) + "...";
}

/// Returns the attributes that distinguish a layer from its neighbors: `conv 64 3x3 stride=2`.
/// Attributes such as padding are omitted.
std::string words_of(const Layer& layer) {
  constexpr std::array<std::string_view, 5> plain{"filters", "kernel", "kind", "features", "token"};
  constexpr std::array<std::string_view, 8> left_out{"padding", "output_padding", "bias",   "in_place",
                                                     "rate",    "dropout",        "causal", "tied"};
  std::string text(layer.operation->short_name());
  for (const auto& [key, value] : layer.operation->attribute_values()) {
    if (contains(left_out, key)) continue;
    const std::string printed = print_attribute(value);
    if (printed == text) continue;
    if (key == "filters" && printed == "same") {
      text += fmt::format(" {}", layer.output_shape.channels);
    } else if (contains(plain, key)) {
      text += fmt::format(" {}", printed);
    } else {
      text += fmt::format(" {}={}", key, printed);
    }
  }
  return shortened(std::move(text), longest_word);
}

std::vector<std::string_view> steps_of(const Layer& layer) {
  std::vector<std::string_view> steps;
  std::string_view rest = layer.name;
  for (std::size_t dot = rest.find('.'); dot != std::string_view::npos; dot = rest.find('.')) {
    steps.push_back(rest.substr(0, dot));
    rest.remove_prefix(dot + 1);
  }
  return steps;
}

/// An item of the drawing: an element of a series of layers, or a module that the model file names.
struct Item {
  const SeriesElement* element = nullptr;  ///< nullptr if the item is a module
  std::string_view name;                   ///< name of the module
  std::vector<Item> inner;                 ///< items of the module
  std::vector<std::vector<Item>> branches;
  int signature = 0;       ///< equal for all items that look alike in the drawing
  int last_layer = -1;     ///< index of the layer that produces the item's output
  std::size_t layers = 0;  ///< number of layers in the item
};
using Items = std::vector<Item>;

/// Builds the items of a series of layers, module by module.
class Itemizer {
 public:
  explicit Itemizer(const Model& model) : model_(model) {}

  /// Returns the items of the elements [first, last). Elements with a path longer than `depth`
  /// names are combined into modules.
  Items items(const SeriesElement* first, const SeriesElement* last, std::size_t depth) {
    Items result;
    while (first != last) {
      const std::vector<std::string_view> path = path_of(*first);
      if (path.size() <= depth) {
        result.push_back(single(*first++, depth));
        continue;
      }
      const SeriesElement* end = first + 1;
      while (end != last && shares(path_of(*end), path, depth)) ++end;
      Item part{.name = path[depth], .inner = items(first, end, depth + 1), .branches = {}};
      std::string key = "part";
      for (const Item& item : part.inner) {
        part.layers += item.layers;
        key += fmt::format(" {}", item.signature);
      }
      part.last_layer = part.inner.back().last_layer;
      part.signature = number_of(key);
      result.push_back(std::move(part));
      first = end;
    }
    return result;
  }

 private:
  static bool shares(const std::vector<std::string_view>& path, const std::vector<std::string_view>& other,
                     std::size_t depth) {
    return path.size() > depth && path[depth] == other[depth];
  }

  /// Returns the names with which the paths of all layers of an element begin.
  const std::vector<std::string_view>& path_of(const SeriesElement& element) {
    const auto known = paths_.find(&element);
    if (known != paths_.end()) return known->second;
    std::vector<std::string_view> path;
    bool any = false;
    const auto meet = [&](const std::vector<std::string_view>& other) {
      if (!std::exchange(any, true)) {
        path = other;
        return;
      }
      const auto differs = std::mismatch(path.begin(), path.end(), other.begin(), other.end()).first;
      path.erase(differs, path.end());
    };
    if (element.layer >= 0) meet(steps_of(layer(element.layer)));
    for (const Series& branch : element.branches) {
      for (const SeriesElement& each : branch) meet(path_of(each));
    }
    return paths_.emplace(&element, std::move(path)).first->second;
  }

  Item single(const SeriesElement& element, std::size_t depth) {
    Item item{.element = &element,
              .name = {},
              .inner = {},
              .branches = {},
              .last_layer = element.layer,
              .layers = element.layer >= 0 ? 1U : 0U};
    std::string key;
    if (element.layer >= 0) {
      const Layer& own = layer(element.layer);
      key = fmt::format("{} {} {} {}", own.operation->type(), own.operation->attributes(), to_string(own.output_shape),
                        element.from.size());
    }
    for (const Series& branch : element.branches) {
      item.branches.push_back(items(branch.data(), branch.data() + branch.size(), depth));
      key += " |";
      for (const Item& inner : item.branches.back()) {
        item.layers += inner.layers;
        key += fmt::format(" {}", inner.signature);
      }
    }
    item.signature = number_of(key);
    return item;
  }

  int number_of(const std::string& key) { return numbers_.emplace(key, static_cast<int>(numbers_.size())).first->second; }
  [[nodiscard]] const Layer& layer(int index) const { return model_.layers[static_cast<std::size_t>(index)]; }

  const Model& model_;
  std::unordered_map<const SeriesElement*, std::vector<std::string_view>> paths_;
  std::unordered_map<std::string, int> numbers_;
};

/// The name of a repeated module, split into stem and number: `bottleneck12` is number 12 of `bottleneck`.
struct Instance {
  std::string_view stem, number;
};
Instance instance_of(std::string_view name) {
  std::size_t end = name.size();
  while (end > 0 && name[end - 1] >= '0' && name[end - 1] <= '9') --end;
  return {name.substr(0, end), name.substr(end)};
}

class Drawing {
 public:
  explicit Drawing(const Model& model) : model_(model) {}

  /// Draws items. The next line begins with `first`. All further lines begin with `rest`, which must be as wide as `first`.
  void draw(const Items& items, std::string first, const std::string& rest, bool in_branch) {
    if (display_width(rest) + least_room > drawing_width) {
      std::size_t layers = 0;
      for (const Item& item : items) layers += item.layers;
      add(first + fmt::format("... {}", count_text(static_cast<std::int64_t>(layers), "layer")));
      return;
    }
    Row row{.first = std::move(first), .rest = rest, .with_shape = !in_branch, .words = {}};
    for (std::size_t i = 0; i < items.size();) {
      if (items[i].element == nullptr) {
        const std::size_t end = end_of_instances(items, i);
        if (in_branch && end == i + 1) {
          // A module in a branch gets no heading, because a branch has room only for the heading of the branch itself.
          draw_inline(items[i].inner, row);
        } else {
          flush(row);
          draw_parts(items, i, end, row.take_first(), rest, in_branch);
        }
        i = end;
        continue;
      }
      const auto [period, times] = repetition(items, i);
      if (times > 1) {
        draw_repeated(items, i, period, times, row, in_branch);
        i += period * times;
      } else {
        draw_single(items[i++], row);
      }
    }
    flush(row);
  }

  [[nodiscard]] std::string text() { return std::move(text_); }
  void add(std::string_view line) {
    text_ += line;
    text_ += '\n';
  }
  /// Adds a line that ends with the shape of the layer's output.
  void add(const std::string& line, int layer) {
    if (layer < 0) return add(line);
    const std::string shape = to_string(shape_of(model_, layer));
    const std::size_t used = display_width(line) + display_width(shape);
    if (used + 2 <= drawing_width) {
      add(line + std::string(drawing_width - used, ' ') + shape);
    } else {
      add(line);
      add(std::string(drawing_width - std::min(drawing_width, display_width(shape)), ' ') + shape);
    }
  }

 private:
  /// The layers of the current line that are not written yet.
  struct Row {
    std::string first, rest;
    bool with_shape = false;
    std::vector<std::string> words;
    int last_layer = -1;

    std::string take_first() { return std::exchange(first, rest); }
  };

  [[nodiscard]] const Layer& layer(int index) const { return model_.layers[static_cast<std::size_t>(index)]; }

  [[nodiscard]] std::string word_of(const SeriesElement& element) const {
    std::string word = words_of(layer(element.layer));
    std::vector<std::string_view> names;
    for (const int from : element.from) names.push_back(from < 0 ? "input" : std::string_view(layer(from).name));
    if (!names.empty()) word += shortened(fmt::format(" (from {})", fmt::join(names, ", ")), longest_word);
    return word;
  }

  /// Writes the row. A row that is too long is broken into several lines between layers.
  void flush(Row& row) {
    if (row.words.empty()) return;
    std::string line = row.take_first();
    std::size_t used = display_width(line);
    std::size_t room = drawing_width - 2;
    if (row.with_shape) room -= std::min(room / 2, display_width(to_string(shape_of(model_, row.last_layer))));
    bool is_empty = true;
    for (const std::string& word : row.words) {
      const std::size_t needed = display_width(word) + (is_empty ? 0 : 3);
      if (!is_empty && used + needed > room) {
        add(line);
        line = row.rest + "→ " + word;
        used = display_width(line);
        continue;
      }
      if (!is_empty) line += " → ";
      line += word;
      used += needed;
      is_empty = false;
    }
    add(line, row.with_shape ? row.last_layer : -1);
    row.words.clear();
  }

  void draw_single(const Item& item, Row& row) {
    const SeriesElement& element = *item.element;
    if (!element.branches.empty()) draw_branches(item, row);
    if (element.layer < 0) return;
    row.words.push_back(word_of(element));
    row.last_layer = element.layer;
  }

  void draw_branches(const Item& item, Row& row) {
    flush(row);
    const std::string rest = row.rest;
    std::string indent = row.take_first();
    const bool joins = item.element->layer >= 0;
    for (std::size_t b = 0; b < item.branches.size(); ++b) {
      const std::string mark = !joins ? "╶ " : b == 0 ? "┌ " : "├ ";
      const std::string start = (b == 0 ? indent : rest) + mark;
      if (item.branches[b].empty()) {
        add(start + "skip");
      } else {
        draw(item.branches[b], start, rest + (joins ? "│ " : "  "), true);
      }
    }
    row.first = rest + (joins ? "└ " : "");
    row.rest = rest;
  }

  void draw_inline(const Items& items, Row& row) {
    for (const Item& item : items) {
      if (item.element == nullptr) {
        draw_inline(item.inner, row);
      } else {
        draw_single(item, row);
      }
    }
  }

  /// Returns the index after the last instance of the repeated module at `begin`. Instances are
  /// numbered one after the other.
  static std::size_t end_of_instances(const Items& items, std::size_t begin) {
    const Instance first = instance_of(items[begin].name);
    std::size_t end = begin + 1;
    if (first.number.empty()) return end;
    const auto goes_on = [&](const Item& item) {
      if (item.element != nullptr) return false;
      const Instance next = instance_of(item.name);
      return next.stem == first.stem && !next.number.empty();
    };
    bool repeats = false;
    while (end < items.size() && goes_on(items[end])) {
      repeats = repeats || items[end].signature == items[end - 1].signature;
      ++end;
    }
    // Unnamed blocks are numbered from 0, and count as instances. Stages that the model file numbers are different modules.
    return repeats || first.number == "0" ? end : begin + 1;
  }

  /// Finds the longest repeating sequence of unnamed elements at `begin`. Returns its length, and its number of repetitions.
  static std::pair<std::size_t, std::size_t> repetition(const Items& items, std::size_t begin) {
    std::size_t best = 1;
    std::size_t best_times = 1;
    const std::size_t longest = std::min(longest_period, (items.size() - begin) / 2);
    for (std::size_t period = 1; period <= longest; ++period) {
      if (items[begin + period - 1].element == nullptr) break;
      std::size_t same = 0;
      while (begin + period + same < items.size() && items[begin + period + same].element != nullptr &&
             items[begin + same].signature == items[begin + period + same].signature) {
        ++same;
      }
      const std::size_t times = same / period + 1;
      if (times > 1 && period * times > best * best_times) {
        best = period;
        best_times = times;
      }
    }
    return {best, best_times};
  }

  void draw_repeated(const Items& items, std::size_t begin, std::size_t period, std::size_t times, Row& row,
                     bool in_branch) {
    const auto at = [&](std::size_t i) { return items.begin() + static_cast<std::ptrdiff_t>(i); };
    const bool in_a_row = std::all_of(at(begin), at(begin + period), [](const Item& item) { return item.branches.empty(); });
    if (in_a_row) {
      std::vector<std::string> words;
      for (std::size_t i = begin; i < begin + period; ++i) words.push_back(word_of(*items[i].element));
      if (words.size() == 1) {
        row.words.push_back(fmt::format("{} ×{}", words.front(), times));
      } else {
        words.front() = "(" + words.front();
        words.back() += fmt::format(") ×{}", times);
        row.words.insert(row.words.end(), words.begin(), words.end());
      }
    } else {
      flush(row);
      add(row.take_first() + fmt::format("×{}", times), in_branch ? -1 : items[begin + period * times - 1].last_layer);
      draw(Items(at(begin), at(begin + period)), row.rest + "  ", row.rest + "  ", in_branch);
    }
    row.last_layer = items[begin + period * times - 1].last_layer;
  }

  /// Draws the modules [begin, end). Several modules are instances of one block, and share a heading.
  void draw_parts(const Items& items, std::size_t begin, std::size_t end, const std::string& first, const std::string& rest,
                  bool in_branch) {
    const int last_layer = in_branch ? -1 : items[end - 1].last_layer;
    std::string heading = heading_of(items, begin, end);
    const Items* drawn = &items;
    // A module that contains only instances of one block shares a heading with these instances.
    while (end == begin + 1) {
      const Items& inner = (*drawn)[begin].inner;
      if (inner.empty() || inner.front().element != nullptr || end_of_instances(inner, 0) != inner.size()) break;
      drawn = &inner;
      begin = 0;
      end = inner.size();
      heading += ": " + heading_of(inner, begin, end);
    }
    add(first + shortened(std::move(heading), drawing_width - 24 - display_width(first)), last_layer);
    for (std::size_t i = begin; i < end;) {
      std::size_t next = i + 1;
      while (next < end && (*drawn)[next].signature == (*drawn)[i].signature) ++next;
      const bool all_alike = next - i == end - begin;
      std::string indent = rest + "  ";
      if (!all_alike) {
        std::string name((*drawn)[i].name);
        if (next - i > 1) name += fmt::format("–{}", instance_of((*drawn)[next - 1].name).number);
        add(indent + shortened(std::move(name), least_room));
        indent += "  ";
      }
      draw((*drawn)[i].inner, indent, indent, in_branch);
      i = next;
    }
  }

  static std::string heading_of(const Items& items, std::size_t begin, std::size_t end) {
    if (end == begin + 1) return std::string(items[begin].name);
    return fmt::format("{} ×{}", instance_of(items[begin].name).stem, end - begin);
  }

  const Model& model_;
  std::string text_;
};

}  // namespace

std::string draw_model(const Model& model) {
  const Series series = series_of(model);
  const Items items = Itemizer(model).items(series.data(), series.data() + series.size(), 0);
  Drawing drawing(model);
  const std::string input = to_string(model.input);
  drawing.add("input" + std::string(drawing_width - 5 - std::min(drawing_width - 5, display_width(input)), ' ') + input);
  drawing.draw(items, "", "", false);
  return drawing.text();
}

}  // namespace ddl
