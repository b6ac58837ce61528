#include "calibration/inputs/machine_spellings.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <span>
#include <utility>

#include "core/lower_case.hpp"

namespace ddl {
namespace {

/// Words that this program leaves out of the names that drivers and catalogues print, such as `NVIDIA GeForce RTX 5090` and
/// `AMD Instinct MI300X`.
constexpr auto maker_words =
    std::to_array<std::string_view>({"nvidia", "geforce", "tesla", "amd",    "instinct", "intel",    "huawei",     "google",
                                     "cloud",  "amazon",  "aws",   "azure",  "oracle",   "standard", "generation", "edition",
                                     "gpu",    "gpus",    "hgx",   "radeon", "graphics", "gcp",      "r",          "tm"});
/// Words for the socket, the kind of memory and the cooling of a GPU, and for a GPU in a virtual machine:
/// `NVIDIA A100-SXM4-80GB`, `NVIDIA H100 80GB HBM3`, `NVIDIA B300 SXM6 AC`, `AMD Instinct MI300X VF`.
constexpr auto form_words = std::to_array<std::string_view>(
    {"sxm", "sxm2", "sxm3", "sxm4", "sxm5", "sxm6", "oam", "vf", "hbm2", "hbm2e", "hbm3", "hbm3e", "ac"});

bool is_number(std::string_view word) { return !word.empty() && std::all_of(word.begin(), word.end(), is_digit); }

/// Words for a number of devices before a name: `dual 4090`.
constexpr auto count_words = std::to_array<std::string_view>({"single", "dual", "quad"});

/// Removes the number of devices after a name: `T4 x2`, `RTX 4090 x 8`.
void remove_last_count(std::vector<std::string>& words) {
  const std::size_t size = words.size();
  if (size > 1 && words.back().size() > 1 && words.back().front() == 'x' &&
      is_number(std::string_view(words.back()).substr(1)))
    words.pop_back();
  if (size > 2 && words[size - 2] == "x" && is_number(words.back())) words.resize(size - 2);
}

void remove_first_count(std::vector<std::string>& words) {
  if (words.empty()) return;
  if (words.size() > 1 && std::find(count_words.begin(), count_words.end(), words.front()) != count_words.end()) {
    words.erase(words.begin());
    return;
  }
  const auto end = std::find_if_not(words.front().begin(), words.front().end(), is_digit);
  const std::string rest(end, words.front().end());
  if (end == words.front().begin()) return;
  if (rest.size() > 1 && rest.front() == 'x') {
    words.front() = rest.substr(1);
  } else if (words.size() > 1 && (rest.empty() || rest == "x" || rest == "gpu" || rest == "gpus")) {
    words.erase(words.begin());
    if (words.size() > 1 && words.front() == "x") words.erase(words.begin());
  }
}

void remove_words(std::vector<std::string>& words, std::span<const std::string_view> removed) {
  std::erase_if(words, [removed](const std::string& word) {
    return std::find(removed.begin(), removed.end(), word) != removed.end();
  });
}

/// Whether a word is the shape of a TPU slice, such as `4x8x8`.
bool is_shape(std::string_view word) {
  return word.find('x') != std::string_view::npos && is_digit(word.front()) && is_digit(word.back()) &&
         std::all_of(word.begin(), word.end(), [](char c) { return is_digit(c) || c == 'x'; });
}

}  // namespace

bool is_digit(char c) { return c >= '0' && c <= '9'; }

std::vector<std::string> words_of(std::string_view name) {
  std::vector<std::string> words;
  bool is_inside = false;
  for (const char c : lower_case(name)) {
    const bool is_part = is_digit(c) || (c >= 'a' && c <= 'z') || c == '.';
    if (is_part && !is_inside) words.emplace_back();
    if (is_part) words.back() += c;
    is_inside = is_part;
  }
  // A space may separate the size of a memory from its unit: `24 GB`.
  for (std::size_t i = 0; i + 1 < words.size(); ++i) {
    if (!is_number(words[i]) || (words[i + 1] != "gb" && words[i + 1] != "gib")) continue;
    words[i] += words[i + 1];
    words.erase(words.begin() + static_cast<std::ptrdiff_t>(i) + 1);
  }
  for (std::string& word : words) {
    if (word.size() > 1 && word.back() == 'g' && is_number(std::string_view(word).substr(0, word.size() - 1))) word += 'b';
  }
  return words;
}

void remove_count(std::vector<std::string>& words) {
  remove_last_count(words);
  remove_first_count(words);
}

double gigabytes_in(const std::string& word) {
  const std::size_t digits = word.ends_with("gib") ? word.size() - 3 : word.ends_with("gb") ? word.size() - 2 : 0;
  return is_number(std::string_view(word).substr(0, digits)) ? std::strtod(word.c_str(), nullptr) : 0;
}

std::string joined(const std::vector<std::string>& words) {
  std::string name;
  for (const std::string& word : words) name += word;
  return name;
}

Spellings shorter_spellings(std::string_view name) {
  // SageMaker puts `ml.` before the names of instances.
  if (constexpr std::string_view prefix = "ml."; lower_case(name).starts_with(prefix)) name.remove_prefix(prefix.size());
  std::vector<std::string> words = words_of(name);
  std::vector<std::string> spellings{joined(words)};
  remove_count(words);
  spellings.push_back(joined(words));
  const auto is_no_memory = [](const std::string& word) { return gigabytes_in(word) == 0; };
  std::vector<std::string> sized_last = words;
  std::stable_partition(sized_last.begin(), sized_last.end(), is_no_memory);
  spellings.push_back(joined(sized_last));
  remove_words(words, maker_words);
  spellings.push_back(joined(words));
  std::stable_partition(words.begin(), words.end(), is_no_memory);
  spellings.push_back(joined(words));
  remove_words(words, form_words);
  spellings.push_back(joined(words));
  std::vector<std::string> singular = words;
  for (std::string& word : singular) {
    if (word.size() > 2 && word.back() == 's' && is_digit(word[word.size() - 2])) word.pop_back();
  }
  spellings.push_back(joined(singular));
  if (words.size() > 1 && (is_number(words.back()) || is_shape(words.back()))) {
    const std::string& version = words[words.size() - 2];
    if (version.size() > 1 && version[0] == 'v' && is_digit(version[1])) spellings.push_back("tpu" + version);
    if (version.starts_with("tpu")) spellings.push_back(version);
  }
  return {std::move(spellings), std::move(words)};
}

}  // namespace ddl
