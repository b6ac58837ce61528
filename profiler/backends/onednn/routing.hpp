#pragma once

#include <cstdint>
#include <vector>

namespace ddl::onednn {

/// The assignment of tokens to experts: the best `active` of each row of scores. Copies of tokens are grouped by expert,
/// inside a group in the order of the tokens, over the whole batch.
struct Routing {
  Routing(const float* scores, std::int64_t rows, std::int64_t experts, std::int64_t active);

  std::vector<std::int64_t> token, expert;  ///< token and expert of each copy
};

/// The indices of the best `active` of `count` scores, in decreasing order; of equal scores, the lower index is first.
void best_of(const float* scores, std::int64_t count, std::int64_t active, std::int64_t* places);

}  // namespace ddl::onednn
