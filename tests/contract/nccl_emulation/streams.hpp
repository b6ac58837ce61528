#pragma once

#include <functional>

#include <cuda_runtime_api.h>

namespace ddl::emulated {

/// Enqueues work in a stream. It runs when the stream is queried and all earlier work is done; it returns whether it is
/// done.
void enqueue(cudaStream_t stream, std::function<bool()> work);

}  // namespace ddl::emulated
