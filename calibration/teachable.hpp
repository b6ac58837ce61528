#pragma once

#include <array>
#include <cstddef>
#include <string_view>

#include "estimator/learned.hpp"

namespace ddl {

/// What measured runs can teach of one family of plans: the members of Learned, one by one.
enum class Teachable {
  kernels,
  repeated,
  gradient_alpha,
  gradient_beta,
  layer_alpha,
  layer_beta,
  halo_alpha,
  halo_beta,
  whole_weights,
  straggling,
  per_iteration
};
inline constexpr std::array all_teachable{Teachable::kernels,       Teachable::repeated,     Teachable::gradient_alpha,
                                          Teachable::gradient_beta, Teachable::layer_alpha,  Teachable::layer_beta,
                                          Teachable::halo_alpha,    Teachable::halo_beta,    Teachable::whole_weights,
                                          Teachable::straggling,    Teachable::per_iteration};
[[nodiscard]] constexpr std::size_t index_of(Teachable what) { return static_cast<std::size_t>(what); }
/// Its key in a coefficients file: `gradient_beta`.
[[nodiscard]] std::string_view to_string(Teachable what);

/// A value of each, by index_of: factors and fractions as they are, whole_weights in seconds per byte, per_iteration in
/// seconds.
using TeachableValues = std::array<double, all_teachable.size()>;
[[nodiscard]] TeachableValues untaught();
[[nodiscard]] Learned learned_from(const TeachableValues& values);

}  // namespace ddl
