#include "cli/commands/commands.hpp"

namespace ddl {

void add_commands(CommandLine& command_line, Request& request) {
  const Command program = command_line.program();
  program.require_subcommand();
  program.examples(
      {{"ddl-oracle recommend resnet50 --machine a100 --gpus 64", "the best plan of each strategy"},
       {"ddl-oracle explain resnet50 --machine a100 --strategy data --gpus 64", "one plan, and its bottlenecks"},
       {"ddl-oracle check llama.job.yaml", "whether the training of a job file fits in memory"}});
  add_profile(program, request);
  add_calibrate(program, request);
  add_recommend(program, request);
  add_explain(program, request);
  add_check(program, request);
  add_predict(program, request);
  add_serve(program, request);
  add_validate(program, request);
  add_models(program, request);
  add_machines(program, request);
  add_datasets(program, request);
  add_software(program, request);
  add_backends(program, request);
  add_help(program);
  add_completion(command_line, request);
  add_man(command_line, request);
}

}  // namespace ddl
