#pragma once

#include <string>
#include <vector>

#include "estimator/step/estimate.hpp"

namespace ddl {

/// What limits a plan, after the taxonomy of [ParaDL, Table V]: one cause, its share of the time or memory it is about, and
/// a sentence that says so.
struct Finding {
  enum class Kind {
    compute,
    gradient_exchange,
    layer_collectives,
    halo,
    pipeline,
    bubble,
    weight_update,
    input,
    waiting,
    memory_redundancy,
    replicated_work,
    load_imbalance,
    scaling_limit,
    local_storage
  };
  Kind kind = Kind::compute;
  double share = 0;
  std::string sentence;
};
[[nodiscard]] std::string_view to_string(Finding::Kind kind);

/// The findings of a priced plan: first what bounds its time, then everything else worth saying.
[[nodiscard]] std::vector<Finding> findings_of(const Job& job, const Estimate& estimate);

/// Where a plan loses against a faster one: `12 % longer than data, most of it for waiting in the pipeline`.
[[nodiscard]] std::string comparison(const Estimate& faster, const Estimate& slower);

}  // namespace ddl
