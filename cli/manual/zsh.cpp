#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/manual/manual.hpp"

namespace ddl {
namespace {

/// Quotes a text with single quotes, and escapes the special characters of _arguments.
std::string zsh_text(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '\'') {
      out += "'\\''";
    } else {
      if (c == '[' || c == ']' || c == ':' || c == '\\') out += '\\';
      out += c;
    }
  }
  return out;
}

std::string function_name(const CommandDescription& command) {
  std::string name = "_" + command.path;
  std::ranges::replace_if(
      name, [](char c) { return c == ' ' || c == '-'; }, '_');
  return name;
}

/// Returns the possible values of an option in the form `:MESSAGE:ACTION` of zsh's _arguments.
std::string value_spec(const OptionDescription& option, std::string_view message) {
  const std::string said = zsh_text(message);
  const std::string words = fmt::format("{}", fmt::join(option.words, " "));
  if (option.words.empty()) return fmt::format(":{}:{}", said, offers_files(option) ? "_files" : "");
  if (!option.is_file) return fmt::format(":{}:({})", said, words);
  return fmt::format(":{}:{{_ddl_oracle_name_or_file {}}}", said, words);
}

}  // namespace

std::string zsh_completion(const CommandDescription& program) {
  std::string text = "#compdef ddl-oracle\n# zsh completion for ddl-oracle, written by 'ddl-oracle completion zsh'\n";
  // Values are passed to a function, because a colon inside an action would end the action.
  text += "\n_ddl_oracle_name_or_file() {\n  _alternative \"names:name:($*)\" \"files:file:_files\"\n}\n";
  for_each_command(program, [&](const CommandDescription& command) {
    text += fmt::format("\n{}() {{\n", function_name(command));
    if (!command.commands.empty()) text += "  local curcontext=\"$curcontext\" state line\n  local -a commands\n";
    text += command.commands.empty() ? "  _arguments -s" : "  _arguments -C -s";
    for (const OptionDescription& option : command.options) {
      for (const std::string& name : option.names) {
        text +=
            fmt::format(" \\\n    '{}{}[{}]{}'", option.repeats ? "*" : "",
                        name + (option.value.empty() || !name.starts_with("--") ? "" : "="),
                        zsh_text(first_clause(option.text)), option.value.empty() ? "" : value_spec(option, option.value));
      }
    }
    if (!command.commands.empty()) {
      text += " \\\n    '1: :->command' \\\n    '*:: :->arguments'\n  case $state in\n    command)\n      commands=(\n";
      for (const CommandDescription& each : command.commands)
        text += fmt::format("        '{}:{}'\n", each.name, zsh_text(each.text));
      text += "      )\n      _describe command commands\n";
      for (const OptionDescription& each : command.arguments) {
        if (!each.words.empty()) text += fmt::format("      compadd -- {}\n", fmt::join(each.words, " "));
      }
      text += "      ;;\n    arguments)\n      case $words[1] in\n";
      for (const CommandDescription& each : command.commands)
        text += fmt::format("        {}) {} ;;\n", each.name, function_name(each));
      text += "      esac\n      ;;\n  esac\n";
    } else {
      for (const OptionDescription& each : command.arguments)
        text += fmt::format(" \\\n    '{}{}'", each.repeats ? "*" : "", value_spec(each, each.names.front()));
      text += '\n';
    }
    text += "}\n";
  });
  text += "\n_ddl_oracle \"$@\"\n";
  return text;
}

}  // namespace ddl
