#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "cli/commands/commands.hpp"
#include "cli/report.hpp"

namespace ddl {

/// What a command line finds out, without a process and without printing.
inline Report run_command(std::vector<std::string> arguments) {
  CLI::App program("", "ddl-oracle");
  Request request;
  add_recommend(program, request);
  add_explain(program, request);
  add_check(program, request);
  add_validate(program, request);
  add_models(program, request);
  add_backends(program, request);
  std::reverse(arguments.begin(), arguments.end());  // as the parser takes them
  program.parse(arguments);
  return request.run();
}

}  // namespace ddl
