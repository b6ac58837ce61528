#include "cli/options/configurations/shell_variables.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <string_view>
#include <utility>

namespace ddl {
namespace {

bool is_same_value(const std::optional<ShellVariable>& a, const std::optional<ShellVariable>& b) {
  if (!a || !b) return !a && !b;
  return a->is_array == b->is_array && std::equal(a->words.begin(), a->words.end(), b->words.begin(), b->words.end(),
                                                  [](const PlacedText& x, const PlacedText& y) { return x.text == y.text; });
}

bool begins_option(const PlacedText& word) { return word.text.starts_with("--"); }

/// An option with its values: the words [from, end).
struct ShellOption {
  std::size_t from, end;
};
using ShellOptions = std::map<std::string_view, ShellOption>;

/// Returns the options among the words [from, end) by name; empty if a value is first, or if an option is repeated.
template <class Words>
std::optional<ShellOptions> options_in(const Words& words, std::size_t from, std::size_t end) {
  ShellOptions options;
  for (std::size_t at = from; at < end;) {
    if (!begins_option(words[at])) return std::nullopt;
    const std::string_view word = words[at].text;
    std::size_t next = at + 1;
    while (next < end && !begins_option(words[next])) ++next;
    if (!options.try_emplace(word.substr(0, word.find('=')), ShellOption{at, next}).second) return std::nullopt;
    at = next;
  }
  return options;
}

/// Marks the words of `value` that differ from `other`: those between the longest common prefix and the longest common
/// suffix. Returns the words of options that only `other` has.
template <class Words, class Mark>
std::vector<PlacedText> mark_difference(Words& value, const Words& other, const Mark& mark) {
  const auto is_same = [](const PlacedText& x, const PlacedText& y) { return x.text == y.text; };
  const std::size_t shorter = std::min(value.size(), other.size());
  std::size_t front = 0, back = 0;
  while (front < shorter && is_same(value[front], other[front])) ++front;
  while (back < shorter - front && is_same(value[value.size() - 1 - back], other[other.size() - 1 - back])) ++back;
  std::size_t whole = back;  // values at the beginning of the suffix may belong to different options
  while (whole > 0 && !begins_option(value[value.size() - whole])) --whole;
  const std::optional<ShellOptions> own = options_in(value, front, value.size() - whole),
                                    others = options_in(other, front, other.size() - whole);
  std::vector<PlacedText> more;
  if (!own || !others) {
    // A word that only `value` has is optional. A word that is different in `other` is of_branches.
    const bool is_added = front + back == other.size();
    for (std::size_t i = front; i < value.size() - back; ++i)
      mark(value[i], is_added ? Certainty::optional : Certainty::of_branches);
    return more;
  }
  const auto begin = [](const auto& words, std::size_t at) { return words.begin() + static_cast<std::ptrdiff_t>(at); };
  // An option that only one branch adds is optional. If each branch adds other options, one of them is needed, unless a
  // third branch may add none.
  const auto may_lack = [](const Words& words, const ShellOptions& options, const ShellOptions& than) {
    return std::ranges::all_of(options, [&](const auto& each) {
      return than.contains(each.first) || words[each.second.from].certainty() == Certainty::optional;
    });
  };
  const Certainty certainty =
      may_lack(value, *own, *others) || may_lack(other, *others, *own) ? Certainty::optional : Certainty::of_branches;
  for (const auto& [name, option] : *own) {
    const auto same = others->find(name);
    const bool is_shared = same != others->end();
    if (is_shared && std::equal(begin(value, option.from), begin(value, option.end), begin(other, same->second.from),
                                begin(other, same->second.end), is_same))
      continue;
    for (std::size_t i = option.from; i < option.end; ++i) mark(value[i], is_shared ? Certainty::of_branches : certainty);
  }
  for (const auto& [name, option] : *others) {
    if (own->contains(name)) continue;
    more.insert(more.end(), begin(other, option.from), begin(other, option.end));
  }
  for (PlacedText& word : more) word.mark(certainty);
  return more;
}

/// Merges the values of a variable after two branches, if it is unknown which branch runs.
ShellVariable merge(ShellVariable a, ShellVariable b) {
  std::size_t size_a = 0, size_b = 0;
  for (const PlacedText& word : a.words) size_a += word.text.size() + 1;
  for (const PlacedText& word : b.words) size_b += word.text.size() + 1;
  if (size_a > size_b) std::swap(a, b);  // the longer value is kept, with its certainty marked
  if (b.is_array || a.is_array || b.words.empty()) {
    std::vector<PlacedText> more =
        mark_difference(b.words, a.words, [](PlacedText& word, Certainty certainty) { word.mark(certainty); });
    std::move(more.begin(), more.end(), std::back_inserter(b.words));
    return b;
  }
  PlacedText& text = b.words.front();
  std::vector<PlacedText> own = split_words(text);
  const std::vector<PlacedText> other = a.words.empty() ? std::vector<PlacedText>() : split_words(a.words.front());
  std::size_t at = 0;
  std::vector<std::size_t> begins;
  for (const PlacedText& word : own) {
    at = text.text.find(word.text, at);
    begins.push_back(at);
    at += word.text.size();
  }
  const std::vector<PlacedText> more = mark_difference(own, other, [&](PlacedText& word, Certainty certainty) {
    const std::size_t begin = begins[static_cast<std::size_t>(&word - own.data())];
    text.mark(certainty, begin, begin + word.text.size());
  });
  for (const PlacedText& word : more) {
    text.add_blank(word);
    text.add(word);
  }
  return b;
}

}  // namespace

std::optional<std::int64_t> shell_number(const PlacedText& text) {
  constexpr std::size_t most_digits = 18;
  std::string_view digits = text.text;
  const bool is_negative = digits.starts_with('-');
  if (is_negative) digits.remove_prefix(1);
  if (digits.empty() || digits.size() > most_digits || !text.is_known() || !std::ranges::all_of(digits, is_shell_digit)) {
    return std::nullopt;
  }
  return std::stoll(text.text);
}

const ShellVariable* ShellVariables::find(const std::string& name) const {
  const auto found = all_.find(name);
  return found == all_.end() ? nullptr : &found->second;
}

std::optional<std::int64_t> ShellVariables::number(const std::string& name) const {
  const ShellVariable* variable = find(name);
  if (variable == nullptr || variable->words.empty()) return std::nullopt;
  return shell_number(variable->words.front());
}

std::optional<ShellVariable> ShellVariables::copy_of(const std::string& name) {
  const ShellVariable* found = find(name);
  if (found == nullptr) return std::nullopt;
  for (const PlacedText& word : found->words) copied_ += word.text.size() + 1;
  return *found;
}

void ShellVariables::replace(const std::string& name, std::optional<ShellVariable> value) {
  if (!branches_.empty() && !branches_.back().before.contains(name)) branches_.back().before[name] = copy_of(name);
  const auto found = all_.find(name);
  if (value) {
    all_[name] = *std::move(value);
  } else if (found != all_.end()) {
    all_.erase(found);
  }
}

void ShellVariables::assign(const std::string& name, ShellVariable value, bool adds) {
  const ShellVariable* before = find(name);
  if (!adds || before == nullptr) return replace(name, std::move(value));
  ShellVariable sum = *copy_of(name);
  if (value.is_array || sum.is_array) {
    for (PlacedText& word : value.words) sum.words.push_back(std::move(word));
    sum.is_array = true;
  } else if (sum.words.empty()) {
    sum = std::move(value);
  } else if (!value.words.empty()) {
    sum.words.front().add(value.words.front());
  }
  replace(name, std::move(sum));
}

void ShellVariables::end_branch() {
  Branches& branches = branches_.back();
  Values result;
  for (auto& [name, before] : branches.before) {
    const auto found = all_.find(name);
    result[name] = found == all_.end() ? std::nullopt : std::optional<ShellVariable>(std::move(found->second));
    if (before) {
      all_[name] = *std::move(before);
    } else if (found != all_.end()) {
      all_.erase(found);
    }
  }
  branches.before.clear();
  branches.results.push_back(std::move(result));
}

void ShellVariables::end_branches(bool is_complete) {
  const Branches branches = std::move(branches_.back());
  branches_.pop_back();
  std::set<std::string> names;
  for (const Values& result : branches.results) {
    for (const auto& [name, value] : result) names.insert(name);
  }
  for (const std::string& name : names) {
    const std::optional<ShellVariable> before = copy_of(name);
    std::optional<ShellVariable> merged = is_complete ? std::nullopt : before;
    bool is_first = is_complete;
    for (const Values& result : branches.results) {
      const auto own = result.find(name);
      const std::optional<ShellVariable>& value = own == result.end() ? before : own->second;
      if (is_first || !merged) {
        merged = value;
      } else if (value && !is_same_value(merged, value)) {
        merged = merge(*merged, *value);
      }
      is_first = false;
    }
    replace(name, std::move(merged));
  }
}

}  // namespace ddl
