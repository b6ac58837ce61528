#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cli/options/configurations/shell_text.hpp"

namespace ddl {

/// The value of a variable: one text, or the words of an array.
struct ShellVariable {
  std::vector<PlacedText> words{};
  bool is_array = false;
};

/// The variables of a script. If it is unknown which of several branches runs, each branch starts with the values before
/// the branches. Where the results of the branches differ, the value is marked as uncertain afterwards.
class ShellVariables {
 public:
  [[nodiscard]] const ShellVariable* find(const std::string& name) const;
  /// `adds`: the value is appended, as by `+=`.
  void assign(const std::string& name, ShellVariable value, bool adds = false);
  void forget(const std::string& name) { replace(name, std::nullopt); }
  /// The variable's value as a whole number; unset if the value is unknown or not a whole number.
  [[nodiscard]] std::optional<std::int64_t> number(const std::string& name) const;

  /// Number of bytes copied so far. The reader limits this number, because branches of a hostile script copy many values.
  [[nodiscard]] std::size_t copied() const { return copied_; }

  void begin_branches() { branches_.emplace_back(); }
  void end_branch();
  /// `is_complete`: exactly one of the branches runs. Otherwise, possibly none runs.
  void end_branches(bool is_complete);

 private:
  using Values = std::map<std::string, std::optional<ShellVariable>>;
  struct Branches {
    Values before;                ///< earlier values of the variables that the current branch has assigned
    std::vector<Values> results;  ///< the assigned values of each finished branch
  };

  void replace(const std::string& name, std::optional<ShellVariable> value);
  std::optional<ShellVariable> copy_of(const std::string& name);

  std::map<std::string, ShellVariable> all_;
  std::vector<Branches> branches_;
  std::size_t copied_ = 0;
};

/// Parses a text as a whole number; unset if the text is unknown or not a whole number.
[[nodiscard]] std::optional<std::int64_t> shell_number(const PlacedText& text);

}  // namespace ddl
