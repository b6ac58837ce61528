#pragma once

#include <string>
#include <vector>

#include "calibration/inputs/study.hpp"
#include "cli/options/command_line.hpp"

namespace ddl {

/// One change of a supposed case: a quantity of the machine is multiplied, or a setting gets a value.
struct SupposedChange {
  std::string quantity;  ///< a name of the machine's quantities, or a key of the settings
  std::string part{};    ///< a level of the network, or a precision; empty: all
  double factor = 1;     ///< factor on a quantity of the machine
  std::string value{};   ///< value of a setting; empty for a quantity of the machine
};

/// A supposed case: `bandwidth(node)*2 straggler=1.2`.
struct WhatIf {
  std::string text;
  std::vector<SupposedChange> changes;
};

/// Parses changes that are separated by spaces. Throws Error for an unknown quantity or setting, and for factors that are
/// not from 0.001 to 1,000.
[[nodiscard]] WhatIf parse_what_if(const std::string& text);

/// Adds --what-if, which may be given several times.
Option add_what_if_option(const Command& command, std::vector<std::string>& cases);

/// Changes the settings of a study's specification.
void apply_what_if(const WhatIf& supposed, StudySpec& spec);
/// Changes the machine, and measured exchanges once for all changes: the bandwidth of the narrowest link that an exchange
/// crosses changes the part of a measured time above the time of the smallest message, and latency changes the time of the
/// smallest message. Throws Error if the machine has no such level or precision.
void apply_what_if(const WhatIf& supposed, StudyInputs& inputs);

}  // namespace ddl
