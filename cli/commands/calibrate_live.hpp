#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "calibration/network/sweep/sweep.hpp"
#include "cli/options/command_line.hpp"
#include "cli/report/document.hpp"

namespace ddl {

/// What a sweep of a live network is asked for, as typed.
struct LiveRequest {
  bool mpi = false, nccl = false;
  std::string simulated;
  std::string measure, smallest, largest;
  std::optional<double> limit;
  std::string kernel, backend;
  std::string osu;
  std::string rendezvous, buffers;  ///< of NCCL
  std::optional<double> patience;   ///< seconds
};
void add_live_options(const Command& command, LiveRequest& request);

/// What came of it.
struct LiveSweep {
  bool speaks = true;  ///< this process is the one of all that reports
  std::string where;   ///< `MPI (Open MPI v4.1.4), 4 ranks on 2 nodes`
  SweepResult result;
  std::vector<ExchangeSeries> series;

  void add_above_fits(Document& document) const;
  void add_below_fits(Document& document) const;
  /// Coefficients of the machine with φ between its nodes and with what kernels and an exchange do to each other, as far as
  /// they were measured; a warning of what is measured and none of that machine's.
  [[nodiscard]] std::string with_measured(const std::string& coefficients, const std::string& machine,
                                          const std::string& source, std::vector<std::string>& warnings) const;
  /// Adds the other results of the sweep after its series.
  void add_to(nlohmann::ordered_json& report) const;
};

/// Files that are to be written when all is measured, each with its option.
using LiveOutputs = std::vector<std::pair<std::string, std::string>>;

/// Joins the ranks that were launched together, and measures. What goes wrong in one of several is printed there, and ends
/// all of them. An Error, before anything is measured, where --osu or one of the `others` could not be written.
[[nodiscard]] LiveSweep measure_live(const LiveRequest& request, const LiveOutputs& others);

}  // namespace ddl
