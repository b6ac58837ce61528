#pragma once

#include <string>

#include "core/quantity.hpp"

namespace ddl {

/// How a communication library does exchanges among GPUs of several nodes on one kind of network, as benchmarks of several
/// clusters show. α of a step is that of the machine's level, and bytes go at the rate of its links; these say what
/// the library makes of them. docs/formulas.md, "What a library makes of links", has the formulas.
struct LibraryHabits {
  std::string fabric{};    ///< kind of network: `infiniband`, `ethernet`
  int clusters = 0;        ///< that were measured
  Seconds call{};          ///< what every collective takes in addition to its steps
  double tree_level = 1;   ///< α of a level of a tree over that of a step of a ring, between nodes
  double tree_inside = 1;  ///< the same inside a node
  double message = 1;      ///< α of a message of an all-to-all over that of a step of a ring
  double ring_fill = 0;    ///< of a pipeline: share of √(start-ups · bytes) that is waited for until it is full
  double tree_fill = 0;    ///< the same of a tree
  double all_to_all = 1;   ///< share of the links' rate that an all-to-all reaches
  double doubt = 1;        ///< factor within which 95 % of the times of clusters lie that were left out
  friend bool operator==(const LibraryHabits&, const LibraryHabits&) = default;
};

}  // namespace ddl
