#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "estimator/plan/plan.hpp"

namespace ddl {

/// Returns the choices of a plan other than its degrees: `8 micro-batches 1f1b, ZeRO-1, recompute`;
/// empty if the plan has none.
[[nodiscard]] std::string choices_text(const Plan& plan);
/// Returns the short notation of a plan: `dp64·tp8·pp4 z1 m4`. Plans of the same batch, precision and optimizer with
/// different notations differ. parse_plan_word reads the same plan back.
[[nodiscard]] std::string plan_word(const Plan& plan);
/// Returns the notation of the degrees alone: `dp64·tp8`.
[[nodiscard]] std::string degrees_word(const Mesh& mesh);
/// Returns the notation of the segments alone: `from14:filter32`; empty if all layers have one layout.
[[nodiscard]] std::string segments_word(const Plan& plan);
/// Returns the meaning of the short notation: `data 64, tensor 8, 4 micro-batches, ZeRO-1`.
[[nodiscard]] std::string plan_words(const Plan& plan);
/// Explains the letters after the degrees in the short notation of plans (plan_word); empty if no plan has such letters.
[[nodiscard]] std::string letters_text(const std::vector<Plan>& plans);

/// Whether a text begins like a plan in the short notation, and is not the name of a file.
[[nodiscard]] bool is_plan_word(std::string_view text);
/// Reads the short notation of a plan: degrees such as `dp32`, separated by `·`, `.`, `,`, `*`, `+` or spaces, then choices
/// such as `z1 v2 m4` in any order. `from14:filter32` begins the degrees of the layers from layer 14 on. Full names
/// (`data=32`) and aliases (`fsdp32`) are read, too. Choices that are not given have their defaults; the default is one
/// micro-batch. Batch, precision and optimizer are not part of the notation. Throws Error that names the part that is not
/// understood.
[[nodiscard]] Plan parse_plan_word(std::string_view text);

}  // namespace ddl
