#pragma once

#include <optional>
#include <string>
#include <vector>

#include "calibration/inputs/host_facts.hpp"
#include "calibration/inputs/machine_reader.hpp"

namespace ddl {

/// The known facts about a machine for which a file is written.
struct DraftRequest {
  std::string name;
  std::string extends;  ///< the machine to extend, as the file will name it
  MachineSheet like;    ///< the machine to extend, as it was read
  std::optional<int> nodes{};
  HostFacts host{};
};

/// A machine file to be completed by hand.
struct MachineDraft {
  std::string text;
  std::vector<std::string> findings;  ///< sentences about detected, requested and inherited values
};

/// Returns a commented file that extends another machine and contains the differences: the requested nodes, and the facts
/// that the host reports about itself. Every value in the file has a source.
[[nodiscard]] MachineDraft draft_machine(const DraftRequest& request);

}  // namespace ddl
