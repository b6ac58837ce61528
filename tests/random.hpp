#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

namespace ddl {

/// Random choices that depend only on the seed.
class Random {
 public:
  explicit Random(std::uint64_t seed) : engine_(seed) {}
  int whole(int least, int most) { return std::uniform_int_distribution<int>(least, most)(engine_); }
  bool chance() { return whole(0, 1) == 1; }
  /// Returns a number that is evenly distributed over the orders of magnitude.
  double real(double least, double most) {
    return std::exp(std::uniform_real_distribution<double>(std::log(least), std::log(most))(engine_));
  }
  template <class Values>
  auto of(const Values& values) -> decltype(values[0]) {
    return values[static_cast<std::size_t>(whole(0, static_cast<int>(values.size()) - 1))];
  }
  std::mt19937_64& engine() { return engine_; }

 private:
  std::mt19937_64 engine_;
};

}  // namespace ddl
