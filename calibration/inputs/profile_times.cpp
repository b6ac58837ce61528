#include "calibration/inputs/profile_times.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <set>
#include <system_error>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include "core/data_directory.hpp"
#include "core/error.hpp"
#include "core/source_text.hpp"
#include "estimator/facts/model_facts.hpp"
#include "estimator/kernels/fresh_memory.hpp"
#include "estimator/kernels/shard_problems.hpp"
#include "model_zoo/files/load_model.hpp"
#include "profiler/backends/backends.hpp"
#include "profiler/measurement/sequence.hpp"

namespace ddl {
namespace {

bool equal_but_case(std::string_view a, std::string_view b) {
  const auto lower = [](char c) { return std::tolower(static_cast<unsigned char>(c)); };
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [&](char x, char y) { return lower(x) == lower(y); });
}

FoundProfile load_named(const std::string& path, bool any_device, const Machine& machine) {
  FoundProfile found{path, load_profile(path)};
  const std::string& device = found.profile.head.device;
  if (!any_device && !is_device(machine.device, device)) {
    throw Error(fmt::format("the profile {} was measured on {}, and the device of {} is {}", quote_path(path), quote(device),
                            machine.name, quote(machine.device.name)),
                "use the profile anyway with --any-device; 'profile_names' of the device in a machine file lists the names "
                "used by drivers");
  }
  return found;
}

/// Reads the head of a profile, and skips the rows.
ProfileHead head_of(const std::string& text, const std::string& path) {
  const std::size_t head = text.find("\n---\n");
  const std::size_t columns = head == std::string::npos ? head : text.find('\n', head + 5);
  return parse_profile(columns == std::string::npos ? text : text.substr(0, columns + 1), path).head;
}

/// The paths of the profiles in the user's data directory, sorted by name.
std::vector<std::string> files_at_hand(std::vector<std::string>& warnings) {
  namespace fs = std::filesystem;
  std::vector<std::string> files;
  const std::optional<std::string> data = data_directory();
  if (!data) return files;
  std::error_code error;
  for (fs::directory_iterator at(fs::path(*data) / "profiles", error), end; !error && at != end; at.increment(error)) {
    const std::string extension = at->path().extension().string();
    std::error_code unreadable;
    if ((extension == ".profile" || extension == ".csv") && at->is_regular_file(unreadable)) {
      files.push_back(at->path().string());
    }
  }
  if (error && error != std::errc::no_such_file_or_directory)
    warnings.push_back(fmt::format("profiles in the data directory are not used: cannot read the folder {}: {}",
                                   quote_path((fs::path(*data) / "profiles").string()), error.message()));
  std::sort(files.begin(), files.end());
  return files;
}

FoundProfiles look_up(const Machine& machine) {
  FoundProfiles found;
  found.looked_up = true;
  for (const std::string& path : files_at_hand(found.warnings)) {
    try {
      const std::string text = read_file(path);
      const ProfileHead head = head_of(text, path);
      if (is_device(machine.device, head.device)) {
        found.profiles.push_back({path, parse_profile(text, path)});
        continue;
      }
      OtherProfile other{path, head.model, head.device};
      for (const auto& [key, value] : head.details) {
        if (key == "threads") other.threads = std::atoi(value.c_str());
      }
      found.others.push_back(std::move(other));
    } catch (const Error& error) {
      const std::string_view message = error.what();
      found.warnings.push_back(
          fmt::format("a profile in the data directory is not used: {}", message.substr(0, message.find('\n'))));
    }
  }
  return found;
}

/// Warns of profiles with an incomplete last line. Such files are truncated, or are still being written.
void warn_of_cut_lines(FoundProfiles& found) {
  for (const FoundProfile& each : found.profiles) {
    if (const int line = each.profile.cut_line; line > 0)
      found.warnings.push_back(fmt::format("{}:{}: the last line is incomplete and was not read", each.path, line));
  }
}

/// Returns the name of profiles for reports: `resnet50 on NVIDIA A100-SXM4-80GB (cuda)`. For
/// several profiles, the text has the models of all of them.
std::string name_of(std::span<const FoundProfile> profiles) {
  std::string models;
  const FoundProfile* first = nullptr;
  for (const FoundProfile& each : profiles) {
    // Profiles with only whole steps are skipped, because they contain no kernels.
    const std::vector<ProfileRow>& rows = each.profile.rows;
    const auto is_step = [](const ProfileRow& row) { return is_sequence_problem(row.measurement.problem); };
    if (!rows.empty() && std::all_of(rows.begin(), rows.end(), is_step)) continue;
    if (first == nullptr) first = &each;
    const std::string& model = each.profile.head.model;
    if (!model.empty()) models += (models.empty() ? "" : ", ") + model;
  }
  const ProfileHead& head = (first != nullptr ? *first : profiles.front()).profile.head;
  return fmt::format("{}{}{} ({})", models, models.empty() ? "" : " on ", head.device, head.backend);
}

struct Median {
  Seconds time{};
  double spread = 0;  ///< relative width of the interval of `time`
};
using Medians = std::unordered_map<std::string, Median>;

/// Adds the medians of a profile. If a problem was measured twice, the more precise time is used, as in ProblemTimes.
void add_medians(const Profile& profile, Medians& medians) {
  for (const ProfileRow& row : profile.rows) {
    if (!row.measurement.reason.empty()) continue;
    const Samples& samples = row.measurement.samples;
    const double spread = samples.median.value() > 0 ? (samples.high - samples.low) / samples.median : 0.0;
    const auto [known, is_new] = medians.try_emplace(row.measurement.problem, Median{samples.median, spread});
    if (!is_new && spread < known->second.spread) known->second = {samples.median, spread};
  }
}

/// Returns the time of one part of a whole step (`whole`), and the sum of the times of its
/// separately measured kernels. Empty if a kernel of the part was not measured.
std::optional<MeasuredPhase> phase_of(const SequenceProblem& step, Seconds whole, const Model& model, const Medians& medians,
                                      SecondsPerByte fresh_memory) {
  const ModelFacts facts = facts_of(model);
  MeasuredPhase phase{.whole = whole};
  WholeLayers layers(facts, static_cast<double>(step.samples), step.precision, step.optimizer);
  const auto add = [&](const std::string& line, int times) {
    const auto known = medians.find(line);
    if (known == medians.end()) return false;
    phase.kernels += known->second.time * static_cast<double>(times);
    phase.count += known->second.time.value() > 0 ? times : 0;
    return true;
  };
  for (std::size_t i = 0; i < model.layers.size(); ++i) {
    const ShardContext& context = layers.at(i);
    if (step.part == StepPart::update) {
      const auto update = shard_update(context, layers.shard());
      if (update && !add(print_problem(*update), 1)) return std::nullopt;
      continue;
    }
    for (const ShardProblem& each : shard_problems(context, layers.shard())) {
      if ((phase_of(each) == Phase::forward) != (step.part == StepPart::forward)) continue;
      if (!add(print_problem(each.problem), each.times)) return std::nullopt;
      phase.fresh_memory += fresh_bytes(each.problem) * static_cast<double>(each.times) * fresh_memory;
    }
  }
  return phase;
}

/// Whole steps that were timed, in order of preference. Steps of a framework come before steps of
/// the profiler, which runs kernels without a framework. Steps of this model come before steps of
/// other bundled models. Among a framework's steps, steps that return memory to the system come
/// first, then steps that keep memory, then captured graphs, which need no framework to launch.
class Steps {
 public:
  Steps(std::span<const FoundProfile> profiles, const Model& model, Precision precision, SecondsPerByte fresh_memory)
      : model_(model), precision_(precision), fresh_memory_(fresh_memory) {
    Medians all;
    for (const FoundProfile& each : profiles) add_medians(each.profile, all);
    for (const FoundProfile& each : profiles) {
      Medians own;
      add_medians(each.profile, own);
      for (const ProfileRow& row : each.profile.rows) {
        const Measurement& measured = row.measurement;
        if (!is_sequence_problem(measured.problem) || !measured.reason.empty()) continue;
        const SequenceProblem step = parse_sequence_problem(measured.problem, each.path);
        // A profile of a framework's steps contains no kernels, so such a step is compared with the kernels of all profiles.
        add(step, measured.samples.median, step.by.empty() ? own : all);
      }
    }
  }

  void into(MeasuredKernels& kernels) const {
    const auto found = std::find_if(kinds_.begin(), kinds_.end(), [](const Kind& kind) { return !kind.models.empty(); });
    kernels.fresh_memory = fresh_memory_;
    if (found == kinds_.end()) return;
    const auto place = static_cast<std::size_t>(found - kinds_.begin());
    kernels.same_model = place % 2 == 0;
    if (place / 2 == kept_by_framework || place / 2 == graphs_of_framework) kernels.fresh_memory = {};
    kernels.forward = overhead_of(found->phases[StepPart::forward]);
    kernels.backward = overhead_of(found->phases[StepPart::backward]);
    kernels.update = overhead_of_one_kind(found->phases[StepPart::update]);
    kernels.steps = fmt::format("whole steps of {}", joined(found->models));
    if (!found->frameworks.empty()) kernels.steps += fmt::format(" by {}", joined(found->frameworks));
  }

 private:
  /// Kinds of steps in order of preference. Each kind is searched first for the same model and then for other models.
  enum : std::size_t { by_framework, kept_by_framework, graphs_of_framework, by_profiler, kinds };
  struct Kind {
    EnumArray<StepPart, std::vector<MeasuredPhase>> phases;
    std::set<std::string> models, frameworks;
  };

  void add(const SequenceProblem& step, Seconds whole, const Medians& medians) {
    if (step.precision != precision_) return;
    const bool is_own = step.model == one_word(model_.name);
    const std::optional<Model> other = is_own ? std::nullopt : bundled(step.model);
    if (!is_own && !other) return;
    const bool gives_back = !step.by.empty() && !step.keeps_memory;
    const auto phase =
        phase_of(step, whole, is_own ? model_ : *other, medians, gives_back ? fresh_memory_ : SecondsPerByte{});
    if (!phase) return;
    const std::size_t kind = step.by.empty()     ? by_profiler
                             : step.graph        ? graphs_of_framework
                             : step.keeps_memory ? kept_by_framework
                                                 : by_framework;
    Kind& place = kinds_[2 * kind + (is_own ? 0 : 1)];
    place.phases[step.part].push_back(*phase);
    place.models.insert(step.model);
    if (!step.by.empty()) place.frameworks.insert(step.by + (step.graph ? " in CUDA graphs" : ""));
  }

  static std::optional<Model> bundled(const std::string& name) {
    const std::vector<std::string> known = model_names();
    if (std::find(known.begin(), known.end(), name) == known.end()) return std::nullopt;
    return load_model(name);
  }

  static std::string joined(const std::set<std::string>& words) {
    std::string text;
    for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
    return text;
  }

  const Model& model_;
  Precision precision_;
  SecondsPerByte fresh_memory_;
  std::array<Kind, 2 * kinds> kinds_;
};

/// The scratch memory that a kernel requests from the framework's allocator. Empty for traces and tables, which do not state
/// the scratch memory. PyTorch gives cuBLAS one workspace for all matrix products, and cuBLAS only uses algorithms for which
/// this workspace is sufficient (library_workspace).
std::optional<Bytes> workspace_of(const ProfileHead& head, const Measurement& measured) {
  const std::span<const BackendKind> kinds = backend_kinds();
  const auto is_own = [&](const BackendKind& kind) { return kind.name == head.backend; };
  if (std::none_of(kinds.begin(), kinds.end(), is_own)) return std::nullopt;
  return measured.algorithm.starts_with("cublaslt") ? Bytes{} : measured.workspace;
}

/// The time per byte of first touches of memory. If several profiles contain this time, the most precise value is used.
SecondsPerByte fresh_memory_of(std::span<const FoundProfile> profiles) {
  Medians medians;
  for (const FoundProfile& each : profiles) add_medians(each.profile, medians);
  std::optional<double> least;
  SecondsPerByte found{};
  for (const auto& [line, median] : medians) {
    if (!is_fresh_memory_problem(line) || (least && median.spread >= *least)) continue;
    least = median.spread;
    found = median.time / Bytes(static_cast<double>(parse_fresh_memory_problem(line, "the profile").bytes));
  }
  return found;
}

/// The layout of images that the profiles contain; `both` if profiles differ. Profiles without a layout are ignored.
std::string layout_of(std::span<const FoundProfile> profiles) {
  std::string layout;
  for (const FoundProfile& each : profiles) {
    const std::string& own = each.profile.head.layout;
    if (own.empty()) continue;
    if (!layout.empty() && layout != own) return "both";
    layout = own;
  }
  return layout;
}

}  // namespace

std::vector<std::string> unused_profiles_text(const FoundProfiles& found, const Machine& machine, std::string_view model) {
  std::vector<std::string> texts;
  for (const OtherProfile& each : found.others) {
    if (!model.empty() && each.model != model) continue;
    // A profile with a number of threads belongs to a CPU. On a machine with GPUs, the user needs
    // no reason why it is not used.
    if (each.threads > 0 && !machine.device.is_processor) continue;
    const std::string threads =
        each.threads > 0
            ? fmt::format(", {} of it", each.threads == 1 ? "1 thread" : fmt::format("{} threads", each.threads))
            : std::string();
    texts.push_back(
        fmt::format("{} is not used: the profile was measured on {}{}, but {} has {}; use the profile anyway with --profile "
                    "FILE --any-device",
                    each.path, quote(each.device), threads, machine.name, quote(machine.device.name)));
  }
  return texts;
}

bool is_device(const Device& device, std::string_view name) {
  return equal_but_case(device.name, name) ||
         std::any_of(device.profile_names.begin(), device.profile_names.end(),
                     [&](const std::string& alias) { return equal_but_case(alias, name); });
}

FoundProfiles find_profiles(const ProfileChoice& choice, const Machine& machine) {
  FoundProfiles found;
  if (choice.files.empty()) {
    found = look_up(machine);
  } else if (choice.files != std::vector<std::string>{"none"}) {
    if (std::find(choice.files.begin(), choice.files.end(), "none") != choice.files.end()) {
      throw Error("a profile is given together with 'none'", "leave one of them out; write ./none for a file of that name");
    }
    for (const std::string& path : choice.files) found.profiles.push_back(load_named(path, choice.any_device, machine));
  }
  warn_of_cut_lines(found);
  return found;
}

MeasuredKernels measured_kernels(std::span<const FoundProfile> profiles) {
  MeasuredKernels kernels;
  if (profiles.empty()) return kernels;
  kernels.name = name_of(profiles);
  for (const FoundProfile& each : profiles) {
    for (const ProfileRow& row : each.profile.rows) {
      const Measurement& measured = row.measurement;
      if (!measured.reason.empty() || is_sequence_problem(measured.problem)) continue;
      if (is_fresh_memory_problem(measured.problem)) continue;
      const MeasuredTime time{measured.samples.median, measured.samples.low, measured.samples.high};
      if (is_update_problem(measured.problem)) {
        kernels.updates.push_back({parse_update_problem(measured.problem, each.path), time});
      } else {
        kernels.kernels.push_back(
            {parse_problem(measured.problem, each.path), time, workspace_of(each.profile.head, measured)});
      }
    }
  }
  kernels.layout = layout_of(profiles);
  return kernels;
}

MeasuredKernels measured_kernels(std::span<const FoundProfile> profiles, const Model& model, Precision precision) {
  MeasuredKernels kernels = measured_kernels(profiles);
  if (profiles.empty()) return kernels;
  Steps(profiles, model, precision, fresh_memory_of(profiles)).into(kernels);
  return kernels;
}

}  // namespace ddl
