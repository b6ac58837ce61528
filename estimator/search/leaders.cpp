#include "estimator/search/leaders.hpp"

#include <algorithm>

namespace ddl {

void Leaders::set(Family family, const Rank& rank) {
  if (wanted_ == 0) return;
  std::erase_if(leaders_, [&](const auto& each) { return each.second == family; });
  const std::pair leader(rank, family);
  leaders_.insert(std::upper_bound(leaders_.begin(), leaders_.end(), leader), leader);
  if (!are_enough()) return;
  last_ = leaders_[wanted_ - 1].first;
  last_->first *= 1 + tie_;
}

}  // namespace ddl
