#pragma once

#include "core/enum_array.hpp"

namespace ddl {

/// The bounds by which a search excludes plans, in the order in which it requests them.
enum class SearchBound {
  parameters,   ///< memory of parameters, for all plans with the same degrees
  size,         ///< Closeness::size
  activations,  ///< memory of the activations that degrees and micro-batches keep
  degrees,      ///< Closeness::degrees, with the exchanges of a sample
  placement,    ///< Closeness::placement
  sharding,     ///< time of the sharding that makes a plan fit
  exchanges,    ///< Closeness::exchanges
  kept,         ///< memory that backward needs, for all choices
  split,        ///< Closeness::split
  stages,       ///< Closeness::stages
  layers,       ///< Closeness::layers
  savings,      ///< time of all choices with which a plan fits
  whole_step    ///< the step with parameters that are neither sharded nor offloaded
};
template <>
inline constexpr EnumNames<SearchBound> enum_names<SearchBound>{
    "parameters", "size",  "activations", "degrees", "placement", "sharding",  "exchanges",
    "kept",       "split", "stages",      "layers",  "savings",   "whole_step"};

/// Bounds that a search leaves out, to measure what each of them is worth. A search finds the same plans without them.
using BoundsLeftOut = EnumArray<SearchBound, bool>;

}  // namespace ddl
