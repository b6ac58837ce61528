#pragma once

#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "calibration/inputs/study.hpp"
#include "cli/report/document.hpp"
#include "estimator/memory/memory.hpp"
#include "estimator/step/estimate.hpp"

namespace ddl {

/// A sum that memory is made of, in words: `1,235,814,400 parameters × 2 B`.
struct MemoryTerm {
  std::string item;  ///< empty: it goes on with the item of the term before
  std::string from;
  Bytes bytes{};
};

/// What the items of a plan's fullest rank come from, and what the upper bound adds to them. The terms of an item add up to
/// it, and those of the bound to what it is above the sum of the items.
struct MemoryTerms {
  std::vector<MemoryTerm> items, at_most;
};
/// `counts`: those of the fullest stage (parameter_counts).
[[nodiscard]] MemoryTerms memory_terms(const Estimate& estimate, const ParameterCounts& counts, const Study& study);

void add_memory_terms(Document& document, const MemoryTerms& terms, const MemoryBreakdown& memory);
[[nodiscard]] nlohmann::ordered_json memory_terms_to_json(const MemoryTerms& terms);

}  // namespace ddl
