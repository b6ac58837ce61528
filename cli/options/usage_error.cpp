#include "cli/options/usage_error.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/manual/manual.hpp"
#include "cli/manual/word_help.hpp"
#include "cli/options/argument_name.hpp"
#include "core/find.hpp"
#include "core/lower_case.hpp"
#include "core/source_text.hpp"
#include "core/suggest.hpp"
#include "estimator/plan/axis.hpp"
#include "model_zoo/files/bundled_name.hpp"
#include "model_zoo/files/catalogue.hpp"

namespace ddl {
namespace {

/// Returns the axis in the name of an option of a framework: tensor for `tensor-model-parallel-size`.
std::optional<Axis> axis_in(std::string_view word) {
  for (const std::string_view ending : {"-size", "-degree", "-dim"}) {
    if (word.ends_with(ending)) word.remove_suffix(ending.size());
  }
  for (const std::string_view ending : {"-model-parallel", "-parallelism", "-parallel"}) {
    if (word.ends_with(ending)) word.remove_suffix(ending.size());
  }
  return parse_axis(word);
}

/// The options that other tools have for a number format.
constexpr std::array<std::string_view, 10> number_formats{"fp32",  "tf32",  "fp16",  "bf16",  "fp8",
                                                          "nvfp4", "mxfp8", "mxfp6", "mxfp4", "int8"};

/// Returns a hint for a user who typed a framework's option, or a common word for a concept, in `command`. For example, the
/// hint for `--tp` explains how to write degrees, and the hint for `--nodes` says that --gpus counts the GPUs of all nodes.
/// Empty if no framework has this option, or if `command` has no replacement.
std::string framework_option_hint(const CLI::App& command, std::string_view option) {
  const auto has = [&](std::string_view name) { return command.get_option_no_throw(std::string(name)) != nullptr; };
  const std::string plain = plain_word(option);
  const auto* const known = find_where(
      synonyms(), [&](const Synonym& each) { return each.word == plain && has("--" + std::string(each.option)); });
  if (option.starts_with("--") && known != nullptr) return std::string(known->hint);
  if (has("--precision") && contains(number_formats, plain)) return fmt::format("use --precision {}", plain);
  // `--data` is probably an abbreviation of --dataset, not a degree.
  if (!option.starts_with("--") || option == "--data" || !has("--degrees")) return {};
  const std::optional<Axis> axis = axis_in(plain);
  if (!axis) return {};
  if (zero_stage_in(plain)) return fmt::format("use --strategy {}", plain);
  const std::string plan = *axis == Axis::data ? "data=64" : fmt::format("data=8,{}=8", to_string(*axis));
  return fmt::format("use the degrees of the whole plan, as in --degrees {}", plan);
}

/// Returns the hint of the synonym that is nearest to an unknown option. The option is a misspelling (`--batchsize`), or a
/// part of the synonym (`--checkpoint` of `activation-checkpointing`). Empty if there is no such synonym, or if `command`
/// has no replacement.
std::string near_synonym_hint(const CLI::App& command, std::string_view option) {
  constexpr std::size_t least_part = 4;
  const std::string typed = plain_word(option);
  std::vector<std::string_view> words, parts;
  for (const Synonym& each : synonyms()) {
    if (command.get_option_no_throw("--" + std::string(each.option)) == nullptr) continue;
    words.push_back(each.word);
    const bool is_part = typed.size() >= least_part && each.word.find(typed) != std::string_view::npos;
    const bool has_part = each.word.size() >= least_part && typed.find(each.word) != std::string::npos;
    if (is_part || has_part) parts.push_back(each.word);
  }
  std::optional<std::string> near = nearest(typed, words);
  if (!near && !parts.empty()) near = std::string(parts.front());
  return near ? framework_option_hint(command, "--" + *near) : std::string();
}

/// Returns the innermost command whose options were parsed. The hint refers to the help of this command.
const CLI::App& innermost(const CLI::App& program) {
  const CLI::App* at = &program;
  while (!at->get_subcommands().empty()) at = at->get_subcommands().front();
  return *at;
}

std::string full_name(const CLI::App& program) {
  std::string name = program.get_name();
  const CLI::App* at = &program;
  while (!at->get_subcommands().empty()) {
    at = at->get_subcommands().front();
    name += " " + at->get_name();
  }
  return name;
}

std::string help_hint(const CLI::App& program) { return fmt::format("see '{} --help'", full_name(program)); }

std::vector<std::string> option_names(const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

/// Returns a hint with the options that begin with an abbreviation of at least two letters. Empty if there are none, or more
/// than three.
std::string abbreviated(std::string_view typed, std::vector<std::string> names) {
  std::erase_if(names, [&](const std::string& each) { return !each.starts_with(typed); });
  if (typed.size() < 4 || names.empty() || names.size() > 3) return {};
  return fmt::format("did you mean '{}'?", fmt::join(names, "' or '"));
}

std::vector<std::string> command_names(const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::App* each : command.get_subcommands(nullptr)) names.push_back(each->get_name());
  return names;
}

/// Returns a hint that describes the value of an option.
std::string value_hint(const CLI::Option& option) {
  std::string value = option.get_type_name();
  if (value == "TEXT") value = "VALUE";
  value.resize(std::min(value.find('['), value.size()));  // as in NUMBER[,..]
  const std::string& description = option.get_description();
  const std::string_view clause = first_clause(description);
  const bool has_colon = clause.find(": ") != std::string_view::npos;
  return fmt::format("use {} {}{} {}", declared_name(option), value, has_colon ? ";" : ":", clause);
}

bool is_flag(const CLI::Option& option) { return option.get_items_expected_max() == 0; }

bool is_model_name(const std::string& word) {
  const std::string key = name_key(word);
  return std::ranges::any_of(model_catalogue(), [&](const CatalogueEntry& each) {
    return name_key(each.name) == key ||
           std::ranges::any_of(each.aliases, [&](const std::string& alias) { return name_key(alias) == key; });
  });
}

/// Returns a hint about the command that the user may mean by a word in place of a command: a model, a file, or a term of
/// the field.
std::string command_hint(const CLI::App& program, const std::string& word, const std::vector<std::string>& known) {
  if (const auto meant = nearest(word, known)) return fmt::format("did you mean '{}'?", *meant);
  if (is_model_name(word))
    return fmt::format("'{} recommend {} --machine h100 --gpus 64' plans its training", program.get_name(), word);
  if (std::error_code ignored; std::filesystem::is_regular_file(word, ignored))
    return fmt::format("'{0} recommend --like {1}' predicts a configuration, '{0} check {1}' a job", program.get_name(),
                       word);
  if (const std::string_view answer = answer_about(plain_word(word)); !answer.empty())
    return std::string(answer.ends_with('.') ? answer.substr(0, answer.size() - 1) : answer);
  return suggest(word, known);
}

/// Returns the error for an unknown option, argument or command.
Error unexpected(const CLI::App& program, const std::string& extra) {
  const CLI::App& command = innermost(program);
  if (extra.starts_with("-") && extra != "-") {
    const std::string typed = extra.substr(0, extra.find('='));
    std::string hint = help_hint(program);
    if (const std::string instead = framework_option_hint(command, typed); !instead.empty()) {
      hint = instead;
    } else if (const std::string_view known = answer_about(plain_word(typed)); extra.starts_with("--") && !known.empty()) {
      hint = known.ends_with('.') ? known.substr(0, known.size() - 1) : known;
    } else if (const std::string longer = abbreviated(typed, option_names(command)); !longer.empty()) {
      hint = longer;
    } else if (const auto meant = nearest(typed, option_names(command))) {
      hint = fmt::format("did you mean '{}'?", *meant);
    } else if (const std::string near = extra.starts_with("--") ? near_synonym_hint(command, typed) : std::string();
               !near.empty()) {
      hint = near;
    } else {
      for (const CLI::App* other : program.get_subcommands(nullptr)) {
        if (other->get_option_no_throw(typed) == nullptr) continue;
        hint = fmt::format("this is an option of '{} {}'", program.get_name(), other->get_name());
        break;
      }
    }
    if (const CLI::App* const group = command.get_parent(); group != nullptr && group != &program) {
      for (const CLI::App* other : group->get_subcommands(nullptr)) {
        if (other->get_option_no_throw(typed) == nullptr) continue;
        hint = fmt::format("this is an option of '{} {}'", group->get_name(), other->get_name());
        break;
      }
    }
    return Error(fmt::format("unknown option {}", quote(typed)), hint);
  }
  const std::vector<std::string> known = command_names(command);
  if (known.empty()) {
    const bool has_plan = command.get_option_no_throw("--plan") != nullptr;
    const CLI::Option* const model = command.get_option_no_throw("--model");
    if (command.get_name() == "recommend" && model->count() > 0 && is_model_name(extra))
      return Error(fmt::format("unexpected argument {}", quote(extra)),
                   fmt::format("separate models by commas: {},{}", model->results().front(), extra));
    return Error(
        fmt::format("unexpected argument {}", quote(extra)),
        fmt::format("{}{}", has_plan ? "a plan with spaces needs quotes, as in --plan 'dp8 z3'; " : "", help_hint(program)));
  }
  return Error(fmt::format("unknown command {}", quote(extra)),
               &command == &program ? command_hint(program, extra, known) : suggest(extra, known));
}

}  // namespace

void refuse_missing_values(const CLI::App& program) {
  const CLI::App& command = innermost(program);
  const std::vector<std::string> names = option_names(command);
  for (const CLI::Option* option : command.get_options()) {
    if (option->get_positional() || is_flag(*option)) continue;
    for (const std::string& value : option->results()) {
      if (value.empty()) {
        throw Error(fmt::format("{} is empty", declared_name(*option)), "set a value, or leave the option out");
      }
      const bool is_option = contains(names, value.substr(0, value.find('=')));
      if (is_option) {
        throw Error(fmt::format("{} has no value: {} follows", declared_name(*option), quote(value)), value_hint(*option));
      }
    }
  }
}

Error usage_error(const CLI::App& program, const CLI::ParseError& error) {
  const CLI::App& command = innermost(program);
  const std::string hint = help_hint(program);
  try {
    refuse_missing_values(program);
  } catch (const Error& missing) {
    return missing;
  }
  for (const CLI::Option* option : command.get_options()) {
    if (option->count() == 0) continue;
    if (!is_flag(*option) && option->count() > static_cast<std::size_t>(option->get_items_expected_max())) {
      return Error(fmt::format("{} is given {} times", declared_name(*option), option->count()), "keep only one of them");
    }
  }
  if (const std::vector<std::string> extras = program.remaining(true); !extras.empty()) {
    return unexpected(program, extras.front());
  }
  const std::string text = error.what();
  if (error.get_name() == "RequiredError") {
    if (const std::vector<std::string> commands = command_names(command); !commands.empty()) {
      return Error("a command is missing", fmt::format("one of: {}; {}", fmt::join(commands, ", "), hint));
    }
    for (const CLI::Option* option : command.get_options()) {
      if (!option->get_required() || option->count() > 0) continue;
      return Error(fmt::format("{} is missing: {}", quote(declared_name(*option)), option->get_description()), hint);
    }
  }
  if (error.get_name() == "ExcludesError") {
    for (const CLI::Option* option : command.get_options()) {
      for (const CLI::Option* other : option->get_excludes()) {
        if (option->count() == 0 || other->count() == 0) continue;
        return Error(fmt::format("{} and {} contradict each other", declared_name(*option), declared_name(*other)),
                     "leave one of them out");
      }
    }
  }
  if (error.get_name() == "ArgumentMismatch") {
    // A message of the parser begins with the name of an option.
    const std::string named = text.substr(0, text.find_first_of(": "));
    const std::string option = named.starts_with("-") ? named : "--" + lower_case(named);
    if (text.ends_with("missing")) {
      const CLI::Option* const known = command.get_option_no_throw(option);
      return Error(fmt::format("{} has no value", option), known != nullptr ? value_hint(*known) : hint);
    }
    if (text.ends_with("flag override")) return Error(fmt::format("{} takes no value", option), hint);
  }
  return Error(text, hint);
}

}  // namespace ddl
