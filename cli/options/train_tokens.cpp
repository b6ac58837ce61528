#include "cli/options/train_tokens.hpp"

#include <algorithm>
#include <array>
#include <charconv>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/options/option_value.hpp"
#include "cli/report/figures.hpp"
#include "core/error.hpp"
#include "core/source_text.hpp"
#include "core/words.hpp"
#include "model_zoo/files/dataset.hpp"

namespace ddl {
namespace {

struct CountUnit {
  char letter;
  double factor;
};
constexpr std::array<CountUnit, 5> count_units{{{'T', 1e12}, {'B', 1e9}, {'M', 1e6}, {'k', 1e3}, {'K', 1e3}}};

constexpr const char* count_hint = "use for example 300B, 1T or 250000";

constexpr const char* points_hint = "use for example 44.8M@1632, or several: 44.8M@1632,110M@67840";
constexpr std::int64_t most_target_batch = std::int64_t{1} << 40;

/// Reads `44.8M@1632`: samples until a target, at a global batch.
ConvergencePoint read_target_point(std::string_view text) {
  const std::size_t at = text.find('@');
  const std::string_view batch = at == std::string_view::npos ? std::string_view() : text.substr(at + 1);
  ConvergencePoint point;
  point.batch = number_in(batch).value_or(0);
  UnitProblem problem;
  const std::optional<double> samples = parse_token_count(text.substr(0, at), problem);
  if (!samples || point.batch < 1 || point.batch > most_target_batch)
    throw Error(fmt::format("--samples-to-target: {} is not a number of samples at a global batch", quote(text)),
                points_hint);
  point.samples = *samples;
  return point;
}

/// Reads the points of --samples-to-target. A convergence without a model is the user's own.
Convergence own_convergence(std::string_view text) {
  Convergence own{.model = "", .target = "your target", .source = "--samples-to-target"};
  for (const std::string& point : comma_separated(text)) own.points.push_back(read_target_point(point));
  std::ranges::sort(own.points, [](const ConvergencePoint& a, const ConvergencePoint& b) { return a.batch < b.batch; });
  const auto same = std::adjacent_find(own.points.begin(), own.points.end(),
                                       [](const auto& a, const auto& b) { return a.batch == b.batch; });
  if (same != own.points.end())
    throw Error(fmt::format("--samples-to-target: the global batch {} is given twice", same->batch), points_hint);
  return own;
}

/// Reads `50k@1.28M`: evaluated samples, after each number of training samples.
Evaluation read_evaluation(std::string_view text) {
  const std::size_t at = text.find('@');
  UnitProblem problem;
  const std::optional<double> samples = parse_token_count(text.substr(0, at), problem);
  const std::optional<double> every =
      at == std::string_view::npos ? std::nullopt : parse_token_count(text.substr(at + 1), problem);
  if (samples && every) return {*samples, *every};
  throw Error(fmt::format("--evaluate: {} is not a number of evaluated samples and of training samples", quote(text)),
              "use for example 50k@1.28M: 50,000 samples after each 1,280,000 training samples");
}

}  // namespace

std::optional<double> parse_token_count(std::string_view text, UnitProblem& problem) {
  double number = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  std::string_view unit = text.substr(static_cast<std::size_t>(stop - text.data()));
  while (unit.starts_with(' ')) unit.remove_prefix(1);
  double factor = unit.empty() ? 1 : 0;
  for (const CountUnit& known : count_units) {
    if (unit.size() == 1 && unit.front() == known.letter) factor = known.factor;
  }
  if (error != std::errc{} || factor <= 0) {
    problem = {fmt::format("{} is not a number of tokens", quote(text)), count_hint};
    return std::nullopt;
  }
  const double tokens = number * factor;
  // This form of the condition is false for NaN, so NaN is refused.
  const bool within = tokens >= 1 && tokens <= most_train_tokens;
  if (!within) {
    problem = {fmt::format("{} is not from 1 to {:.0e} tokens", quote(text), most_train_tokens), count_hint};
    return std::nullopt;
  }
  return tokens;
}

std::string print_token_count(double tokens) {
  for (const CountUnit& unit : count_units) {
    if (tokens < unit.factor) continue;
    const std::string text = fmt::format("{}{}", tokens / unit.factor, unit.letter);
    UnitProblem none;
    if (parse_token_count(text, none) == tokens) return text;
  }
  return fmt::format("{}", tokens);
}

void add_training_options(const Command& command, Training& training) {
  const Option tokens =
      add_parsed(command, "--train-tokens", training.tokens, parse_token_count, "", "COUNT",
                 "report time and cost for this number of tokens, such as 300B or 1T, instead of an epoch");
  const Option epochs = add_whole_number(command, "--epochs", training.epochs, 1, most_epochs,
                                         "report time and cost for this number of epochs instead of one");
  epochs.excludes(tokens);
  const Option own =
      command
          .add_option_function(
              "--samples-to-target",
              [&training](const std::string& text) {
                training.convergence = std::make_shared<const Convergence>(own_convergence(text));
                training.to_accuracy = true;
              },
              "report time and cost to a target that takes this number of samples at this global batch, such as 44.8M@1632; "
              "several pairs are separated by commas, and batches between them are interpolated",
              "SAMPLES@BATCH")
          .excludes(tokens)
          .excludes(epochs);
  command
      .add_switch("--to-accuracy", training.to_accuracy,
                  "report time and cost to reach the target accuracy of MLPerf, for models with published results")
      .excludes(tokens)
      .excludes(epochs)
      .excludes(own);
  command.add_option_function(
      "--evaluate", [&training](const std::string& text) { training.evaluation = read_evaluation(text); },
      "a whole training also evaluates samples, as forward passes: 50k@1.28M evaluates 50,000 samples after each "
      "1,280,000 training samples; default: no evaluation",
      "SAMPLES@SAMPLES");
}

void refuse_useless_evaluation(const Training& training) {
  if (!training.evaluation || training.is_whole()) return;
  throw Error("--evaluate has an effect only on a whole training", "add --train-tokens 1T or --epochs 90");
}

void refuse_without_tokens(const Training& training, const Model& model) {
  if (!training.tokens || model.sequence_length > 0) return;
  throw Error(fmt::format("--train-tokens: {} has no tokens", model.name),
              "only sequence models have tokens, such as gpt2 or llama3-8b");
}

void refuse_unknown_epoch(const Training& training, const Study& study) {
  if (!training.epochs || !study.spec().dataset.empty()) return;
  const char* const hint = "name the data set, or a file with its number of samples: --dataset mine.yaml";
  const ModelFacts& facts = study.job().facts;
  if (facts.trained_parameters < facts.parameters && study.model().input.sequence)
    throw Error(fmt::format("--epochs: the number of samples is unknown: {} is fine-tuned, and no data set is named",
                            study.model().name),
                hint);
  const Dataset dataset = load_dataset(default_dataset(study.model()));
  if (is_of_task(dataset, study.model())) return;
  const std::string own_hint = study.dataset().name == dataset.name
                                   ? fmt::format(
                                         "use --dataset {0} for the {1} samples of {0}, or name a file with the number: "
                                         "--dataset mine.yaml",
                                         dataset.name, with_thousands(dataset.samples))
                                   : hint;
  throw Error(fmt::format("--epochs: the number of samples is unknown, because no bundled data set is known to train {}",
                          study.model().name),
              own_hint);
}

void settle_target(Training& training, const Model& model) {
  if (!training.to_accuracy || training.convergence) return;
  std::optional<Convergence> known = convergence_of(model);
  if (!known) {
    throw Error(fmt::format("--to-accuracy: no published runs of {} with a target accuracy are bundled", model.name),
                fmt::format("available for {}; for other models, use --epochs or --train-tokens",
                            fmt::join(convergence_names(), ", ")));
  }
  training.convergence = std::make_shared<const Convergence>(*std::move(known));
}

void refuse_unpublished_batch(const Training& training, std::int64_t global_batch) {
  if (!training.to_accuracy || training.convergence->samples_at(global_batch)) return;
  if (training.convergence->model.empty()) {
    throw Error(fmt::format("--samples-to-target has no samples for a global batch of {}", with_thousands(global_batch)),
                fmt::format("add a point, such as 1M@{}", global_batch));
  }
  throw Error(fmt::format("--to-accuracy: no published runs of {} with a global batch of {}", training.convergence->model,
                          with_thousands(global_batch)),
              fmt::format("batches from {} to {} are published: use --global-batch {}",
                          with_thousands(training.convergence->least_batch()),
                          with_thousands(training.convergence->most_batch()), training.convergence->least_batch()));
}

}  // namespace ddl
