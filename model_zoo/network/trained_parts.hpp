#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model_zoo/network/model.hpp"

namespace ddl {

/// The trained parts of a model. Frozen parameters have no weight gradients and no optimizer state. A name matches a layer
/// if it is a part of the layer's path between dots: `qkv`, `layer31`, `head`.
struct TrainedParts {
  /// Rank of the adapters of matrices. With an adapter, a layer computes W·x + B·(A·x), where only A and B are trained [Hu
  /// et al., "LoRA: low-rank adaptation of large language models", ICLR 2022, section 4.1].
  std::optional<std::int64_t> adapter_rank;
  AdapterKind adapter_kind = AdapterKind::lora;
  bool drops_inputs = false;  ///< whether each adapter has a dropout before A
  /// Names of the layers with adapters; empty: all matrices inside of blocks.
  std::vector<std::string> adapted;
  /// Names of the layers that are trained as a whole.
  std::vector<std::string> trained;
  /// Names of the frozen layers, if all other layers are trained.
  std::vector<std::string> frozen;
  bool none = false;  ///< whether no layer is trained, so that a step is a forward pass
  [[nodiscard]] bool is_all() const { return !adapter_rank && trained.empty() && frozen.empty() && !none; }
};

/// Adds the adapters to layers, and sets the number of frozen parameters of each layer. Throws Error if a name matches no
/// layer, if a layer cannot have an adapter, or if no parameter is trained, unless this is requested.
void train_only(Model& model, const TrainedParts& parts);

}  // namespace ddl
