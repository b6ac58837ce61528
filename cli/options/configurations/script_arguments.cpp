#include "cli/options/configurations/script_arguments.hpp"

#include <algorithm>
#include <array>
#include <set>
#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace ddl {
namespace {

/// Programs that start others, and the prefix of their arguments.
struct Launcher {
  std::string_view word, prefix;
};
constexpr std::array<Launcher, 12> launchers{{{"srun", "srun:"},
                                              {"sbatch", "slurm:"},
                                              {"salloc", "slurm:"},
                                              {"torchrun", "torchrun:"},
                                              {"torch.distributed.run", "torchrun:"},
                                              {"torch.distributed.launch", "torchrun:"},
                                              {"deepspeed", "deepspeed:"},
                                              {"accelerate", "accelerate:"},
                                              {"mpirun", "mpirun:"},
                                              {"mpiexec", "mpirun:"},
                                              {"python", "python:"},
                                              {"python3", "python:"}}};
constexpr std::array<std::string_view, 9> silent_commands{"echo", "printf", "cat",    "cd",  "mkdir",
                                                          "ls",   "set",    "source", "test"};

std::string_view last_step(std::string_view path) { return path.substr(path.rfind('/') + 1); }

const Launcher* launcher_named(std::string_view word) {
  const auto found = std::find_if(launchers.begin(), launchers.end(),
                                  [name = last_step(word)](const Launcher& each) { return each.word == name; });
  return found == launchers.end() ? nullptr : found;
}

bool is_value(const PlacedText& word) {
  if (word.text == "$@" || word.text == "$*") return false;  // what the caller of the script adds
  if (!word.text.starts_with('-')) return true;
  return word.text.size() > 1 && word.text[1] >= '0' && word.text[1] <= '9';
}

/// The words of `bash -c '…'` in the place of that text.
std::vector<PlacedText> without_inner_shells(const std::vector<PlacedText>& words) {
  std::vector<PlacedText> flat;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string_view before = i > 0 ? std::string_view(words[i - 1].text) : std::string_view();
    const bool is_script = (before == "-c" || before == "-lc") && i > 1 &&
                           (last_step(words[i - 2].text) == "bash" || last_step(words[i - 2].text) == "sh");
    if (!is_script) {
      flat.push_back(words[i]);
      continue;
    }
    PlacedText part;
    for (std::size_t c = 0; c < words[i].text.size(); ++c) {
      const char letter = words[i].text[c];
      if (letter == ' ' || letter == '\t' || letter == '\n' || letter == '\\') {
        if (!part.text.empty()) flat.push_back(std::exchange(part, {}));
        continue;
      }
      part.text += letter;
      part.offsets.push_back(words[i].offsets[c]);
      part.is_known = words[i].is_known || letter != '$';
    }
    if (!part.text.empty()) flat.push_back(std::move(part));
  }
  return flat;
}

class ArgumentsReader {
 public:
  explicit ArgumentsReader(const ShellScript& script) : script_(script) {}

  ScriptArguments read() {
    for (const ScriptCommand& directive : script_.directives) read_options(directive.words, 0, "slurm:");
    const std::size_t besides = all_.settings.size();
    for (const ScriptCommand& command : script_.commands) read_command(command);
    if (all_.settings.size() == besides) {
      // Another script starts the program: its arguments are in the variables.
      std::vector<PlacedText> words;
      std::set<std::size_t> seen;
      for (const PlacedText& word : script_.assigned) {
        PlacedText part;
        for (std::size_t i = 0; i <= word.text.size(); ++i) {
          if (i < word.text.size() && word.text[i] != ' ' && word.text[i] != '\n' && word.text[i] != '\t') {
            part.text += word.text[i];
            part.offsets.push_back(word.offsets[i]);
            part.is_known = word.is_known;
          } else if (!part.text.empty()) {
            if (seen.insert(part.offset()).second) words.push_back(part);
            part = {};
          }
        }
      }
      read_options(words, 0, "");
    }
    return std::move(all_);
  }

 private:
  void read_command(const ScriptCommand& command) {
    const std::vector<PlacedText> words = without_inner_shells(command.words);
    if (words.empty()) return;
    if (words.front().text.starts_with("--")) {
      read_options(words, 0, "");
      return;
    }
    const std::string_view name = last_step(words.front().text);
    if (std::find(silent_commands.begin(), silent_commands.end(), name) != silent_commands.end()) return;
    std::string prefix;
    bool is_launched = false;
    std::size_t from = 0;
    for (std::size_t i = 0; i < words.size(); ++i) {
      const std::string& word = words[i].text;
      if (const Launcher* launcher = launcher_named(word)) {
        if (is_launched) read_options(words, from, prefix, i);
        prefix = launcher->prefix;
        is_launched = true;
        from = i + 1;
      } else if (word.ends_with(".py") && !word.starts_with("-")) {
        if (is_launched) read_options(words, from, prefix, i);
        warn_of_another(words[i], command.is_conditional);
        read_options(words, i + 1, "");
        return;
      }
    }
    if (is_launched && prefix != "python:") {
      // The program's name is not in the script: all arguments may be its own.
      read_options(words, from, prefix);
      read_options(words, from, "");
    }
  }

  void warn_of_another(const PlacedText& program, bool is_conditional) {
    const Place place = script_.source->place(program.offset());
    if (is_conditional) {
      all_.warnings.push_back(
          fmt::format("{}:{}: this command is in a branch or a loop; it is read as if it ran once", place.file, place.line));
    }
    if (has_program_) {
      all_.warnings.push_back(
          fmt::format("{}:{}: the script launches another program; if both set an argument, the value here is used",
                      place.file, place.line));
    }
    has_program_ = true;
  }

  void add(const std::string& key, std::size_t key_offset, const PlacedText* value, std::string text) {
    ConfigEntry setting{.key = key,
                        .value = std::move(text),
                        .source = script_.source,
                        .key_offset = key_offset,
                        .value_offset = value != nullptr ? value->offset() : key_offset};
    if (value != nullptr) setting.is_known = value->is_known;
    add_setting(all_.settings, std::move(setting));
  }

  void read_options(const std::vector<PlacedText>& words, std::size_t from, const std::string& prefix,
                    std::size_t end = static_cast<std::size_t>(-1)) {
    end = std::min(end, words.size());
    const bool launches = !prefix.empty();
    for (std::size_t i = from; i < end; ++i) {
      const std::string& word = words[i].text;
      const std::size_t equals = word.find('=');
      if (word.starts_with("--") || (launches && word.size() > 1 && word[0] == '-')) {
        std::string key = word.substr(0, equals);
        const bool is_short =
            !word.starts_with("--") && word.size() > 2 && equals == std::string::npos && prefix != "mpirun:";
        PlacedText attached = words[i];
        std::size_t skipped = equals == std::string::npos ? 0 : equals + 1;
        if (is_short) {
          key = word.substr(0, 2);
          skipped = 2;
        }
        if (skipped > 0) {
          attached.text.erase(0, skipped);
          const auto cut = static_cast<std::ptrdiff_t>(std::min(skipped, attached.offsets.size()));
          attached.offsets.erase(attached.offsets.begin(), attached.offsets.begin() + cut);
          attached.start = static_cast<std::uint32_t>(words[i].offset());
          add(prefix + key, words[i].offset(), &attached, attached.text);
        } else {
          read_values(words, i, end, prefix + key, launches);
        }
      } else if (!launches && equals != std::string::npos && word.find('.') < equals) {
        // As Hydra writes it: ++model.micro_batch_size=4.
        PlacedText value = words[i];
        value.text.erase(0, equals + 1);
        const auto cut = static_cast<std::ptrdiff_t>(std::min(equals + 1, value.offsets.size()));
        value.offsets.erase(value.offsets.begin(), value.offsets.begin() + cut);
        value.start = static_cast<std::uint32_t>(words[i].offset());
        std::string key = word.substr(0, equals);
        key.erase(0, std::min(key.find_first_not_of('+'), key.size()));
        add(key, words[i].offset(), &value, value.text);
      }
    }
  }

  /// The words behind an argument that may be its values.
  void read_values(const std::vector<PlacedText>& words, std::size_t& i, std::size_t end, const std::string& key,
                   bool only_one) {
    const std::size_t at = i;
    std::string text;
    bool is_known = true;
    while (i + 1 < end && is_value(words[i + 1]) && !(only_one && i > at)) {
      ++i;
      text += (text.empty() ? "" : " ") + words[i].text;
      is_known = is_known && words[i].is_known;
    }
    if (i == at) return add(key, words[at].offset(), nullptr, "");
    add(key, words[at].offset(), &words[at + 1], text);
    all_.settings.back().is_known = is_known;
  }

  const ShellScript& script_;
  ScriptArguments all_;
  bool has_program_ = false;
};

}  // namespace

ScriptArguments script_arguments(const ShellScript& script) { return ArgumentsReader(script).read(); }

}  // namespace ddl
