#include "cli/documents/profile.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <ctime>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include <fmt/format.h>
#include <unistd.h>

#include "calibration/inputs/machine_reader.hpp"
#include "calibration/inputs/profile_times.hpp"
#include "cli/commands/commands.hpp"
#include "cli/commands/profile_output.hpp"
#include "cli/options/option_value.hpp"
#include "cli/options/profile_job.hpp"
#include "cli/options/study_options.hpp"
#include "cli/report/figures.hpp"
#include "cli/report/interrupt.hpp"
#include "cli/report/progress.hpp"
#include "cli/report/shell_words.hpp"
#include "core/error.hpp"
#include "core/source_text.hpp"
#include "model_zoo/files/load_model.hpp"
#include "profiler/backends/backends.hpp"
#include "profiler/profiles/shard.hpp"

namespace ddl {
namespace {

std::string now() {
  const std::time_t time = std::time(nullptr);
  std::tm utc{};
  gmtime_r(&time, &utc);
  std::array<char, 32> text{};
  return {text.data(), std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &utc)};
}

std::string host_name() {
  std::array<char, 256> name{};
  return gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "";
}

ProfileHead head_of(const ProfileJob& job, const DeviceInfo& device, const std::string& command) {
  ProfileHead head{.model = job.plan.model ? job.plan.model->name : "",
                   .backend = device.backend,
                   .device = device.device,
                   .caches = std::string(to_string(job.plan.caches)),
                   .date = now(),
                   .host = host_name(),
                   .command = command,
                   .details = device.details};
  move_layout(head);
  if (!job.recipe.empty()) head.details.emplace_back("mixed precision", job.recipe);
  return head;
}

/// Measures the problems that have no time yet, one row at a time.
class Measuring {
 public:
  Measuring(KernelBackend& backend, const ProfileJob& job, std::size_t known)
      : job_(job), profiling_(backend, job.plan), progress_(job.plan.items()), skipped_(known), done_(known) {}

  std::optional<ProfileRow> operator()(std::size_t item) {
    progress_.show(done_, skipped_, job_.plan.line(item));
    std::optional<ProfileRow> row = profiling_.measure_item(item, Interrupt::asked);
    ++done_;
    return row;
  }

 private:
  const ProfileJob& job_;
  Profiling profiling_;
  Progress progress_;
  std::size_t skipped_, done_;
};

/// Whether a measurement is reliable enough to be kept.
bool is_good(const Measurement& measured) {
  return measured.reason.empty() && (measured.algorithm.empty() || measured.samples.settled);
}

std::string detail(const ProfileHead& head, const std::string& key) {
  const auto found = std::ranges::find_if(head.details, [&](const auto& each) { return each.first == key; });
  return found == head.details.end() ? "" : found->second;
}

void require_same(const ProfileHead& old, const ProfileHead& head, const std::string& path) {
  const auto same = [&](std::string_view what, const std::string& before, const std::string& after) {
    if (before == after) return;
    throw Error(fmt::format("{} has the {} {}, not {}", quote_path(path), what, quote(before), quote(after)),
                "use another name with --output, or overwrite the file with --overwrite");
  };
  same("back end", old.backend, head.backend);
  same("device", old.device, head.device);
  same("model", old.model, head.model);
  same("state of the caches", old.caches, head.caches);
  same("layout", old.layout, head.layout);
  const auto shard_text = [](const ProfileHead& of) {
    return of.shard ? to_string(Shard{of.shard->index, of.shard->count}) : std::string("none");
  };
  same("shard", shard_text(old), shard_text(head));
  if (old.shard && old.shard->plan != head.shard->plan) {
    throw Error(fmt::format("{} is shard {} of a different list of kernels", quote_path(path), shard_text(old)),
                fmt::format("the shard was measured by: {}; start over with --overwrite", old.command));
  }
  // All rows of a profile are measured with the same options.
  for (const std::string key : {"threads", "blas", "mixed precision", "algorithms"})
    same(key, detail(old, key), detail(head, key));
}

/// Throws Error if the back end supports none of the problems.
void require_any_runs(const KernelBackend& backend, const ProfileJob& job) {
  const ProfilePlan plan = without(job.plan, job.left_out);
  const std::string reason = refusal_of_all(backend, plan);
  if (reason.empty()) return;
  const auto count = static_cast<std::int64_t>(plan.problems.size());
  throw Error(fmt::format("{} supports none of {}: {}", job.backend, count_text(count, "problem"), reason),
              "try another --precision or --backend: see 'ddl-oracle backends'");
}

/// The profile lines that this process measures. The value is the position in the list of all problems.
using Places = std::unordered_map<std::string, std::int64_t>;

/// Removes the problems of other shards, and the problems of --leave-out, from the job. Returns the remaining problems.
Places narrow(ProfileJob& job, ProfileHead& head) {
  Places places;
  if (job.shard) {
    head.shard = ProfileShard{.index = job.shard->index, .count = job.shard->count, .plan = plan_name(job.plan)};
    PlanShard part = shard_of(job.plan, *job.shard);
    job.plan = std::move(part.plan);
    for (std::size_t item = 0; item < job.plan.items(); ++item)
      places.emplace(job.plan.line(item), static_cast<std::int64_t>(part.places[item]));
  }
  job.plan = without(std::move(job.plan), job.left_out);
  if (head.shard) head.shard->problems = static_cast<std::int64_t>(job.plan.items());
  for (std::size_t item = 0; item < job.plan.items() && !job.shard; ++item)
    places.emplace(job.plan.line(item), static_cast<std::int64_t>(item));
  return places;
}

/// Continues an earlier profile: copies its header, and all rows that are not measured again. Adds
/// a warning if the last line of the earlier profile is incomplete.
void take_over(Profile old, const ProfileJob& job, const Places& places, ProfileResult& result) {
  ProfileHead& head = result.profile.head;
  require_same(old.head, head, job.output);
  const std::optional<ProfileShard> shard = head.shard;
  head = std::move(old.head);
  head.shard = shard;
  for (ProfileRow& row : old.rows) {
    const auto place = places.find(row.measurement.problem);
    const bool is_asked = place != places.end();
    if (is_asked ? job.retry && !is_good(row.measurement) : shard.has_value()) continue;
    if (is_asked) {
      row.place = place->second;
      ++result.known;
    }
    result.profile.rows.push_back(std::move(row));
  }
  if (old.cut_line > 0) {
    result.warnings.push_back(
        fmt::format("{}:{}: the last line is incomplete, as after a crash, and was not read", job.output, old.cut_line));
  }
}

/// Measures the problems that have no time yet. Each row is written as soon as it is measured.
void measure(KernelBackend& backend, const ProfileJob& job, const Places& places, ProfileOutput& output,
             ProfileResult& result) {
  std::unordered_set<std::string> known;
  for (const ProfileRow& row : result.profile.rows) known.insert(row.measurement.problem);
  const auto start = std::chrono::steady_clock::now();
  Measuring measuring(backend, job, result.known);
  for (std::size_t item = 0; item < job.plan.items(); ++item) {
    const std::string line = job.plan.line(item);
    if (known.contains(line)) continue;
    if (Interrupt::asked()) break;
    if (std::optional<ProfileRow> row = measuring(item)) {
      row->place = places.at(line);
      output.add(*row);
      result.profile.rows.push_back(*std::move(row));
    }
  }
  result.stopped = Interrupt::asked();
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// Measures the job, and writes each row to the output. Throws Error if the device cannot be used,
/// if it supports none of the problems, or if the output is the profile of another measurement.
ProfileResult run(ProfileJob job, const std::string& command) {
  const std::unique_ptr<KernelBackend> backend = open_backend(job.backend, job.device);
  require_any_runs(*backend, job);
  ProfileResult result;
  result.profile.head = head_of(job, backend->info(), command);
  if (job.plan.model && backend->maps_pages()) {
    // Fresh memory is measured first, so that even the profile of an interrupted run contains this problem.
    job.plan.problems.insert(job.plan.problems.begin(), {print_problem(FreshMemoryProblem{}), 0});
  }
  const Places places = narrow(job, result.profile.head);
  if (job.output.empty() && job.plan.model)
    job.output = usual_profile_path(result.profile.head, job.plan.precision, job.recipe);
  result.output = job.output;
  result.items = job.plan.items();

  // From this point on, a signal ends the command with a partial result, so that the lock is released.
  const Interrupt interrupt;
  std::optional<ProfileLock> lock;
  std::optional<ProfileOutput> output;
  if (job.output.empty()) {
    output.emplace();
  } else {
    lock.emplace(job.output);
    if (!job.overwrite) {
      if (std::optional<Profile> old = existing_profile(job.output, job.resume))
        take_over(*std::move(old), job, places, result);
    }
    output.emplace(job.output, result.profile);
  }
  measure(*backend, job, places, *output, result);
  output->finish();

  std::unordered_set<std::string> there;
  for (std::size_t row = 0; row < result.profile.rows.size(); ++row) {
    const std::string& line = result.profile.rows[row].measurement.problem;
    if (!places.contains(line)) continue;
    there.insert(line);
    result.asked.push_back(row);
  }
  for (std::size_t item = 0; item < job.plan.items(); ++item) result.left += there.contains(job.plan.line(item)) ? 0U : 1U;
  result.steadiness = steadiness_of(result.profile);
  // A shard contains only some kernels of a step, and only some ranks of a sharded layer.
  if (job.plan.model && !job.shard) {
    result.sum_checks = sum_checks(result.profile, *job.plan.model);
    result.splits = split_scalings(result.profile, *job.plan.model);
  }
  return result;
}

Report profile(const ProfileOptions& options, const std::string& command) {
  const auto result = std::make_shared<const ProfileResult>(run(job_of(options), command));
  Report report = profile_report(result);
  const ProfileHead& head = result->profile.head;
  if (result->left > 0) {
    report.next.push_back(command + " --resume");
  } else if (!head.model.empty() && !result->output.empty() && !head.shard) {
    // The machine is looked up by the name of its device.
    std::vector<std::string> words{"ddl-oracle", "recommend", head.model, "--profile", result->output};
    for (const std::string& name : machine_names()) {
      if (!is_device(load_machine(name).device, head.device)) continue;
      words.insert(words.end(), {"--machine", name});
      break;
    }
    if (words.size() == 5) words.insert(words.end(), {"--machine", "MACHINE", "--any-device"});
    words.insert(words.end(), {"--gpus", "8"});
    report.next.push_back(shell_words(words));
  }
  return report;
}

}  // namespace

void add_profile(const Command& program, Request& request) {
  const Command command = program.add_subcommand("profile", "measure the kernels of a model on this device");
  const auto asked = std::make_shared<ProfileOptions>();
  ProfileOptions& o = *asked;
  command.examples(
      {{"ddl-oracle profile resnet50", "every kernel of a model on this device, into the data directory"},
       {"ddl-oracle profile resnet50 --batch 32 --precision bf16 -o resnet50.profile",
        "one micro-batch in bf16, into a file"},
       {"ddl-oracle profile alexnet --backend simulated --splits none -o trial.profile", "a demo without a GPU"}});
  command.add_option("model", o.model, "bundled model (see 'models list'), a model file or an ONNX file")
      .names_or_file(model_names);
  add_sample_options(command, o.sequence, o.input_shape);
  command.add_option("--backend", o.backend,
                     "cuda, onednn or simulated (see 'backends'); default: a GPU, else the processor");
  command.add_option("--batch", o.batch,
                     "samples of a micro-batch, or a list separated by commas; default: 1,4,16, on a processor 1,2,4");
  command.add_option("--precision", o.precision, "fp32, tf32, fp16 or bf16").capture_default_str();
  command.add_option(
      "--mixed-precision", o.mixed,
      "half: all kernels in the precision; autocast: as in PyTorch, some in fp32, with casts between; default: half");
  command.add_option("--optimizer", o.optimizer, "sgd, momentum or adam: the weight update").capture_default_str();
  command.add_option("--optimizer-implementation", o.implementation,
                     "also measure the optimizer's update of the whole model: foreach or fused over all tensors at once, or "
                     "single, tensor by tensor");
  command
      .add_option("--splits", o.splits,
                  "shapes of sharded layers: none, or filter=2,4 channel=2 tensor=2,8 spatial=4 batch=2; default: powers of "
                  "two up to the devices per node")
      .take_all();
  command.add_option("--machine", o.machine, "machine whose devices per node limit the default of --splits")
      .capture_default_str();
  command.add_option("--problem", o.lines, "measure only this kernel: a line in the format of profiles").take_all();
  command.add_option("--problems", o.problems, "measure the kernels in this file, one per line ('recommend --missing')");
  command
      .add_option("--leave-out", o.left_out,
                  "skip this kernel, a line in the format of profiles, such as one that crashes the device", "PROBLEM")
      .take_all();
  command.add_option("--caches", o.caches, "cache state before each sample: step (as in a training step), warm or cold")
      .capture_default_str();
  add_number(command, "--tolerance", o.tolerance, 1e-4, 1,
             "stop sampling when the 95 % interval of the median is within plus or minus this fraction of the median")
      .default_str("0.02");
  add_number(command, "--time-limit", o.limit, 1e-3, 3600, "maximum seconds of samples per kernel").default_str("0.05");
  add_whole_number(command, "--threads", o.threads, 1, 1024, "CPU threads").default_str("1");
  add_whole_number(command, "--device", o.device, 0, 1023,
                   "GPU of this node; default: the local rank set by a launcher, else 0");
  command.add_option("--blas", o.blas, "on a processor: the BLAS library, such as libopenblas.so.0; default: oneDNN itself");
  command.add_option("--layout", o.layout, "memory format of images on a GPU: channels-last or channels-first")
      .default_str("channels-last");
  command
      .add_option("--algorithm", o.algorithm,
                  "algorithm of the GPU's library: framework (PyTorch's choice: the first for matrix products, else the "
                  "fastest), fastest, first, or smallest (workspace)")
      .default_str("framework");
  command.add_option("--simulated", o.simulated,
                     "properties of the simulated device: 'peak=10TFLOP/s bandwidth=500GB/s latency=5us noise=0.01 seed=1'");
  add_output_option(
      command, o.output,
      "output profile; default: MODEL@DEVICE.profile in the data directory, with .3-of-16 appended for a shard");
  command.add_option("--shard", o.shard,
                     "measure only this shard of the kernels, such as 3/16; shards are numbered from 0 (0/16 to 15/16), "
                     "and 'profile merge' merges them");
  command.add_switch("--resume", o.resume, "continue an existing profile");
  const auto overwrite = command.add_switch("--overwrite", o.overwrite, "replace an existing profile");
  command.add_switch("--retry", o.retry, "with --resume: repeat measurements that were too noisy or refused by the device")
      .excludes(overwrite);
  const auto no_sequence = command.add_switch("--no-sequence", o.no_sequence, "do not measure whole steps of the model");
  command.add_switch("--graph", o.graph, "on a GPU: measure whole steps by CUDA graphs instead of single launches")
      .excludes(no_sequence);
  add_format_option(command, request.report, {Content::rows});
  command.allow_subcommand();
  add_profile_import(command, request);
  add_profile_merge(command, request);
  add_profile_compare(command, request);
  command.callback([asked, command, &request] {
    if (command.has_chosen_subcommand()) return;
    request.run = [asked, &request] { return profile(*asked, request.command); };
  });
}

}  // namespace ddl
