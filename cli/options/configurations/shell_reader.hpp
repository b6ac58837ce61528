#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/options/configurations/shell_words.hpp"

namespace ddl {

/// Whether the commands at the present position run. `maybe`: the commands are in a loop, or in a
/// branch whose condition is unknown.
enum class ScriptRun { no, maybe, yes };

/// Follows the commands in one text: the script, an included file, or the body of a function.
class ShellReader {
 public:
  ShellReader(ShellState& state, const ShellInputs& inputs, const PlacedText& text)
      : state_(state), inputs_(inputs), words_(state, text) {}

  void read(ScriptRun run);

 private:
  /// Whether a command succeeded. `holds`: unset if the outcome is unknown.
  struct Status {
    std::optional<bool> holds{};
    bool is_test = false;
  };
  /// A simple command: its words, the file that it writes, and the here-document that it reads.
  struct Simple {
    std::vector<PlacedText> words{};
    std::string written_to{};
    bool appends = false;  ///< whether the command appends to `written_to`
    std::optional<PlacedText> document{};
  };

  std::string_view read_list(ScriptRun run, std::span<const std::string_view> ends);
  void read_optional(ScriptRun run, std::span<const std::string_view> ends);
  Status read_conditions(ScriptRun run);
  Status read_command(ScriptRun run);
  void read_if(ScriptRun run);
  void read_for(ScriptRun run);
  enum class Turn;
  struct FollowedLoop;
  [[nodiscard]] std::optional<FollowedLoop> counted_loop(std::string_view header);
  [[nodiscard]] std::optional<FollowedLoop> listed_loop(const std::string& name, const std::vector<PlacedText>& values);
  bool follow_loop(const std::optional<FollowedLoop>& loop, std::span<const std::string_view> ends);
  bool follow_turn(std::size_t body, std::span<const std::string_view> ends);
  bool follow_for(std::string_view header, const std::string& name, const std::vector<PlacedText>& values,
                  std::span<const std::string_view> ends);
  void forget_counter(std::string_view header);
  void check_loop_value(const std::string& name, const std::string& given, const std::vector<PlacedText>& values);
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
  void perform_print(const std::vector<PlacedText>& words);
  bool perform_inner_shell(const Simple& simple, ScriptRun run);
  void perform_text(const PlacedText& text, ScriptRun run, const std::vector<PlacedText>* arguments);
  void run_file(const PlacedText& name, const std::vector<PlacedText>& arguments, ScriptRun run, bool is_own_process);
  void write_document(const Simple& simple, ScriptRun run);
  /// Returns a file that the script has written; null if there is none of this name.
  [[nodiscard]] const ShellDocument* document_named(const std::string& name) const;
  [[nodiscard]] std::optional<PlacedText> text_of_file(const PlacedText& name) const;
  [[nodiscard]] std::optional<PlacedText> output_of_sed(const Simple& simple, std::string& edited) const;

  void skip_space();
  /// Returns the reserved word at the present position; empty if there is no reserved word.
  [[nodiscard]] std::string_view reserved_word() const;
  bool take_word(std::string_view word);
  void skip(std::string what, ByteOrigin origin);
  [[nodiscard]] bool is_unset(const PlacedText& word) const;

  /// A here-document that was announced by `<<EOF`, but whose lines are not read yet. `end`: the
  /// word that ends the document.
  struct Document {
    std::string end;
    bool is_plain = false;  ///< variables in the text are not expanded
  };
  /// What a command changes besides ShellState. If the reader gives up following a loop, both are restored.
  struct Progress {
    std::vector<Document> documents{};
    /// The end of the last line with here-documents (`<<`), and the position after the documents, which follow that line.
    std::size_t document_line = std::string::npos, after_documents = 0;
    /// The output of the last command, and that of the command before the pipe; unset if unknown.
    std::optional<PlacedText> written{}, input{};
    int nesting = 0;
    bool has_ended = false;  ///< whether an exit or a return was reached
  };

  ShellState& state_;
  const ShellInputs& inputs_;
  ShellWords words_;
  Progress own_{};
};

}  // namespace ddl
