#include "cli/commands/commands.hpp"

namespace ddl {

void add_profile(CLI::App& program, Request& request) {
  CLI::App& command = *program.add_subcommand("profile", "measured times of kernels");
  command.require_subcommand(1);
  add_profile_import(command, request);
}

}  // namespace ddl
