#pragma once

#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "cli/commands/recommendation.hpp"

namespace ddl {

/// The value of --for that stands for all of PyTorch's own data parallelism: ddp and fsdp.
inline constexpr std::string_view pytorch_itself = "pytorch";

/// Returns the values of --for: the frameworks, and `pytorch`.
[[nodiscard]] std::vector<std::string_view> framework_choices();
/// Predicts with the software of the framework of --for, and with the memory layout that its launch files have. Does nothing
/// without --for. Throws Error for an unknown framework.
void set_framework(RecommendOptions& options);

/// Answers one question by these options.
using Answering = std::function<std::shared_ptr<RecommendAnswer>(const RecommendOptions& options)>;
/// Returns the answer to a question with the framework of --for. With --for pytorch, this is the better of the answers with
/// ddp and with fsdp (ddp if they tie), which share the time of --time-limit. If neither has a plan, returns the answer with
/// fsdp, or throws its Error.
[[nodiscard]] std::shared_ptr<RecommendAnswer> answer_for_framework(const RecommendOptions& asked, const Answering& answer);

}  // namespace ddl
