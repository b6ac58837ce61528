#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/manual/manual.hpp"

namespace ddl {
namespace {

/// Quotes a text for fish with single quotes. Inside single quotes, fish supports the escapes \\ and \'.
std::string fish_quoted(std::string_view text) {
  std::string out = "'";
  for (const char c : text) {
    if (c == '\'' || c == '\\') out += '\\';
    out += c;
  }
  return out + "'";
}

constexpr std::string_view fish_frame = R"(# fish completion for ddl-oracle, written by 'ddl-oracle completion fish'
function __ddl_oracle_at
    set -l path ddl-oracle
    set -l words (commandline -opc)
    set -e words[1]
    for word in $words
        switch "$path $word"
            case {}
                set path "$path $word"
        end
    end
    test "$path" = "$argv[1]"
end
complete -c ddl-oracle -f
)";

}  // namespace

std::string fish_completion(const CommandDescription& program) {
  std::string paths, lines;
  for_each_command(program, [&](const CommandDescription& command) {
    const std::string head =
        fmt::format("complete -c ddl-oracle -n {}", fish_quoted(fmt::format("__ddl_oracle_at \"{}\"", command.path)));
    for (const CommandDescription& each : command.commands) {
      paths += fmt::format("{}{}", paths.empty() ? "" : " ", fish_quoted(each.path));
      lines += fmt::format("{} -a {} -d {}\n", head, each.name, fish_quoted(each.text));
    }
    for (const OptionDescription& each : command.arguments) {
      if (each.is_file) lines += head + " -F\n";
      if (!each.words.empty())
        lines += fmt::format("{} -a {}\n", head, fish_quoted(fmt::format("{}", fmt::join(each.words, " "))));
    }
    for (const OptionDescription& each : command.options) {
      std::string line = head;
      for (const std::string& name : each.names)
        line += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
      if (!each.value.empty()) {
        line += offers_files(each) ? " -r -F" : " -x";
        if (!each.words.empty()) line += " -a " + fish_quoted(fmt::format("{}", fmt::join(each.words, " ")));
      }
      lines += fmt::format("{} -d {}\n", line, fish_quoted(first_clause(each.text)));
    }
  });
  return fmt::format(fish_frame, paths) + lines;
}

}  // namespace ddl
