#pragma once

#include <string>
#include <vector>

#include "estimator/facts/model_facts.hpp"
#include "estimator/plan/plan.hpp"

namespace ddl {

/// Lays out layers of a plan as the values of --layers say, such as `fc*: filter=32`. The part before the colon is the name
/// of a layer, block or operation, with `*` and `?`, or two names as in `fc6..fc8`. If the degrees have fewer ranks than the
/// plan and no data degree, the rest is data. A layer without weights that no value names has the layout of the layer that
/// writes its first input. In place of degrees, a value may have a way to hold tables, `table*: whole`, or say whether
/// blocks are recomputed: `layer0..layer5: recompute`, `layer6: keep`. Throws Error that names the value.
void lay_out_layers(const std::vector<std::string>& values, const ModelFacts& facts, Plan& plan);

/// Returns the segments of layers and tables of a plan as values of --layers. lay_out_layers reads the same segments back.
[[nodiscard]] std::vector<std::string> layer_layouts(const Plan& plan, const ModelFacts& facts);

/// Returns the layouts of all layers of a plan: `conv1 to pool5: data 32; fc6 to loss: filter 32`.
[[nodiscard]] std::string layouts_text(const Plan& plan, const ModelFacts& facts);

}  // namespace ddl
