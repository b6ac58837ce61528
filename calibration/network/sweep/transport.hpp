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

/// The same exchange in several groups of ranks at once. Rank 0 of a pair is its first.
struct ExchangeStep {
  SweepOperation operation = SweepOperation::latency;
  std::int64_t bytes = 0;  ///< as OSU counts them: of one rank's part where the operation says so, else of the full vector
  int window = 1;          ///< messages of a bandwidth test that are under way at once
  std::vector<std::vector<int>> groups{};  ///< disjoint
  friend bool operator==(const ExchangeStep&, const ExchangeStep&) = default;
};

/// Kernels of a device, run one after the other while something else goes on.
class DeviceLoad {
 public:
  DeviceLoad() = default;
  DeviceLoad(const DeviceLoad&) = delete;
  DeviceLoad& operator=(const DeviceLoad&) = delete;
  virtual ~DeviceLoad() = default;

  /// Runs kernels from now on.
  virtual void start() = 0;
  /// Until now: the median time of those since start.
  [[nodiscard]] virtual Seconds stop() = 0;
};

/// What moves bytes between ranks: a library, or a network that does not exist. Every process calls the same functions with
/// the same arguments in the same order. What goes wrong is an Error in the process that sees it.
class Transport {
 public:
  Transport() = default;
  Transport(const Transport&) = delete;
  Transport& operator=(const Transport&) = delete;
  virtual ~Transport() = default;

  /// `MPI`, and what is more to be said of it: version, device.
  [[nodiscard]] virtual std::string name() const = 0;
  [[nodiscard]] virtual std::vector<std::pair<std::string, std::string>> details() const = 0;
  [[nodiscard]] virtual Processes& processes() = 0;
  /// Of each rank, the number of its node, from 0. Where one process plays all ranks there are more than processes.
  [[nodiscard]] virtual const std::vector<int>& nodes() const = 0;

  /// Mean time of one of `repetitions` exchanges, by group and rank: of half a round trip for latency, of one message of a
  /// window for bandwidth. The groups start together; ranks in none of them wait.
  [[nodiscard]] virtual std::vector<std::vector<Seconds>> time(const ExchangeStep& step, int repetitions) = 0;

  /// Kernels that are as unreal as the network; nothing where those of a real device are to run.
  [[nodiscard]] virtual std::unique_ptr<DeviceLoad> simulated_load() { return nullptr; }
};

}  // namespace ddl
