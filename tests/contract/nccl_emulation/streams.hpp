#pragma once

#include <functional>

#include <cuda_runtime_api.h>

namespace ddl::emulated {

/// Puts work into a stream. It is done when the stream is looked at and all before it is; it says whether it is done.
void enqueue(cudaStream_t stream, std::function<bool()> work);

}  // namespace ddl::emulated
