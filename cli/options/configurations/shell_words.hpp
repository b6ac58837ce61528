#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/options/configurations/shell_script.hpp"
#include "cli/options/configurations/shell_text.hpp"
#include "cli/options/configurations/shell_variables.hpp"

namespace ddl {

/// The state that all readers of one script share. The script, an included file and a function's body have a reader each.
struct ShellState {
  ShellScript script{};
  ShellVariables variables{};
  std::map<std::string, PlacedText> functions{};     ///< the body of each function by its name: the text between the braces
  std::vector<std::vector<PlacedText>> positions{};  ///< `$1`, `$2`, … of the script, then of each active call
  std::size_t expanded = 0, commands = 0;
  std::size_t inner_bytes = 0;         ///< bytes in texts that the script runs; a function counts once per call
  std::size_t looped = 0;              ///< work of the loops that were followed, see `work`
  std::size_t copied_for_loops = 0;    ///< sum of `work` at the beginnings of these loops, each of which copies the state
  bool is_in_loop = false;             ///< whether such a loop is followed now
  int depth = 0;                       ///< nesting depth of texts that the script runs
  int outputs = 0;                     ///< nesting depth of `$(…)`
  std::vector<std::uint8_t> files{0};  ///< indices of the files that are being read, each included by the previous one
  std::vector<std::uint8_t> processes{0};  ///< as `files`, without files that are only included: their names are `$0`

  /// The work so far, in bytes.
  [[nodiscard]] std::size_t work() const {
    constexpr std::size_t per_command = 64;
    return expanded + inner_bytes + variables.copied() + per_command * commands;
  }
  [[nodiscard]] Error error(ByteOrigin origin, std::string_view message, std::string hint = {}) const {
    return script.sources[origin.file]->error(origin.offset, message, std::move(hint));
  }
};

/// Finished words, and the current word, which may not be complete yet.
struct ShellWordList {
  std::vector<PlacedText> done{};
  PlacedText current{};
  bool has_current = false;

  void end() {
    if (has_current) done.push_back(std::move(current));
    current = {};
    has_current = false;
  }
};

/// Reads the words of one text and expands variables in them.
class ShellWords {
 public:
  ShellWords(ShellState& state, const PlacedText& text) : state_(state), placed_(text), text_(text.text) {}

  [[nodiscard]] bool is_at_end() const { return at_ >= text_.size(); }
  [[nodiscard]] char here() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  [[nodiscard]] bool stands(std::string_view word) const { return text_.substr(at_).starts_with(word); }
  [[nodiscard]] std::size_t at() const { return at_; }
  void go_to(std::size_t at) { at_ = at; }
  /// Goes to the beginning of a command, outside of quotes.
  void restart(std::size_t at) {
    at_ = at;
    in_quotes_ = has_empty_list_ = false;
  }
  [[nodiscard]] std::string_view text() const { return text_; }
  [[nodiscard]] PlacedText part(std::size_t from, std::size_t to) const { return placed_.part(from, to); }
  [[nodiscard]] ByteOrigin origin(std::size_t at) const {
    return at < placed_.origins.size() ? placed_.origins[at] : placed_.origin();
  }
  /// Switches the expansion of variables on or off. Expansion is off in commands that do not run.
  void expand(bool expands) { expands_ = expands; }

  /// Skips spaces, and line breaks after a backslash.
  void skip_blanks();
  void skip_line();
  /// Reads a word up to a space or an operator. `splits`: values of variables outside of quotes are
  /// split into words at spaces.
  void read_word(ShellWordList& words, bool splits = true);
  /// Reads the words of an array, up to the closing bracket. The current position must be just after the opening bracket.
  std::vector<PlacedText> read_array();
  /// Expands the variables of a text by the rules of double quotes.
  [[nodiscard]] static PlacedText expanded(ShellState& state, const PlacedText& text);
  /// Returns the position after the bracket that closes the bracket before `from`. Returns the end
  /// of the text if the bracket is never closed.
  [[nodiscard]] std::size_t closing(std::size_t from, char open, char close) const;
  /// Returns the position after the parenthesis that ends `$(…)`. Parentheses in quotes do not count.
  [[nodiscard]] std::size_t closing_command(std::size_t from) const;

 private:
  void put(ShellWordList& words, char c, ByteOrigin origin);
  static void begin(ShellWordList& words, ByteOrigin origin);
  void put_text(ShellWordList& words, const PlacedText& text, bool splits);
  void put_unknown(ShellWordList& words, std::size_t from, std::size_t to);
  /// Appends the value of an arithmetic expression. If a variable in the expression is unknown, appends the unknown value of
  /// this variable.
  void put_arithmetic(ShellWordList& words, std::string_view text, std::size_t from);
  void forget_changed(std::string_view text, std::size_t from);
  void put_number(ShellWordList& words, std::int64_t number, std::size_t from);
  void read_single_quotes(ShellWordList& words, bool escapes);
  void read_double_quotes(ShellWordList& words);
  void read_expansion(ShellWordList& words, bool splits, int depth);
  void read_command_output(ShellWordList& words, bool splits);
  [[nodiscard]] std::optional<std::string> output_of(const PlacedText& text);
  void read_braces(ShellWordList& words, bool splits, int depth);
  void put_default(ShellWordList& words, bool splits, int depth, std::size_t from, std::size_t end);
  void assign_default(const std::string& name, int depth, std::size_t from, std::size_t end);
  void put_variable(ShellWordList& words, const std::string& name, bool splits, std::size_t from);
  void put_all(ShellWordList& words, const std::vector<PlacedText>& values, bool splits, bool is_one_word);
  void put_changed(ShellWordList& words, const std::string& name, std::string_view change, bool splits, std::size_t from,
                   std::size_t end);
  [[nodiscard]] std::optional<PlacedText> value_of(const std::string& name) const;
  /// Returns the script's own name for `$0` and `$BASH_SOURCE`, and its folder for `$PWD`, relative to the folder of the
  /// first script; empty for other names.
  [[nodiscard]] std::optional<PlacedText> own_name(const std::string& name, ByteOrigin from) const;
  [[nodiscard]] const std::vector<PlacedText>* positions() const;

  ShellState& state_;
  const PlacedText& placed_;
  std::string_view text_;
  std::size_t at_ = 0;
  bool expands_ = true, in_quotes_ = false, has_empty_list_ = false;
  std::string separators_ = " \t\r\n";  ///< IFS: unquoted values are split at these, and the first one joins `"${A[*]}"`
};

/// Returns the value that a script's directives give to a variable of the batch system, such as SLURM_NNODES.
[[nodiscard]] std::optional<PlacedText> directive_value(const ShellScript& script, const std::string& name);
/// Whether the batch system or the launcher of a script sets this variable. Such a variable is never empty.
[[nodiscard]] bool is_of_launchers(std::string_view name);

}  // namespace ddl
