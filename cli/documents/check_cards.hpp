#pragma once

#include <string>
#include <vector>

#include "cli/documents/check.hpp"

namespace ddl {

/// A size that fits: `largest batch`, `128`, ` (2 per GPU)`. Figure and rest are one text.
struct FittingSize {
  std::string label{}, figure{}, rest{};
  [[nodiscard]] std::string text() const { return figure + rest; }
};

/// Returns the first cards of a page about a checked job: memory with the verdict, speed, sizes, and a change that fits.
[[nodiscard]] Cards check_cards(const JobCheck& check, const std::vector<FittingSize>& sizes);

}  // namespace ddl
