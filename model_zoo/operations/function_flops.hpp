#pragma once

namespace ddl {

/// The FLOPs counted for a function of an item, in every operation that evaluates one. A convention, since devices differ:
/// ten for functions computed by range reduction and a polynomial, and one for each arithmetic operation in addition.
inline constexpr double transcendental_flops = 10;  ///< an exponential, a logarithm, an error function
inline constexpr double tanh_flops = transcendental_flops;
inline constexpr double sigmoid_flops = transcendental_flops + 2;  ///< exponential, addition, division

}  // namespace ddl
