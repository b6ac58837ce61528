#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "calibration/inputs/machine_reader.hpp"
#include "calibration/inputs/study.hpp"
#include "cli/commands/commands.hpp"
#include "cli/documents/throughput.hpp"
#include "cli/options/option_value.hpp"
#include "cli/options/study_options.hpp"
#include "cli/report/fields.hpp"
#include "cli/report/figures.hpp"
#include "core/error.hpp"
#include "core/source_text.hpp"
#include "core/units.hpp"
#include "core/words.hpp"
#include "estimator/memory/verdict.hpp"
#include "estimator/step/estimate.hpp"

namespace ddl {
namespace {

constexpr std::int64_t most_samples = 1'000'000'000;
constexpr int most_gpus = 1 << 20;  // maximum GPUs of a group; a sum of groups does not overflow

struct MixedRequest {
  StudyOptions study;
  std::vector<std::string> groups;
  std::optional<std::int64_t> global_batch, zero_stage;
};

/// A group of --group: `dgx-a100:32`.
struct NamedGroup {
  std::string machine;
  int devices = 0;
};
NamedGroup parse_group(const std::string& text) {
  const std::size_t colon = text.rfind(':');
  NamedGroup group{text.substr(0, colon), 0};
  const std::string_view digits = colon == std::string::npos ? "" : std::string_view(text).substr(colon + 1);
  group.devices = number_in<int>(digits).value_or(0);
  if (group.devices < 1 || group.devices > most_gpus || group.machine.empty())
    throw Error(fmt::format("--group: {} is not MACHINE:GPUS", quote(text)), "use for example --group dgx-a100:32");
  return group;
}

/// Devices of one kind in a data-parallel training. Each of them has the same number of samples.
class DeviceGroup {
 public:
  /// `all`: number of devices of all groups.
  DeviceGroup(std::shared_ptr<const Study> study, int devices, int all, int zero_stage)
      : study_(std::move(study)), estimator_(study_->job()), devices_(devices) {
    plan_.mesh.set(Axis::data, all);
    plan_.zero_stage = zero_stage;
    plan_.precision = study_->precision();
    plan_.optimizer = study_->optimizer();
  }

  [[nodiscard]] const Study& study() const { return *study_; }
  [[nodiscard]] int devices() const { return devices_; }
  /// Returns the estimate of a step in which each device of all groups has this many samples.
  [[nodiscard]] const Estimate& estimate(std::int64_t samples) {
    const auto [entry, is_new] = known_.try_emplace(samples);
    if (is_new) {
      plan_.global_batch = samples * plan_.mesh[Axis::data];
      entry->second = estimator_.estimate_beyond_devices(plan_);
    }
    return entry->second;
  }
  [[nodiscard]] Seconds time(std::int64_t samples) { return samples == 0 ? Seconds{} : estimate(samples).time.step_time(); }
  /// Returns the communication time of gradients and weights, including the time hidden behind compute.
  [[nodiscard]] Seconds exchange() { return estimate(1).time[Part::gradient_exchange] + estimate(1).hidden_exchange; }
  /// Returns the largest number of samples, at most `most`, whose step takes no longer than `limit`.
  [[nodiscard]] std::int64_t samples_within(Seconds limit, std::int64_t most) {
    std::int64_t low = 0, high = most + 1;
    while (high - low > 1) {
      const std::int64_t middle = low + (high - low) / 2;
      (time(middle) <= limit ? low : high) = middle;
    }
    return low;
  }

 private:
  std::shared_ptr<const Study> study_;
  Estimator estimator_;
  int devices_;
  Plan plan_;
  std::map<std::int64_t, Estimate> known_;
};
using DeviceGroups = std::vector<std::unique_ptr<DeviceGroup>>;

std::shared_ptr<const Study> load_study(const MixedRequest& asked, const NamedGroup& group, const Machine* network_of,
                                        const Coefficients* network) {
  StudyOptions options = asked.study;
  options.machine = group.machine;
  const StudySpec spec = spec_of(options);
  StudyInputs inputs = load_inputs(spec);
  if (inputs.machine.devices() < group.devices) {
    throw Error(fmt::format("--group: {} has {}", inputs.machine.name, count_text(inputs.machine.devices(), "GPU")),
                "use fewer GPUs, or a machine with more nodes");
  }
  if (network_of != nullptr) {
    inputs.machine.levels = network_of->levels;
    inputs.machine.shape = network_of->shape;
    inputs.machine.network = network_of->network;
    inputs.coefficients.exchanges = network->exchanges;
    inputs.coefficients.contention = network->contention;
    inputs.coefficients.congestion = network->congestion;
  }
  return std::make_shared<const Study>(spec, std::move(inputs));
}

/// The training, in which all groups exchange over the slowest of their networks.
struct Mixture {
  DeviceGroups groups;
  std::vector<std::int64_t> samples;  ///< samples per device, by group; some devices may have one less
  std::size_t slowest_network = 0;
  int devices = 0;
};

/// Returns the number format of all devices: the usual one of the first group whose format all devices have.
std::string_view shared_precision(const MixedRequest& asked, const std::vector<NamedGroup>& named) {
  std::vector<std::shared_ptr<const Study>> studies;
  for (const NamedGroup& group : named) studies.push_back(load_study(asked, group, nullptr, nullptr));
  for (const auto& each : studies) {
    const auto has_it = [&](const auto& other) { return other->machine().device.peak_at(each->precision()).has_value(); };
    if (std::ranges::all_of(studies, has_it)) return to_string(each->precision());
  }
  return to_string(studies.front()->precision());
}

Mixture load_groups(MixedRequest asked) {
  if (asked.groups.size() < 2) throw Error("a mixture needs two or more --group", "use for example --group dgx-a100:32");
  Mixture mixture;
  std::vector<NamedGroup> named;
  for (const std::string& text : asked.groups) named.push_back(parse_group(text));
  for (const NamedGroup& group : named) mixture.devices += group.devices;
  const int zero = static_cast<int>(asked.zero_stage.value_or(0));
  if (asked.study.precision.empty()) asked.study.precision = shared_precision(asked, named);
  DeviceGroups alone;
  for (const NamedGroup& group : named) {
    std::shared_ptr<const Study> study = load_study(asked, group, nullptr, nullptr);
    asked.study.optimizer = to_string(study->optimizer());
    alone.push_back(std::make_unique<DeviceGroup>(std::move(study), group.devices, mixture.devices, zero));
  }
  for (std::size_t i = 1; i < alone.size(); ++i) {
    if (alone[i]->exchange() > alone[mixture.slowest_network]->exchange()) mixture.slowest_network = i;
  }
  const DeviceGroup& slowest = *alone[mixture.slowest_network];
  const StudyInputs network = load_inputs(slowest.study().spec());
  for (const NamedGroup& group : named) {
    mixture.groups.push_back(std::make_unique<DeviceGroup>(load_study(asked, group, &network.machine, &network.coefficients),
                                                           group.devices, mixture.devices, zero));
  }
  return mixture;
}

/// Distributes the batch, so that the step of the slowest group is as short as possible.
void balance(std::int64_t batch, Mixture& mixture) {
  const auto within = [&](Seconds limit) {
    std::int64_t sum = 0;
    for (const auto& group : mixture.groups)
      sum += group->devices() * group->samples_within(limit, batch / group->devices() + 1);
    return sum;
  };
  std::optional<Seconds> shortest;
  for (const auto& group : mixture.groups) {
    std::int64_t low = 0, high = batch / group->devices() + 1;
    while (high - low > 1) {
      const std::int64_t middle = low + (high - low) / 2;
      (within(group->time(middle)) < batch ? low : high) = middle;
    }
    if (const Seconds time = group->time(high); within(time) >= batch && (!shortest || time < *shortest)) shortest = time;
  }
  std::int64_t sum = 0;
  for (const auto& group : mixture.groups) {
    mixture.samples.push_back(group->samples_within(*shortest, batch / group->devices() + 1));
    sum += mixture.samples.back() * group->devices();
  }
  // The limit may allow more samples than the batch has.
  for (;;) {
    std::optional<std::size_t> longest;
    for (std::size_t i = 0; i < mixture.groups.size(); ++i) {
      if (mixture.samples[i] < 1 || sum - mixture.groups[i]->devices() < batch) continue;
      if (!longest ||
          mixture.groups[i]->time(mixture.samples[i]) > mixture.groups[*longest]->time(mixture.samples[*longest]))
        longest = i;
    }
    if (!longest) return;
    --mixture.samples[*longest];
    sum -= mixture.groups[*longest]->devices();
  }
}

Seconds step_of(Mixture& mixture, const std::vector<std::int64_t>& samples) {
  Seconds longest{};
  for (std::size_t i = 0; i < samples.size(); ++i) longest = std::max(longest, mixture.groups[i]->time(samples[i]));
  return longest;
}

Report predict_mixture(const MixedRequest& asked) {
  Mixture mixture = load_groups(asked);
  const std::int64_t batch = asked.global_batch.value_or(0);
  if (batch < mixture.devices) {
    throw Error(fmt::format("--global-batch {} is less than one sample for each of {} GPUs", batch, mixture.devices),
                "use a larger batch, or fewer GPUs");
  }
  balance(batch, mixture);
  const Seconds step = step_of(mixture, mixture.samples);
  const std::int64_t even = (batch + mixture.devices - 1) / mixture.devices;
  const Seconds evenly = step_of(mixture, std::vector<std::int64_t>(mixture.groups.size(), even));
  const Study& first = mixture.groups.front()->study();
  Report report;
  Json rows = Json::array();
  Table table({essential(words("machine")), essential(figures("GPUs")), essential(figures("samples per GPU")),
               essential(figures("step")), figures("waits"), figures("memory"), essential(words("verdict"))},
              0);
  for (std::size_t i = 0; i < mixture.groups.size(); ++i) {
    DeviceGroup& group = *mixture.groups[i];
    const std::int64_t samples = mixture.samples[i];
    if (samples == 0) {
      throw Error(fmt::format("a step with one sample on each GPU of {} takes longer than the whole batch on the others",
                              group.study().machine().name),
                  "leave this group out, or use a larger batch");
    }
    report.warn(group.study().warnings());
    const Estimate& estimate = group.estimate(samples);
    const Seconds time = group.time(samples);
    if (estimate.verdict == Verdict::does_not_fit) report.status = ExitStatus::nothing_fits;
    const std::string verdict(enum_names<Verdict>[static_cast<std::size_t>(estimate.verdict)]);
    table.add({group.study().machine().name, with_thousands(group.devices()), with_thousands(samples), humanize(time),
               humanize(step - time), humanize(estimate.memory.total()), verdict});
    rows.push_back({{"machine", group.study().machine().name},
                    {"devices", group.devices()},
                    {"samples_per_device", samples},
                    {"iteration_s", time.value()},
                    {"waiting_s", (step - time).value()},
                    {"memory_bytes", estimate.memory.total().value()},
                    {"verdict", verdict}});
  }
  const std::string network = mixture.groups[mixture.slowest_network]->study().machine().name;
  Document& document = report.document;
  document.line(fmt::format("{} on {}, global batch {}, {} with {}, data parallelism", first.model().name,
                            count_text(mixture.devices, "GPU"), with_thousands(batch), to_string(first.precision()),
                            to_string(first.optimizer())));
  document.add(table);
  const double rate = static_cast<double>(batch) / step.value();
  document.line(fmt::format("Step {}, {} samples/s. With {} on every GPU, a step takes {}.", humanize(step), rate_text(rate),
                            count_text(even, "sample"), humanize(evenly)));
  document.line(fmt::format("All groups communicate over the slowest of their networks, that of {}.", network));
  report.rows = [rows] { return rows; };
  report.json = [=, name = first.model().name] {
    Json json = json_head();
    json["model"] = name;
    json["global_batch"] = batch;
    json["iteration_s"] = step.value();
    json["samples_per_s"] = rate;
    json["equal_iteration_s"] = evenly.value();
    json["network"] = network;
    json["groups"] = rows;
    return json;
  };
  return report;
}

}  // namespace

void add_predict_mixed(const Command& predict, Request& request) {
  const Command command = predict.add_subcommand(
      "mixed", "predict data parallelism on several kinds of GPU, with a batch in proportion to their speed");
  const auto asked = std::make_shared<MixedRequest>();
  command.examples({{"ddl-oracle predict mixed resnet50 --group dgx-a100:8 --group dgx-1-v100:8 --global-batch 2048",
                     "8 A100 and 8 V100 in one training"},
                    {"ddl-oracle predict mixed gpt2 --group h100:8 --group a100:8 --global-batch 512 --zero 1",
                     "with sharded optimizer state"},
                    {"ddl-oracle predict mixed vit_b_16 --group h100:8 --group l40s:8 --global-batch 4096 --format csv",
                     "for programs"}});
  offer_models(command.add_option("model", asked->study.model, "bundled model, model file or ONNX file").required());
  command
      .add_option("--group", asked->groups, "a machine and its number of GPUs, such as dgx-a100:32; twice or more",
                  "MACHINE:GPUS")
      .required();
  add_whole_number(command, "--global-batch", asked->global_batch, 1, most_samples, "samples per step over all GPUs")
      .required();
  add_whole_number(command, "--zero", asked->zero_stage, 0, 3, "ZeRO stage, with equal shards on all GPUs; default: 0");
  add_sample_options(command, asked->study.sequence, asked->study.input_shape);
  command.add_option("--precision", asked->study.precision,
                     "number format; default: the first group's, if all GPUs have it");
  command.add_option("--optimizer", asked->study.optimizer, "optimizer; default: as in 'recommend'");
  add_software_option(command, asked->study.software);
  add_report_options(command, request.report, {Content::rows});
  request.on_choice(command, [asked] { return predict_mixture(*asked); });
}

}  // namespace ddl
