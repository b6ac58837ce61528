#pragma once

#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "calibration/inputs/study.hpp"
#include "cli/report/document.hpp"
#include "estimator/memory/memory.hpp"
#include "estimator/step/estimate.hpp"

namespace ddl {

/// A term of a memory item in words: `1,235,814,400 parameters × 2 B`.
struct MemoryTerm {
  std::string item;  ///< name of the item; empty if it is the same as in the previous term
  std::string from;
  Bytes bytes{};
};

/// The terms of the memory of a plan's fullest rank. `items`: the terms of each item add up to the item. `at_most`: these
/// terms add up to the difference between the upper bound and the sum of all items.
struct MemoryTerms {
  std::vector<MemoryTerm> items, at_most;
};
/// `counts`: the parameters of the fullest stage (parameter_counts).
[[nodiscard]] MemoryTerms memory_terms(const Estimate& estimate, const ParameterCounts& counts, const Study& study);

void add_memory_terms(Document& document, const MemoryTerms& terms, const MemoryBreakdown& memory);
[[nodiscard]] nlohmann::ordered_json memory_terms_to_json(const MemoryTerms& terms);

}  // namespace ddl
