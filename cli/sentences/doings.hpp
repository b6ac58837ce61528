#pragma once

#include <algorithm>
#include <array>
#include <string_view>

#include "estimator/explain/findings.hpp"

namespace ddl {

/// Sentences about the activity of the ranks in a part of a step.
struct DoingPhrase {
  std::string_view key;  ///< as in Doing
  Finding::Kind kind;    ///< kind of the corresponding finding
  std::string_view phrase;
};
inline constexpr std::array<DoingPhrase, 9> doing_phrases{
    {{"compute", Finding::Kind::compute, "computing forward and backward"},
     {"gradient_exchange", Finding::Kind::gradient_exchange, "exchanging gradients"},
     {"layer_collectives", Finding::Kind::layer_collectives, "gathering and summing activations layer by layer"},
     {"halo", Finding::Kind::halo, "exchanging halos between tiles"},
     {"pipeline", Finding::Kind::pipeline, "sending activations from stage to stage"},
     {"bubble", Finding::Kind::bubble, "waiting in the pipeline"},
     {"weight_update", Finding::Kind::weight_update, "updating weights"},
     {"input", Finding::Kind::input, "waiting for samples"},
     {"waiting", Finding::Kind::waiting, "waiting for the host, the slowest rank and the framework"}}};

inline std::string_view doing_phrase(std::string_view key) {
  return std::ranges::find(doing_phrases, key, &DoingPhrase::key)->phrase;
}
inline std::string_view doing_phrase(Finding::Kind kind) {
  return std::ranges::find(doing_phrases, kind, &DoingPhrase::kind)->phrase;
}

}  // namespace ddl
