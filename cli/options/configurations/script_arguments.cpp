#include "cli/options/configurations/script_arguments.hpp"

#include <algorithm>
#include <array>
#include <set>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "cli/options/configurations/argument_meaning.hpp"
#include "cli/options/configurations/batch_directives.hpp"
#include "cli/options/configurations/recognition.hpp"
#include "cli/options/configurations/starting_commands.hpp"
#include "core/error.hpp"
#include "core/find.hpp"
#include "core/words.hpp"

namespace ddl {
namespace {

/// A program that launches other programs, and the prefix for the keys of its arguments.
struct ScriptLauncher {
  std::string_view word, prefix;
};
constexpr std::array<ScriptLauncher, 18> script_launchers{{{"srun", "srun:"},
                                                           {"sbatch", "slurm:"},
                                                           {"salloc", "slurm:"},
                                                           {"torchrun", "torchrun:"},
                                                           {"torch.distributed.run", "torchrun:"},
                                                           {"torch.distributed.launch", "torchrun:"},
                                                           {"deepspeed", "deepspeed:"},
                                                           {"deepspeed.launcher.runner", "deepspeed:"},
                                                           {"accelerate", "accelerate:"},
                                                           {"accelerate.commands.launch", "accelerate:"},
                                                           {"mpirun", "mpirun:"},
                                                           {"mpiexec", "mpirun:"},
                                                           {"composer", "composer:"},
                                                           {"msrun", "msrun:"},
                                                           {"python", "python:"},
                                                           {"python3", "python:"},
                                                           {"python3.10", "python:"},
                                                           {"ipython", "python:"}}};
/// Modules that `python -m` runs, and that train nothing.
constexpr std::array<std::string_view, 5> silent_modules{"pip", "venv", "ensurepip", "compileall", "json.tool"};

const ScriptLauncher* launcher_named(std::string_view word) {
  return find_where(script_launchers, [name = last_step(word)](const ScriptLauncher& each) { return each.word == name; });
}

/// Whether a word is the name of a tool that users start by name, as in `swift sft`.
bool is_tools_program(const std::string& word) {
  const std::string name(last_step(word));
  const auto& formats = configuration_formats();
  const auto& others = foreign_tools();
  return std::ranges::any_of(formats, [&](const auto* each) { return is_among(each->programs, name); }) ||
         std::ranges::any_of(others, [&](const ForeignTool& each) { return is_among(each.programs, name); });
}

/// Returns why the program at `at` is not a training, such as `export` of `swift export`; empty if it may be one.
std::string_view other_reason(const std::vector<PlacedText>& words, std::size_t at) {
  const std::string& program = words[at].text;
  if (!is_tools_program(program)) {
    const OtherProgram* other = other_program(program);
    return other == nullptr ? std::string_view() : other->reason;
  }
  const std::string name(last_step(program));
  for (const ConfigurationFormat* format : configuration_formats()) {
    if (at + 1 == words.size() || !is_among(format->programs, name)) continue;
    for (const RefusedArgument& refused : format->refused) {
      if (refused.key == "tool:-command" && is_word_of(refused.values, words[at + 1].text)) return refused.reason;
    }
  }
  return {};
}

/// Whether a word overrides a key of a configuration, as in `batch_size=4` or `++model.micro_batch_size=4`. A key without
/// dots and underscores has to be an argument of a tool: `dtype=bf16`.
bool is_override(const std::string& word) {
  const std::size_t equals = word.find('=');
  if (equals == std::string::npos || word.starts_with('-')) return false;
  // Hydra's overrides may begin with plus signs. MaxText's have underscores.
  if (word.find_first_of(".+/_") < equals) return true;
  const std::string key = word.substr(0, equals);
  const auto& formats = configuration_formats();
  return std::ranges::any_of(formats, [&](const auto* each) {
    return each->language != ConfigurationLanguage::script && row_named(each->rows, key) != nullptr;
  });
}

bool is_value(const PlacedText& word) {
  if (word.text == "$@" || word.text == "$*" || word.text == "${@}") return false;  // arguments of the script's caller
  if (!word.text.starts_with('-')) return true;
  return word.text.size() > 1 && word.text[1] >= '0' && word.text[1] <= '9';
}

/// Whether all bytes of a word are unknown. Such a word may stand for any number of arguments.
bool is_all_unknown(const PlacedText& word) {
  return word.text.starts_with('$') &&
         std::ranges::all_of(word.origins, [](const ByteOrigin& each) { return each.certainty == Certainty::outside; });
}

/// The parts of a command: launchers with their options, then the launched program with its arguments.
struct LaunchedProgram {
  struct Part {
    std::size_t from, end;
    std::string prefix;
  };
  std::vector<Part> parts{};
  std::optional<std::size_t> program{};  ///< index of the program's word; unset if unknown
  const ScriptCommand* command = nullptr;
};

class ArgumentsReader {
 public:
  explicit ArgumentsReader(const ShellScript& script) : script_(script) {}

  ScriptArguments read() {
    all_.settings = directive_settings(script_);
    std::vector<LaunchedProgram> launched;
    for (const ScriptCommand& command : script_.commands) {
      LaunchedProgram one = parts_of(command);
      if (!one.parts.empty()) launched.push_back(std::move(one));
    }
    read_environment(trainings(launched));
    const std::size_t besides = all_.settings.size();
    read_launched(launched);
    if (all_.settings.size() == besides) read_assigned();
    return std::move(all_);
  }

 private:
  static bool is_other(const LaunchedProgram& one) {
    return one.program && !other_reason(one.command->words, *one.program).empty();
  }

  /// How likely a command is the training: 0 for the program of a tool, 1 for a program that a launcher such as torchrun
  /// starts, and `unlaunched` for others.
  static std::size_t rank_of(const LaunchedProgram& one) {
    const std::vector<PlacedText>& words = one.command->words;
    if (one.program && is_tools_program(words[*one.program].text)) return 0;
    const auto end = words.begin() + static_cast<std::ptrdiff_t>(one.program.value_or(words.size()));
    const bool is_launched = std::any_of(words.begin(), end, [](const PlacedText& word) {
      const ScriptLauncher* launcher = launcher_named(word.text);
      return launcher != nullptr && launcher->prefix != "python:";
    });
    return is_launched ? 1 : unlaunched;
  }
  static constexpr std::size_t unlaunched = 2;

  /// Whether a command that does not train is skipped, because the script also runs a training. Commands of a tool are only
  /// skipped if a tool or a launcher starts the training: other programs may read what the tool wrote.
  [[nodiscard]] bool is_skipped(const LaunchedProgram& one) const {
    if (!is_other(one)) return false;
    return is_tools_program(one.command->words[*one.program].text) ? has_launched_training_ : has_training_;
  }

  /// Reads the arguments of launched programs. If the script also runs a training, programs that do not train are skipped.
  void read_launched(const std::vector<LaunchedProgram>& launched) {
    for (const LaunchedProgram& one : launched) {
      if (!one.program || is_other(one)) continue;
      has_training_ = true;
      has_launched_training_ = has_launched_training_ || rank_of(one) < unlaunched;
    }
    for (const LaunchedProgram& one : launched) {
      if (!is_other(one)) continue;
      const PlacedText& program = one.command->words[*one.program];
      const bool skips = is_skipped(one);
      // The table of the tool refuses its command.
      if (!skips && !is_tools_program(program.text)) all_.refused_programs.push_back(program);
      if (!skips) continue;
      const std::vector<PlacedText>& words = one.command->words;
      const std::string shown =
          is_tools_program(program.text) ? program.text + " " + words[*one.program + 1].text : program.text;
      warn(program, fmt::format("{} is skipped: {}", quote(shown), other_reason(words, *one.program)));
    }
    // The refusal of an unsupported training explains more than refusals of the programs around it, which train nothing.
    std::ranges::stable_partition(all_.refused_programs, [](const PlacedText& each) {
      const OtherProgram* const other = other_program(each.text);
      return other == nullptr || !other->hint.starts_with("pass the script");
    });
    for (const LaunchedProgram& one : launched) {
      if (is_skipped(one)) continue;
      const std::vector<PlacedText>& words = one.command->words;
      starts_tool_ = one.program && is_tools_program(words[*one.program].text);
      is_launched_ = rank_of(one) < unlaunched;
      if (one.program) {
        all_.programs.push_back(words[*one.program]);
        add_command(words, *one.program);
        warn_of_another(words[*one.program], one.command->is_conditional);
      }
      for (const LaunchedProgram::Part& part : one.parts) {
        const std::size_t before = all_.settings.size();
        read_options(words, part.from, part.prefix, part.end);
        if (part.prefix.empty()) keep_file_alone(before);
      }
    }
  }

  /// Drops the other arguments of a command with `--yaml-cfg`, from the setting `from` on: Megatron-LM ignores them
  /// [NVIDIA/Megatron-LM, megatron/training/yaml_arguments.py, `load_yaml`]. Options of launchers stay.
  void keep_file_alone(std::size_t from) {
    const auto first = all_.settings.begin() + static_cast<std::ptrdiff_t>(from);
    const auto file = std::find_if(first, all_.settings.end(),
                                   [](const ConfigEntry& each) { return argument_key(each.key) == "yaml-cfg"; });
    if (file == all_.settings.end()) return;
    std::string ignored;
    const Place place = file->place();
    const auto rest = std::stable_partition(first, all_.settings.end(), [](const ConfigEntry& each) {
      return argument_key(each.key) == "yaml-cfg" || each.key.find(":-") != std::string::npos;
    });
    for (auto each = rest; each != all_.settings.end(); ++each) ignored += (ignored.empty() ? "" : ", ") + each->key;
    all_.settings.erase(rest, all_.settings.end());
    if (ignored.empty()) return;
    all_.warnings.push_back(
        fmt::format("{}:{}: with --yaml-cfg, Megatron-LM ignores its other arguments: {}", place.file, place.line, ignored));
  }

  /// Adds the subcommand of a tool, such as `sft` of `swift sft`, and the recipe that follows it, as in `tune run RECIPE`.
  void add_command(const std::vector<PlacedText>& words, std::size_t program) {
    if (!is_tools_program(words[program].text)) return;
    for (std::size_t at = program + 1; at < std::min(program + 3, words.size()); ++at) {
      const std::string& word = words[at].text;
      if (word.starts_with('-') || word.find_first_of(".=/") != std::string::npos) return;
      add(at == program + 1 ? "tool:-command" : "tool:-recipe", words[at], &words[at]);
    }
  }

  static LaunchedProgram parts_of(const ScriptCommand& command) {
    LaunchedProgram all{.command = &command};
    const std::vector<PlacedText>& words = command.words;
    if (words.empty()) return all;
    if (words.front().text.starts_with("--")) {
      all.parts.push_back({0, words.size(), ""});
      return all;
    }
    const std::string_view name = last_step(words.front().text);
    // `conda run` starts a program in an environment.
    const bool starts = name == "conda" && words.size() > 1 && words[1].text == "run";
    if (!starts && is_silent_command(name)) return all;
    // In `launcher -- program`, the words before `--` launch the program.
    std::size_t from = 0;
    for (std::size_t i = 0; i + 1 < words.size(); ++i) {
      if (words[i].text == "--" && starts_something(words, i + 1)) from = i + 1;
    }
    if (from > 0) add_outer(words, from - 1, all);
    std::string prefix;
    std::size_t options = from;
    const auto end_part = [&](std::size_t end) {
      if (!prefix.empty() && end > options) all.parts.push_back({options, end, prefix});
    };
    const std::size_t first = first_program(words, from);
    for (std::size_t i = from; i < words.size() && !all.program; ++i) {
      const std::string& word = words[i].text;
      const bool is_module = (word == "-m" || word == "--module") && i + 1 < words.size() && runs_modules(prefix);
      const std::size_t at = is_module ? i + 1 : i;
      if (is_module && contains(silent_modules, words[at].text)) return {.command = &command};
      if (const ScriptLauncher* launcher = launcher_named(words[at].text)) {
        // Here mpirun starts launchers, so the number of mpirun's processes is not the number of GPUs.
        if (prefix == "mpirun:" && launcher->prefix != "python:") prefix = "mpirun of launchers:";
        end_part(i);
        prefix = launcher->prefix;
        options = at + 1;
        const bool is_slurms = prefix == "srun:" || prefix == "slurm:";
        i = is_slurms ? end_of_options(words, at) - 1 : at;
      } else if (is_module || (word.ends_with(".py") && !word.starts_with('-')) ||
                 ((i == first || !prefix.empty()) && is_tools_program(word))) {
        end_part(i);
        all.program = at;
        all.parts.push_back({at + 1, words.size(), ""});
      }
    }
    if (all.program || prefix.empty()) return all;
    // A copy of files may run on fewer nodes than the training. `options` is after the launcher's name.
    if (!command.starts_shell && moves_files(words, options - 1)) return {.command = &command};
    end_part(words.size());
    // The program's name is unknown, so any word after the launcher may be an argument of the program.
    const bool may_train = prefix != "python:" && !command.starts_shell && options < words.size();
    if (may_train) all.parts.push_back({options, words.size(), ""});
    return all;
  }

  /// Adds the options before `--` in `gantry run --replicas 2 -- torchrun …`, which end at `end`, if the launcher is known.
  static void add_outer(const std::vector<PlacedText>& words, std::size_t end, LaunchedProgram& all) {
    const auto last = words.begin() + static_cast<std::ptrdiff_t>(end);
    const auto first = std::find_if(words.begin(), last, [](const PlacedText& word) { return word.text.starts_with("--"); });
    const ScriptLauncher* const known = launcher_named(words.front().text);
    const bool is_known = known != nullptr && known->prefix != "python:";
    const bool counts = std::any_of(words.begin(), first, [](const auto& word) { return starts_launchers(word.text); });
    if (first == last || (!is_known && !counts)) return;
    all.parts.push_back({static_cast<std::size_t>(first - words.begin()), end,
                         std::string(is_known ? known->prefix : std::string_view("launch:"))});
  }

  /// Whether a launcher's option `-m` names a module of Python. That of srun places tasks.
  static bool runs_modules(const std::string& prefix) {
    return !prefix.empty() && prefix != "srun:" && prefix != "slurm:" && !prefix.starts_with("mpirun");
  }

  static bool starts_something(const std::vector<PlacedText>& words, std::size_t from) {
    return std::any_of(words.begin() + static_cast<std::ptrdiff_t>(from), words.end(), [](const PlacedText& word) {
      return launcher_named(word.text) != nullptr || word.text.ends_with(".py") || is_tools_program(word.text);
    });
  }

  /// Reads arguments from variables. Needed for a script that only sets variables, and lets another
  /// script start the program.
  void read_assigned() {
    std::set<std::pair<std::uint8_t, std::uint32_t>> seen;
    std::vector<std::vector<PlacedText>> groups;
    // If a variable contains an earlier variable, the arguments are read from the last variable only.
    for (auto variable = script_.assigned.rbegin(); variable != script_.assigned.rend(); ++variable) {
      std::vector<PlacedText> words;
      for (const PlacedText& value : variable->words) {
        for (PlacedText& word : split_words(value)) words.push_back(std::move(word));
      }
      const PlacedText* first = find_where(words, [](const PlacedText& word) { return word.text.starts_with("--"); });
      if (first == nullptr || seen.contains({first->origin().file, first->origin().offset})) continue;
      for (const PlacedText& word : words) {
        if (word.text.starts_with("--")) seen.insert({word.origin().file, word.origin().offset});
      }
      groups.push_back(std::move(words));
    }
    for (auto group = groups.rbegin(); group != groups.rend(); ++group) {
      const PlacedText* program = find_where(
          *group, [](const PlacedText& word) { return word.text.ends_with(".py") && !word.text.starts_with('-'); });
      if (program != nullptr) all_.programs.push_back(*program);
      if (program != nullptr && other_program(program->text) != nullptr) all_.refused_programs.push_back(*program);
      read_options(*group, 0, "", group->size());
    }
  }

  /// Returns the indices of the commands that train: those of tools, else those of launchers, else all that may train.
  [[nodiscard]] std::vector<std::size_t> trainings(const std::vector<LaunchedProgram>& launched) const {
    std::array<std::vector<std::size_t>, unlaunched + 1> found;
    for (const LaunchedProgram& one : launched) {
      if (!is_other(one)) found[rank_of(one)].push_back(static_cast<std::size_t>(one.command - script_.commands.data()));
    }
    const auto* first = find_where(found, [](const auto& each) { return !each.empty(); });
    return first == nullptr ? std::vector<std::size_t>() : *first;
  }

  /// Reads the environment variables that give launchers the number of devices, and options to PyTorch's allocator.
  /// `trainings`: the commands that count, because variables may be set for other commands, such as an evaluation.
  void read_environment(const std::vector<std::size_t>& trainings) {
    constexpr std::array<std::string_view, 5> names{"CUDA_VISIBLE_DEVICES", "NPROC_PER_NODE", "NNODES", "PYTORCH_ALLOC_CONF",
                                                    "PYTORCH_CUDA_ALLOC_CONF"};
    const auto counts = [&](const ShellAssignment& each) {
      return trainings.empty() || std::ranges::any_of(trainings, [&](std::size_t command) {
               return command >= each.from && (!each.end || command < *each.end);
             });
    };
    for (const std::string_view name : names) {
      for (auto each = script_.assigned.rbegin(); each != script_.assigned.rend(); ++each) {
        if (each->name != name || each->words.size() != 1 || !counts(*each)) continue;
        PlacedText value = each->words.front();
        const bool is_list = name == "CUDA_VISIBLE_DEVICES";
        if (value.text.empty() || !value.is_known()) break;
        if (is_list) {
          const auto devices = std::ranges::count(value.text, ',') + 1;
          PlacedText count{.text = fmt::format("{}", devices), .start = value.origin()};
          count.origins.assign(count.text.size(), value.origin());
          value = std::move(count);
        }
        add_setting(all_.settings, script_entry(script_, fmt::format("environment:-{}", name), value, &value));
        break;
      }
    }
  }

  void warn(const PlacedText& at, const std::string& message) {
    const Place place = place_of(script_, at);
    all_.warnings.push_back(fmt::format("{}:{}: {}", place.file, place.line, message));
  }

  void warn_of_another(const PlacedText& program, bool is_conditional) {
    if (is_conditional) warn(program, "this command is in a branch or a loop: one run is assumed");
    if (has_program_) warn(program, "the script launches another program; if both set an argument, the value here is used");
    has_program_ = true;
  }

  /// Adds `--nnodes 2:2` as two nodes. If the minimum and the maximum differ, the number is unknown, so the text stays.
  bool adds_range(const std::string& key, const PlacedText& at, const PlacedText& value) {
    const std::size_t colon = value.text.find(':');
    if (key != "torchrun:--nnodes" || colon == std::string::npos) return false;
    if (value.text.substr(0, colon) != value.text.substr(colon + 1)) return false;
    const PlacedText minimum = value.part(0, colon);
    add(key, at, &minimum);
    return true;
  }

  /// Adds the hosts and devices of `--include node1:0,1@node2:0,1` [DeepSpeed, deepspeed/launcher/runner.py].
  bool adds_included(const std::string& key, const PlacedText& at, const PlacedText& value) {
    if ((key != "deepspeed:--include" && key != "deepspeed:-i") || !value.is_known()) return false;
    std::set<std::ptrdiff_t> devices;
    std::int64_t hosts = 0;
    for (const std::string_view host : split(value.text, "@")) {
      // All devices of the host, or a range such as 0-3.
      if (host.find(':') == std::string_view::npos || host.find('-', host.find(':')) != std::string_view::npos) return false;
      devices.insert(std::ranges::count(host, ',') + 1);
      ++hosts;
    }
    if (devices.size() != 1) return false;
    const auto add_number = [&](const char* name, std::int64_t number) {
      PlacedText text{.text = fmt::format("{}", number), .start = value.origin()};
      text.origins.assign(text.text.size(), value.origin());
      add(name, at, &text);
    };
    add_number("deepspeed:--num-nodes", hosts);
    add_number("deepspeed:--num-gpus", *devices.begin());
    return true;
  }

  void add(const std::string& key, const PlacedText& at, const PlacedText* value) {
    if (value != nullptr && (adds_range(key, at, *value) || adds_included(key, at, *value))) return;
    if (key.starts_with("launch:") && (value == nullptr || (value->is_known() && !is_count(value->text)))) return;
    ConfigEntry entry = script_entry(script_, key, at, value);
    if (at.certainty() == Certainty::of_branches) {
      entry.is_known = false;
      entry.is_of_branches = true;
      if (value == nullptr) entry.value = at.text;
    }
    add_setting(all_.settings, std::move(entry));
  }

  void read_options(const std::vector<PlacedText>& words, std::size_t from, const std::string& prefix, std::size_t end) {
    const bool launches = !prefix.empty();
    bool has_key = false;
    for (std::size_t i = from; i < end; ++i) {
      const std::string& word = words[i].text;
      const std::size_t equals = word.find('=');
      const bool is_key = word.starts_with("--") || (launches && word.size() > 1 && word[0] == '-');
      if (is_key && words[i].certainty() == Certainty::optional) {
        warn(words[i], fmt::format("{} is ignored: this branch of the script may not run", quote(word.substr(0, equals))));
        while (i + 1 < end && is_value(words[i + 1]) && equals == std::string::npos) ++i;
      } else if (is_key) {
        has_key = true;
        const bool is_short =
            !word.starts_with("--") && word.size() > 2 && equals == std::string::npos && !prefix.starts_with("mpirun");
        const std::size_t behind = is_short ? 2 : equals == std::string::npos ? 0 : equals + 1;
        std::string key = prefix + word.substr(0, is_short ? 2 : equals);
        const bool is_launchers = starts_tool_ && !launches && is_torchruns(key);
        if (is_launchers) key = "torchrun:" + key;
        if (behind > 0) {
          const PlacedText value = words[i].part(behind);
          add(key, words[i], &value);
        } else {
          read_values(words, i, end, key, launches || is_launchers);
        }
      } else if (!launches && is_override(word)) {
        const PlacedText value = words[i].part(equals + 1);
        std::string key = word.substr(0, equals);
        key.erase(0, std::min(key.find_first_not_of('+'), key.size()));
        add(key, words[i], &value);
      } else if (!launches && !has_key && names_configuration(word)) {
        // A launched training reads its first argument. Other files may also be outputs.
        add(starts_tool_ || (is_launched_ && i == from) ? "--config_file" : "python:-file", words[i], &words[i]);
      }
    }
  }

  /// Whether an option is one of torchrun, which tools such as `tune run` pass on.
  static bool is_torchruns(const std::string& option) {
    return row_named(launcher_rows(), argument_key("torchrun:" + option)) != nullptr;
  }

  /// Whether a word names a configuration file, if it is the first argument of a program.
  static bool names_configuration(std::string_view word) {
    return word.ends_with(".yaml") || word.ends_with(".yml") || word.ends_with(".json") || word.ends_with(".toml");
  }

  /// Reads the values of an argument from the words that follow the argument.
  void read_values(const std::vector<PlacedText>& words, std::size_t& i, std::size_t end, const std::string& key,
                   bool only_one) {
    const std::size_t at = i;
    PlacedText value;
    while (i + 1 < end && is_value(words[i + 1]) && !(only_one && i > at)) {
      if (i > at && (is_all_unknown(words[i + 1]) || (!only_one && is_override(words[i + 1].text)))) break;
      ++i;
      if (i > at + 1) value.add(' ', words[i].origin());
      value.add(words[i]);
    }
    add(key, words[at], i == at ? nullptr : &value);
  }

  const ShellScript& script_;
  ScriptArguments all_;
  bool has_program_ = false;
  bool has_training_ = false, has_launched_training_ = false;
  bool starts_tool_ = false;  ///< whether the command that is read starts a tool by its name
  bool is_launched_ = false;  ///< whether a launcher such as torchrun starts the program that is read
};

}  // namespace

ScriptArguments script_arguments(const ShellScript& script) { return ArgumentsReader(script).read(); }

}  // namespace ddl
