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

/// The variables of a script. If several branches may run, each branch starts with the values that the variables had before
/// all branches. After the branches, a value is marked as uncertain if the branches gave different results.
class ShellVariables {
 public:
  [[nodiscard]] const ShellVariable* find(const std::string& name) const;
  [[nodiscard]] const std::map<std::string, ShellVariable>& all() const { return all_; }
  /// `adds`: the value is appended, as by `+=`.
  void assign(const std::string& name, ShellVariable value, bool adds = false);
  void forget(const std::string& name) { replace(name, std::nullopt); }
  /// Returns a variable's value as a whole number; unset if the value is unknown or not a whole number.
  [[nodiscard]] std::optional<std::int64_t> number(const std::string& name) const;

  /// Returns the number of bytes copied so far. The reader limits this number, because the branches
  /// of a hostile script may copy many values.
  [[nodiscard]] std::size_t copied() const { return copied_; }

  void begin_branches() { branches_.emplace_back(); }
  void end_branch();
  /// Ends a group of branches. `is_complete`: exactly one of the branches runs. Otherwise, it is
  /// possible that no branch runs.
  void end_branches(bool is_complete);

 private:
  using Values = std::map<std::string, std::optional<ShellVariable>>;
  struct Branches {
    Values before;                ///< values before the branch, of the variables that the branch has assigned
    std::vector<Values> results;  ///< values that each finished branch has assigned
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
