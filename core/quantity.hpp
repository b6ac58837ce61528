#pragma once

#include <cmath>
#include <compare>

namespace ddl {

/// A number with a physical dimension, stored in base units (bytes, seconds, floating-point operations). The template
/// arguments are the exponents of the base units. `1_GiB / 900.0_GBps` is Seconds, and `Bytes + Seconds` does not compile.
template <int BytesExponent, int SecondsExponent, int FlopsExponent>
class Quantity {
 public:
  constexpr Quantity() = default;
  explicit constexpr Quantity(double base_units) : value_(base_units) {}

  /// The number in base units: bytes, seconds, flops, and their products.
  [[nodiscard]] constexpr double value() const { return value_; }

  constexpr Quantity& operator+=(Quantity other) {
    value_ += other.value_;
    return *this;
  }
  constexpr Quantity& operator-=(Quantity other) {
    value_ -= other.value_;
    return *this;
  }
  constexpr Quantity& operator*=(double factor) {
    value_ *= factor;
    return *this;
  }
  constexpr Quantity& operator/=(double divisor) {
    value_ /= divisor;
    return *this;
  }

  friend constexpr Quantity operator+(Quantity a, Quantity b) { return Quantity(a.value_ + b.value_); }
  friend constexpr Quantity operator-(Quantity a, Quantity b) { return Quantity(a.value_ - b.value_); }
  friend constexpr Quantity operator-(Quantity a) { return Quantity(-a.value_); }
  friend constexpr Quantity operator*(Quantity a, double factor) { return Quantity(a.value_ * factor); }
  friend constexpr Quantity operator*(double factor, Quantity a) { return Quantity(a.value_ * factor); }
  friend constexpr Quantity operator/(Quantity a, double divisor) { return Quantity(a.value_ / divisor); }
  friend constexpr auto operator<=>(Quantity, Quantity) = default;

 private:
  double value_ = 0.0;
};

namespace detail {
template <int B, int S, int F>
constexpr auto dimensioned(double base_units) {
  if constexpr (B == 0 && S == 0 && F == 0) {
    return base_units;
  } else {
    return Quantity<B, S, F>(base_units);
  }
}
}  // namespace detail

template <int B1, int S1, int F1, int B2, int S2, int F2>
constexpr auto operator*(Quantity<B1, S1, F1> a, Quantity<B2, S2, F2> b) {
  return detail::dimensioned<B1 + B2, S1 + S2, F1 + F2>(a.value() * b.value());
}

template <int B1, int S1, int F1, int B2, int S2, int F2>
constexpr auto operator/(Quantity<B1, S1, F1> a, Quantity<B2, S2, F2> b) {
  return detail::dimensioned<B1 - B2, S1 - S2, F1 - F2>(a.value() / b.value());
}

using Bytes = Quantity<1, 0, 0>;
using Seconds = Quantity<0, 1, 0>;
using Flops = Quantity<0, 0, 1>;
using Bandwidth = Quantity<1, -1, 0>;
using FlopRate = Quantity<0, -1, 1>;
/// β of the literature: time per byte.
using SecondsPerByte = Quantity<-1, 1, 0>;

template <int B, int S, int F>
constexpr Quantity<B, S, F> max(Quantity<B, S, F> a, Quantity<B, S, F> b) {
  return a < b ? b : a;
}
template <int B, int S, int F>
constexpr Quantity<B, S, F> min(Quantity<B, S, F> a, Quantity<B, S, F> b) {
  return b < a ? b : a;
}
template <int B, int S, int F>
bool is_finite(Quantity<B, S, F> a) {
  return std::isfinite(a.value());
}

inline namespace literals {
// NOLINTBEGIN(google-runtime-int): the standard fixes the parameter types of literal operators.
constexpr Bytes operator""_B(unsigned long long v) { return Bytes(static_cast<double>(v)); }
constexpr Bytes operator""_KiB(unsigned long long v) { return Bytes(static_cast<double>(v) * 1024.0); }
constexpr Bytes operator""_MiB(unsigned long long v) { return Bytes(static_cast<double>(v) * 1048576.0); }
constexpr Bytes operator""_GiB(unsigned long long v) { return Bytes(static_cast<double>(v) * 1073741824.0); }
constexpr Bytes operator""_MB(unsigned long long v) { return Bytes(static_cast<double>(v) * 1e6); }
constexpr Bytes operator""_GB(unsigned long long v) { return Bytes(static_cast<double>(v) * 1e9); }
// The literals for ms and us divide by 1e3 and 1e6, because 1e-3 and 1e-6 are not exact doubles. So
// 5.0_us is the double nearest to 5e-6, and equals the value of `5 us` in a file.
constexpr Seconds operator""_s(long double v) { return Seconds(static_cast<double>(v)); }
constexpr Seconds operator""_ms(long double v) { return Seconds(static_cast<double>(v / 1e3L)); }
constexpr Seconds operator""_us(long double v) { return Seconds(static_cast<double>(v / 1e6L)); }
constexpr Bandwidth operator""_GBps(long double v) { return Bandwidth(static_cast<double>(v * 1e9L)); }
constexpr FlopRate operator""_TFLOPS(long double v) { return FlopRate(static_cast<double>(v * 1e12L)); }
// NOLINTEND(google-runtime-int)
}  // namespace literals

}  // namespace ddl
