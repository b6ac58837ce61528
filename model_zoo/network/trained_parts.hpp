#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model_zoo/network/model.hpp"

namespace ddl {

/// What training changes of a model: a rest that stays as it is has no gradients of weights, and no state of the optimizer.
/// A layer has a name if a part of its path between dots is that name: `qkv`, `layer31`, `head`.
struct TrainedParts {
  /// Rank of the adapters beside matrices: W·x + B·(A·x), where A and B alone are trained [Hu et al., "LoRA: low-rank
  /// adaptation of large language models", ICLR 2022, section 4.1].
  std::optional<std::int64_t> adapter_rank;
  /// Names of the layers with adapters; empty: all matrices inside of blocks.
  std::vector<std::string> adapted;
  /// Names of the layers that are trained as a whole.
  std::vector<std::string> trained;
  /// Names of the layers that stay as they are, where all others are trained.
  std::vector<std::string> frozen;
  [[nodiscard]] bool is_all() const { return !adapter_rank && trained.empty() && frozen.empty(); }
};

/// Gives layers their adapters, and says of each layer which of its parameters stay as they are. An Error where a name is
/// that of no layer, where a layer can have no adapter, or where nothing is left to train.
void train_only(Model& model, const TrainedParts& parts);

}  // namespace ddl
