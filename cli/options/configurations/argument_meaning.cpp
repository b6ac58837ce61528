#include "cli/options/configurations/argument_meaning.hpp"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "cli/options/configurations/recognition.hpp"
#include "core/find.hpp"
#include "core/lower_case.hpp"
#include "core/suggest.hpp"
#include "core/words.hpp"

namespace ddl {

bool says_nothing(std::string_view value) {
  const std::string word = lower_case(value);
  return word.empty() || word == "auto" || word == "null" || word == "none" || word == "~" || word == "???";
}

bool is_neutral(std::string_view value) {
  const std::string word = lower_case(value);
  // A pattern of ones, such as `[1]*32`, gives all layers the same layout.
  const bool is_pattern = word.starts_with("[1]*") || word.starts_with("([1]*");
  if (is_pattern && word.find('+') == std::string::npos) return true;
  for (const std::string_view each :
       {"false", "no", "0", "0.0", "1", "none", "null", "off", "uniform", "", "backward_pre", "core_attn"}) {
    if (word == each) return true;
  }
  return false;
}

bool names_gpus(std::string_view value) {
  const std::size_t colon = value.find(':');
  return value.starts_with("gpu:") || colon == std::string_view::npos ||
         (colon == value.rfind(':') && !value.starts_with("nvme"));
}

bool is_as_modeled(std::string_view key, std::string_view value) {
  // Predictions assume adapters on all matrices of the blocks.
  const bool is_all = is_word_of("all all-linear true", value);
  return is_neutral(value) || (is_all && is_word_of("*lora-target *lora-target-linear *target-modules", key));
}

bool is_word_of(std::string_view words, std::string_view value) {
  return std::ranges::any_of(split(words, " "),
                             [&](std::string_view each) { return is_named(lower_case(each), lower_case(value)); });
}

bool gives_length(const std::string& key) {
  const auto& formats = configuration_formats();
  return std::ranges::any_of(formats, [&](const ConfigurationFormat* each) {
    const ArgumentRow* row = lends_arguments(*each) ? row_named(each->rows, key) : nullptr;
    return row != nullptr && row->field == ConfigField::sequence;
  });
}

namespace {

/// Returns the whole value. If the argument takes a list, returns the items of the list.
std::vector<std::string> words_of(const ArgumentRow& row, const std::string& value) {
  if (!row.is_list) return {value};
  std::vector<std::string> words;
  for (const std::string_view word : split(value, " ,")) {
    if (!word.empty()) words.emplace_back(word);
  }
  return words;
}

}  // namespace

bool has_word_of(std::string_view words, const ArgumentRow* row, const std::string& value) {
  if (row == nullptr || !row->is_list) return is_word_of(words, value);
  const std::vector<std::string> items = words_of(*row, value);
  return std::any_of(items.begin(), items.end(), [&](const std::string& each) { return is_word_of(words, each); });
}

std::optional<Fact> meaning_of(const ArgumentRow& row, const ConfigEntry& setting) {
  Fact fact{.value = std::string(row.alone), .from = setting};
  if (setting.is_of_branches) {
    fact.value = setting.value;
    return fact;
  }
  if (!row.alone.empty() && row.words.empty() && lower_case(setting.value) == "false") return std::nullopt;
  const bool is_variable = !setting.is_known && setting.value.starts_with('$');
  if (!row.alone.empty() && (setting.value.empty() || row.words.empty() || is_variable)) {
    fact.from->is_known = true;
    return fact;
  }
  fact.value = setting.value;
  if (!setting.is_known) {
    // The folder of a model does not matter if its name is known.
    if (row.field == RunField(ConfigField::model) && bundled_model_named(setting.known_end)) {
      fact.value = setting.known_end;
      fact.from->is_known = true;
    }
    return fact;  // Configuration::word() reports the unknown value if it is needed
  }
  for (const std::string& said : words_of(row, setting.value)) {
    for (const ArgumentWord& word : row.words) {
      const bool is_pattern = word.word.find('*') != std::string_view::npos;
      if (is_pattern ? !is_named(word.word, said) : lower_case(word.word) != lower_case(said)) continue;
      if (word.meaning.empty()) return std::nullopt;
      if (word.meaning != "*") fact.value = word.meaning;
      return fact;
    }
  }
  if (row.is_list) return std::nullopt;
  if (says_nothing(setting.value)) {
    const bool needs_value = setting.value.empty() && setting.key.starts_with("--") && row.words.empty() &&
                             row.field != ConfigField::deepspeed_file;
    if (!needs_value) return std::nullopt;
    fact.problem = fmt::format("{} has no value", setting.shown_key());
    fact.hint = "write the value after the argument";
  } else if (!row.words.empty()) {
    std::vector<std::string_view> known;
    for (const ArgumentWord& word : row.words) {
      if (!word.word.empty() && !contains(known, word.word)) known.push_back(word.word);
    }
    fact.problem = fmt::format("{} does not support {}", setting.shown_key(), quote(setting.value));
    fact.hint = suggest(setting.value, known);
    if (has_option(row.field)) {
      fact.hint += fact.hint.ends_with('?') ? " Otherwise, set the value" : "; or set the value";
      fact.hint += " by an option of this command";
    }
  }
  return fact;
}

bool keeps_value(const ArgumentRow& row, const Fact& before, const Fact& fact, const ConfigEntry& setting) {
  // If another argument already gives a known value, an unknown value is ignored.
  const bool is_another = argument_key(before.from->key) != argument_key(setting.key);
  if (before.from->is_known && !setting.is_known && is_another) return true;
  if (row.is_weak && !before.is_weak) return true;
  // `fused` names no version of the kernels, but another argument may name one.
  return row.field == ConfigField::attention && fact.value == "fused" && is_another && before.value.starts_with("flash");
}

Refusal refusal_of(const RefusedArgument& refused, const ConfigEntry& setting) {
  return {.at = setting,
          .message = fmt::format("'{}': {}", argument_text(setting), refused.reason),
          .hint = std::string(refused.hint),
          .is_of_model = refused.is_of_model,
          .families = refused.families,
          .unless = refused.unless};
}

}  // namespace ddl
