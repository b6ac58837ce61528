#pragma once

#include <string>

#include "profiler/importers/import.hpp"

namespace ddl {

/// Reads a CSV of layer times: `layer,forward,backward,update`. `backward` may be replaced by two columns, `backward_data`
/// and `backward_weight`, and any column of times may be missing. Units are in the header (`forward ms`, `forward (ms)`,
/// `forward_ms`) or in the cells (`1.2 ms`). A layer is a layer name of the model, or the index of a layer with weights,
/// counted from 1. Several rows of one layer are several measurements of this layer. An empty cell is a pass that was not
/// timed.
///
/// Throws Error with a position in the file for unknown columns, layers and units, a column without a unit, and an invalid
/// time. Samples and device must be given.
[[nodiscard]] ProfileImport import_layer_table(std::string text, const std::string& origin, const Model& model,
                                               const ProfileImportOptions& options);

}  // namespace ddl
