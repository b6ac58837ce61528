#pragma once

namespace ddl {

/// The FLOPs of a function of an element, for all operations. They are a convention, because devices differ: ten FLOPs for a
/// function that is computed by range reduction and a polynomial, plus one for each further arithmetic operation.
inline constexpr double transcendental_flops = 10;  ///< an exponential, a logarithm, an error function
inline constexpr double tanh_flops = transcendental_flops;
inline constexpr double sigmoid_flops = transcendental_flops + 2;  ///< exponential, addition, division

}  // namespace ddl
