#include <array>
#include <utility>

#include <fmt/format.h>

#include "cli/manual/manual.hpp"

namespace ddl {
namespace {

/// Escapes a text for roff. Dashes stay ASCII hyphens, so that options can be copied.
std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '\\') {
      out += "\\e";
    } else if (c == '-') {
      out += "\\-";
    } else if (c == '`') {
      out += "\\(ga";
    } else if (c == '^') {
      out += "\\(ha";
    } else if (c == '~') {
      out += "\\(ti";
    } else if (c == '\'') {
      out += "\\(aq";
    } else {
      out += c;
    }
  }
  // roff reads a line that starts with a dot as a request, so the dot is escaped.
  if (out.starts_with('.')) out.insert(0, "\\&");
  return out;
}

std::string bold(std::string_view text) { return "\\fB" + escaped(text) + "\\fR"; }
std::string italic(std::string_view text) { return "\\fI" + escaped(text) + "\\fR"; }

void add_option(std::string& page, const OptionDescription& option) {
  std::string names;
  for (const std::string& name : option.names) names += fmt::format("{}{}", names.empty() ? "" : ", ", bold(name));
  if (option.names.front().starts_with("-") && !option.value.empty()) names += " " + italic(option.value);
  if (option.repeats) names += "...";
  page += fmt::format(".TP\n{}\n{}\n", names, escaped(whole_text_of(option)));
}

void add_command(std::string& page, const CommandDescription& command) {
  if (command.commands.empty() || !command.arguments.empty()) {
    std::string usage = bold(command.path);
    for (const OptionDescription& each : command.arguments) {
      const std::string name = italic(each.names.front()) + (each.repeats ? "..." : "");
      usage += each.is_required ? " " + name : " [" + name + "]";
    }
    page +=
        fmt::format(".SS {}\n{} [{}]\n.PP\n{}\n", escaped(command.path), usage, italic("options"), escaped(command.text));
    for (const OptionDescription& each : command.arguments) add_option(page, each);
    for (const OptionDescription& each : command.options) {
      if (each.names.back() != "--help") add_option(page, each);
    }
    for (const Example& each : command.examples)
      page += fmt::format(".PP\n{}:\n.PP\n.RS 4\n.EX\n{}\n.EE\n.RE\n", escaped(each.purpose), escaped(each.command));
  }
  for (const CommandDescription& each : command.commands) add_command(page, each);
}

constexpr std::array<std::pair<const char*, const char*>, 5> exit_statuses{{
    {"0", "The command succeeded."},
    {"1", "Nothing fits, or a tolerance was missed."},
    {"2", "The question cannot be answered. The standard error shows where and why."},
    {"3", "The training may not fit (check)."},
    {"130", "The command was interrupted, and reported a partial result."},
}};
constexpr std::array<std::pair<const char*, const char*>, 3> variables{{
    {"DDL_ORACLE_DATA", "The folder of your own profiles, instead of ~/.local/share/ddl-oracle."},
    {"NO_COLOR", "If this variable is not empty, reports have no colors."},
    {"COLUMNS", "The width of help that is not written to a terminal."},
}};

}  // namespace

std::string man_page(const CommandDescription& program, std::string_view version) {
  // The first line tells preconv of groff the encoding, whatever the locale is.
  std::string page = ".\\\" -*- coding: utf-8 -*-\n";
  page += fmt::format(".TH DDL\\-ORACLE 1 \"\" \"ddl\\-oracle {}\" \"User Commands\"\n", escaped(version));
  page += fmt::format(".SH NAME\nddl\\-oracle \\- {}\n", escaped(program.text));
  page += fmt::format(".SH SYNOPSIS\n{} {} [{}]\n", bold(program.name), italic("command"), italic("options"));
  page += ".SH DESCRIPTION\n";
  page += escaped(
      "ddl-oracle predicts how long the parallel training of a neural network takes and whether it fits in memory, before "
      "it runs. It compares parallelization strategies, and explains why one strategy is faster than another.");
  page += "\n.SH OPTIONS\n";
  for (const OptionDescription& each : program.options) add_option(page, each);
  page += ".SH EXAMPLES\n";
  for (const Example& each : program.examples)
    page += fmt::format(".PP\n{}:\n.PP\n.RS 4\n.EX\n{}\n.EE\n.RE\n", escaped(each.purpose), escaped(each.command));
  page += ".SH COMMANDS\n";
  for (const CommandDescription& each : program.commands) add_command(page, each);
  page += ".SH EXIT STATUS\n";
  for (const auto& [code, meaning] : exit_statuses) page += fmt::format(".TP\n.B {}\n{}\n", code, escaped(meaning));
  page += ".SH ENVIRONMENT\n";
  for (const auto& [name, meaning] : variables) page += fmt::format(".TP\n.B {}\n{}\n", name, escaped(meaning));
  return page;
}

}  // namespace ddl
