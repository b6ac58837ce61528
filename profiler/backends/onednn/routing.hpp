#pragma once

#include <cstdint>
#include <vector>

namespace ddl::onednn {

/// Which tokens go to which experts: of each row of scores the best `active`. Copies of tokens lie grouped by expert, inside
/// a group in the order of the tokens, over the whole batch.
struct Routing {
  Routing(const float* scores, std::int64_t rows, std::int64_t experts, std::int64_t active);

  std::vector<std::int64_t> token, expert;  ///< of each copy
};

/// Of `count` scores, the places of the best `active`, the best first; of equal ones those that come first.
void best_of(const float* scores, std::int64_t count, std::int64_t active, std::int64_t* places);

}  // namespace ddl::onednn
