#include "cli/commands/commands.hpp"

namespace ddl {

void add_predict(const Command& program, Request& request) {
  const Command command =
      program.add_subcommand("predict", "predict single collectives and kernels, and trainings on several kinds of GPU");
  command.require_subcommand();
  command.examples(
      {{"ddl-oracle predict exchange --ranks 8,16 --bytes 4MiB,64MiB", "an allreduce among 8 and among 16 GPUs"},
       {"ddl-oracle predict exchange --operation allgather --ranks 64 --machine dgx-h100",
        "the time of an allgather among 64 GPUs"},
       {"ddl-oracle predict kernels problems.txt --machine dgx-a100", "kernels, one per line"}});
  add_predict_exchange(command, request);
  add_predict_kernels(command, request);
  add_predict_mixed(command, request);
}

}  // namespace ddl
