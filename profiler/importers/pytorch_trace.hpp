#pragma once

#include <string>

#include "profiler/importers/import.hpp"

namespace ddl {

/// Makes a profile of a Chrome trace that PyTorch's profiler wrote with `record_shapes=True`: operators are told by what
/// they do and by the shapes of their tensors, backward nodes by the sequence number that they share with their forward
/// operator. Times are those of a device's kernels, or on the clock in a trace of a processor; one sample a step. Layers of
/// one problem share their operators' time. An optimizer's step is divided among the layers by their parameters.
///
/// Errors are placed where the file is no trace; a trace without shapes, or none of whose operators is the model's, is an
/// Error too.
[[nodiscard]] ProfileImport import_pytorch_trace(std::string text, const std::string& origin, const Model& model,
                                                 const ProfileImportOptions& options);

}  // namespace ddl
