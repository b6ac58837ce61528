#pragma once

#include <array>
#include <cstddef>
#include <stdexcept>

#include "core/quantity.hpp"
#include "estimator/exchanges/exchange.hpp"
#include "estimator/inputs/learned.hpp"

namespace ddl {

template <class T>
[[nodiscard]] T larger(const T& a, const T& b) {
  return a < b ? b : a;
}
template <class T>
[[nodiscard]] T smaller(const T& a, const T& b) {
  return b < a ? b : a;
}

/// A time and its dependence on coefficients. At coefficients x the time is (c/c₀)·(t + Σ sᵢ·(xᵢ −
/// x₀ᵢ)), where t is the time at x₀. This is exact for kernels, c·(T + r·R), and for exchanges, α·A
/// + β·B, as long as the algorithm does not change.
class Term {
 public:
  Term() = default;
  explicit Term(Seconds time) : time_(time) {}
  /// A time of kernels. `repeated`: the time that is added if a split saves no work, so that every rank does all of it.
  Term(Seconds time, Seconds repeated) : time_(time), scaled_(true) { add_slope(Coefficient::repeated, repeated.value()); }

  /// Adds a slope of the time, in seconds per unit of a coefficient.
  void add_slope(Coefficient by, double seconds) {
    if (seconds == 0) return;
    for (std::size_t i = 0; i < count_; ++i) {
      if (slopes_[i].by != by) continue;
      slopes_[i].seconds += seconds;
      return;
    }
    if (count_ == slopes_.size())
      throw std::logic_error("a term depends on more coefficients than kernels and exchanges do");
    slopes_[count_++] = {by, seconds};
  }

  [[nodiscard]] Seconds time() const { return time_; }
  friend bool operator==(const Term&, const Term&) = default;
  [[nodiscard]] bool depends_on(Coefficient coefficient) const {
    if (scaled_ && coefficient == Coefficient::kernels) return time_ > Seconds{};
    for (std::size_t i = 0; i < count_; ++i) {
      if (slopes_[i].by == coefficient) return true;
    }
    return false;
  }

  /// Adds a time that does not depend on coefficients.
  void add(Seconds time) { time_ += time; }
  /// Adds an exchange. `startups` is the part that grows with α; the rest grows with β.
  void add_exchange(const PathCoefficients& path, Seconds time, Seconds startups, const Learned& origin) {
    time_ += time;
    add_slope(path.alpha, startups.value() / origin[path.alpha]);
    add_slope(path.beta, (time - startups).value() / origin[path.beta]);
  }

  /// Returns the time at x, in seconds. `origin` is x₀.
  template <class T>
  [[nodiscard]] T at(const CoefficientValues<T>& x, const Learned& origin) const {
    T time(time_.value());
    for (std::size_t i = 0; i < count_; ++i) {
      const Slope& slope = slopes_[i];
      time += (x[slope.by] - origin[slope.by]) * slope.seconds;
    }
    if (scaled_) time = time * (x[Coefficient::kernels] / origin[Coefficient::kernels]);
    return time;
  }

 private:
  struct Slope {
    Coefficient by{};
    double seconds = 0;
    friend bool operator==(const Slope&, const Slope&) = default;
  };
  Seconds time_{};
  bool scaled_ = false;  ///< whether the time is proportional to the factor on kernels
  std::array<Slope, 2> slopes_{};
  std::size_t count_ = 0;
};

}  // namespace ddl
