#pragma once

#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "cli/commands/commands.hpp"
#include "cli/report/report.hpp"

namespace ddl {

/// Returns the report of a command line, without a process and without printing.
inline Report run_command(std::vector<std::string> arguments) {
  CommandLine command_line("", "ddl-oracle");
  const Command program = command_line.program();
  Request request;
  add_recommend(program, request);
  add_explain(program, request);
  add_check(program, request);
  add_validate(program, request);
  add_models(program, request);
  add_backends(program, request);
  static_cast<void>(command_line.parse(std::move(arguments)));
  return request.run();
}

}  // namespace ddl
