#include "cli/commands/commands.hpp"

namespace ddl {

void add_predict(const Command& program, Request& request) {
  const Command command =
      program.add_subcommand("predict", "the time of single exchanges and kernels, as plans are priced by them");
  command.require_subcommand();
  add_predict_exchange(command, request);
  add_predict_kernels(command, request);
}

}  // namespace ddl
