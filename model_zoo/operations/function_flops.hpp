#pragma once

namespace ddl {

/// The FLOPs that count for a function of an item, in all operations. This is a convention, because devices differ: ten for
/// functions that are computed by range reduction and a polynomial, plus one for each further arithmetic operation.
inline constexpr double transcendental_flops = 10;  ///< an exponential, a logarithm, an error function
inline constexpr double tanh_flops = transcendental_flops;
inline constexpr double sigmoid_flops = transcendental_flops + 2;  ///< exponential, addition, division

}  // namespace ddl
