#include "cli/documents/headline.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "calibration/inputs/machine_reader.hpp"
#include "calibration/inputs/own_coefficients.hpp"
#include "calibration/runs/time_errors_file.hpp"
#include "cli/documents/energy.hpp"
#include "cli/documents/estimate.hpp"
#include "cli/documents/evidence.hpp"
#include "cli/documents/goodput.hpp"
#include "cli/documents/intervals.hpp"
#include "cli/documents/throughput.hpp"
#include "cli/options/layer_layouts.hpp"
#include "cli/options/plan_file.hpp"
#include "cli/report/figures.hpp"
#include "core/statistics.hpp"
#include "core/units.hpp"
#include "estimator/exchanges/synchronization.hpp"
#include "estimator/explain/staging.hpp"
#include "estimator/kernels/fresh_memory.hpp"
#include "estimator/kernels/shard_times.hpp"
#include "estimator/step/input.hpp"

namespace ddl {
namespace {

constexpr std::size_t label_width = 12, memory_signs = 20;

/// Adds the measured time of a step outside of kernels.
void add_overhead(Document& document, const Study& study) {
  const ShardTimes* const measured = study.kernels().measured();
  if (measured == nullptr) return;
  const auto part = [](const StepOverhead& overhead) {
    return overhead.factor < 1 ? fmt::format("{:.1f} % less", 100 * (1 - overhead.factor))
                               : fmt::format("{} per kernel", humanize(overhead.per_kernel));
  };
  if (!measured->steps().empty()) {
    document.line(
        fmt::format("outside kernels: forward {}, backward {}, update {}, from {}", part(measured->overhead(Phase::forward)),
                    part(measured->overhead(Phase::backward)), part(measured->update_overhead()), measured->steps()),
        2);
  }
  if (const SecondsPerByte touch = measured->fresh_memory(); touch.value() > 0) {
    document.line(fmt::format("first touch of fresh memory: {} per MiB, in tensors of {} and more", humanize(touch * 1_MiB),
                              humanize(mapping_threshold)),
                  2);
  }
}

/// Says how evenly tokens are spread over experts.
std::string routing_text(const Assumptions& assumptions) {
  std::string text = "balanced routing is assumed; the interval includes natural routing";
  if (assumptions.expert_imbalance) {
    text = fmt::format("the busiest rank has {:.4g} times as many tokens as the mean", *assumptions.expert_imbalance);
  } else if (assumptions.routing) {
    constexpr EnumNames<Routing> routings{"balanced routing", "natural routing with an auxiliary loss",
                                          "natural routing with a bias for each expert",
                                          "balanced routing to consecutive experts"};
    text = routings[*assumptions.routing];
  }
  if (!assumptions.capacity_factor) return text;
  return text + fmt::format(", {} {:.4g} times the mean", assumptions.padded_experts ? "padded to" : "at most",
                            *assumptions.capacity_factor);
}

std::string speed_text(const Estimate& estimate, const Study& study) {
  const Seconds step = estimate.time.step_time();
  const bool at_roofline = study.kernels().origin() == KernelBasis::roofline;
  std::string text = fmt::format("{} per step{}{}", humanize(step), interval_behind(step, estimate.interval),
                                 at_roofline ? " with kernels at the roofline" : "");
  if (reads_in_no_time(study.job(), estimate.plan)) text += " without reading samples";
  const auto throughput = throughput_of(study.job(), sample_flops(study.job()), estimate);
  if (!throughput) return text;
  text += ", " + device_rate_text(*throughput, estimate.plan, study.machine().device);
  if (throughput->model_share) text += ", MFU " + share_text(*throughput->model_share);
  return text;
}

std::string memory_card(const Estimate& estimate, const Study& study) {
  const MemoryBreakdown& memory = estimate.memory;
  std::string text = fmt::format("{} of {}", humanize(memory.total()), humanize(study.device_memory()));
  if (study.margin() > Bytes{}) text += fmt::format(" less {}", humanize(study.margin()));
  text += fmt::format("  {}  {}", memory_gauge(memory.total(), memory.upper_bound(), study.device_memory()),
                      to_string(estimate.verdict));
  const bool offloads = estimate.plan.offload != Offload::none || estimate.plan.offload_activations;
  if (estimate.verdict == Verdict::fits && offloads) text += " with offloading";
  if (memory.upper_bound() > memory.total()) text += fmt::format(", at most {}", humanize(memory.upper_bound()));
  return text;
}

std::string cost_card(const Estimate& estimate, const Study& study, const Training& training) {
  const std::string time = humanize(time_of(estimate, study, training)),
                    purpose = purpose_of(training) + (training.epochs ? " of " + study.dataset().name : "");
  constexpr double least_share = 1e-6;  // below, failures undo almost every step
  if (const auto goodput = goodput_of(estimate, study, training); goodput && goodput->share < least_share)
    return "at this failure rate, the training does not end";
  const std::optional<double> cost = cost_of(estimate, study, training);
  const Machine& machine = study.machine();
  if (!cost) return fmt::format("{} {}; {}", time, purpose, missing_price_text(machine));
  const double rented = rented_devices(estimate.plan, machine);
  const bool is_part = rented > static_cast<double>(estimate.plan.mesh.devices());
  return fmt::format(
      "{} {} and {} {}, at {}{}", amount(*cost), machine.currency, time, purpose, price_text(study),
      is_part ? fmt::format(", for whole nodes of {}", count_text(machine.devices_per_node(), device_noun(machine.device)))
              : std::string());
}

/// Returns the citation of the price in the machine file; empty if the study uses another price, or none.
std::optional<std::string> price_citation(const Study& study) {
  const Machine& machine = study.machine();
  if (!machine.price_per_gpu_hour) return std::nullopt;
  const SourcedMachine sourced = load_sourced_machine(study.spec().machine);
  const bool is_own = sourced.machine.price_per_gpu_hour == machine.price_per_gpu_hour &&
                      sourced.machine.currency == machine.currency && sourced.machine.rents_nodes == machine.rents_nodes;
  if (!is_own) return std::nullopt;
  const auto is_price = [](const SourcedNumber& number) { return number.key == "price"; };
  const auto number = std::ranges::find_if(sourced.numbers, is_price);
  return number == sourced.numbers.end() ? std::nullopt : std::optional(number->source);
}

std::string evaluation_text(const Estimate& estimate, const Study& study, const Training& training) {
  const Seconds time = evaluation_time(estimate, study, training);
  const auto count = [](double samples, std::string_view what) { return count_text(std::llround(samples), what); };
  if (time <= Seconds{} && estimate.time.step_time() > Seconds{})
    return fmt::format("none: the training has fewer than {}", count(training.evaluation->every, "training sample"));
  return fmt::format("{} ({:.3g} % of the training): forward passes of {} after each {}", humanize(time),
                     100 * (time / stepping_time(estimate, study, training)), count(training.evaluation->samples, "sample"),
                     count(training.evaluation->every, "training sample"));
}

std::string staging_text(const StagedData& staged) {
  const std::string bytes = humanize(staged.per_node);
  if (!staged.fits)
    return fmt::format("none: a node cannot hold {}, so samples are read from the shared file system", bytes);
  if (staged.time) return fmt::format("{} once, {} on each node", humanize(*staged.time), bytes);
  return fmt::format("{} on each node; the bandwidth of the shared file system is unknown, so the copy counts as zero",
                     bytes);
}

/// Names the width of an interval: `good` if its upper end is at most a quarter above the prediction, `fair` up to a half.
/// Without measured runs of the class of models on devices of the maker, `low`, because the width comes from other makers.
/// If all such runs have another precision, at most `fair`.
std::string_view grade_of(const TimeInterval& interval, const std::vector<AlikeRuns>& alike) {
  constexpr double good = 1.25, fair = 1.5;
  if (alike.empty()) return "low";
  if (interval.high <= good && !alike.front().other_precision) return "good";
  return interval.high <= fair ? "fair" : "low";
}

std::string confidence_text(const Estimate& estimate, const Study& study) {
  const Confidence confidence = confidence_of(estimate, study);
  if (confidence.grade.empty()) return confidence.sources;
  return fmt::format("{}, {}; {}", confidence.grade, confidence.interval, confidence.in_short);
}

}  // namespace

Confidence confidence_of(const Estimate& estimate, const Study& study) {
  Confidence confidence;
  if (estimate.interval) {
    const auto percent = [](double factor) { return std::lround((factor - 1) * 100); };
    const std::vector<AlikeRuns> alike = alike_runs(study, estimate, bundled_time_errors_file().evidence);
    confidence.grade = grade_of(*estimate.interval, alike);
    confidence.interval = fmt::format("{:+d} % to {:+d} % ({})", percent(estimate.interval->low),
                                      percent(estimate.interval->high), interval_name());
    const bool is_fitted = estimate.sensitivity && estimate.sensitivity->learned.has_value();
    confidence.evidence = evidence_text(alike, is_fitted);
    confidence.in_short = evidence_text(alike, is_fitted, Detail::in_short);
  }
  confidence.sources = "kernel times: " + kernel_times_text(study);
  const std::int64_t gpus = estimate.plan.mesh.devices();
  if (gpus == 1 || study.spec().assumptions.linear_kernels) return confidence;
  const MeasuredExchanges& measured = study.coefficients().exchanges;
  const auto& curves = measured.curves();
  const bool leaves_node = gpus > study.machine().devices_per_node();
  const bool between = std::ranges::any_of(curves, [](const MeasuredCurve& each) { return each.nodes > 1; });
  confidence.sources += measured.empty()          ? "; network: datasheet"
                        : leaves_node && !between ? "; network: measured in a node"
                                                  : "; network: measured";
  return confidence;
}

void add_card(Document& document, std::string_view label, std::string text) {
  const std::string padded = std::string(label) + std::string(label_width - label.size(), ' ');
  document.add(Line{{{padded, true}, {std::move(text)}}, 0, label_width});
}

void add_card(Document& document, const Card& card) {
  const bool repeats = !card.details.empty() && card.details.front().starts_with(card.figure);
  std::string text = repeats ? "" : card.figure;
  for (const std::string& each : card.details) text += (text.empty() ? "" : "; ") + each;
  add_card(document, card.label, std::move(text));
}

std::string year_in(std::string_view citation) {
  const auto is_digit = [&](std::size_t at) { return at < citation.size() && citation[at] >= '0' && citation[at] <= '9'; };
  std::string year;
  for (std::size_t at = 0; at + 4 <= citation.size(); ++at) {
    const std::string_view word = citation.substr(at, 4);
    if (!word.starts_with("20") || !is_digit(at + 2) || !is_digit(at + 3) || is_digit(at + 4)) continue;
    const bool is_inside = at > 0 && (is_digit(at - 1) || citation[at - 1] == '.' || citation[at - 1] == ',');
    if (!is_inside) year = word;
  }
  return year;
}

std::string price_year(const Study& study) {
  const std::optional<std::string> citation = price_citation(study);
  return citation ? year_in(*citation) : std::string();
}

bool has_own_price(const Study& study) { return study.machine().price_per_gpu_hour && !price_citation(study); }

std::string price_text(const Study& study) {
  const Machine& machine = study.machine();
  if (!machine.price_per_gpu_hour) return {};
  const std::string text =
      fmt::format("{} {} per {} hour", amount(*machine.price_per_gpu_hour), machine.currency, device_noun(machine.device));
  const std::optional<std::string> citation = price_citation(study);
  if (!citation) return text + " (--price)";
  const std::string year = year_in(*citation);
  return text + (year.empty() ? "" : fmt::format(" (list price of {})", year));
}

std::string missing_price_text(const Machine& machine) {
  return fmt::format("{} has no price: add --price 2.5USD/h", machine.name);
}

std::string memory_gauge(Bytes expected, Bytes at_most, Bytes device_memory) {
  if (!(device_memory > Bytes{})) return {};
  const auto signs_of = [&](Bytes bytes) {
    const double share = std::clamp(bytes / device_memory, 0.0, 1.0);
    return static_cast<std::size_t>(std::lround(share * static_cast<double>(memory_signs)));
  };
  std::size_t used = signs_of(expected), bound = std::max(used, signs_of(at_most));
  if (expected > Bytes{}) used = std::max<std::size_t>(used, 1);
  // The bar shows free memory for a plan that fits, and none for a plan that may not fit.
  if (at_most < device_memory) bound = std::min(bound, memory_signs - 1);
  if (expected < device_memory) used = std::min(used, memory_signs - 1);
  bound = std::max(bound, used);
  std::string bar;
  for (std::size_t i = 0; i < memory_signs; ++i) bar += i < used ? "▇" : i < bound ? "▒" : "░";
  return bar;
}

void add_question(Document& document, const Study& study, std::int64_t gpus, std::int64_t global_batch) {
  const std::string data = study.spec().dataset.empty() ? "" : ", data set " + study.dataset().name;
  const std::int64_t tokens = study.model().sequence_length > 0 ? study.model().input.positions() : 0;
  document.line(
      study.model().name,
      fmt::format(" on {} of {}, global batch {}{}{}, {} with {}{}", count_text(gpus, device_noun(study.machine().device)),
                  study.machine().name, with_thousands(global_batch),
                  tokens > 0 ? fmt::format(" ({} tokens)", with_thousands(global_batch * tokens)) : "", data,
                  to_string(study.precision()), to_string(study.optimizer()),
                  study.spec().assumptions.linear_kernels ? ", ideal" : ""));
}

void add_headline(Document& document, const Estimate& estimate, const Study& study, const Training& training,
                  const std::string& aside) {
  const std::string words = plan_words(estimate.plan);
  add_card(document, "Plan", plan_word(estimate.plan) + (words.empty() ? "" : ": " + words) + aside);
  if (const std::string layers = has_layouts(estimate.plan) ? layouts_text(estimate.plan, study.job().facts) : "";
      !layers.empty())
    add_card(document, "Layers", layers);
  if (!estimate.feasible()) {
    const bool memory_alone =
        std::ranges::all_of(estimate.limits, [](const Limit& limit) { return limit.kind == Limit::Kind::memory; });
    document.add(
        Line{{{memory_alone ? "Does not fit" : "Not possible", true}, {": " + reasons_text(estimate, study.model())}},
             0,
             label_width});
    return;
  }
  add_card(document, "Speed", speed_text(estimate, study));
  add_card(document, "Memory", memory_card(estimate, study));
  add_card(document, "Cost", cost_card(estimate, study, training));
  if (training.evaluation) add_card(document, "Evaluation", evaluation_text(estimate, study, training));
  if (const auto goodput = goodput_of(estimate, study, training)) add_card(document, "Goodput", goodput_text(*goodput));
  if (const auto staged = staged_data(study.job(), estimate.plan)) add_card(document, "Staging", staging_text(*staged));
  if (wants_energy(study) || estimate.power) add_card(document, "Energy", energy_text(estimate, study, training));
  add_card(document, "Confidence", confidence_text(estimate, study));
}

void add_sources(Document& document, const Study& study, std::int64_t gpus, const Estimate* estimate) {
  document.folded_section("Sources");
  const std::string evidence = estimate != nullptr ? confidence_of(*estimate, study).evidence : std::string();
  if (!evidence.empty()) document.line("interval: " + evidence, 2);
  document.line("kernel times: " + kernel_times_text(study), 2);
  add_overhead(document, study);
  const std::string network = network_text(study.coefficients(), study.machine());
  if (!network.empty() && gpus > 1 && !study.spec().assumptions.ring_only) document.line("network: " + network, 2);
  if (gpus > study.machine().devices_per_node() && !study.spec().assumptions.ring_only) {
    if (const std::string text = between_nodes_text(study.machine(), study.coefficients().exchanges); !text.empty())
      document.line("between nodes: " + text, 2);
  }
  if (study.job().facts.experts > 1) document.line("experts: " + routing_text(study.assumptions()), 2);
  if (const double straggler = study.assumptions().straggler; straggler > 1) {
    document.line(
        fmt::format("straggler: kernels of the slowest device take {:.4g} times as long, and {}", straggler,
                    is_lone(study.assumptions().synchronization) ? "only its worker waits" : "the other devices wait"),
        2);
  }
  if (const Assumptions& assumptions = study.assumptions(); assumptions.synchronization != Synchronization::sync) {
    document.line(fmt::format("synchronization: {}{}; a step is one batch of each worker; convergence is not predicted",
                              synchronization_names[assumptions.synchronization],
                              assumptions.synchronization == Synchronization::stale
                                  ? fmt::format(", at most {} ahead",
                                                count_text(static_cast<std::int64_t>(assumptions.staleness), "step"))
                                  : ""),
                  2);
  }
  if (const double steps = study.assumptions().local_steps; steps > 1) {
    const double parts = study.assumptions().local_fragments;
    document.line(fmt::format("local steps: all ranks exchange weights every {:.0f} steps{}; convergence is not predicted",
                              steps, parts > 1 ? fmt::format(", in {:.0f} parts", parts) : ""),
                  2);
  }
  if (const Compression compression = study.assumptions().compression; compression != Compression::none) {
    document.line(fmt::format("gradients: compressed, {}; convergence is not predicted", compression_names[compression]), 2);
  }
  if (const auto quantile = study.assumptions().congestion_quantile) {
    document.line(fmt::format("congestion: {:.4g}th percentile of communication time", 100 * normal_share(*quantile)), 2);
  }
  if (const std::optional<std::string> citation = price_citation(study)) document.line("price: " + *citation, 2);
  if (!study.spec().coefficients.empty()) return;
  if (const std::optional<OwnCoefficients> own = own_coefficients(study.spec().machine))
    document.line(fmt::format("coefficients: {}, {}", own->path, place_of(*own)), 2);
}

}  // namespace ddl
