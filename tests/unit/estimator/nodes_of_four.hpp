#pragma once

#include "estimator/inputs/machine.hpp"

namespace ddl {

/// Returns eight nodes of four devices, with numbers for manual calculation. Inside a node, α = 1 s
/// and β = 1 ms/B. Between nodes, α = 2 s, and β = 10 ms/B on each of a node's two rails. Kernels
/// run at 1 TFLOP/s (4 in half precision) and 100 GB/s, without tiles.
inline Machine nodes_of_four() {
  Machine machine;
  machine.name = "nodes-of-four";
  machine.device.name = "device";
  machine.device.peak[Precision::fp32] = FlopRate(1e12);
  machine.device.peak[Precision::fp16] = FlopRate(4e12);
  machine.device.memory = Bytes(1e12);
  machine.device.memory_bandwidth = Bandwidth(100e9);
  machine.levels.push_back({"node", 4, Seconds(1), Bandwidth(1000), 1});
  machine.levels.push_back({"system", 8, Seconds(2), Bandwidth(100), 2});
  return machine;
}

}  // namespace ddl
