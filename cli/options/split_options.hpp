#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "estimator/kernels/shard_problems.hpp"

namespace ddl {

/// The values of --splits, such as `filter=2,4`: degrees of filter, channel and tensor splits,
/// tiles of spatial splits, and parts of the batch. `none` means that nothing is split. If no axis
/// is given, each axis is split by all powers of two up to `devices`.
struct SplitRequest {
  std::vector<Mesh> meshes{};  ///< each mesh is one way to split the model
  std::vector<int> batch{};    ///< the numbers of parts into which each batch is split
};
/// Parses the words of --splits. Throws Error for an unknown axis, with "did you mean", and for an invalid degree.
[[nodiscard]] SplitRequest parse_splits(const std::vector<std::string>& words, int devices, const ModelFacts& facts);

/// Parses a list of whole numbers of at least 1, `1,4,16`. Throws Error, which names the option, for any other text.
[[nodiscard]] std::vector<std::int64_t> parse_counts(const std::string& option, const std::string& text);

}  // namespace ddl
