#pragma once

#include <string>
#include <vector>

#include "cli/options/parser_fwd.hpp"
#include "cli/report.hpp"

namespace ddl {

/// `calibrate runs`: what measured training runs teach beside profiles and networks.
struct RunsRequest {
  std::string runs, coefficients, machine, output;
  std::vector<std::string> where;
};

/// All but --machine and --output.
void add_runs_options(CLI::App& command, RunsRequest& asked);
[[nodiscard]] Report calibrate_from_runs(const RunsRequest& asked);

}  // namespace ddl
