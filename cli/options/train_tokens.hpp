#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "calibration/inputs/study.hpp"
#include "cli/options/command_line.hpp"
#include "core/units.hpp"
#include "model_zoo/files/convergence.hpp"
#include "model_zoo/network/model.hpp"

namespace ddl {

/// Evaluations during a training: after each `every` training samples, the forward passes of `samples` samples.
struct Evaluation {
  double samples = 0, every = 0;
};

/// The length of a training: an epoch of the data set, a number of tokens or epochs, or a published target.
struct Training {
  std::optional<double> tokens;
  std::optional<std::int64_t> epochs{};
  bool to_accuracy = false;
  std::shared_ptr<const Convergence> convergence{};  ///< published results of the model, if the target is requested
  /// A unit of work for which text gives time and cost, if the user gave neither a length nor a data set: `1,000 steps`. The
  /// unit has `tokens` or `samples`. JSON and CSV always give the epoch.
  std::string unit{};
  std::optional<double> samples{};
  std::optional<Evaluation> evaluation{};
  /// Whether the user gave the length of the training (by tokens, epochs or a target). Otherwise, the training is one epoch.
  [[nodiscard]] bool is_whole() const { return (tokens && unit.empty()) || epochs || to_accuracy; }
};

/// The largest value of --epochs.
inline constexpr std::int64_t most_epochs = 1'000'000;

/// The largest value of --train-tokens.
inline constexpr double most_train_tokens = 1'000'000'000'000'000'000.0;

/// Parses a number of tokens: `300B`, `1T`, `1.5e12` or `250000`. The letters k, M, B or T may follow the number. Returns
/// empty and sets `problem` if the text is invalid, or if the number is not from 1 to most_train_tokens.
[[nodiscard]] std::optional<double> parse_token_count(std::string_view text, UnitProblem& problem);
/// Prints a number of tokens. parse_token_count reads the same number back.
[[nodiscard]] std::string print_token_count(double tokens);

/// Adds --train-tokens, --epochs, --to-accuracy, --samples-to-target and --evaluate.
void add_training_options(const Command& command, Training& training);
/// Throws Error if the user gave a number of tokens, but the model's samples have no tokens.
void refuse_without_tokens(const Training& training, const Model& model);
/// Throws Error if the user gave a number of epochs, but no data set, and no bundled data set is of the model's task.
void refuse_unknown_epoch(const Training& training, const Study& study);
/// Throws Error if the user gave evaluations, but not the length of the training.
void refuse_useless_evaluation(const Training& training);
/// Finds the published results of the model, if a target is requested. Throws Error if the model has no published results.
void settle_target(Training& training, const Model& model);
/// Throws Error if a target is requested, but no published result has this batch.
void refuse_unpublished_batch(const Training& training, std::int64_t global_batch);

}  // namespace ddl
