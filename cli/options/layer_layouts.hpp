#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "estimator/plan/plan.hpp"
#include "model_zoo/network/model.hpp"

namespace ddl {

/// Lays out layers of a plan as the values of --layers say, such as `fc*: filter=32`. The part before the colon is the name
/// of a layer or of an operation, with `*` and `?`, or two names as in `fc6..fc8`. If the degrees have fewer ranks than the
/// plan and no data degree, the rest is data. A layer without weights that no value names has the layout of the layer that
/// writes its first input. Throws Error that names the value.
void lay_out_layers(const std::vector<std::string>& values, const Model& model, Plan& plan);

/// Returns the segments of a plan as values of --layers. lay_out_layers reads the same segments back.
[[nodiscard]] std::vector<std::string> layer_layouts(const Plan& plan, const Model& model);

/// Returns the layouts of all layers of a plan: `conv1 to pool5: data 32; fc6 to loss: filter 32`.
[[nodiscard]] std::string layouts_text(const Plan& plan, const Model& model);

}  // namespace ddl
