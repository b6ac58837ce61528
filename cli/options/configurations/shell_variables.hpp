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

/// The variables of a script. Of branches that are not decided, each starts with the values before all of them, and what
/// the branches do not agree on is no longer known.
class ShellVariables {
 public:
  [[nodiscard]] const ShellVariable* find(const std::string& name) const;
  /// `adds`: of `+=`.
  void assign(const std::string& name, ShellVariable value, bool adds = false);
  void forget(const std::string& name) { replace(name, std::nullopt); }
  /// Its value as a whole number; nothing if that is not known.
  [[nodiscard]] std::optional<std::int64_t> number(const std::string& name) const;

  /// Bytes that were copied so far, which a script may make many.
  [[nodiscard]] std::size_t copied() const { return copied_; }

  void begin_branches() { branches_.emplace_back(); }
  void end_branch();
  /// `is_complete`: one of the branches is taken.
  void end_branches(bool is_complete);

 private:
  using Values = std::map<std::string, std::optional<ShellVariable>>;
  struct Branches {
    Values before;                ///< of what the current branch assigned
    std::vector<Values> results;  ///< of branches that are read
  };

  void replace(const std::string& name, std::optional<ShellVariable> value);
  std::optional<ShellVariable> copy_of(const std::string& name);

  std::map<std::string, ShellVariable> all_;
  std::vector<Branches> branches_;
  std::size_t copied_ = 0;
};

/// The whole number that a text is; nothing if it is none, or is not known.
[[nodiscard]] std::optional<std::int64_t> shell_number(const PlacedText& text);

}  // namespace ddl
