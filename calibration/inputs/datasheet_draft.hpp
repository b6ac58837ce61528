#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "calibration/inputs/machine_draft.hpp"
#include "core/quantity.hpp"
#include "model_zoo/values/precision.hpp"

namespace ddl {

/// What a user knows of a machine: a GPU that a bundled machine has, or the numbers of its datasheet. Unset values have
/// defaults.
struct Datasheet {
  std::string name;                                   ///< name of the new machine
  std::string gpu;                                    ///< a bundled machine with the GPU; empty: the sheet describes the GPU
  std::vector<std::pair<Precision, FlopRate>> peaks;  ///< peak rates without sparsity
  std::optional<Bytes> memory{};                      ///< memory of a GPU
  std::optional<Bandwidth> memory_bandwidth{};        ///< memory bandwidth of a GPU
  std::optional<Bandwidth> links{};                   ///< bandwidth of all links of a GPU inside a node, in one direction
  std::optional<Bandwidth> network{};                 ///< bandwidth of a GPU's share of the network, in one direction
  std::optional<int> per_node{};                      ///< GPUs of a node
  std::optional<int> nodes{};
};

/// Returns a commented machine file. Its findings list each default. Throws Error that names the missing options if neither
/// a bundled GPU nor a complete sheet is given.
[[nodiscard]] MachineDraft draft_from_datasheet(const Datasheet& sheet);

}  // namespace ddl
