#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "calibration/inputs/machine_reader.hpp"

namespace ddl {

/// Returns a text as a YAML scalar, with quotes only if YAML needs them to read the same text.
[[nodiscard]] std::string yaml_scalar(std::string_view text);

/// The `sources:` of a file that is being written. Each citation gets one key.
class SourceKeys {
 public:
  /// The key of a citation: `wanted`, with a number appended if another citation has that key.
  [[nodiscard]] std::string key_of(const std::string& citation, const std::string& wanted);
  /// Returns a number in the form of machine files: `{value: 900 GB/s, source: v100}`.
  [[nodiscard]] std::string pair(const SourcedNumber& number);
  /// The lines below `sources:`.
  [[nodiscard]] std::string lines() const;
  [[nodiscard]] bool empty() const { return citations_.empty(); }

 private:
  std::vector<std::pair<std::string, std::string>> citations_;  ///< key and citation, in order of use
};

/// A number of the machine by its key; nullptr if there is none.
[[nodiscard]] const SourcedNumber* find_number(const SourcedMachine& sourced, std::string_view key);
/// The lines of a level of the machine, below `levels:`. A number in `replaced` replaces the number of the machine with the
/// same key.
[[nodiscard]] std::string level_lines(const SourcedMachine& sourced, const std::string& level, SourceKeys& sources,
                                      const std::vector<SourcedNumber>& replaced = {});

/// Prints a machine file that parses to the same machine, with equal numbers and citations. The file extends no
/// machine.
[[nodiscard]] std::string machine_text(const SourcedMachine& sourced);

}  // namespace ddl
