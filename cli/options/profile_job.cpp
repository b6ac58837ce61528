#include "cli/options/profile_job.hpp"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "calibration/inputs/machine_reader.hpp"
#include "cli/options/option_value.hpp"
#include "cli/options/problem_file.hpp"
#include "cli/options/study_options.hpp"
#include "cli/report/report.hpp"
#include "core/error.hpp"
#include "core/find.hpp"
#include "core/source_text.hpp"
#include "core/suggest.hpp"
#include "core/words.hpp"
#include "estimator/facts/model_facts.hpp"
#include "estimator/kernels/shard_problems.hpp"
#include "model_zoo/files/load_model.hpp"
#include "model_zoo/network/update_list.hpp"
#include "profiler/backends/backends.hpp"
#include "profiler/measurement/rank.hpp"
#include "profiler/profiles/profile_file.hpp"

namespace ddl {
namespace {

/// The values of --splits, such as `filter=2,4`: degrees of filter, channel and tensor splits,
/// tiles of spatial splits, and parts of the batch. `none` means that nothing is split. If no axis
/// is given, each axis is split by all powers of two up to `devices`.
struct SplitRequest {
  std::vector<Mesh> meshes{};  ///< each mesh is one way to shard the model
  std::vector<int> batch{};    ///< the numbers of parts into which each batch is split
};

constexpr std::string_view batch_name = "batch";
constexpr std::int64_t most = 1'000'000;

/// Returns the axes that divide the weights or the samples of a layer, and so change the problems to measure.
std::vector<Axis> splitting_axes() {
  std::vector<Axis> axes;
  std::copy_if(spoken_axes.begin(), spoken_axes.end(), std::back_inserter(axes),
               [](Axis axis) { return row_of(axis).divides_weights; });
  axes.push_back(Axis::spatial);
  return axes;
}

void add_degrees(SplitRequest& request, Axis axis, const std::vector<std::int64_t>& degrees, const ModelFacts& facts) {
  for (const std::int64_t wide : degrees) {
    const auto degree = static_cast<int>(wide);
    if (degree == 1) continue;  // degree 1 is the unsharded model, which is always measured
    if (axis != Axis::spatial) {
      request.meshes.push_back(Mesh{{axis, degree}});
      continue;
    }
    for (const Tiles& tiles : tilings(facts, degree)) request.meshes.emplace_back(tiles);
  }
}

/// Divides the words of --splits into one word per axis: `filter=2,4,spatial=2` names two axes, as in --degrees.
std::vector<std::string> words_of_axes(const std::vector<std::string>& words) {
  std::vector<std::string> axes;
  for (const std::string& word : words) {
    bool begins = true;
    for (const std::string& part : comma_separated(word)) {
      if (begins || part.find('=') != std::string::npos) {
        axes.push_back(part);
      } else {
        axes.back() += "," + part;
      }
      begins = false;
    }
  }
  return axes;
}

/// Parses a list of whole numbers of at least 1, `1,4,16`. Throws Error, which names the option, for any other text.
std::vector<std::int64_t> parse_counts(const std::string& option, const std::string& text) {
  std::vector<std::int64_t> counts;
  for (const std::string& word : comma_separated(text)) {
    const std::int64_t count = number_in(word).value_or(0);
    if (count < 1 || count > most) {
      throw Error(fmt::format("{}: {} is not a whole number from 1 to {}", option, quote(word), most),
                  "several are separated by commas: 1,4,16");
    }
    if (!contains(counts, count)) counts.push_back(count);
  }
  return counts;
}

/// Parses the words of --splits. Throws Error for an unknown axis, with "did you mean", and for an invalid degree.
SplitRequest parse_splits(const std::vector<std::string>& words, int devices, const ModelFacts& facts) {
  SplitRequest request;
  if (words.size() == 1 && words.front() == "none") return request;
  const std::vector<Axis> axes = splitting_axes();
  if (words.empty()) {
    std::vector<std::int64_t> degrees;
    for (std::int64_t degree = 2; degree <= devices; degree *= 2) degrees.push_back(degree);
    for (const Axis axis : axes) add_degrees(request, axis, degrees, facts);
    return request;
  }
  for (const std::string& word : words_of_axes(words)) {
    const std::size_t equals = word.find('=');
    const std::string name = word.substr(0, equals);
    const std::optional<Axis> axis = parse_axis(name);
    if (name != batch_name && (!axis || !contains(axes, *axis))) {
      std::vector<std::string_view> names;
      for (const Axis each : axes) names.push_back(to_string(each));
      names.push_back(batch_name);
      throw Error(fmt::format("--splits: unknown axis {}", quote(name)), suggest(name, names));
    }
    if (equals == std::string::npos) throw Error(fmt::format("--splits: {} has no degrees", name), name + "=2,4,8");
    const std::vector<std::int64_t> degrees = parse_counts("--splits " + name, word.substr(equals + 1));
    if (axis) {
      add_degrees(request, *axis, degrees, facts);
      continue;
    }
    for (const std::int64_t parts : degrees) {
      if (parts > 1) request.batch.push_back(static_cast<int>(parts));
    }
  }
  return request;
}

BackendOptions device_options(const ProfileOptions& o) {
  BackendOptions options;
  options.threads = static_cast<int>(o.threads.value_or(1));
  options.device = static_cast<int>(o.device.value_or(0));
  options.simulated = o.simulated;
  options.blas = o.blas;
  if (!o.layout.empty()) options.layout = chosen<ImageLayout>("--layout", o.layout);
  if (!o.algorithm.empty()) {
    using Preference = AlgorithmPreference;
    options.algorithm = chosen("--algorithm", o.algorithm, parse_enum<AlgorithmPreference>,
                               {to_string(Preference::framework), to_string(Preference::fastest),
                                to_string(Preference::first), to_string(Preference::smallest)});
  }
  return options;
}

/// Whether autocast chooses the precision of each kernel.
bool runs_autocast(const ProfileOptions& o, Precision precision) {
  if (o.mixed.empty() || o.mixed == mixed_precision_names[0]) return false;
  if (o.mixed != mixed_precision_names[2]) {
    unknown_choice("--mixed-precision", o.mixed, {mixed_precision_names[0], mixed_precision_names[2]});
  }
  if (!is_mixed(precision)) {
    throw Error(fmt::format("autocast needs a low precision, but --precision is {}", to_string(precision)),
                "add --precision bf16 or fp16");
  }
  return true;
}

/// Returns the problems of --leave-out, in the spelling of the plan. Throws Error if a problem is not in the plan, or if no
/// problem is left to measure.
std::vector<std::string> left_out(const ProfilePlan& plan, const std::vector<std::string>& given) {
  std::vector<std::string> lines;
  for (const std::string& each : given) {
    const std::string line = is_sequence_problem(each) ? print_problem(parse_sequence_problem(each, "--leave-out"))
                                                       : checked_problem(each, "--leave-out", 1);
    bool is_there = false;
    for (std::size_t item = 0; item < plan.items(); ++item) is_there = is_there || plan.line(item) == line;
    if (!is_there) {
      throw Error(fmt::format("--leave-out {}: not among the kernels to measure", quote(line)),
                  "copy a line of the column 'problem' of the profile");
    }
    lines.push_back(line);
  }
  if (without(plan, lines).items() == 0) throw Error("--leave-out leaves nothing to measure", "name fewer problems");
  return lines;
}

/// Returns the shard to measure. Throws Error if several processes were launched without --shard,
/// because they would overwrite each other's profile.
std::optional<Shard> shard_of_this(const ProfileOptions& o, const LaunchedRank& rank) {
  if (!o.shard.empty()) return parse_shard("--shard", o.shard);
  if (rank.ranks == 1) return std::nullopt;
  throw Error(
      fmt::format("{} started {} processes, and without --shard each would measure everything", rank.launcher, rank.ranks),
      fmt::format(
          "use --shard {} with an --output for each, then 'ddl-oracle profile merge'; --shard 0/1 measures everything",
          rank.variables));
}

}  // namespace

ProfileJob job_of(const ProfileOptions& o) {
  const int kinds = (o.model.empty() ? 0 : 1) + (o.lines.empty() ? 0 : 1) + (o.problems.empty() ? 0 : 1);
  if (kinds == 0)
    throw Error("nothing to profile", "name a model, as in ddl-oracle profile resnet50; or --problem; or --problems FILE");
  if (kinds > 1) throw Error("use only one of a model, --problem and --problems");
  ProfileJob job;
  job.device = device_options(o);
  ProfilePlan& plan = job.plan;
  plan.precision = chosen<Precision>("--precision", o.precision);
  plan.optimizer = chosen("--optimizer", o.optimizer, parse_measured_optimizer, {"sgd", "momentum", "adam"});
  plan.caches = chosen<CacheState>("--caches", o.caches);
  plan.rule.tolerance = o.tolerance.value_or(plan.rule.tolerance);
  constexpr double usual_limit = 0.05;
  plan.rule.limit = Seconds(o.limit.value_or(usual_limit));
  job.backend = o.backend.empty() ? default_backend() : std::string(backend_kind(o.backend).name);
  if (!o.blas.empty() && job.backend != "onednn") {
    throw Error(fmt::format("--blas applies to the back end onednn only, but --backend is {}", job.backend),
                "add --backend onednn");
  }
  const LaunchedRank rank = this_rank();
  job.shard = shard_of_this(o, rank);
  if (rank.ranks > 1 && !o.device)
    job.device.device = device_of(rank, count_devices(job.backend), backend_kind(job.backend).one_device);
  job.output = is_file(o.output) ? o.output : "";
  job.resume = o.resume;
  job.overwrite = o.overwrite;
  job.retry = o.retry;
  for (const std::string& line : o.lines) plan.problems.push_back({checked_problem(line, "--problem", 1), 0});
  if (!o.problems.empty()) {
    const ProblemFile file(o.problems);
    for (const std::string& line : file.problems()) plan.problems.push_back({line, 0});
  }
  if (o.model.empty()) {
    if (o.sequence) throw Error("--seq needs a model", "a kernel's line has its own shapes");
    if (!o.input_shape.empty()) throw Error("--input-shape needs a model", "a kernel's line has its own shapes");
    if (!o.mixed.empty()) throw Error("--mixed-precision needs a model", "a kernel's line has its own precision");
    if (!o.implementation.empty())
      throw Error("--optimizer-implementation needs a model",
                  "a kernel's line names the implementation: implementation=foreach tensors=161");
    job.left_out = left_out(plan, o.left_out);
    return job;
  }

  plan.model = load_model(shaped_model(o.model, o.input_shape), o.sequence);
  const ModelFacts facts = facts_of(*plan.model);
  std::vector<std::int64_t> samples =
      parse_counts("--batch", o.batch.empty() ? (job.backend == "onednn" ? "1,2,4" : "1,4,16") : o.batch);
  if (!o.no_sequence) plan.sequences = samples;
  if (o.graph) {
    if (job.backend != "cuda")
      throw Error(fmt::format("--graph applies to GPUs only, but --backend is {}", job.backend), "add --backend cuda");
    plan.step_start = StepStart::graph;
  }
  const SplitRequest splits = parse_splits(o.splits, load_machine(o.machine).devices_per_node(), facts);
  for (const std::int64_t whole : std::vector(samples)) {
    for (const int parts : splits.batch) {
      const std::int64_t part = (whole + parts - 1) / parts;
      if (!contains(samples, part)) samples.push_back(part);
    }
  }
  Assumptions assumptions;
  if (runs_autocast(o, plan.precision)) {
    assumptions.mixed_precision = MixedPrecision::autocast;
    job.recipe = "autocast";
    // Autocast uses several precisions, but whole steps are measured in a single precision only.
    plan.sequences.clear();
  }
  plan.problems = split_problems(facts, splits.meshes, samples, plan.precision, plan.optimizer, {}, assumptions);
  if (!o.implementation.empty()) {
    const UpdateImplementation implementation = update_implementation_named(o.implementation);
    // The update of all layers together is measured, too. Whole steps contain updates of single layers instead.
    if (is_of_list(implementation) && plan.model->parameters() > 0)
      plan.problems.push_back(
          {print_problem(update_of_all(*plan.model, plan.optimizer, job.recipe.empty() ? plan.precision : Precision::fp32,
                                       implementation)),
           0});
  }
  job.left_out = left_out(plan, o.left_out);
  return job;
}

ProfilePlan without(ProfilePlan plan, const std::vector<std::string>& lines) {
  for (const std::string& line : lines) {
    if (is_sequence_problem(line)) {
      // The parts of a training step are measured one after the other, so all parts of that step are removed.
      std::erase(plan.sequences, parse_sequence_problem(line, "--leave-out").samples);
    } else {
      std::erase_if(plan.problems, [&](const CountedProblem& problem) { return problem.line == line; });
    }
  }
  return plan;
}

}  // namespace ddl
