#include "cli/options/framework_options.hpp"

#include <algorithm>
#include <array>
#include <optional>

#include <fmt/format.h>

#include "estimator/plan/axis.hpp"

namespace ddl {
namespace {

/// An option of torchrun, Slurm, Megatron-LM, torchtitan or transformers, and this program's replacement. Some options of
/// frameworks resemble an option of this program that has another meaning.
struct FrameworkOption {
  std::string_view name, option, hint;
};
constexpr std::string_view sequence = "write --seq, the tokens per sample";
constexpr std::string_view micro_batch =
    "--micro-batches is the number of micro-batches: the batch per GPU divided by the samples of a micro-batch";
constexpr std::array<FrameworkOption, 14> framework_options{{
    {"--nodes", "--gpus", "write --gpus, the total over all nodes"},
    {"--nnodes", "--gpus", "write --gpus, the total over all nodes"},
    {"--num-nodes", "--gpus", "write --gpus, the total over all nodes"},
    {"--world-size", "--gpus", "write --gpus"},
    {"--tokens", "--seq", sequence},
    {"--context", "--seq", sequence},
    {"--context-length", "--seq", sequence},
    {"--max-seq-len", "--seq", sequence},
    {"--block-size", "--seq", sequence},
    {"--micro-batch", "--micro-batches", micro_batch},
    {"--micro-batch-size", "--micro-batches", micro_batch},
    {"--mbs", "--micro-batches", micro_batch},
    {"--gbs", "--global-batch", "write --global-batch"},
    {"--dtype", "--precision", "write --precision"},
}};

}  // namespace

std::string framework_option_hint(const CLI::App& command, std::string_view option) {
  const auto has = [&](std::string_view name) { return command.get_option_no_throw(std::string(name)) != nullptr; };
  const auto known = std::find_if(framework_options.begin(), framework_options.end(),
                                  [&](const FrameworkOption& each) { return each.name == option && has(each.option); });
  if (known != framework_options.end()) return std::string(known->hint);
  // `--data` is probably an abbreviation of --dataset, not a degree.
  if (!option.starts_with("--") || option == "--data" || !has("--degrees")) return {};
  const std::string_view word = option.substr(2);
  const std::optional<Axis> axis = parse_axis(word);
  if (!axis) return {};
  if (zero_stage_in(word)) return fmt::format("write --strategy {}", word);
  const std::string plan = *axis == Axis::data ? "data=64" : fmt::format("data=8,{}=8", to_string(*axis));
  return fmt::format("write the degrees of the whole plan, as in --degrees {}", plan);
}

}  // namespace ddl
