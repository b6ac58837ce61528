#pragma once

#include <optional>
#include <string>
#include <vector>

#include "calibration/inputs/host_facts.hpp"
#include "calibration/inputs/machine_reader.hpp"

namespace ddl {

/// The facts about a machine from which a machine file is drafted.
struct DraftRequest {
  std::string name;
  std::string extends;  ///< the machine to extend, by the name for the key `extends`
  SourcedMachine like;  ///< the machine to extend, with its numbers
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
