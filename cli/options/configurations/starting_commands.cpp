#include "cli/options/configurations/starting_commands.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>

#include "cli/options/configurations/argument_meaning.hpp"
#include "core/find.hpp"
#include "core/words.hpp"

namespace ddl {
namespace {

/// Commands that start the program named after them.
constexpr std::array<std::string_view, 16> starting_commands{"nohup",  "time",  "exec",   "sudo",    "env",     "command",
                                                             "setsid", "nice",  "ionice", "timeout", "numactl", "taskset",
                                                             "stdbuf", "conda", "uv",     "poetry"};

constexpr std::array<std::string_view, 22> silent_commands{
    "echo", "printf", "cat", "cd",  "mkdir", "ls",   "set",  "source", "test",  "rm",     "cp",
    "mv",   "sed",    "awk", "git", "pip",   "pip3", "wget", "curl",   "conda", "module", "pkill"};

/// Programs that start a launcher on each node [allenai/open-instruct, mason.py; allenai/beaker-gantry;
/// skypilot-org/skypilot, sky/client/cli].
constexpr std::array<std::string_view, 5> outer_launchers{"mason.py", "mason", "gantry", "sky", "launch"};

/// Commands that copy or show something, which launchers start on fewer nodes than the training.
constexpr std::array<std::string_view, 11> moving_commands{"rsync", "cp",  "mv",       "rm",         "mkdir",   "ls",
                                                           "cat",   "tar", "hostname", "nvidia-smi", "rocm-smi"};

/// Whether the word after an option of a starting command is the option's value: `sudo -u USER`, `conda run -n NAME`.
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
  const auto* const found = find_where(options, [&](const auto& each) { return each.first == last_step(command); });
  return found != nullptr && is_word_of(found->second, option);
}

/// Whether an option of a launcher has no value in the next word. Open MPI's options have one dash or two; in a short option
/// of srun, such as `-N2`, the value is in the same word.
/// [SchedMD/slurm, doc/man/man1/srun.1; NVIDIA/pyxis, README.md; open-mpi/ompi, docs/man-openmpi/man1/mpirun.1.rst;
/// pytorch/pytorch, torch/distributed/run.py]
bool is_switch(std::string_view launcher, std::string_view option) {
  constexpr std::string_view of_tasks =
      "--bcast --bell --compress --consolidate-segments --container-entrypoint --container-mount-home --container-readonly "
      "--container-remap-root --container-writable --contiguous --debugger-test --disable-status --exact --exclusive "
      "--external --get-user-env --help --hold --ignore-pbs --immediate --interactive --kill-on-bad-exit --label "
      "--multi-prog --nice --no-allocate --no-bell --no-container-entrypoint --no-container-mount-home "
      "--no-container-remap-root --no-kill --no-requeue --no-shell --oom-kill-step --overcommit --overlap --oversubscribe "
      "--parsable --preserve-env --propagate --pty --quiet --reboot --requeue --resv-ports --send-libs --spread-job "
      "--spread-segments --stepmgr --test-only --unbuffered --usage --use-min-nodes --verbose --version --x11 -E -H -I -K "
      "-O -Q -V -X -Z -h -k -l -s -u -v";
  constexpr std::string_view of_ranks =
      "allow-run-as-root display-allocation display-map do-not-launch enable-recovery nooversubscribe oversubscribe q quiet "
      "report-bindings tag-output timestamp-output use-hwthread-cpus v verbose";
  if (option.find('=') != std::string_view::npos) return true;
  if (last_step(launcher).starts_with("mpi")) return is_word_of(of_ranks, trimmed(option, "-"));
  const bool is_joined = !option.starts_with("--") && option.size() > 2;
  return is_joined || contains(split(of_tasks, " "), option) || is_word_of("--standalone --no-python --no_python", option);
}

/// Whether the value of a launcher's option is a name or a text of the user, which may also be the name of a program.
bool takes_name(std::string_view option) {
  constexpr std::string_view named =
      "--account --comment --constraint --container-image --container-name --job-name --partition --qos --reservation -A -C "
      "-J "
      "-p -q";
  return is_word_of(named, option);
}

/// Whether a word is a launcher or an interpreter, which is hardly the value of an unknown option.
bool is_starter(std::string_view word) {
  constexpr std::array<std::string_view, 14> starters{"torchrun", "deepspeed", "accelerate", "composer", "msrun",
                                                      "mpirun",   "mpiexec",   "python",     "python3",  "ipython",
                                                      "bash",     "sh",        "uv",         "numactl"};
  const std::string_view name = last_step(word);
  return contains(starters, name) || name.starts_with("python3.");
}

}  // namespace

bool starts_launchers(std::string_view program) { return contains(outer_launchers, last_step(program)); }

bool is_count(std::string_view text) {
  const std::size_t colon = text.rfind(':');
  const std::string_view digits = colon == std::string_view::npos ? text : text.substr(colon + 1);
  return colon != 0 && !digits.empty() && std::ranges::all_of(digits, is_shell_digit);
}

bool is_silent_command(std::string_view name) { return contains(silent_commands, name); }

std::size_t end_of_options(const std::vector<PlacedText>& words, std::size_t launcher) {
  std::size_t at = launcher + 1;
  while (at < words.size() && words[at].text.size() > 1 && words[at].text.starts_with('-')) {
    const std::string& option = words[at].text;
    if (option == "--") return at + 1;
    const bool is_alone = at + 1 == words.size() || words[at + 1].text.starts_with('-');
    const bool is_value = !is_alone && (takes_name(option) || !is_starter(words[at + 1].text));
    if (is_value && !is_switch(words[launcher].text, option)) ++at;
    if (option == "-mca" || option == "--mca") ++at;  // has a name and a value
    ++at;
  }
  return std::min(at, words.size());
}

bool moves_files(const std::vector<PlacedText>& words, std::size_t launcher) {
  const std::size_t at = first_program(words, end_of_options(words, launcher));
  return at < words.size() && contains(moving_commands, last_step(words[at].text));
}

std::size_t first_program(const std::vector<PlacedText>& words, std::size_t from) {
  std::size_t at = from;
  while (at < words.size() && contains(starting_commands, last_step(words[at].text))) {
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
