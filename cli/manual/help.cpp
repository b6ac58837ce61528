#include <algorithm>
#include <optional>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "cli/manual/help_writer.hpp"
#include "cli/manual/manual.hpp"
#include "cli/manual/option_groups.hpp"
#include "cli/manual/word_help.hpp"
#include "cli/report/formats/page.hpp"
#include "core/error.hpp"
#include "core/source_text.hpp"
#include "core/suggest.hpp"

namespace ddl {
namespace {

std::string name_text(const OptionDescription& option) {
  std::string text = fmt::format("{}", fmt::join(option.names, ", "));
  if (option.names.front().starts_with("-") && !option.value.empty()) text += " " + option.value;
  const bool is_flag = option.names.front().starts_with("-") && option.value.empty();
  if (option.repeats && !is_flag) text += "...";
  return text;
}

}  // namespace

std::string whole_text_of(const OptionDescription& option) {
  std::string text = option.text;
  if (option.is_required && option.names.front().starts_with("-")) text += "; required";
  if (!option.default_value.empty()) text += "; default: " + option.default_value;
  if (!option.needs.empty()) text += fmt::format("; needs {}", fmt::join(option.needs, ", "));
  constexpr std::size_t most_names = 4;
  if (option.not_with.size() > most_names) {
    const std::vector<std::string> first(option.not_with.begin(), option.not_with.begin() + 2);
    text += fmt::format("; not with {} and {} other options", fmt::join(first, ", "), option.not_with.size() - 2);
  } else if (!option.not_with.empty()) {
    text += fmt::format("; not with {}", fmt::join(option.not_with, ", "));
  }
  return text;
}

namespace {

std::string usage_of(const CommandDescription& command) {
  std::string usage = "Usage: " + command.path;
  if (!command.options.empty()) usage += " [OPTIONS]";
  for (const OptionDescription& each : command.arguments) {
    const std::string name = each.names.front() + (each.repeats ? "..." : "");
    usage += each.is_required ? " " + name : fmt::format(" [{}]", name);
  }
  if (!command.commands.empty()) usage += command.needs_command ? " COMMAND" : " [COMMAND]";
  return usage;
}

}  // namespace

std::string_view first_clause(std::string_view text) { return text.substr(0, text.find(';')); }

const CommandDescription& command_named(const CommandDescription& program, const std::vector<std::string>& path) {
  const CommandDescription* at = &program;
  for (const std::string& name : path) {
    const auto found = std::ranges::find_if(at->commands, [&](const CommandDescription& each) { return each.name == name; });
    if (found == at->commands.end()) {
      std::vector<std::string> known;
      for (const CommandDescription& each : at->commands) known.push_back(each.name);
      throw Error(fmt::format("unknown command {}", quote(name)),
                  known.empty() ? fmt::format("see '{} --help'", at->path) : suggest(name, known));
    }
    at = &*found;
  }
  return *at;
}

std::size_t help_width() {
  constexpr std::size_t usual = 80, least = 50, most = 125;
  winsize size{};
  std::size_t width = usual;
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) {
    width = size.ws_col;
  } else if (const std::size_t said = columns_said(); said > 0) {
    width = said;
  }
  return std::clamp(width, least, most);
}

namespace {

void add_grouped_options(HelpWriter& help, const CommandDescription& command) {
  const auto add_group = [&](std::string_view title, const std::vector<const OptionDescription*>& options) {
    if (!options.empty()) help.line(fmt::format("\n{}:", title));
    for (const OptionDescription* each : options) help.row(name_text(*each), whole_text_of(*each));
  };
  for (const OptionGroup& group : option_groups()) add_group(group.heading, options_of(group, command));
  std::vector<const OptionDescription*> others;
  for (const OptionDescription& each : command.options) {
    if (heading_of(each).empty()) others.push_back(&each);
  }
  add_group("Other options", others);
}

void add_options(HelpWriter& help, const CommandDescription& command, HelpForm form) {
  const bool has_many = command.options.size() > most_options_shown;
  if (has_many && form == HelpForm::all) {
    add_grouped_options(help, command);
  } else if (!command.options.empty()) {
    help.line("\nOptions:");
    for (const OptionDescription& each : command.options) {
      const bool asks_for_all = each.names.back() == "--help-all";  // a command with few options always shows all
      if (has_many ? is_usual(each) : !asks_for_all) help.row(name_text(each), whole_text_of(each));
    }
  }
  if (has_many && form != HelpForm::all) {
    help.line(fmt::format("\n'{} --help-all' shows all {} options in groups.", command.path, command.options.size()));
    help.line("'ddl-oracle help TERM' finds options for a term, such as lora or throughput.");
  }
  if (form == HelpForm::brief && !has_many)
    help.line(fmt::format("\n'{} --help' shows examples and more about each option.", command.path));
}

}  // namespace

std::string help_text(const CommandDescription& command, HelpForm form, std::size_t width) {
  HelpWriter help(form, width);
  help.paragraph(command.text);
  help.line("");
  help.line(usage_of(command));
  if (form != HelpForm::brief && !command.examples.empty()) {
    help.line("\nExamples:");
    for (const Example& each : command.examples) help.example(each);
  }
  if (!command.commands.empty()) {
    help.line("\nCommands:");
    for (const CommandDescription& each : command.commands) help.row(each.name, each.text);
  }
  if (command.name == command.path) {
    help.line("\nTopics ('help TOPIC'):");
    for (const HelpTopic& topic : help_topics()) help.row(std::string(topic.name), topic.summary);
    help.row("any term of the field", "options and commands for a term, such as lora, throughput or 'batch size'");
  }
  if (!command.arguments.empty()) {
    help.line("\nArguments:");
    for (const OptionDescription& each : command.arguments) help.row(name_text(each), whole_text_of(each));
  }
  add_options(help, command, form);
  return help.text();
}

std::string help_asked_for(const CommandDescription& program, const std::vector<std::string>& path) {
  const auto is_command = [&](const CommandDescription& each) { return each.name == path.front(); };
  if (!path.empty() && std::ranges::none_of(program.commands, is_command)) {
    const std::string term = fmt::format("{}", fmt::join(path, " "));
    if (const std::optional<std::string> about = help_about(program, term, help_width())) return *about;
    throw unknown_term(program, term);
  }
  return help_text(command_named(program, path), HelpForm::whole, help_width());
}

}  // namespace ddl
