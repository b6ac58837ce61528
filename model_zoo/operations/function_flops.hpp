#pragma once

namespace ddl {

/// FLOPs that a function of an item counts as, wherever an operation evaluates one. A convention, as devices differ: ten for
/// what is computed by a reduction of the range and a polynomial, one for each operation of arithmetic beside it.
inline constexpr double transcendental_flops = 10;  ///< an exponential, a logarithm, an error function
inline constexpr double tanh_flops = transcendental_flops;
inline constexpr double sigmoid_flops = transcendental_flops + 2;  ///< exponential, addition, division

}  // namespace ddl
