#include "cli/options/configurations/starting_commands.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>

#include "cli/options/configurations/argument_meaning.hpp"
#include "cli/options/configurations/recognition.hpp"
#include "core/words.hpp"

namespace ddl {
namespace {

/// Commands that start the program named behind them.
constexpr std::array<std::string_view, 16> starting_commands{"nohup",  "time",  "exec",   "sudo",    "env",     "command",
                                                             "setsid", "nice",  "ionice", "timeout", "numactl", "taskset",
                                                             "stdbuf", "conda", "uv",     "poetry"};

constexpr std::array<std::string_view, 22> silent_commands{
    "echo", "printf", "cat", "cd",  "mkdir", "ls",   "set",  "source", "test",  "rm",     "cp",
    "mv",   "sed",    "awk", "git", "pip",   "pip3", "wget", "curl",   "conda", "module", "pkill"};

/// Commands that no program takes as the value of an argument.
constexpr std::array<std::string_view, 11> moving_commands{"rsync", "cp",  "mv",       "rm",         "mkdir",   "ls",
                                                           "cat",   "tar", "hostname", "nvidia-smi", "rocm-smi"};

/// Whether the word behind an option of a starting command is the option's value: `sudo -u USER`, `conda run -n NAME`.
bool takes_word(std::string_view command, std::string_view option) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 9> options{{{"sudo", "-u --user -g --group"},
                                                                                  {"timeout", "-s --signal -k"},
                                                                                  {"env", "-u --unset -C --chdir"},
                                                                                  {"conda", "-n --name -p --prefix"},
                                                                                  {"stdbuf", "-i -o -e"},
                                                                                  {"numactl", "-m -N -C"},
                                                                                  {"exec", "-a"},
                                                                                  {"time", "-f -o"},
                                                                                  {"uv",
                                                                                   "-p --python --with --extra --group "
                                                                                   "--only-group --with-requirements "
                                                                                   "--with-editable --env-file --project "
                                                                                   "--directory --package"}}};
  const auto* const found =
      std::ranges::find_if(options, [&](const auto& each) { return each.first == last_step(command); });
  return found != options.end() && is_word_of(found->second, option);
}

}  // namespace

bool is_silent_command(std::string_view name) {
  return std::find(silent_commands.begin(), silent_commands.end(), name) != silent_commands.end();
}

bool moves_files(const std::vector<PlacedText>& words, std::size_t from) {
  return std::any_of(words.begin() + static_cast<std::ptrdiff_t>(std::min(from, words.size())), words.end(),
                     [](const PlacedText& word) { return is_among(moving_commands, word.text); });
}

std::size_t first_program(const std::vector<PlacedText>& words, std::size_t from) {
  std::size_t at = from;
  while (at < words.size() && is_among(starting_commands, std::string(last_step(words[at].text)))) {
    const std::size_t command = at;
    // `command -v` only says where a program is.
    const bool asks =
        words[at].text == "command" && at + 1 < words.size() && (words[at + 1].text == "-v" || words[at + 1].text == "-V");
    if (asks) return words.size();
    for (++at; at < words.size(); ++at) {
      const std::string& word = words[at].text;
      const bool is_of_command = word.starts_with('-') || word.find('=') != std::string::npos || word == "run" ||
                                 (!word.empty() && is_shell_digit(word.front())) ||
                                 (at - 1 > command && takes_word(words[command].text, words[at - 1].text));
      if (!is_of_command) break;
    }
  }
  return at;
}

}  // namespace ddl
