#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "estimator/kernels/shard_problems.hpp"

namespace ddl {

/// Splits as a user types them, `filter=2,4` each: degrees of filter, channel and tensor splits, tiles of spatial ones, and
/// parts of the batch; `none` alone; or nothing at all for every power of two up to `devices`.
struct SplitRequest {
  std::vector<Mesh> meshes{};  ///< in each of which the model is split by itself
  std::vector<int> batch{};    ///< into how many parts each number of samples is cut
};
/// Throws Error on an unknown axis, with "did you mean", and on a degree that is none.
[[nodiscard]] SplitRequest parse_splits(const std::vector<std::string>& words, int devices, const ModelFacts& facts);

/// `1,4,16`: whole numbers from 1 on. Throws Error naming the option otherwise.
[[nodiscard]] std::vector<std::int64_t> parse_counts(const std::string& option, const std::string& text);

}  // namespace ddl
