#include "cli/manual/option_groups.hpp"

#include <algorithm>
#include <array>

#include "estimator/choices/plan_choice.hpp"

namespace ddl {
namespace {

/// The options that answer most first questions.
constexpr std::array<std::string_view, 20> usual_options{
    "model",     "machine",      "gpus",     "global-batch", "seq",   "precision", "software", "for",    "like",   "plan",
    "objective", "train-tokens", "deadline", "budget",       "price", "top",       "save-dir", "format", "output", "help"};

bool has_name(const OptionDescription& option, std::string_view name) {
  return std::any_of(option.names.begin(), option.names.end(), [&](const std::string& each) {
    return each.size() == name.size() + 2 && each.starts_with("--") && each.ends_with(name);
  });
}

}  // namespace

std::span<const OptionGroup> option_groups() {
  static const std::vector<OptionGroup> groups = [] {
    std::vector<OptionGroup> made{
        {"Training",
         {"model", "seq", "packed-length", "dataset", "input-shape", "precision", "mixed-precision", "optimizer",
          "optimizer-implementation", "memory-format", "lora", "base", "master-weights", "moments"}},
        {"Hardware",
         {"machine", "gpus", "gpu-memory", "margin", "coefficients", "profile", "any-device", "software", "older-framework",
          "setting"}},
        {"Size and money",
         {"global-batch", "batch-per-gpu", "train-tokens", "epochs", "to-accuracy", "samples-to-target", "budget",
          "deadline", "price"}},
        {"Failures and power",
         {"mtbf", "restart", "checkpoint-every", "checkpoint-time", "checkpoint-bandwidth", "checkpoint-writing",
          "spare-nodes", "repair", "pue", "carbon"}},
        {"Search",
         {"for", "objective", "strategies", "per-layer", "top", "all", "risk", "allow-risk", "time-limit", "like", "set"}},
        {"Fix the plan", {"plan", "strategy", "degrees", "layers", "micro-batches", "placement"}},
        {"What if",
         {"what-if",
          "straggler",
          "congestion",
          "expert-imbalance",
          "routing",
          "capacity-factor",
          "padded-experts",
          "no-overlap",
          "input",
          "input-exposed",
          "no-input",
          "ideal",
          "allreduce",
          "parameter-servers",
          "sparse-density",
          "idle-communicators",
          "sparse-gradients",
          "local-steps",
          "compress",
          "compress-density",
          "compress-rank",
          "synchronization",
          "staleness",
          "neighbors",
          "staging",
          "exchanged-samples",
          "precondition-every"}},
        {"Output",
         {"why-not", "against", "memory", "stage", "memory-timeline", "out-of-core", "save-dir", "overwrite", "save-job",
          "missing", "format", "output", "color", "wide", "ascii", "quiet", "help", "help-all"}},
    };
    const auto fixes =
        std::find_if(made.begin(), made.end(), [](const OptionGroup& each) { return each.heading == "Fix the plan"; });
    for (const PlanChoiceRow& row : plan_choices()) fixes->options.push_back(row.option);
    return made;
  }();
  return groups;
}

std::string_view heading_of(const OptionDescription& option) {
  for (const OptionGroup& group : option_groups()) {
    const bool has = std::any_of(group.options.begin(), group.options.end(),
                                 [&](std::string_view name) { return has_name(option, name); });
    if (has) return group.heading;
  }
  return {};
}

bool is_usual(const OptionDescription& option) {
  return std::any_of(usual_options.begin(), usual_options.end(),
                     [&](std::string_view name) { return has_name(option, name); });
}

}  // namespace ddl
