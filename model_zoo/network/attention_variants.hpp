#pragma once

#include "model_zoo/network/model.hpp"

namespace ddl {

/// Replaces fused attention with trained sinks by attention that writes its scores, for libraries whose fused kernels do not
/// support sinks (Operation::with_written_sinks).
void write_sinks(Model& model);

/// Lets attention read a mask (Operation::with_mask).
void read_masks(Model& model);

}  // namespace ddl
