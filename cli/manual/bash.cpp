#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/manual/manual.hpp"

namespace ddl {
namespace {

std::string bash_quoted(std::string_view text) {
  std::string out = "'";
  for (const char c : text) {
    if (c == '\'') {
      out += "'\\''";
    } else {
      out += c;
    }
  }
  return out + "'";
}

/// Returns a branch of a shell's `case`. The branch sets `words`, the possible values of an option,
/// and `files`, whether a file is possible.
std::string value_case(const std::string& where, const OptionDescription& option) {
  return fmt::format("    {})\n      words={} files={}\n      ;;\n", where,
                     bash_quoted(fmt::format("{}", fmt::join(option.words, " "))), offers_files(option) ? "yes" : "''");
}

constexpr std::string_view frame = R"(# bash completion for ddl-oracle, written by 'ddl-oracle completion bash'
_ddl_oracle() {{
  local cur=${{COMP_WORDS[COMP_CWORD]}} prev='' path=ddl-oracle words='' files='' prefix='' skip='' i
  ((COMP_CWORD == 0)) || prev=${{COMP_WORDS[COMP_CWORD - 1]}}
  # '--option=value' comes in three words.
  if [[ $cur == = ]]; then
    cur=''
  elif [[ $prev == = ]] && ((COMP_CWORD > 1)); then
    prev=${{COMP_WORDS[COMP_CWORD - 2]}}
  fi
  for ((i = 1; i < COMP_CWORD; ++i)); do
    if [[ -n $skip ]]; then
      skip=''
      continue
    fi
    case "$path ${{COMP_WORDS[i]}}" in
{commands}    esac
  done
  COMPREPLY=()
  case "$path $prev" in
{values}    *)
      if [[ $cur == -* ]]; then
        case $path in
{options}        esac
      else
        case $path in
{arguments}        esac
      fi
      ;;
  esac
  # Of a list with commas, the last.
  if [[ -z $files || $cur != */* ]] && [[ $cur == *,* ]]; then
    prefix=${{cur%,*}},
    cur=${{cur##*,}}
  fi
  if [[ -n $words ]]; then
    mapfile -t COMPREPLY < <(compgen -P "$prefix" -W "$words" -- "$cur")
  fi
  if [[ -n $files && -z $prefix ]]; then
    local -a found
    mapfile -t found < <(compgen -f -- "$cur")
    COMPREPLY+=("${{found[@]}}")
    compopt -o filenames 2>/dev/null
  fi
}}
complete -F _ddl_oracle ddl-oracle
)";

}  // namespace

std::string bash_completion(const CommandDescription& program) {
  std::string commands, values, options, arguments;
  for_each_command(program, [&](const CommandDescription& command) {
    for (const CommandDescription& each : command.commands)
      commands += fmt::format("      {}) path={} ;;\n", bash_quoted(each.path), bash_quoted(each.path));
    std::string names, with_value;
    for (const OptionDescription& option : command.options) {
      names += fmt::format("{}{}", names.empty() ? "" : " ", fmt::join(option.names, " "));
      if (option.value.empty()) continue;
      std::string where;
      for (const std::string& name : option.names)
        where += fmt::format("{}{}", where.empty() ? "" : " | ", bash_quoted(command.path + " " + name));
      with_value += fmt::format("{}{}", with_value.empty() ? "" : " | ", where);
      values += value_case(where, option);
    }
    if (!with_value.empty()) commands += fmt::format("      {}) skip=yes ;;\n", with_value);
    options += fmt::format("          {}) words={} ;;\n", bash_quoted(command.path), bash_quoted(names));
    std::string offered;
    bool file = false;
    for (const CommandDescription& each : command.commands)
      offered += fmt::format("{}{}", offered.empty() ? "" : " ", each.name);
    for (const OptionDescription& each : command.arguments) {
      if (!each.words.empty()) offered += fmt::format("{}{}", offered.empty() ? "" : " ", fmt::join(each.words, " "));
      file = file || each.is_file;
    }
    arguments += fmt::format("          {}) words={} files={} ;;\n", bash_quoted(command.path), bash_quoted(offered),
                             file ? "yes" : "''");
  });
  return fmt::format(frame, fmt::arg("commands", commands), fmt::arg("values", values), fmt::arg("options", options),
                     fmt::arg("arguments", arguments));
}

}  // namespace ddl
