#pragma once

#include <string>

#include "model_zoo/network/model.hpp"

namespace ddl {

/// The structure of a model as a drawing of at most 100 columns: layers in a row joined by '→', branches one below the
/// other, parts by their names, and repeated parts once, with their number:
///
///     stage1: bottleneck ×3                                256×56×56
///       bottleneck0
///         ┌ conv 64 1x1 → norm batch → …
///         ├ conv 256 1x1 → norm batch
///         └ add → relu
///       bottleneck1–2
///         …
///
/// A branch without layers passes the tensor on, and is drawn as `skip`. Layers with equal attributes and equal outputs
/// count as repetitions.
[[nodiscard]] std::string draw_model(const Model& model);

}  // namespace ddl
