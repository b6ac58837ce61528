// CUDA's runtime over main memory: what the back end calls of it, and no more.

#include <chrono>
#include <cstdlib>
#include <cstring>

#include <cuda_runtime_api.h>

namespace {

cudaError_t last = cudaSuccess;
constexpr std::size_t memory = std::size_t{1} << 30U;
/// Memory beyond a tensor that no kernel may write to.
constexpr std::size_t fence = 64;
constexpr int fence_value = 0xA5;

struct Allocation {
  std::size_t bytes;
  char padding[256 - sizeof(std::size_t)];
};

}  // namespace

extern "C" {

cudaError_t cudaMalloc(void** data, size_t bytes) {
  if (bytes > memory) return last = cudaErrorMemoryAllocation;
  auto* whole = static_cast<Allocation*>(std::aligned_alloc(256, (sizeof(Allocation) + bytes + fence + 255) / 256 * 256));
  whole->bytes = bytes;
  *data = whole + 1;
  // What was there before is no zeros.
  std::memset(*data, 0x7f, bytes);
  std::memset(static_cast<char*>(*data) + bytes, fence_value, fence);
  return cudaSuccess;
}
cudaError_t cudaFree(void* data) {
  if (data == nullptr) return cudaSuccess;
  auto* whole = static_cast<Allocation*>(data) - 1;
  const auto* end = static_cast<unsigned char*>(data) + whole->bytes;
  for (std::size_t i = 0; i < fence; ++i) {
    if (end[i] != fence_value) std::abort();  // written beyond the end
  }
  std::free(whole);
  return cudaSuccess;
}
cudaError_t cudaMemset(void* data, int value, size_t bytes) {
  std::memset(data, value, bytes);
  return cudaSuccess;
}
cudaError_t cudaMemsetAsync(void* data, int value, size_t bytes, cudaStream_t) { return cudaMemset(data, value, bytes); }
cudaError_t cudaMemcpy(void* to, const void* from, size_t bytes, cudaMemcpyKind) {
  std::memcpy(to, from, bytes);
  return cudaSuccess;
}
cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind kind, cudaStream_t) {
  return cudaMemcpy(to, from, bytes, kind);
}
cudaError_t cudaGetLastError() {
  const cudaError_t status = last;
  last = cudaSuccess;
  return status;
}
const char* cudaGetErrorName(cudaError_t status) {
  return status == cudaErrorMemoryAllocation ? "cudaErrorMemoryAllocation" : "cudaError";
}
const char* cudaGetErrorString(cudaError_t) { return "emulated"; }
cudaError_t cudaStreamCreate(cudaStream_t* stream) {
  *stream = nullptr;
  return cudaSuccess;
}
cudaError_t cudaStreamDestroy(cudaStream_t) { return cudaSuccess; }
cudaError_t cudaStreamSynchronize(cudaStream_t) { return cudaSuccess; }
struct CUevent_st {
  std::chrono::steady_clock::time_point at;
};
cudaError_t cudaEventCreate(cudaEvent_t* event) {
  *event = new CUevent_st();
  return cudaSuccess;
}
cudaError_t cudaEventDestroy(cudaEvent_t event) {
  delete event;
  return cudaSuccess;
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t) {
  event->at = std::chrono::steady_clock::now();
  return cudaSuccess;
}
cudaError_t cudaEventSynchronize(cudaEvent_t) { return cudaSuccess; }
cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t start, cudaEvent_t end) {
  *milliseconds = std::chrono::duration<float, std::milli>(end->at - start->at).count();
  return cudaSuccess;
}
cudaError_t cudaGetDeviceCount(int* count) {
  *count = 1;
  return cudaSuccess;
}
cudaError_t cudaSetDevice(int) { return cudaSuccess; }
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int) {
  *properties = {};
  std::strcpy(properties->name, "emulated device");
  properties->major = 9;
  properties->multiProcessorCount = 1;
  properties->totalGlobalMem = memory;
  properties->l2CacheSize = 1 << 20;
  return cudaSuccess;
}
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr, int) {
  *value = 1000000;
  return cudaSuccess;
}
cudaError_t cudaDeviceGetPCIBusId(char*, int, int) { return cudaErrorInvalidDevice; }
cudaError_t cudaDriverGetVersion(int* version) {
  *version = 13000;
  return cudaSuccess;
}
cudaError_t cudaRuntimeGetVersion(int* version) { return cudaDriverGetVersion(version); }

}  // extern "C"
