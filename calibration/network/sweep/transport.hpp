#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "calibration/network/sweep/operation.hpp"
#include "calibration/network/sweep/processes.hpp"
#include "core/quantity.hpp"

namespace ddl {

/// An exchange that runs in several groups of ranks at once. In a pair, rank 0 is the first rank.
struct ExchangeStep {
  SweepOperation operation = SweepOperation::latency;
  /// message size in bytes as OSU counts it: one rank's part for some operations, the full vector for all others
  std::int64_t bytes = 0;
  int window = 1;                          ///< messages in flight in a bandwidth test
  std::vector<std::vector<int>> groups{};  ///< disjoint groups
  friend bool operator==(const ExchangeStep&, const ExchangeStep&) = default;
};

/// Kernels of a device that run one after the other, concurrently with an exchange.
class DeviceLoad {
 public:
  DeviceLoad() = default;
  DeviceLoad(const DeviceLoad&) = delete;
  DeviceLoad& operator=(const DeviceLoad&) = delete;
  virtual ~DeviceLoad() = default;

  /// Starts running kernels.
  virtual void start() = 0;
  /// Stops running kernels, and returns the median time of the kernels since start().
  [[nodiscard]] virtual Seconds stop() = 0;
};

/// Moves bytes between ranks, by a library or in a simulated network. Every process must call the same functions with the
/// same arguments in the same order. A failure is an Error in the process that detects it.
class Transport {
 public:
  Transport() = default;
  Transport(const Transport&) = delete;
  Transport& operator=(const Transport&) = delete;
  virtual ~Transport() = default;

  /// The name, such as `MPI`, and further details: version, device.
  [[nodiscard]] virtual std::string name() const = 0;
  [[nodiscard]] virtual std::vector<std::pair<std::string, std::string>> details() const = 0;
  [[nodiscard]] virtual Processes& processes() = 0;
  /// For each rank, the index of its node, counted from 0. If one process simulates all ranks, there are more ranks than
  /// processes.
  [[nodiscard]] virtual const std::vector<int>& nodes() const = 0;

  /// The mean time of an exchange over `repetitions` exchanges, by group and rank: half a round trip for latency, one
  /// message of a window for bandwidth. The groups start together. Ranks that belong to no group wait.
  [[nodiscard]] virtual std::vector<std::vector<Seconds>> time(const ExchangeStep& step, int repetitions) = 0;

  /// Returns simulated kernels for a simulated network; null if kernels of a real device are used.
  [[nodiscard]] virtual std::unique_ptr<DeviceLoad> simulated_load() { return nullptr; }
};

}  // namespace ddl
