#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include "calibration/machine_reader.hpp"
#include "calibration/split_scaling.hpp"
#include "cli/commands/commands.hpp"
#include "cli/interrupt.hpp"
#include "cli/number_option.hpp"
#include "cli/profile_output.hpp"
#include "cli/progress.hpp"
#include "cli/split_options.hpp"
#include "cli/study_options.hpp"
#include "cli/table.hpp"
#include "core/error.hpp"
#include "core/source_text.hpp"
#include "core/units.hpp"
#include "estimator/model_facts.hpp"
#include "model_zoo/update_list.hpp"
#include "profiler/backends.hpp"
#include "profiler/profiling.hpp"
#include "profiler/rank.hpp"
#include "profiler/shared_work.hpp"

namespace ddl {
namespace {

using Json = nlohmann::ordered_json;
using Align = Table::Align;

/// The command line, as typed.
struct ProfileOptions {
  std::string model, backend, precision = "fp32", optimizer = "momentum", machine = "dgx-a100", caches = "step";
  std::string batch, layout, algorithm, problems, output, simulated, blas, implementation, mixed;
  std::vector<std::string> splits, lines, left_out;
  std::optional<std::int64_t> threads, device;
  std::optional<double> tolerance, limit;
  bool resume = false, overwrite = false, retry = false, no_sequence = false, graph = false;
};

/// What is measured, on what, and where it goes.
struct ProfileJob {
  std::string backend;
  BackendOptions device;
  ProfilePlan plan;
  std::string output;  ///< empty: nowhere
  std::string recipe;  ///< of mixed precision, where it is not one precision for all
};

/// What came of it.
struct ProfileResult {
  Profile profile;
  std::string output;
  std::size_t items = 0, known = 0, left = 0;
  std::vector<int> dead;
  bool stopped = false, elsewhere = false;
  double seconds = 0;
  Steadiness steadiness;
  std::vector<Closure> closures;
  std::vector<SplitScaling> splits;
};

/// The value that a word stands for.
template <class Parsed, class Known>
Parsed choice(const std::string& option, const std::string& text, std::optional<Parsed> parsed, const Known& known) {
  if (!parsed) unknown_choice(option, text, known);
  return *parsed;
}

BackendOptions device_options(const ProfileOptions& o) {
  BackendOptions options;
  options.threads = static_cast<int>(o.threads.value_or(1));
  options.device = static_cast<int>(o.device.value_or(0));
  options.simulated = o.simulated;
  options.blas = o.blas;
  if (!o.layout.empty()) {
    options.layout =
        choice("--layout", o.layout, parse_image_layout(o.layout),
               std::vector<std::string_view>{to_string(ImageLayout::channels_last), to_string(ImageLayout::channels_first)});
  }
  if (!o.algorithm.empty()) {
    options.algorithm = choice(
        "--algorithm", o.algorithm, parse_algorithm_preference(o.algorithm),
        std::vector<std::string_view>{to_string(AlgorithmPreference::framework), to_string(AlgorithmPreference::fastest),
                                      to_string(AlgorithmPreference::first), to_string(AlgorithmPreference::smallest)});
  }
  return options;
}

/// Whether autocast decides what runs in which precision.
bool runs_autocast(const ProfileOptions& o, Precision precision) {
  if (o.mixed.empty() || o.mixed == mixed_precision_names[0]) return false;
  if (o.mixed != mixed_precision_names[2]) {
    unknown_choice("--mixed-precision", o.mixed, {mixed_precision_names[0], mixed_precision_names[2]});
  }
  if (!is_mixed(precision)) {
    throw Error(fmt::format("autocast needs two precisions, and --precision is {}", to_string(precision)),
                "add --precision bf16 or fp16");
  }
  return true;
}

/// Lines of a file: blank ones and those that begin with # say nothing.
std::vector<CountedProblem> problems_in(const std::string& path) {
  const SourceText source(read_file(path), path);
  const std::string& text = source.text();
  std::vector<CountedProblem> problems;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    std::string line = text.substr(at, end - at);
    if (line.ends_with('\r')) line.pop_back();
    const std::size_t first = line.find_first_not_of(" \t");
    if (first != std::string::npos && line[first] != '#') {
      problems.push_back({checked_problem(line, path, source.place(at).line), 0});
    }
    at = end + 1;
  }
  if (problems.empty())
    throw source.error(0, "there is no problem in this file", "one a line, such as those of 'recommend --missing'");
  return problems;
}

/// Takes problems out of a plan; each must be there.
void leave_out(ProfilePlan& plan, const std::vector<std::string>& lines) {
  for (const std::string& given : lines) {
    const std::string line = is_sequence_problem(given) ? print_problem(parse_sequence_problem(given, "--leave-out"))
                                                        : checked_problem(given, "--leave-out", 1);
    bool is_there = false;
    for (std::size_t item = 0; item < plan.items(); ++item) is_there = is_there || plan.line(item) == line;
    if (!is_there) {
      throw Error(fmt::format("--leave-out {}: it is not asked for", quote(line)),
                  "copy a line of the column 'problem' of the profile");
    }
    if (is_sequence_problem(line)) {
      // The parts of a step run one after the other: they go together.
      std::erase(plan.sequences, parse_sequence_problem(line, "--leave-out").samples);
    } else {
      std::erase_if(plan.problems, [&](const CountedProblem& problem) { return problem.line == line; });
    }
  }
  if (plan.items() == 0) throw Error("--leave-out leaves nothing to measure", "name fewer problems");
}

ProfileJob job_of(const ProfileOptions& o) {
  const int kinds = (o.model.empty() ? 0 : 1) + (o.lines.empty() ? 0 : 1) + (o.problems.empty() ? 0 : 1);
  if (kinds == 0) throw Error("profile what?", "a model: ddl-oracle profile resnet50, or --problem, or --problems FILE");
  if (kinds > 1) throw Error("a model, --problem and --problems are asked for one at a time");
  ProfileJob job;
  job.device = device_options(o);
  ProfilePlan& plan = job.plan;
  plan.precision = choice("--precision", o.precision, parse_precision(o.precision),
                          std::vector<std::string_view>{"fp32", "tf32", "fp16", "bf16"});
  plan.optimizer = choice("--optimizer", o.optimizer, parse_measured_optimizer(o.optimizer),
                          std::vector<std::string_view>{"sgd", "momentum", "adam"});
  plan.caches =
      choice("--caches", o.caches, parse_cache_state(o.caches), std::vector<std::string_view>{"warm", "cold", "step"});
  plan.rule.tolerance = o.tolerance.value_or(plan.rule.tolerance);
  constexpr double usual_limit = 0.05;
  plan.rule.limit = Seconds(o.limit.value_or(usual_limit));
  job.backend = o.backend.empty() ? default_backend() : std::string(backend_kind(o.backend).name);
  if (!o.blas.empty() && job.backend != "onednn") {
    throw Error(fmt::format("--blas is of a processor, and --backend is {}", job.backend), "add --backend onednn");
  }
  job.output = is_file(o.output) ? o.output : "";
  for (const std::string& line : o.lines) plan.problems.push_back({checked_problem(line, "--problem", 1), 0});
  if (!o.problems.empty()) plan.problems = problems_in(o.problems);
  if (o.model.empty()) {
    if (!o.mixed.empty()) throw Error("--mixed-precision is of a model, and none is named", "a problem says its precision");
    if (!o.implementation.empty())
      throw Error("--optimizer-implementation is of a model's update, and no model is named",
                  "a problem says so itself: implementation=foreach tensors=161");
    leave_out(plan, o.left_out);
    return job;
  }

  plan.model = load_model(o.model);
  const ModelFacts facts = facts_of(*plan.model);
  std::vector<std::int64_t> samples =
      parse_counts("--batch", o.batch.empty() ? (job.backend == "onednn" ? "1,2,4" : "1,4,16") : o.batch);
  if (!o.no_sequence) plan.sequences = samples;
  if (o.graph) {
    if (job.backend != "cuda")
      throw Error(fmt::format("--graph is of a GPU, and --backend is {}", job.backend), "add --backend cuda");
    plan.step_start = StepStart::graph;
  }
  const SplitRequest splits = parse_splits(o.splits, load_machine(o.machine).devices_per_node(), facts);
  for (const std::int64_t whole : std::vector(samples)) {
    for (const int parts : splits.batch) {
      const std::int64_t part = (whole + parts - 1) / parts;
      if (std::find(samples.begin(), samples.end(), part) == samples.end()) samples.push_back(part);
    }
  }
  Assumptions assumptions;
  if (runs_autocast(o, plan.precision)) {
    assumptions.mixed_precision = MixedPrecision::autocast;
    job.recipe = "autocast";
    // Whole steps are of one precision.
    plan.sequences.clear();
  }
  plan.problems = split_problems(facts, splits.degrees, samples, plan.precision, plan.optimizer, {}, assumptions);
  if (!o.implementation.empty()) {
    const UpdateImplementation implementation = update_implementation_named(o.implementation);
    // Beside those of the layers, of which whole steps are made.
    if (is_of_list(implementation) && plan.model->parameters() > 0)
      plan.problems.push_back(
          {print_problem(update_of_all(*plan.model, plan.optimizer, job.recipe.empty() ? plan.precision : Precision::fp32,
                                       implementation)),
           0});
  }
  leave_out(plan, o.left_out);
  return job;
}

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

/// Measures what is not known yet, a row at a time.
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

/// Rows that need not be measured again, by line.
std::unordered_map<std::string, ProfileRow> known_rows(const Profile& profile, bool retry) {
  std::unordered_map<std::string, ProfileRow> known;
  for (const ProfileRow& row : profile.rows) {
    const Measurement& measured = row.measurement;
    const bool good = measured.reason.empty() && (measured.algorithm.empty() || measured.samples.settled);
    if (good || !retry) known.emplace(measured.problem, row);
  }
  return known;
}

std::string detail(const ProfileHead& head, const std::string& key) {
  const auto found =
      std::find_if(head.details.begin(), head.details.end(), [&](const auto& each) { return each.first == key; });
  return found == head.details.end() ? "" : found->second;
}

void require_same(const ProfileHead& old, const ProfileHead& head, const std::string& path) {
  const auto same = [&](std::string_view what, const std::string& before, const std::string& after) {
    if (before == after) return;
    throw Error(fmt::format("{} has the {} {}, not {}", quote(path), what, quote(before), quote(after)),
                "give another name with --output, or begin anew with --overwrite");
  };
  same("back end", old.backend, head.backend);
  same("device", old.device, head.device);
  same("model", old.model, head.model);
  same("state of the caches", old.caches, head.caches);
  same("layout", old.layout, head.layout);
  // Rows of one file are of one set-up.
  for (const std::string key : {"threads", "blas", "mixed precision", "algorithms"})
    same(key, detail(old, key), detail(head, key));
}

/// A profile in which nothing is measured is none.
void require_any_runs(const KernelBackend& backend, const ProfileJob& job) {
  const std::string reason = refusal_of_all(backend, job.plan);
  if (reason.empty()) return;
  const auto count = static_cast<std::int64_t>(job.plan.problems.size());
  throw Error(fmt::format("{} runs none of {}: {}", job.backend, count_text(count, "problem"), reason),
              "another --precision or --backend may: see 'ddl-oracle backends'");
}

/// One process: rows go to the file one by one.
void measure_alone(ProfileResult& result, const ProfileJob& job, ProfileOutput& output, Measuring& measuring,
                   const std::unordered_map<std::string, ProfileRow>& known) {
  for (std::size_t item = 0; item < job.plan.items(); ++item) {
    if (known.contains(job.plan.line(item))) continue;
    if (Interrupt::asked()) break;
    if (const std::optional<ProfileRow> row = measuring(item)) {
      output.add(*row);
      result.profile.rows.push_back(*row);
    }
  }
}

/// One of several processes, each with its own device.
void measure_together(ProfileResult& result, const ProfileJob& job, const Rank& rank, Measuring& measuring, bool resume,
                      const std::unordered_map<std::string, ProfileRow>& known) {
  SharedWork work;
  work.output = job.output;
  work.head = print_profile_head(result.profile.head);
  work.items = job.plan.items();
  work.resume = resume;
  // Rows of another device are none of this profile's.
  const ProfileHead& head = result.profile.head;
  work.identity = fmt::format("{}\n{}\n{}\n", head.backend, head.device, head.caches);
  for (std::size_t item = 0; item < job.plan.items(); ++item) {
    const std::string line = job.plan.line(item);
    work.identity += line + "\n";
    const auto row = known.find(line);
    work.known.push_back(row == known.end() ? "" : print_profile_row(row->second));
  }
  const SharedResult shared = share_work(
      rank, work,
      [&](std::size_t item) -> std::optional<std::string> {
        const std::optional<ProfileRow> row = measuring(item);
        return row ? std::optional(print_profile_row(*row)) : std::nullopt;
      },
      Interrupt::asked);
  result.dead = shared.dead;
  result.elsewhere = !shared.wrote;
  if (shared.merged) result.profile = load_profile(job.output);
}

ProfileResult run(const ProfileJob& asked, const ProfileOptions& o, const std::string& command) {
  ProfileJob job = asked;
  const Rank rank = this_rank();
  job.device.device =
      rank.ranks > 1 ? device_of(rank, count_devices(job.backend), backend_kind(job.backend).one_device) : job.device.device;
  const std::unique_ptr<KernelBackend> backend = open_backend(job.backend, job.device);
  require_any_runs(*backend, job);
  ProfileResult result;
  result.profile.head = head_of(job, backend->info(), command);
  if (job.plan.model && backend->maps_pages()) {
    // First, so that the shortest of runs has it.
    job.plan.problems.insert(job.plan.problems.begin(), {print_problem(FreshMemoryProblem{}), 0});
  }
  if (job.output.empty() && job.plan.model)
    job.output = usual_profile_path(result.profile.head, job.plan.precision, job.recipe);
  result.output = job.output;
  result.items = job.plan.items();

  std::unordered_map<std::string, ProfileRow> known;
  std::optional<ProfileOutput> output;
  const bool together = rank.ranks > 1 && !job.output.empty();
  if (!job.output.empty()) {
    const bool parts = !parts_of(job.output).empty();
    const std::optional<Profile> old =
        o.overwrite ? std::nullopt : existing_profile(job.output, o.resume, together || parts);
    if (old) {
      require_same(old->head, result.profile.head, job.output);
      known = known_rows(*old, o.retry);
      result.profile.head = old->head;
      for (const ProfileRow& row : old->rows) {
        if (known.contains(row.measurement.problem)) result.profile.rows.push_back(row);
      }
    }
    // Parts that a killed run of several processes left are finished by its rules, even by one.
    if (together || parts) {
      const auto start = std::chrono::steady_clock::now();
      const Interrupt interrupt;
      Measuring measuring(*backend, job, known.size());
      measure_together(result, job, rank, measuring, o.resume, known);
      result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    } else {
      output.emplace(job.output, result.profile);
    }
  } else {
    output.emplace();
  }
  if (output) {
    const auto start = std::chrono::steady_clock::now();
    const Interrupt interrupt;
    Measuring measuring(*backend, job, known.size());
    measure_alone(result, job, *output, measuring, known);
    result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  }
  result.known = known.size();
  result.stopped = Interrupt::asked();
  result.steadiness = steadiness_of(result.profile);
  std::unordered_map<std::string, bool> there;
  for (const ProfileRow& row : result.profile.rows) there[row.measurement.problem] = true;
  for (std::size_t item = 0; item < job.plan.items(); ++item) result.left += there.contains(job.plan.line(item)) ? 0U : 1U;
  if (job.plan.model) {
    result.closures = closures(result.profile, *job.plan.model);
    result.splits = split_scalings(result.profile, *job.plan.model);
  }
  return result;
}

struct Counts {
  std::size_t measured = 0, idle = 0, unsettled = 0, drifted = 0, host_bound = 0;
  std::vector<const Measurement*> refused;
};

Counts counts_of(const Profile& profile) {
  Counts counts;
  for (const ProfileRow& row : profile.rows) {
    const Measurement& measured = row.measurement;
    if (!measured.reason.empty()) {
      counts.refused.push_back(&measured);
    } else if (measured.algorithm.empty()) {
      ++counts.idle;
    } else {
      ++counts.measured;
      counts.unsettled += measured.samples.settled ? 0U : 1U;
      counts.drifted += measured.samples.drifted ? 1U : 0U;
      counts.host_bound += measured.host_bound ? 1U : 0U;
    }
  }
  return counts;
}

std::string rows_text(const Profile& profile) {
  Table table(
      {{"median"}, {"interval of 95 %"}, {"samples"}, {"workspace"}, {"algorithm", Align::left}, {"problem", Align::left}});
  for (const ProfileRow& row : profile.rows) {
    const Measurement& measured = row.measurement;
    const Samples& samples = measured.samples;
    if (!measured.reason.empty()) {
      table.add({"-", "-", "-", "-", measured.reason, measured.problem});
    } else if (measured.algorithm.empty()) {
      table.add({"0 s", "-", "-", "-", "nothing to do", measured.problem});
    } else {
      table.add({humanize(samples.median), fmt::format("{} to {}", humanize(samples.low), humanize(samples.high)),
                 fmt::format("{}{}", samples.count, samples.settled ? "" : " unsettled"), humanize(measured.workspace),
                 measured.algorithm, measured.problem});
    }
  }
  return table.text("");
}

std::string text_of(const ProfileResult& result, const Style& style) {
  const Counts counts = counts_of(result.profile);
  const ProfileHead& head = result.profile.head;
  std::string text = fmt::format("{}, {}\n", style.bold(head.device), head.backend);
  if (head.model.empty()) text += rows_text(result.profile);
  text +=
      fmt::format("{} of {} problems in {}", result.items - result.left, result.items, humanize(Seconds(result.seconds)));
  if (result.known > 0) text += fmt::format(", {} of them from before", result.known);
  if (counts.idle > 0) text += fmt::format("; {} have nothing to do", counts.idle);
  if (counts.unsettled > 0) text += fmt::format("; {} did not settle", counts.unsettled);
  text += fmt::format("; {} refused\n", counts.refused.size());
  constexpr std::size_t shown = 5;
  for (std::size_t i = 0; i < std::min(shown, counts.refused.size()) && !head.model.empty(); ++i) {
    text += wrap_text(fmt::format("  refused: {}: {}", counts.refused[i]->problem, counts.refused[i]->reason), 118, "    ") +
            "\n";
  }
  if (counts.refused.size() > shown && !head.model.empty())
    text += fmt::format("  and {} more\n", counts.refused.size() - shown);
  if (const Steadiness& steadiness = result.steadiness; steadiness.highest_clock_hz > 0) {
    text +=
        fmt::format("clocks from {:.0f} to {:.0f} MHz", steadiness.lowest_clock_hz / 1e6, steadiness.highest_clock_hz / 1e6);
    for (const auto& [reason, share] : steadiness.slowed_by) {
      text += fmt::format("; {} around {:.0f} % of the rows", reason, 100 * share);
    }
    text += "\n";
  }
  if (!result.closures.empty()) {
    Table table({{"samples"}, {"parts"}, {"whole step"}, {"closure"}, {"kernels"}});
    for (const Closure& closure : result.closures) {
      table.add({std::to_string(closure.samples), humanize(closure.parts), humanize(closure.whole),
                 fmt::format("{:+.1f} %", 100 * closure.error()), with_thousands(closure.kernels)});
    }
    text += "\n" + table.text("");
  }
  if (!result.splits.empty()) {
    Table table(
        {{"split", Align::left}, {"samples"}, {"split layers"}, {"whole"}, {"a part"}, {"measured"}, {"over linear"}});
    for (const SplitScaling& split : result.splits) {
      table.add({fmt::format("{} {}", split.axis, split.degree), std::to_string(split.samples), std::to_string(split.layers),
                 humanize(split.whole), humanize(split.whole / static_cast<double>(split.parts)), humanize(split.split),
                 fmt::format("{:.2f}", split.over_linear())});
    }
    text += "\n" + table.text("");
  }
  if (!result.output.empty()) text += fmt::format("\nwritten to {}\n", result.output);
  return text;
}

std::vector<std::string> warnings_of(const ProfileResult& result) {
  std::vector<std::string> warnings;
  const Counts counts = counts_of(result.profile);
  const Steadiness& steadiness = result.steadiness;
  if (steadiness.slow_share > 0) {
    warnings.push_back(
        fmt::format("the device was not steady: one and the same kernel took up to {:.0f} % longer than at full speed, and "
                    "more than 10 % "
                    "longer around {:.0f} % of the rows; end what else runs, and measure again",
                    100 * (steadiness.slowest - 1), 100 * steadiness.slow_share));
  }
  if (counts.host_bound > 0) {
    warnings.push_back(
        fmt::format("the device waited for the host while {} measured, which took too long to start the "
                    "kernels: these times are too long; end what else runs on the host",
                    counts.host_bound == 1 ? "1 row was" : fmt::format("{} rows were", counts.host_bound)));
  }
  for (const int rank : result.dead) {
    warnings.push_back(fmt::format("rank {} died; what it had not measured was taken over by others, or is missing", rank));
  }
  if (result.left > 0 && !result.elsewhere) {
    warnings.push_back(fmt::format("{}{} left to measure: the same command with --resume goes on",
                                   result.stopped ? "stopped: " : "",
                                   count_text(static_cast<std::int64_t>(result.left), "problem")));
  }
  return warnings;
}

Json json_of(const ProfileResult& result) {
  const Counts counts = counts_of(result.profile);
  const ProfileHead& head = result.profile.head;
  Json json;
  json["schema"] = 1;
  json["backend"] = head.backend;
  json["device"] = head.device;
  json["model"] = head.model.empty() ? Json(nullptr) : Json(head.model);
  json["profile"] = result.output.empty() ? Json(nullptr) : Json(result.output);
  json["problems"] = result.items;
  json["measured"] = counts.measured;
  json["idle"] = counts.idle;
  json["unsettled"] = counts.unsettled;
  json["drifted"] = counts.drifted;
  json["host_bound"] = counts.host_bound;
  json["left"] = result.left;
  json["seconds"] = result.seconds;
  json["slowest_over_full_speed"] = result.steadiness.slowest;
  json["slow_share"] = result.steadiness.slow_share;
  json["lowest_clock_hz"] = result.steadiness.lowest_clock_hz;
  json["highest_clock_hz"] = result.steadiness.highest_clock_hz;
  json["slowed_by"] = Json::array();
  for (const auto& [reason, share] : result.steadiness.slowed_by) {
    json["slowed_by"].push_back({{"reason", reason}, {"share", share}});
  }
  json["refused"] = Json::array();
  for (const Measurement* measured : counts.refused) {
    json["refused"].push_back({{"problem", measured->problem}, {"reason", measured->reason}});
  }
  json["closure"] = Json::array();
  for (const Closure& closure : result.closures) {
    json["closure"].push_back({{"samples", closure.samples},
                               {"parts_s", closure.parts.value()},
                               {"whole_s", closure.whole.value()},
                               {"error", closure.error()},
                               {"kernels", closure.kernels}});
  }
  json["splits"] = Json::array();
  for (const SplitScaling& split : result.splits) {
    json["splits"].push_back({{"axis", split.axis},
                              {"degree", split.degree},
                              {"parts", split.parts},
                              {"samples", split.samples},
                              {"layers", split.layers},
                              {"whole_s", split.whole.value()},
                              {"split_s", split.split.value()},
                              {"over_linear", split.over_linear()}});
  }
  if (head.model.empty()) {
    json["rows"] = Json::array();
    for (const ProfileRow& row : result.profile.rows) {
      const Measurement& measured = row.measurement;
      json["rows"].push_back({{"problem", measured.problem},
                              {"median_s", measured.samples.median.value()},
                              {"low_s", measured.samples.low.value()},
                              {"high_s", measured.samples.high.value()},
                              {"samples", measured.samples.count},
                              {"settled", measured.samples.settled},
                              {"workspace_bytes", measured.workspace.value()},
                              {"algorithm", measured.algorithm},
                              {"reason", measured.reason}});
    }
  }
  return json;
}

Report profile(const ProfileOptions& options, const std::string& command) {
  const auto result = std::make_shared<ProfileResult>(run(job_of(options), options, command));
  Report report;
  report.text = [result](const Style& style) { return text_of(*result, style); };
  report.json = [result] { return json_of(*result); };
  report.csv = [result] {
    const std::string text = print_profile(result->profile);
    return text.substr(text.find("---\n") + 4);
  };
  report.warnings = warnings_of(*result);
  if (result->left > 0 && !result->elsewhere) report.status = ExitStatus::could_not_answer;
  return report;
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
  command.add_option("--machine", o.machine, "whose node bounds the default of --splits")->capture_default_str();
  command.add_option("--problem", o.lines, "measure this problem alone, a line as profiles have it")
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  command.add_option("--problems", o.problems, "measure the problems in this file, one a line ('recommend --missing')");
  command
      .add_option("--leave-out", o.left_out,
                  "do not measure this problem, a line as profiles have it: one that makes the device unusable")
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  command.add_option("--caches", o.caches, "what they hold when a kernel starts: as in a training step, warm or cold")
      ->capture_default_str();
  add_number(command, "--tolerance", o.tolerance, 1e-4, 1,
             "half of the median's interval over the median, at which a problem is settled")
      ->default_str("0.02");
  add_number(command, "--time-limit", o.limit, 1e-3, 3600, "seconds of samples of one problem, settled or not")
      ->default_str("0.05");
  add_whole_number(command, "--threads", o.threads, 1, 1024, "of a processor")->default_str("1");
  add_whole_number(command, "--device", o.device, 0, 1023, "which GPU of this node")->default_str("0");
  command.add_option("--blas", o.blas,
                     "of a processor: the library of matrix products, as libopenblas.so.0; default: oneDNN's own");
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
  command.add_option("--output", o.output, "the profile; default: MODEL@DEVICE.profile among the user's own");
  add_switch(command, "--resume", o.resume, "go on with a profile that is there");
  auto* overwrite = add_switch(command, "--overwrite", o.overwrite, "begin a profile that is there anew");
  add_switch(command, "--retry", o.retry, "with --resume: measure again what did not settle, or was refused")
      ->excludes(overwrite);
  auto* no_sequence = add_switch(command, "--no-sequence", o.no_sequence, "do not run the model as a whole");
  add_switch(command, "--graph", o.graph, "on a GPU: run the model as a whole by CUDA graphs, not kernel by kernel")
      ->excludes(no_sequence);
  command
      .add_option_function<std::string>(
          "--format",
          [&request](const std::string& text) {
            if (text != "text" && text != "json" && text != "csv") unknown_choice("--format", text, {"text", "json", "csv"});
            request.report.format = text == "json" ? Format::json : (text == "csv" ? Format::csv : Format::text);
          },
          "text, json or csv: of the report")
      ->default_str("text");
  command.require_subcommand(0, 1);
  add_profile_import(command, request);
  command.callback([asked, &command, &request] {
    if (!command.get_subcommands().empty()) return;
    request.run = [asked, &request] { return profile(*asked, request.command); };
  });
}

}  // namespace ddl
