#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "calibration/inputs/machine_reader.hpp"

namespace ddl {

/// A text as it stands in a YAML file: as it is where that reads back the same, in quotes otherwise.
[[nodiscard]] std::string yaml_scalar(std::string_view text);

/// The `sources:` of a file that is being written: each citation has one key.
class SourceKeys {
 public:
  /// The key of a citation: `wanted`, or that with a number where it is another citation's.
  [[nodiscard]] std::string key_of(const std::string& citation, const std::string& wanted);
  /// `{value: 900 GB/s, source: v100}`.
  [[nodiscard]] std::string pair(const SourcedNumber& number);
  /// The lines below `sources:`.
  [[nodiscard]] std::string lines() const;
  [[nodiscard]] bool empty() const { return citations_.empty(); }

 private:
  std::vector<std::pair<std::string, std::string>> citations_;  ///< key and citation, in the order of their use
};

/// A number of the sheet by its key; nullptr where it has none.
[[nodiscard]] const SourcedNumber* find_number(const MachineSheet& sheet, std::string_view key);
/// The lines of a level of the sheet, below `levels:`. Numbers whose key ends as one of `replaced` does are taken from
/// there.
[[nodiscard]] std::string level_lines(const MachineSheet& sheet, const std::string& level, SourceKeys& sources,
                                      const std::vector<SourcedNumber>& replaced = {});

/// A machine file that reads back as the same machine, with the same numbers and citations. It extends nothing.
[[nodiscard]] std::string machine_text(const MachineSheet& sheet);

}  // namespace ddl
