#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>

#include "model_zoo/network/problem.hpp"
#include "profiler/backends/kernel_backend.hpp"

namespace ddl {

/// A type of operation, such as a convolution, that a back end can run on its `Device`.
template <class Device>
struct KindOf {
  std::string_view type;
  /// Returns the reason why the back end cannot run a problem; otherwise an empty text.
  std::string (*refusal)(const Problem& problem);
  std::unique_ptr<PreparedKernel> (*prepare)(const Device& device, const Problem& problem);
};

/// Finds the operation `type` among `kinds`, which are pointers; null if there is none.
template <class Kinds>
[[nodiscard]] auto find_kind(const Kinds& kinds, std::string_view type) {
  const auto* found = std::find_if(kinds.begin(), kinds.end(), [type](const auto* kind) { return kind->type == type; });
  return found == kinds.end() ? nullptr : *found;
}

}  // namespace ddl

// clang-format off
/// Calls EACH with the name of every kind. Each back end defines a kind in a file with the kind's name.
#define DDL_KERNEL_KINDS(EACH) \
  EACH(activation) EACH(add) EACH(additive_attention) EACH(attention) EACH(cast) EACH(channel_shuffle) EACH(class_token) \
  EACH(combine) EACH(concat) EACH(convolution) EACH(crop) EACH(dispatch) EACH(dropout) EACH(embedding) EACH(flatten) \
  EACH(fully_connected) EACH(identity) EACH(interaction) EACH(loss) EACH(lstm) EACH(multiply) EACH(norm) EACH(pool) \
  EACH(position_embedding) EACH(reshape) EACH(resize) EACH(rotary_embedding) EACH(router) EACH(scale) EACH(select) \
  EACH(slice) EACH(softmax) EACH(space_to_depth) EACH(transposed_convolution) EACH(window_attention)
#define DDL_DECLARE_KIND(name) extern const Kind name;
#define DDL_ADDRESS_OF_KIND(name) &name,  // NOLINT(bugprone-macro-parentheses): a list of addresses
// clang-format on
