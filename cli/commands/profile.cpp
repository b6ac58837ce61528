#include "cli/documents/profile.hpp"

#include <memory>
#include <optional>
#include <string>

#include <CLI/CLI.hpp>

#include "cli/commands/commands.hpp"
#include "cli/commands/profile_run.hpp"
#include "cli/options/number_option.hpp"
#include "cli/options/profile_job.hpp"
#include "cli/options/study_options.hpp"

namespace ddl {
namespace {

Report profile(const ProfileOptions& options, const std::string& command) {
  return profile_report(std::make_shared<const ProfileResult>(run(job_of(options), command)));
}

}  // namespace

void add_profile(CLI::App& program, Request& request) {
  CLI::App& command = *program.add_subcommand("profile", "measure the kernels of a model on this device");
  const auto asked = std::make_shared<ProfileOptions>();
  ProfileOptions& o = *asked;
  command.add_option("model", o.model, "bundled model (see 'models list') or a model file");
  command.add_option("--backend", o.backend,
                     "cuda, onednn or simulated (see 'backends'); default: a GPU, else the processor");
  command.add_option("--batch", o.batch,
                     "samples of a micro-batch, several with commas; default: 1,4,16, on a processor 1,2,4");
  command.add_option("--precision", o.precision, "fp32, tf32, fp16 or bf16")->capture_default_str();
  command.add_option(
      "--mixed-precision", o.mixed,
      "half: all kernels in the precision; autocast: as PyTorch's, some in fp32, with casts between; default: half");
  command.add_option("--optimizer", o.optimizer, "sgd, momentum or adam: the weight update")->capture_default_str();
  command.add_option("--optimizer-implementation", o.implementation,
                     "also measure the update of the whole model as one problem: foreach or fused over the list of its "
                     "tensors, or single, tensor by tensor");
  command
      .add_option(
          "--splits", o.splits,
          "shapes of split layers: none, or filter=2,4 channel=2 tensor=2,8 spatial=4 batch=2; default: powers of two up "
          "to the machine's node")
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  command.add_option("--machine", o.machine, "its devices per node limit the default of --splits")->capture_default_str();
  command.add_option("--problem", o.lines, "measure this problem alone, a line as profiles have it")
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  command.add_option("--problems", o.problems, "measure the problems in this file, one a line ('recommend --missing')");
  command
      .add_option("--leave-out", o.left_out,
                  "do not measure this problem, a line as profiles have it: one that makes the device unusable")
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  command.add_option("--caches", o.caches, "cache state before each sample: step (as in a training step), warm or cold")
      ->capture_default_str();
  add_number(command, "--tolerance", o.tolerance, 1e-4, 1,
             "stop sampling when the 95 % interval of the median is within plus or minus this fraction of it")
      ->default_str("0.02");
  add_number(command, "--time-limit", o.limit, 1e-3, 3600, "seconds of samples of one problem, settled or not")
      ->default_str("0.05");
  add_whole_number(command, "--threads", o.threads, 1, 1024, "CPU threads")->default_str("1");
  add_whole_number(command, "--device", o.device, 0, 1023,
                   "which GPU of this node; default: 0, or the number that a launcher gives the process on its node");
  command.add_option("--blas", o.blas,
                     "on a processor: the library of matrix products, as libopenblas.so.0; default: oneDNN's own");
  command.add_option("--layout", o.layout, "of images on a GPU: channels-last or channels-first")
      ->default_str("channels-last");
  command
      .add_option(
          "--algorithm", o.algorithm,
          "which of those that a GPU's library offers: framework (the first for matrix products, the fastest for the "
          "rest, as PyTorch), fastest, first, or smallest: of the workspaces")
      ->default_str("framework");
  command.add_option("--simulated", o.simulated,
                     "figures of the simulated device: 'peak=10TFLOP/s bandwidth=500GB/s latency=5us noise=0.01 seed=1'");
  command.add_option("--output", o.output,
                     "the profile; default: MODEL@DEVICE.profile among the user's own, with .3-of-16 behind it for a shard");
  command.add_option(
      "--shard", o.shard,
      "measure only this part of the problems, as 3/16: parts are counted from 0, as ranks are, so that 0/16 to "
      "15/16 are all; 'profile merge' puts them together");
  add_switch(command, "--resume", o.resume, "continue an existing profile");
  auto* overwrite = add_switch(command, "--overwrite", o.overwrite, "replace an existing profile");
  add_switch(command, "--retry", o.retry, "with --resume: measure again what did not settle, or was refused")
      ->excludes(overwrite);
  auto* no_sequence = add_switch(command, "--no-sequence", o.no_sequence, "do not run the model as a whole");
  add_switch(command, "--graph", o.graph, "on a GPU: run the model as a whole by CUDA graphs, not kernel by kernel")
      ->excludes(no_sequence);
  add_format_option(command, request.report, {Content::rows});
  command.require_subcommand(0, 1);
  add_profile_import(command, request);
  add_profile_merge(command, request);
  command.callback([asked, &command, &request] {
    if (!command.get_subcommands().empty()) return;
    request.run = [asked, &request] { return profile(*asked, request.command); };
  });
}

}  // namespace ddl
