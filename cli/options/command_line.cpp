#include "cli/options/command_line.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include <CLI/CLI.hpp>

#include "cli/manual/manual.hpp"
#include "cli/options/argument_name.hpp"
#include "cli/options/usage_error.hpp"
#include "core/error.hpp"
#include "core/find.hpp"

namespace ddl {

struct Declarations {
  struct Values {
    std::function<std::vector<std::string>()> words;
    bool is_file = false;
  };
  std::map<const CLI::Option*, Values> values{};
  std::map<const CLI::App*, std::vector<Example>> examples{};
};

Option Option::required() const { return {*option_->required(), *declarations_}; }
Option Option::excludes(Option other) const { return {*option_->excludes(other.option_), *declarations_}; }
Option Option::needs(Option other) const { return {*option_->needs(other.option_), *declarations_}; }
Option Option::take_all() const { return {*option_->take_all(), *declarations_}; }
Option Option::one_value_each() const { return {*option_->allow_extra_args(false), *declarations_}; }
Option Option::capture_default_str() const { return {*option_->capture_default_str(), *declarations_}; }
Option Option::default_str(const std::string& text) const { return {*option_->default_str(text), *declarations_}; }
Option Option::type_name(const std::string& name) const {
  if (!name.empty()) option_->type_name(name);
  return *this;
}
Option Option::description(const std::string& text) const { return {*option_->description(text), *declarations_}; }

Option Option::words(const std::function<std::vector<std::string>()>& words) const {
  declarations_->values[option_] = {words, false};
  return *this;
}

Option Option::names_or_file(const std::function<std::vector<std::string>()>& names) const {
  declarations_->values[option_] = {names, true};
  return *this;
}

Option Option::file() const {
  declarations_->values[option_] = {{}, true};
  return type_name("FILE");
}

Command Command::add_subcommand(const std::string& name, const std::string& description) const {
  return {*command_->add_subcommand(name, description), *declarations_};
}

void Command::examples(std::vector<Example> examples) const { declarations_->examples[command_] = std::move(examples); }

void Command::require_subcommand() const { command_->require_subcommand(1); }

void Command::allow_subcommand() const { command_->require_subcommand(0, 1); }

Option Command::add_option(const std::string& name, std::string& into, const std::string& description,
                           const std::string& type) const {
  return Option(*command_->add_option(parser_name(name), into, description), *declarations_).type_name(type);
}

Option Command::add_option(const std::string& name, std::vector<std::string>& into, const std::string& description,
                           const std::string& type) const {
  return Option(*command_->add_option(parser_name(name), into, description), *declarations_).type_name(type);
}

Option Command::add_repeated(const std::string& name, std::vector<std::string>& into, const std::string& description,
                             const std::string& type) const {
  return add_option(name, into, description, type).take_all().one_value_each();
}

Option Command::add_option_function(const std::string& name, const std::function<void(const std::string&)>& read,
                                    const std::string& description, const std::string& type) const {
  CLI::Option* const option = command_->add_option_function<std::string>(parser_name(name), read, description);
  return Option(*option, *declarations_).type_name(type);
}

Option Command::add_switch(const std::string& name, bool& into, const std::string& description) const {
  return {*command_->add_flag(name, into, description)->disable_flag_override(), *declarations_};
}

Option Command::add_switch_function(const std::string& name, const std::function<void()>& given,
                                    const std::string& description) const {
  const auto call = [given](std::int64_t) { given(); };
  return {*command_->add_flag_function(name, call, description)->disable_flag_override(), *declarations_};
}

Option Command::get_option(const std::string& name) const { return {*command_->get_option(name), *declarations_}; }

void Command::callback(const std::function<void()>& call) const { command_->callback(call); }

std::size_t Command::count(const std::string& name) const { return command_->count(name); }

bool Command::has_chosen_subcommand() const { return !command_->get_subcommands().empty(); }

CommandLine::CommandLine(const std::string& description, const std::string& name)
    : program_(std::make_unique<CLI::App>(description, name)), declarations_(std::make_unique<Declarations>()) {
  program_->set_help_flag("-h,--help", "help: one line per option with -h, the full text with --help");
  program_->set_help_all_flag("--help-all", "help on all options, in groups");
  program_->option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::Throw);
}

CommandLine::~CommandLine() = default;

Command CommandLine::program() const { return {*program_, *declarations_}; }

void CommandLine::add_version(const std::string& text) {
  program_->set_version_flag("-V,--version", text, "version, commit and back ends");
}

namespace {

/// Returns the placeholder of a text: the words that the option takes, `time|cost|memory`, if they are few, NAME for the
/// name of a file or of one of many words, and otherwise the last part of the option's name: BANDWIDTH for
/// --checkpoint-bandwidth.
std::string placeholder_of(const OptionDescription& option) {
  constexpr std::size_t most_letters = 40;
  std::string all;
  for (const std::string& word : option.words) all += (all.empty() ? "" : "|") + word;
  if (option.is_file) return "NAME";
  if (!all.empty()) return all.size() <= most_letters ? all : "NAME";
  const auto is_long = [](const std::string& each) { return each.starts_with("--"); };
  const auto first = std::ranges::find_if(option.names, is_long);
  std::string name = first == option.names.end() ? option.names.front() : *first;
  name = name.substr(name.rfind('-') + 1);
  for (char& c : name) {
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  }
  return name;
}

OptionDescription described(const CLI::Option& option, bool as_argument, const Declarations& declarations) {
  OptionDescription described;
  if (as_argument) {
    described.names = {declared_argument(option)};
  } else {
    for (const std::string& name : option.get_snames()) described.names.push_back("-" + name);
    for (const std::string& name : option.get_lnames()) described.names.push_back("--" + name);
  }
  if (option.get_items_expected_max() > 0) described.value = option.get_type_name();
  described.text = option.get_description();
  if (described.text.find("default") == std::string::npos) described.default_value = option.get_default_str();
  described.is_required = option.get_required();
  described.repeats =
      option.get_items_expected_max() > 1 || option.get_multi_option_policy() == CLI::MultiOptionPolicy::TakeAll;
  if (const auto values = declarations.values.find(&option); values != declarations.values.end()) {
    if (values->second.words) described.words = values->second.words();
    described.is_file = values->second.is_file;
  }
  if (described.value == "TEXT") described.value = placeholder_of(described);
  return described;
}

/// Returns the first long name of each option, in the order of declaration. The parser's sets are
/// ordered by address, so this function sorts the options.
std::vector<std::string> names_of(const std::set<CLI::Option*>& options, const std::vector<const CLI::Option*>& declared) {
  std::vector<std::string> names;
  for (const CLI::Option* each : declared) {
    if (options.contains(const_cast<CLI::Option*>(each))) names.push_back("--" + each->get_lnames().front());
  }
  return names;
}

CommandDescription described(const CLI::App& command, const std::string& within, const Declarations& declarations) {
  CommandDescription described_command;
  described_command.name = command.get_name();
  described_command.path = within.empty() ? command.get_name() : within + " " + command.get_name();
  described_command.text = command.get_description();
  described_command.needs_command = command.get_require_subcommand_min() > 0;
  const std::vector<const CLI::Option*> options = command.get_options();
  for (const CLI::Option* option : options) {
    if (option->get_positional()) described_command.arguments.push_back(described(*option, true, declarations));
    if (!option->nonpositional()) continue;
    OptionDescription each = described(*option, false, declarations);
    each.not_with = names_of(option->get_excludes(), options);
    each.needs = names_of(option->get_needs(), options);
    described_command.options.push_back(std::move(each));
  }
  if (const auto examples = declarations.examples.find(&command); examples != declarations.examples.end())
    described_command.examples = examples->second;
  for (const CLI::App* each : command.get_subcommands(nullptr))
    described_command.commands.push_back(described(*each, described_command.path, declarations));
  return described_command;
}

}  // namespace

CommandDescription CommandLine::describe() const { return described(*program_, "", *declarations_); }

std::optional<std::string> CommandLine::parse(std::vector<std::string> words) {
  if (!words.empty() && words.front() == "help") return help_asked_for(describe(), {words.begin() + 1, words.end()});
  const auto has_word = [&](const char* word) { return contains(words, word); };
  const HelpForm form = has_word("--help-all") ? HelpForm::all : has_word("--help") ? HelpForm::whole : HelpForm::brief;
  std::reverse(words.begin(), words.end());  // the parser requires the words in reverse order
  try {
    program_->parse(std::move(words));
  } catch (const CLI::Success& asked) {
    if (asked.get_name() == "CallForVersion") return std::string(asked.what()) + '\n';
    std::vector<std::string> path;
    for (const CLI::App* at = program_.get(); !at->get_subcommands().empty();) {
      at = at->get_subcommands().front();
      path.push_back(at->get_name());
    }
    return help_text(command_named(describe(), path), form, help_width());
  } catch (const CLI::ParseError& error) {
    throw usage_error(*program_, error);
  } catch (const Error&) {
    // The parser may report a wrong value that is really a missing value, so missing values are checked first.
    refuse_missing_values(*program_);
    throw;
  }
  refuse_missing_values(*program_);
  return std::nullopt;
}

}  // namespace ddl
