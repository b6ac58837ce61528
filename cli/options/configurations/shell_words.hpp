#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/options/configurations/shell_script.hpp"
#include "cli/options/configurations/shell_text.hpp"
#include "cli/options/configurations/shell_variables.hpp"

namespace ddl {

/// What all texts of one script share.
struct ShellState {
  ShellScript script{};
  ShellVariables variables{};
  std::vector<std::vector<PlacedText>> positions{};  ///< `$1`, `$2`, … of the calls that run; of the script itself first
  std::size_t expanded = 0, commands = 0;
  std::size_t inner_bytes = 0;  ///< of texts that the script runs, functions once for each call
  int depth = 0;                ///< of texts that the script runs

  [[nodiscard]] Error error(ByteOrigin origin, std::string_view message, std::string hint = {}) const {
    return script.sources[origin.file]->error(origin.offset, message, std::move(hint));
  }
};

/// Words that are being made: the last one is not at its end yet.
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

/// Reads words of one text, in which variables stand for their values.
class ShellWords {
 public:
  ShellWords(ShellState& state, const PlacedText& text) : state_(state), placed_(text), text_(text.text) {}

  [[nodiscard]] bool is_at_end() const { return at_ >= text_.size(); }
  [[nodiscard]] char here() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  [[nodiscard]] bool stands(std::string_view word) const { return text_.substr(at_).starts_with(word); }
  [[nodiscard]] std::size_t at() const { return at_; }
  void go_to(std::size_t at) { at_ = at; }
  [[nodiscard]] std::string_view text() const { return text_; }
  [[nodiscard]] PlacedText part(std::size_t from, std::size_t to) const { return placed_.part(from, to); }
  [[nodiscard]] ByteOrigin origin(std::size_t at) const {
    return at < placed_.origins.size() ? placed_.origins[at] : placed_.origin();
  }
  /// Whether variables are put into words: not in what is passed over.
  void expand(bool expands) { expands_ = expands; }

  /// Blanks, and ends of lines behind a backslash.
  void skip_blanks();
  void skip_line();
  /// Up to a blank or an operator. `splits`: values of variables outside of quotes are words of their own.
  void read_word(ShellWordList& words, bool splits = true);
  /// The words between the brackets of an array; the text stands behind the first one.
  std::vector<PlacedText> read_array();
  /// The text with variables in it, as in double quotes.
  [[nodiscard]] static PlacedText expanded(ShellState& state, const PlacedText& text);
  /// Behind the bracket that closes the one before `from`; the end if none does.
  [[nodiscard]] std::size_t closing(std::size_t from, char open, char close) const;

 private:
  void put(ShellWordList& words, char c, ByteOrigin origin);
  static void begin(ShellWordList& words, ByteOrigin origin);
  void put_text(ShellWordList& words, const PlacedText& text, bool splits);
  void put_unknown(ShellWordList& words, std::size_t from, std::size_t to);
  void put_number(ShellWordList& words, std::int64_t number, std::size_t from);
  void read_single_quotes(ShellWordList& words, bool escapes);
  void read_double_quotes(ShellWordList& words);
  void read_expansion(ShellWordList& words, bool splits, int depth);
  void read_command_output(ShellWordList& words, bool splits, int depth);
  void read_braces(ShellWordList& words, bool splits, int depth);
  void put_default(ShellWordList& words, bool splits, int depth, std::size_t from, std::size_t end);
  void put_variable(ShellWordList& words, const std::string& name, bool splits, std::size_t from);
  void put_all(ShellWordList& words, const std::vector<PlacedText>& values, bool splits, bool is_one_word);
  void put_changed(ShellWordList& words, const std::string& name, std::string_view change, bool splits, std::size_t from,
                   std::size_t end);
  [[nodiscard]] std::optional<PlacedText> value_of(const std::string& name) const;
  [[nodiscard]] const std::vector<PlacedText>* positions() const;

  ShellState& state_;
  const PlacedText& placed_;
  std::string_view text_;
  std::size_t at_ = 0;
  bool expands_ = true, in_quotes_ = false, has_empty_list_ = false;
};

/// What the directives of a batch system say of one of its variables, such as SLURM_NNODES.
[[nodiscard]] std::optional<PlacedText> directive_value(const ShellScript& script, const std::string& name);
/// Whether a variable is set by the system that starts a script, so that it is never empty.
[[nodiscard]] bool is_of_launchers(std::string_view name);

}  // namespace ddl
