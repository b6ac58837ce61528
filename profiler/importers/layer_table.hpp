#pragma once

#include <string>

#include "profiler/importers/import.hpp"

namespace ddl {

/// Reads a CSV of layer times: `layer,forward,backward,update`, where `backward` may also be two columns, `backward_data`
/// and `backward_weight`, and any may be missing. Units stand in the head (`forward ms`, `forward (ms)`, `forward_ms`) or in
/// the cells (`1.2 ms`). A layer is a name of the model's, or the number of a layer with weights, counted from 1. Several
/// rows of one layer are several measurements of it. An empty cell is a pass that nobody timed.
///
/// Errors are placed: unknown columns, layers and units, a column without a unit, a time that is none. Samples and device
/// must be said.
[[nodiscard]] ProfileImport import_layer_table(std::string text, const std::string& origin, const Model& model,
                                               const ProfileImportOptions& options);

}  // namespace ddl
