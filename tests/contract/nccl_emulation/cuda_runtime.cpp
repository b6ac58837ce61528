// Emulates CUDA's runtime over main memory, with only the functions that the transport calls. Streams only make progress
// when they are queried, so that no work is done earlier than CUDA guarantees.

#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <map>

#include <cuda_runtime_api.h>

#include "tests/contract/nccl_emulation/emulation.hpp"
#include "tests/contract/nccl_emulation/streams.hpp"

struct CUstream_st {
  std::deque<std::function<bool()>> work;
};

namespace ddl::emulated {
namespace {

std::map<const char*, std::size_t>& memory() {
  static std::map<const char*, std::size_t> all;
  return all;
}
CUstream_st& default_stream() {
  static CUstream_st stream;
  return stream;
}

/// Runs all work that can run. Returns whether all work of the stream is done.
bool advance(CUstream_st& stream) {
  const std::lock_guard lock(guard());
  while (!stream.work.empty()) {
    if (!stream.work.front()()) return false;
    stream.work.pop_front();
  }
  return true;
}

constexpr std::size_t largest = std::size_t{1} << 30U;
constexpr int garbage = 0x7f;

}  // namespace

std::recursive_mutex& guard() {
  static std::recursive_mutex mutex;
  return mutex;
}

bool is_allocated(const void* data, std::size_t bytes) {
  const std::lock_guard lock(guard());
  const char* const begin = static_cast<const char*>(data);
  auto next = memory().upper_bound(begin);
  if (next == memory().begin()) return false;
  --next;
  return begin + bytes <= next->first + next->second;
}

void enqueue(cudaStream_t stream, std::function<bool()> work) {
  const std::lock_guard lock(guard());
  (stream == nullptr ? default_stream() : *stream).work.push_back(std::move(work));
}

}  // namespace ddl::emulated

using namespace ddl::emulated;

extern "C" {

cudaError_t cudaMalloc(void** data, size_t bytes) {
  if (bytes > largest) return cudaErrorMemoryAllocation;
  const std::lock_guard lock(guard());
  *data = std::malloc(bytes);
  std::memset(*data, garbage, bytes);
  memory()[static_cast<char*>(*data)] = bytes;
  return cudaSuccess;
}
cudaError_t cudaFree(void* data) {
  if (data == nullptr) return cudaSuccess;
  const std::lock_guard lock(guard());
  if (memory().erase(static_cast<char*>(data)) == 0) std::abort();
  std::free(data);
  return cudaSuccess;
}
cudaError_t cudaMemsetAsync(void* data, int value, size_t bytes, cudaStream_t stream) {
  enqueue(stream, [=] {
    if (is_allocated(data, bytes)) std::memset(data, value, bytes);
    return true;
  });
  return cudaSuccess;
}
// For device memory, cudaMemset does not wait, and runs in the default stream.
cudaError_t cudaMemset(void* data, int value, size_t bytes) { return cudaMemsetAsync(data, value, bytes, nullptr); }

cudaError_t cudaGetLastError() { return cudaSuccess; }
const char* cudaGetErrorName(cudaError_t status) {
  return status == cudaErrorMemoryAllocation ? "cudaErrorMemoryAllocation" : "cudaError";
}
const char* cudaGetErrorString(cudaError_t) { return "emulated"; }

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned) {
  *stream = new CUstream_st();
  return cudaSuccess;
}
cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  const std::lock_guard lock(guard());
  delete stream;
  return cudaSuccess;
}
cudaError_t cudaStreamQuery(cudaStream_t stream) {
  return advance(stream == nullptr ? default_stream() : *stream) ? cudaSuccess : cudaErrorNotReady;
}
cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  while (cudaStreamQuery(stream) == cudaErrorNotReady) continue;
  return cudaSuccess;
}

cudaError_t cudaGetDeviceCount(int* count) {
  *count = script().devices;
  return cudaSuccess;
}
cudaError_t cudaSetDevice(int) { return cudaSuccess; }
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int) {
  *properties = {};
  std::strcpy(properties->name, "emulated GPU");
  return cudaSuccess;
}

}  // extern "C"
