#include "cli/options/configurations/configuration.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "cli/options/configurations/argument_meaning.hpp"
#include "cli/options/configurations/shell_text.hpp"
#include "core/words.hpp"
#include "model_zoo/files/load_model.hpp"

namespace ddl {

const Fact* Configuration::find(RunField field) const {
  const auto& fact = facts_[field.number()];
  return fact ? &*fact : nullptr;
}

bool Configuration::writes(RunField field) const {
  const Fact* fact = find(field);
  return fact != nullptr && fact->from.has_value();
}

bool Configuration::is_from(RunField field, std::string_view launcher) const {
  return writes(field) && find(field)->from->key.starts_with(launcher);
}

void Configuration::override_by(const Configuration& other) {
  for (std::size_t i = 0; i < RunField::count; ++i) {
    const auto& theirs = other.facts_[i];
    const bool is_kept = facts_[i] && facts_[i]->from && !facts_[i]->is_weak && theirs && theirs->is_weak;
    if (theirs && !is_kept && (theirs->from || !facts_[i])) facts_[i] = theirs;
  }
  sections.insert(other.sections.begin(), other.sections.end());
  skipped.insert(skipped.end(), other.skipped.begin(), other.skipped.end());
  unread_files.insert(unread_files.end(), other.unread_files.begin(), other.unread_files.end());
  refusals.insert(refusals.end(), other.refusals.begin(), other.refusals.end());
  not_modeled.insert(not_modeled.end(), other.not_modeled.begin(), other.not_modeled.end());
  warnings.insert(warnings.end(), other.warnings.begin(), other.warnings.end());
}

namespace {

/// Returns the option that gives a value which the file does not set: `--set NODES=VALUE` for `$NODES`, `${NODES}`, and for
/// the output of a command in `NODES=$(command)`.
std::string option_that_sets(const ConfigEntry& entry) {
  std::string_view name = entry.value;
  const bool has_braces = name.starts_with("${");
  name.remove_prefix(std::min<std::size_t>(name.size(), has_braces ? 2 : 1));
  const auto end = static_cast<std::size_t>(std::ranges::find_if_not(name, goes_on_in_shell_name) - name.begin());
  const bool is_whole = has_braces ? name.substr(end) == "}" : end == name.size();
  name = is_whole && entry.value.starts_with('$') ? name.substr(0, end) : std::string_view();
  const std::string_view text = entry.source == nullptr ? std::string_view() : std::string_view(entry.source->text());
  std::size_t at = std::min(entry.value_offset, text.size());
  if (at > 0 && text[at - 1] == '"') --at;
  if (name.empty() && entry.value.starts_with("$(") && at > 0 && text[at - 1] == '=') {
    std::size_t from = at - 1;
    while (from > 0 && goes_on_in_shell_name(text[from - 1])) --from;
    name = text.substr(from, at - 1 - from);
  }
  return fmt::format("--set {}=VALUE", name.empty() ? "NAME" : name);
}

}  // namespace

std::string Configuration::word(RunField field) const {
  const Fact* fact = find(field);
  if (fact == nullptr) return {};
  if (!fact->problem.empty() && fact->from) throw fact->from->error(fact->problem, fact->hint);
  if (fact->from && !fact->from->is_known) {
    // The values in the branches are known, but it is unknown which branch runs.
    if (fact->from->is_of_branches) {
      throw fact->from->error(
          fmt::format("{} is only one of the values set by the branches of this script", quote(fact->from->value)),
          "use --set NAME=VALUE to choose the branch, or set the value by an option of this command");
    }
    throw fact->from->error(
        fmt::format("this file does not set {}", quote(fact->from->value)),
        fmt::format("use {}, or set the value by an option of this command", option_that_sets(*fact->from)));
  }
  return fact->value;
}

std::optional<std::int64_t> Configuration::number(RunField field, std::int64_t low, std::int64_t high) const {
  const Fact* fact = find(field);
  if (fact == nullptr) return std::nullopt;
  const std::string text = word(field);
  std::string digits = text;
  // Python and YAML group the digits of a number by underscores: 128_256.
  if (!text.starts_with('_') && !text.ends_with('_')) std::erase(digits, '_');
  const auto value = number_in(digits);
  if (value && *value >= low && *value <= high) return value;
  const std::string message = fmt::format("{} is not a whole number from {} to {}", quote(text), low, high);
  if (!fact->from) throw Error(message);
  throw fact->from->error(message, "use only digits, as in 4");
}

std::string Configuration::dropout_rate(RunField field) const {
  const std::string text = word(field);
  if (text.empty() || text == "null") return "0";
  char* end = nullptr;
  const double rate = std::strtod(text.c_str(), &end);
  if (end != text.c_str() + text.size() || !(rate >= 0 && rate < 1))
    fail({field}, fmt::format("{} is not a dropout rate", quote(text)), "write a number from 0 to less than 1");
  return rate == 0 ? "0" : fmt::format("{}", rate);
}

void Configuration::fail(std::initializer_list<RunField> fields, const std::string& message, const std::string& hint) const {
  for (const RunField field : fields) {
    const Fact* fact = find(field);
    if (fact != nullptr && fact->from) throw fact->from->error(message, hint);
  }
  throw Error(fmt::format("{}: {}", file, message), hint);
}

namespace {

/// Whether an option on the command line replaces the field.
bool is_said_by_option(RunField field, const IsGiven& is_given) {
  if (!is_given) return false;
  if (const auto choice = field.choice()) return is_given(fmt::format("--{}", row_of(*choice).option));
  const auto is_from = [&](ConfigField first, ConfigField last) {
    return field.number() >= RunField(first).number() && field.number() <= RunField(last).number();
  };
  if (field == ConfigField::sequence) return is_given("--seq");
  if (is_from(ConfigField::model, ConfigField::latent)) return is_given("--model");
  if (is_from(ConfigField::gpus, ConfigField::gpus_per_node)) return is_given("--gpus");
  if (field == ConfigField::global_batch) return is_given("--global-batch") || is_given("--batch-per-gpu");
  if (is_from(ConfigField::global_batch, ConfigField::micro_batches)) return is_given("--micro-batches");
  if (is_from(ConfigField::precision, ConfigField::fp4)) return is_given("--precision");
  if (is_from(ConfigField::optimizer, ConfigField::momentum)) return is_given("--optimizer");
  return false;
}

}  // namespace

bool has_option(RunField field) {
  return is_said_by_option(field, [](const std::string&) { return true; });
}

namespace {

/// Whether --model names a model of the kind that the configuration trains. A model of a file has no family, and is
/// accepted.
bool is_trained(const Refusal& refusal, const std::string& model) {
  if (refusal.families.empty()) return true;
  const std::string family = load_model(model).family;
  return family.empty() || is_word_of(refusal.families, family);
}

/// Whether one of the options, which are separated by spaces, is given.
bool is_one_given(std::string_view options, const IsGiven& is_given) {
  return std::ranges::any_of(split(options, " "), [&](std::string_view each) { return is_given(std::string(each)); });
}

}  // namespace

void Configuration::refuse(const IsGiven& is_given, const std::string& model) const {
  for (const Refusal& refusal : refusals) {
    if (is_given && is_one_given(refusal.unless, is_given)) continue;
    if (refusal.is_of_model && is_given && is_given("--model")) {
      if (is_trained(refusal, model)) continue;
      throw refusal.at.error(fmt::format("{}, and {} of --model is another kind of model", refusal.message, quote(model)),
                             "name a model of this kind, or leave the file out: recommend --model NAME --gpus N");
    }
    throw refusal.at.error(refusal.message, refusal.hint);
  }
  for (std::size_t i = 0; i < RunField::count; ++i) {
    const RunField field = RunField::numbered(i);
    if (facts_[i] && !facts_[i]->problem.empty() && !is_said_by_option(field, is_given)) static_cast<void>(word(field));
  }
}

std::string Configuration::hint_with_skipped(std::string hint) const {
  constexpr std::size_t most_listed = 3;
  for (std::size_t i = 0; i < std::min(skipped.size(), most_listed); ++i)
    hint += fmt::format("{} {}", i == 0 ? "; skipped:" : ",", visible(skipped[i]));
  return hint;
}

Option add_set_option(const Command& command, std::vector<std::string>& words) {
  return command.add_repeated(
      "--set", words,
      "value that the script does not set: a variable, as in NODES=4, an argument, as in 1=4, or a script that "
      "sets variables; repeatable",
      "NAME=VALUE");
}

std::string line_text(const std::optional<Place>& place) {
  return place ? fmt::format("{}:{}", place->file, place->line) : "";
}

}  // namespace ddl
