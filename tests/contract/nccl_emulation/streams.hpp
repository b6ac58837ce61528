#pragma once

#include <functional>

#include <cuda_runtime_api.h>

namespace ddl::emulated {

/// Enqueues work in a stream. The work runs when the stream is queried and all earlier work is
/// done. It returns whether it is done.
void enqueue(cudaStream_t stream, std::function<bool()> work);

}  // namespace ddl::emulated
