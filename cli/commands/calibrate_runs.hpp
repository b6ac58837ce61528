#pragma once

#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "cli/report.hpp"

namespace ddl {

/// `calibrate --runs`: what measured training runs teach beside profiles and networks.
struct RunsRequest {
  std::string runs, coefficients;
  std::vector<std::string> where;
  std::string machine, output;  ///< options of `calibrate` itself
};

void add_runs_options(CLI::App& calibrate, RunsRequest& asked);
[[nodiscard]] Report calibrate_from_runs(const RunsRequest& asked);

}  // namespace ddl
