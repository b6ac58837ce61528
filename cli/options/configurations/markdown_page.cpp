#include "cli/options/configurations/markdown_page.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "cli/options/configurations/script_arguments.hpp"
#include "cli/options/configurations/shell_script.hpp"
#include "core/error.hpp"
#include "core/lower_case.hpp"
#include "core/source_text.hpp"

namespace ddl {
namespace {

/// A block of code between two lines of ``` or ~~~. Lines are counted from 0.
struct CodeBlock {
  std::size_t first = 0;
  std::vector<std::string_view> lines;
};

std::string_view without_margins(std::string_view line) {
  while (!line.empty() && (line.front() == ' ' || line.front() == '\t')) line.remove_prefix(1);
  while (!line.empty() && (line.back() == ' ' || line.back() == '\r')) line.remove_suffix(1);
  return line;
}

/// Whether a block with this word after its ``` has commands of a shell.
bool is_shell(std::string_view language) {
  constexpr std::array<std::string_view, 9> names{"",    "bash",          "sh",   "shell", "console",
                                                  "zsh", "shell-session", "text", "cmd"};
  const std::string name = lower_case(language.substr(0, language.find_first_of(" {,")));
  return std::find(names.begin(), names.end(), name) != names.end();
}

std::vector<CodeBlock> blocks_of(const std::string& text) {
  std::vector<CodeBlock> blocks;
  std::string_view fence;  // what opened the present block
  bool is_read = false;
  std::size_t number = 0;
  for (std::size_t at = 0; at < text.size(); ++number) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string_view line = std::string_view(text).substr(at, end - at);
    at = end + 1;
    const std::string_view inner = without_margins(line);
    const bool is_fence = inner.starts_with("```") || inner.starts_with("~~~");
    if (fence.empty() && is_fence) {
      fence = inner.substr(0, 3);
      is_read = is_shell(without_margins(inner.substr(std::min(inner.find_first_not_of("`~"), inner.size()))));
      if (is_read) blocks.push_back({.first = number + 1, .lines = {}});
    } else if (!fence.empty() && is_fence && inner.starts_with(fence)) {
      fence = {};
    } else if (!fence.empty() && is_read) {
      blocks.back().lines.push_back(line);
    }
  }
  return blocks;
}

/// The text of blocks as a script. A prompt before a command is left out.
std::string script_of_blocks(const std::vector<const CodeBlock*>& blocks) {
  std::string script;
  std::size_t number = 0;
  for (const CodeBlock* block : blocks) {
    for (; number < block->first; ++number) script += '\n';
    for (std::string_view line : block->lines) {
      const std::string_view inner = without_margins(line);
      if (inner.starts_with("$ ")) line = inner.substr(2);
      script += line;
      script += '\n';
      ++number;
    }
  }
  return script;
}

/// Returns whether a block starts a program with several arguments; unset if the block is no script of a shell.
std::optional<bool> may_train(const CodeBlock& block, const std::string& path) {
  constexpr std::size_t several = 3;
  try {
    const ScriptArguments read = script_arguments(read_shell_script(script_of_blocks({&block}), path, {}));
    return !read.programs.empty() && read.refused_programs.empty() && read.settings.size() >= several;
  } catch (const Error&) {
    return std::nullopt;
  }
}

}  // namespace

bool is_markdown(const std::string& path) {
  const std::string name = lower_case(path);
  return name.ends_with(".md") || name.ends_with(".markdown");
}

std::string script_of_page(const std::string& text, const std::string& path) {
  const std::vector<CodeBlock> blocks = blocks_of(text);
  std::vector<const CodeBlock*> all, trainings;
  for (const CodeBlock& block : blocks) {
    const std::optional<bool> trains = may_train(block, path);
    if (trains) all.push_back(&block);
    if (trains.value_or(false)) trainings.push_back(&block);
  }
  constexpr std::size_t most_named = 6;
  if (trainings.size() > 1) {
    std::string lines;
    for (std::size_t i = 0; i < std::min(trainings.size(), most_named); ++i)
      lines += fmt::format("{}{}", i == 0 ? "" : ", ", trainings[i]->first + 1);
    throw Error(fmt::format("{} shows {} commands that may be trainings", quote(path), trainings.size()),
                fmt::format("copy one of the blocks of lines {} into a script, and give that", lines));
  }
  return script_of_blocks(trainings.empty() ? all : trainings);
}

}  // namespace ddl
