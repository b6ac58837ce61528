#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/options/configurations/shell_words.hpp"

namespace ddl {

/// Whether commands run: in a branch that is not decided they may.
enum class ScriptRun { no, maybe, yes };

/// A function of a script: its body, between the braces.
using ShellFunctions = std::map<std::string, PlacedText>;

/// Follows the commands of one text of a script.
class ShellReader {
 public:
  ShellReader(ShellState& state, ShellFunctions& functions, const ShellInputs& inputs, const PlacedText& text)
      : state_(state), functions_(functions), inputs_(inputs), words_(state, text) {}

  void read(ScriptRun run);

 private:
  /// Whether a command succeeded, if that is known.
  struct Status {
    std::optional<bool> holds{};
    bool is_test = false;
  };
  /// A simple command: its words, and what goes in and out of it.
  struct Simple {
    std::vector<PlacedText> words{};
    std::string written_to{};
    std::optional<PlacedText> document{};
  };

  std::string_view read_list(ScriptRun run, std::span<const std::string_view> ends);
  void read_optional(ScriptRun run, std::span<const std::string_view> ends);
  Status read_conditions(ScriptRun run);
  Status read_command(ScriptRun run);
  void read_if(ScriptRun run);
  void read_for(ScriptRun run);
  void read_while(ScriptRun run);
  void read_case(ScriptRun run);
  Status read_brackets(ScriptRun run);
  Status read_double_parentheses(ScriptRun run);
  bool read_function(ScriptRun run);
  Status read_simple(ScriptRun run);
  void read_directive();

  bool assigns(ScriptRun run);
  void read_redirection(Simple& simple);
  void read_documents(Simple& simple);
  Status perform(Simple& simple, ScriptRun run);
  Status perform_test(const std::vector<PlacedText>& words);
  void perform_source(const std::vector<PlacedText>& words, ScriptRun run);
  void perform_read(const Simple& simple);
  bool perform_inner_shell(const Simple& simple, ScriptRun run);
  void perform_text(const PlacedText& text, ScriptRun run, const std::vector<PlacedText>* arguments);
  void run_file(const PlacedText& name, const std::vector<PlacedText>& arguments, ScriptRun run, bool is_own_process);
  void write_document(const Simple& simple);

  void skip_space();
  /// The reserved word that stands here; empty if none does.
  [[nodiscard]] std::string_view reserved_word() const;
  bool take_word(std::string_view word);
  void skip(std::string what, ByteOrigin origin);
  [[nodiscard]] bool is_unset(const PlacedText& word) const;

  ShellState& state_;
  ShellFunctions& functions_;
  const ShellInputs& inputs_;
  ShellWords words_;
  /// The end of a here-document that a line announces.
  struct Document {
    std::string end;
    bool is_plain = false;  ///< variables are not put into it
  };
  std::vector<Document> documents_;
  /// The line behind which here-documents stand that are read already, and where the text goes on.
  std::size_t document_line_ = std::string::npos, behind_documents_ = 0;
  int nesting_ = 0;
  bool has_ended_ = false;  ///< by exit or return
};

}  // namespace ddl
