#pragma once

#include <algorithm>
#include <array>
#include <string_view>

#include "estimator/explain/findings.hpp"

namespace ddl {

/// The phrase for one activity of the ranks during a step, such as gradient communication.
struct DoingPhrase {
  std::string_view key;  ///< the activity's key in Doing
  Finding::Kind kind;    ///< the finding about this activity
  std::string_view phrase;
};
inline constexpr std::array<DoingPhrase, 9> doing_phrases{
    {{"compute", Finding::Kind::compute, "forward and backward compute"},
     {"gradient_exchange", Finding::Kind::gradient_exchange, "gradient communication"},
     {"layer_collectives", Finding::Kind::layer_collectives, "layer-wise collectives of activations"},
     {"halo", Finding::Kind::halo, "halo exchange between tiles"},
     {"pipeline", Finding::Kind::pipeline, "sending activations between stages"},
     {"bubble", Finding::Kind::bubble, "the pipeline bubble"},
     {"weight_update", Finding::Kind::weight_update, "the weight update"},
     {"input", Finding::Kind::input, "waiting for samples"},
     {"waiting", Finding::Kind::waiting, "waiting for the host, the slowest rank and the framework"}}};

inline std::string_view doing_phrase(std::string_view key) {
  return std::ranges::find(doing_phrases, key, &DoingPhrase::key)->phrase;
}
inline std::string_view doing_phrase(Finding::Kind kind) {
  return std::ranges::find(doing_phrases, kind, &DoingPhrase::kind)->phrase;
}

}  // namespace ddl
