#include "cli/manual/option_groups.hpp"

#include <algorithm>
#include <array>

#include "estimator/choices/plan_choice.hpp"

namespace ddl {
namespace {

/// The options that answer most first questions.
constexpr std::array<std::string_view, 21> usual_options{
    "model",    "machine", "gpus",     "global-batch", "seq",    "precision", "optimizer",
    "lora",     "base",    "software", "for",          "like",   "objective", "train-tokens",
    "deadline", "price",   "top",      "save-dir",     "format", "output",    "help"};

bool has_name(const OptionDescription& option, std::string_view name) {
  return std::ranges::any_of(option.names, [&](const std::string& each) {
    return each.size() == name.size() + 2 && each.starts_with("--") && each.ends_with(name);
  });
}

}  // namespace

std::span<const OptionGroup> option_groups() {
  static const std::vector<OptionGroup> groups = [] {
    std::vector<OptionGroup> made{
        {"Training",
         {"model",
          "seq",
          "packed-length",
          "dataset",
          "input-shape",
          "precision",
          "mixed-precision",
          "master-weights",
          "moments",
          "optimizer",
          "optimizer-implementation",
          "precondition-every",
          "projection-rank",
          "updates-in-backward",
          "mlp-tiles",
          "lora",
          "adapter",
          "base",
          "other-models",
          "memory-format"}},
        {"Batch, length and cost",
         {"global-batch", "batch-per-gpu", "train-tokens", "epochs", "to-accuracy", "samples-to-target", "evaluate",
          "deadline", "budget", "price"}},
        {"Hardware and software",
         {"machine", "gpus", "gpu-memory", "margin", "coefficients", "profile", "any-device", "software", "setting",
          "older-framework"}},
        {"Search",
         {"strategy", "for", "objective", "per-layer", "top", "all", "risk", "allow-risk", "time-limit", "like", "set"}},
        {"Choices of the plan", {"plan", "row", "degrees", "layers", "micro-batches", "placement"}},
        {"Communication",
         {"no-overlap", "congestion", "allreduce", "parameter-servers", "sparse-density", "sparse-gradients", "compress",
          "compress-density", "compress-rank", "local-steps", "local-fragments", "local-overlap", "synchronization",
          "staleness", "neighbors", "idle-communicators"}},
        {"Experts", {"routing", "expert-imbalance", "capacity-factor", "padded-experts"}},
        {"Reading samples",
         {"input", "input-exposed", "no-input", "image-loader", "loader-workers", "staging", "exchanged-samples"}},
        {"Failures and power",
         {"mtbf", "restart", "checkpoint-every", "checkpoint-time", "checkpoint-bandwidth", "checkpoint-writing",
          "spare-nodes", "repair", "power-limit", "pue", "carbon"}},
        {"What if", {"what-if", "straggler", "ideal"}},
        {"Details and comparisons",
         {"why-not", "against", "measured", "memory", "stage", "memory-timeline", "out-of-core", "missing"}},
        {"Output",
         {"save-dir", "overwrite", "save-job", "format", "output", "wide", "color", "ascii", "quiet", "help", "help-all"}},
    };
    const auto fixes =
        std::ranges::find_if(made, [](const OptionGroup& each) { return each.heading == "Choices of the plan"; });
    for (const PlanChoiceRow& row : plan_choices()) fixes->options.push_back(row.option);
    return made;
  }();
  return groups;
}

std::string_view heading_of(const OptionDescription& option) {
  for (const OptionGroup& group : option_groups()) {
    const bool has = std::ranges::any_of(group.options, [&](std::string_view name) { return has_name(option, name); });
    if (has) return group.heading;
  }
  return {};
}

std::vector<const OptionDescription*> options_of(const OptionGroup& group, const CommandDescription& command) {
  std::vector<const OptionDescription*> options;
  for (const std::string_view name : group.options) {
    for (const OptionDescription& each : command.options) {
      if (has_name(each, name)) options.push_back(&each);
    }
  }
  return options;
}

bool is_usual(const OptionDescription& option) {
  return std::ranges::any_of(usual_options, [&](std::string_view name) { return has_name(option, name); });
}

}  // namespace ddl
