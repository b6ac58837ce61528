#include "model_zoo/files/unknown_model.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/csv.hpp"
#include "core/embedded.hpp"
#include "core/lower_case.hpp"
#include "core/source_text.hpp"
#include "core/suggest.hpp"
#include "model_zoo/files/bundled_name.hpp"
#include "model_zoo/files/canonical_name.hpp"
#include "model_zoo/files/catalogue.hpp"
#include "model_zoo/files/load_model.hpp"
#include "model_zoo/files/published_names.hpp"

namespace ddl {

// This function is generated from catalogue/absent.csv.
std::span<const EmbeddedFile> absent_model_files();

namespace {

constexpr std::size_t relatives_shown = 6, nearest_shown = 3;
/// A shorter beginning of a name does not identify a family.
constexpr std::size_t shortest_stem = 3;

/// A kind of network without a similar bundled model: words in the names of such networks, and the nearest bundled models.
struct AbsentKind {
  std::string words;  ///< separated by spaces
  std::string are, nearest;
};

std::vector<AbsentKind> read_absent_kinds() {
  const EmbeddedFile& file = absent_model_files().front();
  const CsvTable table = CsvTable::parse(std::string(file.content), std::string(file.path));
  const std::size_t words = table.column("words"), are = table.column("are"), nearest = table.column("nearest");
  std::vector<AbsentKind> kinds;
  for (std::size_t row = 0; row < table.rows(); ++row)
    kinds.push_back({table.cell(row, words), table.cell(row, are), table.cell(row, nearest)});
  return kinds;
}

/// Whether the name is that of a file with weights, which does not contain the graph of the network.
bool is_weights_file(std::string_view name) {
  constexpr auto endings = std::to_array<std::string_view>({".pt", ".pth", ".ckpt", ".safetensors", ".gguf", ".h5"});
  return std::any_of(endings.begin(), endings.end(), [name](std::string_view each) { return name.ends_with(each); });
}

/// Returns the kind of network, without a similar bundled model, that a word of the name denotes. Each word is also compared
/// without its first digit and what follows it.
std::optional<AbsentKind> absent_kind_of(std::string_view name) {
  std::set<std::string> words;
  std::string word;
  for (const char c : lower_case(name) + " ") {
    if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9')) {
      word += c;
      continue;
    }
    words.insert(word);
    words.insert(word.substr(0, word.find_first_of("0123456789")));
    word.clear();
  }
  for (AbsentKind& kind : read_absent_kinds()) {
    for (std::size_t at = 0; at < kind.words.size();) {
      const std::size_t end = std::min(kind.words.find(' ', at), kind.words.size());
      if (words.contains(kind.words.substr(at, end - at))) return std::move(kind);
      at = end + 1;
    }
  }
  return std::nullopt;
}

/// Returns the letters with which a name begins: `qwen` of `Qwen4-9B`.
std::string stem_of(std::string_view name) {
  std::string stem;
  for (const char c : lower_case(name)) {
    if (c < 'a' || c > 'z') break;
    stem += c;
  }
  return stem;
}

/// Returns the bundled models whose names, or published spellings, have the same stem as a name.
std::vector<std::string> relatives_of(std::string_view name) {
  const std::string stem = stem_of(name);
  std::vector<std::string> relatives;
  if (stem.size() < shortest_stem) return relatives;
  for (const CatalogueEntry& entry : model_catalogue()) {
    const auto begins = [&stem](std::string_view spelling) { return stem_of(spelling) == stem; };
    if (begins(entry.name) || std::any_of(entry.aliases.begin(), entry.aliases.end(), begins))
      relatives.push_back(entry.name);
  }
  return relatives;
}

/// The numbers in a model's name, which are compared to find the nearest model.
struct NameNumbers {
  std::optional<double> version;  ///< the 3.5 of `qwen3.5-7b`
  std::optional<double> size;     ///< number of parameters, such as 7e9
};

/// Reads the numbers of a name. A number with a `b` or an `m` after it is a size; the first other number is a version.
NameNumbers numbers_of(std::string_view name) {
  NameNumbers numbers;
  const std::string text = lower_case(name);
  const auto is_digit = [&text](std::size_t at) { return at < text.size() && text[at] >= '0' && text[at] <= '9'; };
  constexpr std::size_t most_digits = 12;
  for (std::size_t at = 0; at < text.size();) {
    std::size_t end = at;
    while (is_digit(end) || (end > at && text[end] == '.' && is_digit(end + 1))) ++end;
    if (end == at) {
      ++at;
      continue;
    }
    const double number = std::strtod(text.substr(at, std::min(end - at, most_digits)).c_str(), nullptr);
    const char unit = end < text.size() ? text[end] : ' ';
    const bool is_word = end + 1 >= text.size() || text[end + 1] < 'a' || text[end + 1] > 'z';
    const double scale = !is_word ? 0 : unit == 't' ? 1e12 : unit == 'b' ? 1e9 : unit == 'm' ? 1e6 : 0;
    if (scale > 0 && !numbers.size) numbers.size = number * scale;
    if (scale == 0 && !numbers.version) numbers.version = number;
    at = end;
  }
  return numbers;
}

/// Returns the words of a name after its stem, such as the `small` of `mistral-small-4`. A single letter is not a word.
std::vector<std::string> words_behind_stem(std::string_view name) {
  std::vector<std::string> words{std::string()};
  for (const char c : lower_case(name).substr(stem_of(name).size())) {
    if (c >= 'a' && c <= 'z') {
      words.back() += c;
    } else if (!words.back().empty()) {
      words.emplace_back();
    }
  }
  std::erase_if(words, [](const std::string& word) { return word.size() < 2; });
  return words;
}

/// The distance of a bundled model from a name of the same family; the smallest value is the nearest model.
struct Nearness {
  int words;  ///< minus the number of words in both names
  double version, size;

  auto operator<=>(const Nearness&) const = default;
};

Nearness nearness(std::string_view name, std::string_view relative) {
  constexpr double unknown = 1e3;
  const NameNumbers asked = numbers_of(name), numbers = numbers_of(relative);
  Nearness near{.words = stem_of(name) == stem_of(relative) ? -1 : 0, .version = 0, .size = unknown};
  const std::vector<std::string> words = words_behind_stem(relative);
  for (const std::string& word : words_behind_stem(name)) {
    if (std::find(words.begin(), words.end(), word) != words.end()) --near.words;
  }
  if (asked.version) near.version = numbers.version ? std::abs(*numbers.version - *asked.version) : unknown;
  if (asked.size && numbers.size && *asked.size > 0 && *numbers.size > 0)
    near.size = std::abs(std::log(*numbers.size / *asked.size));
  return near;
}

/// Sorts models of a name's family by their distance: first by common words, then by version, then by size. Keeps only the
/// models with the most common words and the nearest version.
void keep_nearest(std::vector<std::string>& relatives, std::string_view name) {
  std::stable_sort(relatives.begin(), relatives.end(),
                   [name](const std::string& a, const std::string& b) { return nearness(name, a) < nearness(name, b); });
  const Nearness first = nearness(name, relatives.front());
  std::erase_if(relatives, [&](const std::string& each) {
    const Nearness near = nearness(name, each);
    return near.words > first.words || near.version > first.version;
  });
}

/// Whether two names differ only in digits and points. Such names denote different models.
bool differ_in_digits(std::string_view name, std::string_view other) {
  const auto without_digits = [](std::string_view text) {
    std::string letters = lower_case(text);
    std::erase_if(letters, [](char c) { return (c >= '0' && c <= '9') || c == '.'; });
    return letters;
  };
  return without_digits(name) == without_digits(other);
}

/// Returns the bundled model if a name has one typing error: one letter differs. Separators are ignored.
std::optional<std::string> meant_by(std::string_view name, const std::vector<std::string>& names) {
  constexpr std::size_t longest_compared = 64;
  if (name.size() > longest_compared) return std::nullopt;
  if (const auto found = nearest(name, names); found && edit_distance(lower_case(name), lower_case(*found)) <= 1) {
    // In a name without a size, a missing digit is a typing error: resnet5.
    const bool is_other = differ_in_digits(name, *found) && (name.size() == found->size() || numbers_of(name).size);
    return is_other ? std::nullopt : found;
  }
  for (const std::string& each : names) {
    if (edit_distance(name_key(name), name_key(each)) <= 1 && !differ_in_digits(name_key(name), name_key(each))) return each;
  }
  return std::nullopt;
}

/// An ending of a name of earlier versions of timm, and the tag that says which classes the head has; empty if the head has
/// the 1,000 classes of ImageNet, or none [timm, the deprecated names of its models].
struct EarlierEnding {
  std::string_view ending, tag;
};
constexpr std::string_view usual_tag = "augreg_in21k";
constexpr auto earlier_endings = std::to_array<EarlierEnding>({{"_miil_in21k", "miil_in21k"},
                                                               {"_in21k", usual_tag},
                                                               {"_in22k", "in22k"},
                                                               {"_22k", "in22k"},
                                                               {"_22kft1k", ""},
                                                               {"_in22ft1k", ""},
                                                               {"_dino", ""}});

/// Returns the bundled architecture of a timm name, and the number of classes of its head, 0 for the usual ones. The name
/// has a tag, `resnet50.a1_in21k`, or an ending of earlier versions, `vit_base_patch16_224_in21k`. Returns nothing for other
/// names.
std::optional<HeadOfTag> architecture_of(std::string_view name) {
  const auto ending = std::find_if(earlier_endings.begin(), earlier_endings.end(),
                                   [&](const EarlierEnding& each) { return name.ends_with(each.ending); });
  const bool has_ending = ending != earlier_endings.end() && name.find('.') == std::string_view::npos;
  const std::string_view architecture =
      has_ending ? name.substr(0, name.size() - ending->ending.size()) : name.substr(0, name.find('.'));
  if (architecture.size() == name.size() || architecture.empty()) return std::nullopt;
  // A digit after the dot continues a version: `DeepSeek-V3.2` has no tag.
  const std::string_view tag = name.substr(architecture.size() + 1);
  if (tag.empty() || (!has_ending && tag.front() >= '0' && tag.front() <= '9')) return std::nullopt;
  const std::string model = canonical_model_name(architecture);
  const std::vector<std::string> names = model_names();
  if (std::find(names.begin(), names.end(), model) == names.end()) return std::nullopt;
  const std::string_view head_tag = has_ending ? ending->tag : tag.ends_with("in21k") ? usual_tag : std::string_view();
  const auto head = head_tag.empty() ? std::nullopt : head_of_tag(fmt::format("{}.{}", architecture, head_tag));
  return HeadOfTag{model, head ? head->classes : 0};
}

}  // namespace

std::string unknown_model_hint(std::string_view name) {
  const bool is_repository = is_hub_name(name);
  if (is_repository) name.remove_prefix(name.find('/') + 1);
  const std::string import = is_repository ? "download its config.json and name the model by its path: ./net/config.json"
                                           : "name the model by the path of its config.json: ./net/config.json";
  if (is_weights_file(name))
    return fmt::format("a file of weights has no graph: export the network as ONNX (docs/import.md), or {}", import);
  if (const auto known = architecture_of(name)) {
    if (known->classes == 0) return fmt::format("the architecture is {}: use this name", known->architecture);
    return fmt::format("the architecture is {0}; set other classes or sizes after the name: {0}@classes={1}",
                       known->architecture, known->classes);
  }
  const std::vector<std::string> names = model_names();
  const std::string known = suggest(name, names);
  const bool is_close = known.starts_with("did you mean");
  const std::optional<std::string> meant = meant_by(name, names);
  if (!is_repository && meant) return fmt::format("did you mean {}?", quote(*meant));
  if (const std::optional<AbsentKind> kind = absent_kind_of(name))
    return fmt::format("{}; the nearest: {}; or write a model file (docs/models.md)", kind->are, kind->nearest);
  std::vector<std::string> relatives = relatives_of(name);
  const NameNumbers numbers = numbers_of(name);
  if (!meant && !relatives.empty() && (numbers.version || numbers.size)) {
    keep_nearest(relatives, name);
    if (relatives.size() > nearest_shown) relatives.resize(nearest_shown);
    return fmt::format("nearest of its family: {}; or {}", fmt::join(relatives, ", "), import);
  }
  if (is_close) return fmt::format("{} or {}", known, import);
  if (relatives.empty()) return fmt::format("see 'models list' for bundled models, or {}", import);
  const bool is_long = relatives.size() > relatives_shown;
  if (is_long) relatives.resize(relatives_shown);
  return fmt::format("models with a similar name: {}{}; or {}", fmt::join(relatives, ", "), is_long ? ", ..." : "", import);
}

}  // namespace ddl
