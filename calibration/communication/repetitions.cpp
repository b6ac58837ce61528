#include "calibration/communication/repetitions.hpp"

#include <algorithm>
#include <utility>

namespace ddl {

std::vector<double> few_repetitions(std::vector<double> times) {
  std::sort(times.begin(), times.end());
  if (times.size() <= most_repetitions) return times;
  std::vector<double> few;
  few.reserve(most_repetitions);
  for (std::size_t i = 0; i < most_repetitions; ++i) {
    few.push_back(times[(2 * i + 1) * times.size() / (2 * most_repetitions)]);
  }
  return few;
}

}  // namespace ddl
