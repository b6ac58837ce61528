#pragma once

#include <string>

#include "model_zoo/network/model.hpp"

namespace ddl {

/// Draws the structure of a model with at most 100 columns. Layers in a row are joined by '→', and branches are one below
/// the other. Modules are drawn by their names. Repeated modules are drawn once, with their number:
///
///     stage1: bottleneck ×3                                256×56×56
///       bottleneck0
///         ┌ conv 64 1x1 → norm batch → …
///         ├ conv 256 1x1 → norm batch
///         └ add → relu
///       bottleneck1–2
///         …
///
/// A branch without layers passes the tensor on, and is drawn as `skip`. Modules whose layers have equal attributes and
/// equal outputs count as repetitions.
[[nodiscard]] std::string draw_model(const Model& model);

}  // namespace ddl
