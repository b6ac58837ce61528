#pragma once

#include <cstdint>
#include <vector>

namespace ddl::onednn {

/// The assignment of tokens to experts: the `active` experts with the best scores in each row. Copies of tokens are grouped
/// by expert over the whole batch. The copies in a group have the order of the tokens.
struct Routing {
  Routing(const float* scores, std::int64_t rows, std::int64_t experts, std::int64_t active);

  std::vector<std::int64_t> token, expert;  ///< token and expert of each copy
};

/// The indices of the best `active` of `count` scores, in decreasing order; equal scores are ordered by index.
void best_of(const float* scores, std::int64_t count, std::int64_t active, std::int64_t* places);

}  // namespace ddl::onednn
