#pragma once

#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "calibration/inputs/study.hpp"
#include "cli/report/document.hpp"
#include "estimator/memory/memory.hpp"
#include "estimator/step/estimate.hpp"

namespace ddl {

/// One term of a memory item in words: `1,235,814,400 parameters × 2 B`.
struct MemoryTerm {
  std::string item;  ///< name of the memory item; empty if the previous term is of the same item
  std::string from;
  Bytes bytes{};
};

/// The memory of a plan's fullest rank as sums. `items`: terms that add up to each memory item.
/// `at_most`: terms that add up to the difference between the upper bound and the sum of all items.
struct MemoryTerms {
  std::vector<MemoryTerm> items, at_most;
};
/// Returns the memory terms of a plan. `counts`: the numbers of parameters of the fullest stage (parameter_counts).
[[nodiscard]] MemoryTerms memory_terms(const Estimate& estimate, const ParameterCounts& counts, const Study& study);

void add_memory_terms(Document& document, const MemoryTerms& terms, const MemoryBreakdown& memory);
[[nodiscard]] nlohmann::ordered_json memory_terms_to_json(const MemoryTerms& terms);

}  // namespace ddl
