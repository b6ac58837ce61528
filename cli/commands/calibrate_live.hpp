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

/// The options for measuring a live network, as the user typed them.
struct LiveRequest {
  bool mpi = false, nccl = false;
  std::string simulated;
  std::string measure, smallest, largest;
  std::optional<double> limit;
  std::string kernel, backend;
  std::string osu;
  std::string rendezvous, buffers;  ///< values of options that only apply to --nccl
  std::optional<double> patience;   ///< time limit in seconds, for connecting and for each heartbeat
};
void add_live_options(const Command& command, LiveRequest& request);

/// The measurements of a live network.
struct LiveSweep {
  bool speaks = true;  ///< whether this rank prints the results
  std::string where;   ///< the measured ranks: `MPI (Open MPI v4.1.4), 4 ranks on 2 nodes`
  SweepResult result;
  std::vector<ExchangeSeries> series;

  void add_above_fits(Document& document) const;
  void add_below_fits(Document& document) const;
  /// Returns the text of a coefficients file with the measurements added: φ between the machine's nodes, and the slowdowns
  /// of overlapped kernels and exchanges. `coefficients`: the text to extend. Adds a warning for each measurement that a
  /// coefficients file of this machine cannot contain.
  [[nodiscard]] std::string with_measured(const std::string& coefficients, const std::string& machine,
                                          const std::string& source, std::vector<std::string>& warnings) const;
  /// Adds the measured ranks, contention and overlap to the JSON report, after the series.
  void add_to(nlohmann::ordered_json& report) const;
};

/// Files that are written after the measurements. Each entry is a path and the option that names the path.
using LiveOutputs = std::vector<std::pair<std::string, std::string>>;

/// Joins the ranks that were launched together, and measures. If one of several ranks fails, that
/// rank prints its error, and all ranks end. Throws Error before the measurements if the file of
/// --osu or a file in `others` cannot be written.
[[nodiscard]] LiveSweep measure_live(const LiveRequest& request, const LiveOutputs& others);

}  // namespace ddl
