// This file reads simple commands of scripts. It performs commands that affect later commands, such
// as assignments and `source`.

#include <algorithm>
#include <array>
#include <filesystem>
#include <span>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "cli/options/configurations/named_files.hpp"
#include "cli/options/configurations/shell_reader.hpp"
#include "cli/options/configurations/shell_tests.hpp"
#include "core/error.hpp"
#include "core/find.hpp"
#include "core/words.hpp"

namespace ddl {
namespace {

constexpr std::array<std::string_view, 5> declaring_words{"export", "declare", "local", "readonly", "typeset"};
constexpr std::array<std::string_view, 4> inner_shells{"bash", "sh", "zsh", "/bin/bash"};
constexpr int most_inner_texts = 12;

/// Programs whose option `-c` is followed by a program in their own language.
constexpr std::array<std::string_view, 4> interpreters{"python", "python3", "perl", "ruby"};
constexpr std::array<std::string_view, 6> starting_words{"torchrun ", "accelerate launch ", "deepspeed ", "srun ",
                                                         "mpirun ",   "torch.distributed."};

bool has_one_of(std::string_view text, std::span<const std::string_view> words) {
  return std::ranges::any_of(words, [&](std::string_view word) { return text.find(word) != std::string_view::npos; });
}

bool is_inner_shell(std::string_view word) { return contains(inner_shells, last_step(word)); }

/// Whether a launcher, not a shell, runs the command line after its option `-c`: `launch -n 8 -c 'python train.py …'`.
bool runs_text(const std::vector<PlacedText>& words, std::size_t option) {
  if (option == 0 || option + 1 >= words.size() || words[option].text != "-c") return false;
  const std::string_view before = words[option - 1].text, text = words[option + 1].text;
  const bool is_program = contains(interpreters, last_step(before)) || is_inner_shell(before);
  return !is_program && (text.find(".py ") != std::string_view::npos || has_one_of(text, starting_words));
}

}  // namespace

ShellReader::Status ShellReader::read_simple(ScriptRun run) {
  Simple simple;
  std::vector<std::size_t> assigned;  // indices of assignments that precede the command: NPROC_PER_NODE=8 swift sft
  bool in_head = true, declares = false;
  while (!words_.is_at_end()) {
    words_.skip_blanks();
    const char c = words_.here();
    const bool redirects = c == '>' || c == '<' || words_.stands("&>");
    if (!redirects && (c == '\n' || c == ';' || c == '&' || c == '|' || c == ')' || c == '(')) break;
    if (words_.is_at_end()) break;
    if (c == '#') {
      words_.skip_line();
      continue;
    }
    if (redirects) {
      read_redirection(simple);
      continue;
    }
    const std::size_t before = state_.script.assigned.size();
    if (in_head && assigns(run)) {
      // Expansions such as ${NAME:=8} in the value assign first, and outlive the command.
      if (state_.script.assigned.size() > before) assigned.push_back(state_.script.assigned.size() - 1);
      continue;
    }
    const std::size_t from = words_.at();
    ShellWordList list;
    words_.read_word(list);
    list.end();
    if (words_.at() == from) words_.go_to(from + 1);  // an unexpected character is skipped
    // The digit in `2>&1` is not a word of the command.
    const bool is_stream = list.done.size() == 1 && list.done.front().text.size() == 1 &&
                           is_shell_digit(list.done.front().text.front()) && (words_.here() == '>' || words_.here() == '<');
    if (list.done.empty() || is_stream) continue;
    const bool is_first = simple.words.empty();
    for (PlacedText& word : list.done) simple.words.push_back(std::move(word));
    const std::string& word = simple.words.back().text;
    declares = declares || (is_first && contains(declaring_words, word));
    in_head = declares || (is_first && word == "env");
  }
  if (!own_.documents.empty()) read_documents(simple);
  if (run == ScriptRun::no || simple.words.empty()) return {.holds = true};
  const Status status = perform(simple, run);
  if (declares) return status;
  for (const std::size_t each : assigned) state_.script.assigned[each].end = state_.script.commands.size();
  return status;
}

/// Reads an assignment at the present position: `NAME=value`, `NAME+=value` or `NAME=(…)`. Returns
/// false if there is no assignment.
bool ShellReader::assigns(ScriptRun run) {
  if (!begins_shell_name(words_.here())) return false;
  const std::string_view text = words_.text();
  std::size_t end = words_.at();
  while (end < text.size() && goes_on_in_shell_name(text[end])) ++end;
  const bool adds = text.substr(end).starts_with("+=");
  if (!adds && (end >= text.size() || text[end] != '=')) return false;
  const std::string name(text.substr(words_.at(), end - words_.at()));
  words_.go_to(end + (adds ? 2 : 1));
  ShellVariable value;
  if (words_.here() == '(') {
    words_.go_to(words_.at() + 1);
    value = {.words = words_.read_array(), .is_array = true};
  } else {
    ShellWordList list;
    const std::size_t from = words_.at();
    words_.read_word(list, false);
    list.end();
    // The output of a training is unknown, but the training runs: LOG=$(torchrun train.py … 2>&1).
    const std::string_view raw = text.substr(from, words_.at() - from);
    if (run != ScriptRun::no && raw.starts_with("$(") && raw.ends_with(')') && has_one_of(raw, starting_words) &&
        raw.find(".py") != std::string_view::npos) {
      perform_text(words_.part(from + 2, words_.at() - 1), run, nullptr);
    }
    // If the value expands to several words, such as those of an array, the words are joined by spaces.
    PlacedText joined{.start = words_.origin(end)};
    for (std::size_t i = 0; i < list.done.size(); ++i) {
      if (i > 0) joined.add_blank(list.done[i]);
      joined.add(list.done[i]);
    }
    value.words.push_back(std::move(joined));
  }
  if (run == ScriptRun::no) return true;
  // A value that --set gives for the variable takes precedence over an unknown value, and over an empty one: scripts that
  // parse their own options begin with NAME="".
  const auto given = std::ranges::find_if(inputs_.values, [&](const auto& each) { return each.first == name; });
  const bool is_unknown = !value.is_array && (value.words.front().certainty() == Certainty::outside ||
                                              (value.words.front().text.empty() && !adds));
  if (given != inputs_.values.end() && is_unknown) return true;
  state_.script.assigned.push_back({.name = name, .words = value.words, .from = state_.script.commands.size()});
  state_.variables.assign(name, std::move(value), adds);
  return true;
}

/// Reads one redirection: `> file`, `2>&1`, `<<EOF`, `<<< word`.
void ShellReader::read_redirection(Simple& simple) {
  const bool is_document = words_.stands("<<") && !words_.stands("<<<");
  const bool writes = words_.here() == '>' || words_.stands("&>");
  const bool appends = words_.stands(">>") || words_.stands("&>>");
  if (is_document) {
    words_.go_to(words_.at() + 2);
    if (words_.here() == '-') words_.go_to(words_.at() + 1);
    words_.skip_blanks();
    Document document;
    const std::string_view ends = " \t\r\n;>|&)";
    while (!words_.is_at_end() && ends.find(words_.here()) == std::string_view::npos) {
      const char c = words_.here();
      if (c == '\'' || c == '"' || c == '\\') {
        document.is_plain = true;
      } else {
        document.end += c;
      }
      words_.go_to(words_.at() + 1);
    }
    if (!document.end.empty()) own_.documents.push_back(std::move(document));
    return;
  }
  while (words_.here() == '>' || words_.here() == '<' || words_.here() == '&') words_.go_to(words_.at() + 1);
  words_.skip_blanks();
  ShellWordList target;
  if (words_.here() != '\n') words_.read_word(target, false);
  target.end();
  if (!writes || target.done.empty()) return;
  simple.written_to = target.done.front().text;
  simple.appends = appends;
}

/// Reads the here-documents of a command, such as `<<EOF`. Their lines begin after the line of the command.
void ShellReader::read_documents(Simple& simple) {
  const std::string_view text = words_.text();
  const std::size_t here = words_.at();
  const std::size_t line = std::min(text.find('\n', here), text.size());
  std::size_t at = line == own_.document_line ? own_.after_documents : std::min(line + 1, text.size());
  for (const Document& document : own_.documents) {
    const std::size_t from = at;
    std::size_t to = at;
    while (at < text.size()) {
      const std::size_t end = std::min(text.find('\n', at), text.size());
      std::string_view one = text.substr(at, end - at);
      one = trimmed(one, " \t\r");
      to = at;
      at = std::min(end + 1, text.size());
      if (one == document.end) break;
      to = at;
    }
    const PlacedText lines = words_.part(from, to);
    simple.document = document.is_plain ? lines : ShellWords::expanded(state_, lines);
  }
  own_.document_line = line;
  own_.after_documents = at;
  own_.documents.clear();
}

ShellReader::Status ShellReader::perform(Simple& simple, ScriptRun run) {
  std::vector<PlacedText>& words = simple.words;
  const std::string name = words.front().text;
  if (name == "[" || name == "test") {
    std::vector<PlacedText> inner(words.begin() + 1, words.end());
    if (name == "[" && !inner.empty() && inner.back().text == "]") inner.pop_back();
    return perform_test(inner);
  }
  if (name == "true" || name == ":") return {.holds = true, .is_test = true};
  if (name == "false") return {.holds = false, .is_test = true};
  if (contains(declaring_words, name)) return {.holds = true};
  if (name == "exit" || name == "return") {
    // An exit with an error usually guards against missing input, so it is assumed not to happen.
    const bool is_guard = name == "exit" && words.size() > 1 && words[1].text != "0";
    own_.has_ended = own_.has_ended || !is_guard;
    return {};
  }
  if (name == "unset") {
    for (const PlacedText& word : words) state_.variables.forget(word.text);
    return {};
  }
  if (name == "source" || name == ".") {
    perform_source(words, run);
    return {};
  }
  if (name == "read") {
    perform_read(simple);
    return {};
  }
  if (name == "printf" && words.size() > 3 && words[1].text == "-v") {
    perform_print(words);
    return {};
  }
  if (name == "shift") {
    if (state_.positions.size() > 1 && !state_.positions.back().empty())
      state_.positions.back().erase(state_.positions.back().begin());
    return {};
  }
  if (name == "eval") {
    PlacedText text;
    for (std::size_t i = 1; i < words.size(); ++i) {
      if (i > 1) text.add_blank(words[i]);
      text.add(words[i]);
    }
    perform_text(text, run, nullptr);
    return {};
  }
  if (const auto function = state_.functions.find(name); function != state_.functions.end()) {
    const PlacedText body = function->second;
    const std::vector<PlacedText> arguments(words.begin() + 1, words.end());
    perform_text(body, run, &arguments);
    return {};
  }
  write_document(simple, run);
  const bool is_test = name == "grep" || name == "command" || name == "which" || name == "hash" || name == "pgrep";
  if (perform_inner_shell(simple, run)) return {};
  state_.script.commands.push_back({.words = std::move(words), .is_conditional = run == ScriptRun::maybe});
  return {.is_test = is_test};
}

void ShellReader::perform_source(const std::vector<PlacedText>& words, ScriptRun run) {
  if (words.size() < 2) return;
  run_file(words[1], {words.begin() + 2, words.end()}, run, false);
}

void ShellReader::run_file(const PlacedText& name, const std::vector<PlacedText>& arguments, ScriptRun run,
                           bool is_own_process) {
  constexpr std::size_t most_files = 32;
  if (const ShellDocument* document = document_named(name.text)) {
    const PlacedText text = document->written;
    perform_text(text, run, arguments.empty() && !is_own_process ? nullptr : &arguments);
    return;
  }
  std::optional<SourcedFile> file;
  if (name.is_known() && inputs_.load && state_.script.sources.size() < most_files) file = inputs_.load(name.text);
  if (!file || state_.depth >= most_inner_texts) {
    // Files that set up Python environments or load modules of a cluster contain no arguments of the training.
    const bool is_environment = name.text.ends_with("activate") || name.text.find("conda") != std::string::npos ||
                                name.text.find("module") != std::string::npos ||
                                name.text.find("bashrc") != std::string::npos;
    if (!is_environment) {
      skip(is_own_process ? fmt::format("{}{}: pass that file instead", launches_script, quote(name.text))
                          : fmt::format("{}: no such script is next to this one", quote("source " + name.text)),
           name.origin());
    }
    return;
  }
  std::error_code ignored;
  if (name.text.starts_with('/') && !std::filesystem::equivalent(file->path, name.text, ignored))
    skip(fmt::format("{} is read in place of {}", quote(file->path), quote(name.text)), name.origin());
  // A script that submits itself, by `sbatch $0`, is not read again.
  const auto is_file = [&](std::uint8_t each) {
    return std::filesystem::path(state_.script.sources[each]->origin()).lexically_normal() == file->path;
  };
  if (std::ranges::any_of(state_.files, is_file)) return;
  const auto number = static_cast<std::uint8_t>(state_.script.sources.size());
  state_.script.sources.push_back(std::make_shared<const SourceText>(file->text, file->path));
  const PlacedText text = placed_text(state_.script.sources.back()->text(), number);
  state_.files.push_back(number);
  if (is_own_process) state_.processes.push_back(number);
  perform_text(text, run, arguments.empty() && !is_own_process ? nullptr : &arguments);
  if (is_own_process) state_.processes.pop_back();
  state_.files.pop_back();
}

void ShellReader::perform_text(const PlacedText& text, ScriptRun run, const std::vector<PlacedText>* arguments) {
  if (state_.depth >= most_inner_texts) {
    skip("too deeply nested calls of scripts", text.origin());
    return;
  }
  state_.inner_bytes += text.text.size();
  if (state_.inner_bytes > most_inner_bytes)
    throw state_.error(text.origin(), fmt::format("the nested commands of the script exceed {} bytes", most_inner_bytes));
  ++state_.depth;
  if (arguments != nullptr) state_.positions.push_back(*arguments);
  ShellReader(state_, inputs_, text).read(run);
  if (arguments != nullptr) state_.positions.pop_back();
  --state_.depth;
}

/// Performs `read -r -d '' NAME <<EOF`, which sets the variable NAME to the here-document.
void ShellReader::perform_read(const Simple& simple) {
  const PlacedText& name = simple.words.back();
  if (simple.words.size() < 2 || name.text.starts_with('-') || !name.is_known()) return;
  PlacedText value = simple.document.value_or(PlacedText{.start = name.origin()});
  if (!simple.document) {
    value = name;
    value.mark(Certainty::outside);
  }
  state_.script.assigned.push_back({.name = name.text, .words = {value}, .from = state_.script.commands.size()});
  state_.variables.assign(name.text, {.words = {std::move(value)}});
}

/// Follows the text that a command runs in another shell: `bash -c '…'`, `bash run.sh`, `ssh node '…'`, `bash <<EOF`. A
/// launcher such as srun may precede the shell. Returns false if the command runs no other shell.
bool ShellReader::perform_inner_shell(const Simple& simple, ScriptRun run) {
  const std::vector<PlacedText>& words = simple.words;
  const std::string_view name = last_step(words.front().text);
  if (name == "echo" || name == "printf") return false;
  const auto launched = [&](std::size_t end) {
    if (end == 0) return;
    state_.script.commands.push_back({.words = {words.begin(), words.begin() + static_cast<std::ptrdiff_t>(end)},
                                      .is_conditional = run == ScriptRun::maybe,
                                      .starts_shell = true});
  };
  for (std::size_t i = 0; i < words.size(); ++i) {
    const bool submits = name == "sbatch" || name == "qsub" || name == "bsub";
    const bool is_script =
        (words[i].text.ends_with(".sh") && words[i].text.size() > 3 &&
         (i == 0 || is_inner_shell(words[i - 1].text) || submits || name == "srun")) ||
        (submits && i > 0 && is_script_name(words[i].text) && words[i].text.find('=') == std::string::npos &&
         (!words[i - 1].text.starts_with('-') || document_named(words[i].text) != nullptr ||
          (inputs_.load && inputs_.load(words[i].text))));
    if (is_script && !(i > 0 && words[i].text.starts_with('-'))) {
      // A script that is not available may start the command after it: srun launch.sh python train.py …
      const auto behind = words.begin() + static_cast<std::ptrdiff_t>(i) + 1;
      const bool wraps = std::any_of(behind, words.end(), [](const PlacedText& word) { return word.text.ends_with(".py"); });
      if (wraps && document_named(words[i].text) == nullptr && !(inputs_.load && inputs_.load(words[i].text))) return false;
      launched(i);
      run_file(words[i], {words.begin() + static_cast<std::ptrdiff_t>(i) + 1, words.end()}, run, true);
      return true;
    }
    // sbatch --wrap="torchrun train.py …", xpk workload create --command="python3 train.py …": the other words are options.
    const std::string wrap = submits ? "--wrap" : "--command";
    const bool is_wrapped = words[i].text == wrap && i + 1 < words.size();
    const bool may_wrap = submits || name == "xpk" || name == "gcloud";
    if (may_wrap && (is_wrapped || words[i].text.starts_with(wrap + "="))) {
      const PlacedText text = is_wrapped ? words[i + 1] : words[i].part(wrap.size() + 1);
      std::vector<PlacedText> options = words;
      const auto at = options.begin() + static_cast<std::ptrdiff_t>(i);
      options.erase(at, at + (is_wrapped ? 2 : 1));
      state_.script.commands.push_back({.words = std::move(options), .is_conditional = run == ScriptRun::maybe});
      perform_text(text, run, nullptr);
      return true;
    }
    if (runs_text(words, i)) {
      launched(i);
      perform_text(words[i + 1], run, nullptr);
      return true;
    }
    if (!is_inner_shell(words[i].text)) continue;
    std::size_t next = i + 1;
    while (next < words.size() && words[next].text.starts_with('-') && words[next].text.size() > 1 &&
           words[next].text.back() != 'c') {
      ++next;
    }
    const bool has_text = next + 1 < words.size() && words[next].text.starts_with('-') && words[next].text.ends_with('c');
    if (has_text) {
      launched(i);
      const std::vector<PlacedText> arguments(words.begin() + static_cast<std::ptrdiff_t>(std::min(next + 3, words.size())),
                                              words.end());
      perform_text(words[next + 1], run, &arguments);
      return true;
    }
  }
  if ((is_inner_shell(name) || name == "sbatch" || name == "qsub" || name == "ssh") && simple.document) {
    launched(words.size());
    perform_text(*simple.document, run, nullptr);
    return true;
  }
  // tmux send-keys -t train "torchrun train.py …" C-m
  const auto typed = std::ranges::find_if(words, [](const PlacedText& word) {
    return word.text.find(".py") != std::string::npos && has_one_of(word.text, starting_words);
  });
  if (name == "tmux" && typed != words.end()) {
    perform_text(*typed, run, nullptr);
    return true;
  }
  if ((name == "ssh" || name == "pdsh" || name == "clush") && words.back().text.find(' ') != std::string::npos) {
    perform_text(words.back(), run, nullptr);
    return true;
  }
  return false;
}

}  // namespace ddl
