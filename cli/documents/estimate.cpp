#include "cli/documents/estimate.hpp"

#include <algorithm>
#include <limits>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "calibration/inputs/own_coefficients.hpp"
#include "calibration/network/fits/exchange_prediction.hpp"
#include "cli/documents/convergence.hpp"
#include "cli/documents/intervals.hpp"
#include "cli/documents/memory.hpp"
#include "cli/documents/throughput.hpp"
#include "cli/options/plan_file.hpp"
#include "cli/report/fields.hpp"
#include "cli/report/figures.hpp"
#include "cli/sentences/sentences.hpp"
#include "core/statistics.hpp"
#include "core/units.hpp"
#include "estimator/explain/kernel_time_shares.hpp"
#include "estimator/kernels/kernel_model.hpp"
#include "estimator/kernels/shard_times.hpp"
#include "profiler/backends/backend_options.hpp"

namespace ddl {
namespace {

Json overhead_to_json(const ShardTimes& measured) {
  Json json;
  const auto add = [&](std::string_view name, const StepOverhead& overhead) {
    json[std::string(name)] = {{"per_kernel_s", overhead.per_kernel.value()}, {"factor", overhead.factor}};
  };
  add("forward", measured.overhead(Phase::forward));
  add("backward", measured.overhead(Phase::backward));
  add("update", measured.update_overhead());
  json["from"] = or_null(measured.steps());
  json["fresh_memory_s_per_byte"] = measured.fresh_memory().value();
  return json;
}

/// Large language models are trained at an MFU of 38 to 56 %: Llama 3 405B at 38 to 43 % [Dubey et al., "The Llama 3 herd of
/// models", 2024], PaLM at 46 % [Chow22], Megatron-LM at 56 % [Kort22]. Readers doubt an MFU well above these.
constexpr double unusual_share = 0.65;

/// Returns the rate of a large matrix product as a share of the peak.
double product_share(const Job& job, Precision precision, FlopRate peak) {
  // Arithmetic limits a square product of this dimension: in 16 bits, it has 2,731 FLOPs per byte; an H100 needs 295 for its
  // peak.
  constexpr double side = 8192;
  const Work product{.flops = 2 * side * side * side,
                     .activation_items = 2 * side * side,
                     .weight_items = side * side,
                     .m = side,
                     .n = side,
                     .k = side};
  return product.flops / (job.kernels.kernel_time(product, Pass::forward, 1, precision).value() * peak.value());
}

/// Explains a large MFU.
std::string high_share_text(double mfu, const SampleFlops& flops, Precision precision, const Study& study) {
  // A smaller share of the FLOPs changes the MFU by less than the usual error of a prediction.
  constexpr double worth_saying = 0.05;
  const Device& device = study.machine().device;
  const double fast = device_peaks(device, precision).has_fast_convolutions ? flops.square3 / flops.model() : 0;
  const double masked = flops.masked / flops.model();
  std::vector<std::string> reasons;
  if (const auto peak = device.peak_at(precision); peak && study.kernels().measured() == nullptr) {
    const double reached = product_share(study.job(), precision, *peak);
    // Winograd's algorithm leaves at least a quarter of the multiplications. At the rate of a large product, the FLOPs that
    // are certainly executed take this share of the step.
    if (const double least = mfu * (1 - masked - fast * 3 / 4) / reached; least > 0.5)
      reasons.push_back(fmt::format("most of the step is matrix products{}, and large ones reach {} of this peak",
                                    has_layout(study.model()) ? " and convolutions" : "", share_text(reached)));
  }
  if (fast >= worth_saying)
    reasons.push_back(
        fmt::format("Winograd's algorithm multiplies up to 4 times less than counted in 3x3 convolutions ({} of "
                    "the FLOPs)",
                    share_text(fast)));
  if (masked >= worth_saying)
    reasons.push_back(fmt::format("{} of the counted FLOPs are for masked query-key pairs of attention, which kernels skip",
                                  share_text(masked)));
  return reasons.empty() ? std::string() : fmt::format("why the MFU is high: {}", fmt::join(reasons, "; "));
}

}  // namespace

std::string reasons_text(const Estimate& estimate, const Model& model) {
  return estimate.limits.empty() ? std::string("no plan with this parallelism is possible")
                                 : describe(estimate.limits, model);
}

void add_throughput(Document& document, const Estimate& estimate, const Study& study, std::string_view of) {
  const SampleFlops flops = sample_flops(study.job());
  const auto throughput = throughput_of(study.job(), flops, estimate);
  if (!throughput) return;
  document.line(fmt::format("{}: {}", of, throughput_text(*throughput, estimate.plan, study.machine().device)), 2);
  if (const double mfu = throughput->model_share.value_or(0); mfu >= unusual_share) {
    const std::string why = high_share_text(mfu, flops, estimate.plan.precision, study);
    if (!why.empty()) document.line(why, 2);
  }
}

std::string kernel_times_text(const Study& study) {
  const ShardTimes* measured = study.kernels().measured();
  if (measured == nullptr) return std::string(to_string(study.kernels().origin()));
  std::string text = "profile of " + measured->name();
  // The memory format of images is printed, because a training script with another memory format uses other kernels.
  if (!has_layout(study.model())) return text;
  if (measured->layout() == to_string(ImageLayout::channels_last)) text += ", images channels-last (torch.channels_last)";
  if (measured->layout() == to_string(ImageLayout::channels_first)) text += ", images channels-first (PyTorch's default)";
  if (measured->layout() == "both") text += ", images channels-last and channels-first";
  return text;
}

std::string network_text(const Coefficients& coefficients, const Machine& machine) {
  const MeasuredExchanges& measured = coefficients.exchanges;
  if (measured.empty()) return {};
  struct {
    std::set<std::string> tools;
    std::string date;
    int least_nodes = std::numeric_limits<int>::max(), most_nodes = 0;
    Bytes least_message = Bytes(std::numeric_limits<double>::max()), most_message{};
  } facts;
  for (const MeasuredCurve& curve : measured.curves()) {
    if (!curve.tool.empty()) facts.tools.insert(curve.tool);
    facts.date = std::max(facts.date, curve.date);
    facts.least_nodes = std::min(facts.least_nodes, curve.nodes);
    facts.most_nodes = std::max(facts.most_nodes, curve.nodes);
    facts.least_message = min(facts.least_message, curve.points.front().message);
    facts.most_message = max(facts.most_message, curve.points.back().message);
  }
  std::string text = fmt::format("measured{}{}, {}, {} to {}", facts.date.empty() ? "" : " " + facts.date,
                                 facts.tools.empty() ? "" : fmt::format(", {}", fmt::join(facts.tools, ", ")),
                                 facts.least_nodes == facts.most_nodes
                                     ? fmt::format("{} node{}", facts.most_nodes, facts.most_nodes == 1 ? "" : "s")
                                     : fmt::format("{} to {} nodes", facts.least_nodes, facts.most_nodes),
                                 humanize(facts.least_message), humanize(facts.most_message));
  if (const auto error = measured.left_out_error()) {
    text += fmt::format(", median error {:.0f} % on GPU counts not used in the fit", 100 * *error);
  }
  const bool leaves_nodes = machine.levels.size() > 1;
  if (const std::string prescribed = prescribed_exchanges(coefficients.software, machine, leaves_nodes); !prescribed.empty())
    text += fmt::format("; not used for gradients, which this software reduces {}", prescribed);
  return text;
}

std::string kernel_shares_text(const Explanation& explanation) {
  const auto shares = kernel_time_shares(explanation);
  std::string text;
  for (const Provenance source : enum_values<Provenance>) {
    const double share = shares[static_cast<std::size_t>(source)];
    if (share <= 0) continue;
    const std::string percent = share < 0.005 ? "under 1" : fmt::format("{:.0f}", share * 100);
    text += fmt::format("{}{} % {}", text.empty() ? "" : ", ", percent, to_string(source));
  }
  return text;
}

Json kernel_shares_to_json(const Explanation& explanation) {
  const auto shares = kernel_time_shares(explanation);
  Json json;
  for (const Provenance source : enum_values<Provenance>)
    json[std::string(to_string(source))] = shares[static_cast<std::size_t>(source)];
  return json;
}

std::string between_nodes_text(const Machine& machine, const MeasuredExchanges& measured) {
  const auto& curves = measured.curves();
  const bool any = std::ranges::any_of(curves, [](const MeasuredCurve& curve) { return curve.nodes > 1; });
  if (any || machine.levels.size() < 2 || !machine.levels[1].library) return {};
  const LibraryConstants& constants = *machine.levels[1].library;
  return fmt::format("datasheet, at the efficiency of {} published clusters ({})", constants.clusters, constants.fabric);
}

void add_findings(Document& document, const Estimate& estimate, const Study& study) {
  document.section("Why", fmt::format(" ({})", family_name(estimate.plan.mesh.family())));
  for (const Finding& finding : findings_of(study.job(), estimate)) document.paragraph(describe(finding, study.model()));
  constexpr double worth_saying = 0.05;
  const Seconds hidden = estimate.hidden_exchange, all = estimate.time.step_time();
  if (hidden > all * worth_saying) {
    const bool copies = estimate.plan.offload == Offload::weights, is_alone = estimate.plan.mesh.replicas() == 1;
    const char* const what = !copies    ? "gradient communication"
                             : is_alone ? "copies of weights from the host"
                                        : "gradient communication and copies of weights from the host";
    document.paragraph(fmt::format("{} of {} ({:.0f} % of the step) {} hidden behind {}", humanize(hidden), what,
                                   hidden / all * 100, copies ? "are" : "is", copies ? "compute" : "backward"));
  }
}

void add_defaults(Document& document, const std::vector<Default>& defaults) {
  if (defaults.empty()) return;
  Table table({essential(words("option")), essential(words("value")), prose("why")});
  for (const Default& each : defaults) table.add({each.option, each.value, each.reason});
  document.folded_section("Defaults in force");
  document.add(std::move(table));
}

Json inputs_to_json(const Study& study, const Training& training) {
  Json json;
  json["model"] = study.model().name;
  json["parameters"] = study.model().parameters();
  json["dataset"] = study.dataset().name;
  json["samples_per_epoch"] = study.job().samples_per_epoch;
  json["train_tokens"] = or_null(training.tokens);
  if (training.epochs) json["train_epochs"] = *training.epochs;
  if (training.convergence) json["convergence"] = convergence_to_json(*training.convergence);
  json["machine"] = study.machine().name;
  json["price_per_gpu_hour"] = or_null(study.machine().price_per_gpu_hour);
  json["currency"] = study.machine().price_per_gpu_hour ? Json(study.machine().currency) : Json(nullptr);
  json["rents_nodes"] = study.machine().price_per_gpu_hour ? Json(study.machine().rents_nodes) : Json(nullptr);
  json["device_memory_bytes"] = study.device_memory().value();
  json["margin_bytes"] = study.margin().value();
  json["coefficients"] = or_null(study.coefficients().name);
  json["software"] = or_null(study.coefficients().software.name);
  json["kernel_times"] = kernel_times_text(study);
  const std::string network = network_text(study.coefficients(), study.machine());
  json["network"] = or_null(network);
  const std::string between_nodes = between_nodes_text(study.machine(), study.coefficients().exchanges);
  json["between_nodes"] = or_null(between_nodes);
  if (const ShardTimes* const measured = study.kernels().measured()) {
    json["profiles"] = Json::array();
    for (const FoundProfile& each : study.profiles().profiles) json["profiles"].push_back(each.path);
    json["beside_kernels"] = overhead_to_json(*measured);
  }
  json["precision"] = to_string(study.precision());
  json["mixed_precision"] = is_mixed(study.precision()) ? Json(mixed_precision_text(study)) : Json(nullptr);
  if (has_layout(study.model())) json["memory_format"] = memory_format_names[study.assumptions().memory_format];
  json["optimizer"] = to_string(study.optimizer());
  json["idle_communicators"] = study.assumptions().idle_communicators;
  json["older_framework"] = study.assumptions().older_framework;
  return json;
}

Json defaults_to_json(const std::vector<Default>& defaults) {
  Json json = Json::object();
  for (const Default& each : defaults) json[each.option] = each.value;
  return json;
}

}  // namespace ddl
