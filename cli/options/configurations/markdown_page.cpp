#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "cli/options/configurations/script_arguments.hpp"
#include "cli/options/configurations/scripts_in_files.hpp"
#include "cli/options/configurations/shell_script.hpp"
#include "core/error.hpp"
#include "core/find.hpp"
#include "core/lower_case.hpp"
#include "core/source_text.hpp"
#include "core/words.hpp"

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
  return contains(names, name);
}

/// Whether a block contains the text of a page. Then the blocks inside this page are read.
bool is_page(std::string_view language) {
  const std::string name = lower_case(language);
  return name == "markdown" || name == "md";
}

/// A line of at least three ` or ~, and a word after them.
struct Fence {
  std::string_view mark;  ///< empty if the line is not a fence
  std::string_view language;

  /// Whether this line ends the block that `opening` begins [CommonMark 0.31, "Fenced code blocks"].
  [[nodiscard]] bool closes(std::string_view opening) const {
    return mark.starts_with(opening) && language.empty() && !opening.empty();
  }
};

Fence fence_in(std::string_view line) {
  constexpr std::size_t least = 3;
  const std::string_view inner = without_margins(line);
  if (inner.empty() || (inner.front() != '`' && inner.front() != '~')) return {};
  const std::size_t end = std::min(inner.find_first_not_of(inner.front()), inner.size());
  const std::string_view language = without_margins(inner.substr(end));
  // Code inside a line of text is not a fence.
  if (end < least || (inner.front() == '`' && language.find('`') != std::string_view::npos)) return {};
  return {inner.substr(0, end), language};
}

std::vector<CodeBlock> blocks_of(const std::string& text) {
  std::vector<CodeBlock> blocks;
  std::string_view open, page;  // the marks that opened the present block, and the page that it is in
  bool is_read = false;
  std::size_t number = 0;
  for (const std::string_view line : split(text, "\n")) {
    ++number;
    const Fence fence = fence_in(line);
    if (open.empty() && fence.closes(page)) {
      page = {};
    } else if (open.empty() && page.empty() && is_page(fence.language)) {
      page = fence.mark;
    } else if (open.empty() && !fence.mark.empty()) {
      open = fence.mark;
      is_read = is_shell(fence.language);
      if (is_read) blocks.push_back({.first = number, .lines = {}});
    } else if (fence.closes(open)) {
      open = {};
    } else if (!open.empty() && is_read) {
      blocks.back().lines.push_back(line);
    }
  }
  return blocks;
}

/// Adds the lines of a block to a script. The prompts `$` and `>` are left out.
void add_block(std::string& script, const CodeBlock& block) {
  bool is_behind_prompt = false;
  for (std::string_view line : block.lines) {
    const std::string_view inner = without_margins(line);
    is_behind_prompt = inner.starts_with("$ ") || (is_behind_prompt && (inner.starts_with("> ") || inner == ">"));
    if (is_behind_prompt) line = inner.substr(std::min<std::size_t>(2, inner.size()));
    script += line;
    script += '\n';
  }
}

/// The text of blocks as a script, in which every line stays in its place.
std::string script_of_blocks(const std::vector<const CodeBlock*>& blocks) {
  std::string script;
  std::size_t number = 0;
  for (const CodeBlock* block : blocks) {
    for (; number < block->first; ++number) script += '\n';
    add_block(script, *block);
    number += block->lines.size();
  }
  return script;
}

enum class BlockKind {
  no_script,
  commands,
  assignments,  ///< sets variables, and starts no program
  training,     ///< starts a program with several arguments
};

BlockKind kind_of(const CodeBlock& block, const std::string& path) {
  constexpr std::size_t several = 3;
  std::string text;
  add_block(text, block);
  try {
    const ShellScript script = read_shell_script(text, path, {});
    const ScriptArguments read = script_arguments(script);
    if (!read.refused_programs.empty()) return BlockKind::commands;
    if (read.programs.empty()) return script.assigned.empty() ? BlockKind::commands : BlockKind::assignments;
    return read.settings.size() >= several ? BlockKind::training : BlockKind::commands;
  } catch (const Error&) {
    return BlockKind::no_script;
  }
}

}  // namespace

bool is_markdown(const std::string& path) {
  const std::string name = lower_case(path);
  return name.ends_with(".md") || name.ends_with(".markdown");
}

std::string script_of_page(const std::string& text, const std::string& path) {
  const std::vector<CodeBlock> blocks = blocks_of(text);
  // `used`: a training, and the blocks before it that set its variables.
  std::vector<const CodeBlock*> all, trainings, used;
  for (const CodeBlock& block : blocks) {
    const BlockKind kind = kind_of(block, path);
    if (kind != BlockKind::no_script) all.push_back(&block);
    if (kind == BlockKind::training) trainings.push_back(&block);
    if (kind == BlockKind::training || (kind == BlockKind::assignments && trainings.empty())) used.push_back(&block);
  }
  constexpr std::size_t most_named = 6;
  if (trainings.size() > 1) {
    std::string lines;
    for (std::size_t i = 0; i < std::min(trainings.size(), most_named); ++i)
      lines += fmt::format("{}{}", i == 0 ? "" : ", ", trainings[i]->first + 1);
    throw Error(fmt::format("{} shows {} commands that may be trainings", quote(path), trainings.size()),
                fmt::format("copy one of the blocks of lines {} into a script, and pass the script", lines));
  }
  return script_of_blocks(trainings.empty() ? all : used);
}

}  // namespace ddl
