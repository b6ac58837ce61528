#pragma once

#include <optional>
#include <string>
#include <vector>

#include "calibration/inputs/host_facts.hpp"
#include "calibration/inputs/machine_reader.hpp"

namespace ddl {

/// What is known of a machine whose file is to be written.
struct DraftRequest {
  std::string name;
  std::string extends;  ///< as the file will name it
  MachineSheet like;    ///< what that is
  std::optional<int> nodes{};
  HostFacts host{};
};

/// A machine file to be completed by hand.
struct MachineDraft {
  std::string text;
  std::vector<std::string> findings;  ///< each a sentence about what was detected, asked for, or taken over
};

/// A commented file that extends another machine and says what differs: the nodes that are asked for, and what the host says
/// of itself. Each such value says where it comes from.
[[nodiscard]] MachineDraft draft_machine(const DraftRequest& request);

}  // namespace ddl
