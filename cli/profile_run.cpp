#include "cli/profile_run.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <ctime>
#include <memory>
#include <optional>
#include <unordered_map>

#include <fmt/format.h>
#include <unistd.h>

#include "cli/interrupt.hpp"
#include "cli/profile_output.hpp"
#include "cli/progress.hpp"
#include "cli/table.hpp"
#include "core/error.hpp"
#include "core/source_text.hpp"
#include "core/units.hpp"
#include "profiler/backends.hpp"
#include "profiler/rank.hpp"
#include "profiler/shared_work.hpp"

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

}  // namespace

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

}  // namespace ddl
