#pragma once

#include <string>

#include "profiler/importers/import.hpp"

namespace ddl {

/// Makes a profile from a Chrome trace that PyTorch's profiler wrote with `record_shapes=True`. Forward operators are
/// identified by their function and the shapes of their tensors. Backward nodes are identified by the sequence number that
/// they share with their forward operator. Times are kernel times of the GPU, or wall-clock times in a CPU trace. Each step
/// is one sample. The time of an operator is shared by the layers with its problem. The time of an optimizer step is divided
/// among the layers in proportion to their parameters.
///
/// Throws Error with a position if the file is not a trace. A trace without shapes, or without any operator of the model, is
/// also an Error.
[[nodiscard]] ProfileImport import_pytorch_trace(std::string text, const std::string& origin, const Model& model,
                                                 const ProfileImportOptions& options);

}  // namespace ddl
