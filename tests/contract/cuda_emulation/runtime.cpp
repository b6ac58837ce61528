// Emulates CUDA's runtime over main memory, with only the functions that the back end calls.

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <deque>

#include <cuda_runtime_api.h>

#include "profiler/backends/cuda/stopwatch.hpp"
#include "tests/contract/cuda_emulation/device.hpp"

namespace {

cudaError_t last = cudaSuccess;
/// The status of a broken device, which every call returns.
cudaError_t broken = cudaSuccess;
std::int64_t launches_until_broken = -1;
cudaError_t breaks_with = cudaSuccess;
bool is_recording = false;
std::int64_t recorded = 0;
/// The times at which launched kernels are done.
std::deque<double> pending;
constexpr std::size_t memory = std::size_t{1} << 30U;
/// The size of guard memory after a tensor, which no kernel may write.
constexpr std::size_t fence = 64;
constexpr int fence_value = 0xA5;

struct Allocation {
  std::size_t bytes;
  char padding[256 - sizeof(std::size_t)];
};

double real_seconds() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

}  // namespace

namespace ddl::emulation {

Timeline& timeline() {
  static Timeline one;
  return one;
}

void restart(const Timeline& from) {
  timeline() = from;
  pending.clear();
}

void launched(double seconds) {
  if (launches_until_broken == 0) broken = breaks_with;
  if (launches_until_broken >= 0) --launches_until_broken;
  if (is_recording) {
    ++recorded;
    return;
  }
  Timeline& now = timeline();
  ++now.launches;
  if (!now.is_on) return;
  now.host += now.launch_cost;
  while (!pending.empty() && pending.front() <= now.host) pending.pop_front();
  if (static_cast<std::int64_t>(pending.size()) >= now.queue) {
    now.host = std::max(now.host, pending[pending.size() - static_cast<std::size_t>(now.queue)]);
  }
  now.free_at = std::max(now.free_at, now.host) + seconds;
  pending.push_back(now.free_at);
}
void launched() { launched(timeline().kernel_time); }

void break_device(cudaError_t status) {
  broken = status;
  launches_until_broken = -1;
  if (status == cudaSuccess) last = cudaSuccess;
}
void break_device_after(std::int64_t launches, cudaError_t status) {
  launches_until_broken = launches;
  breaks_with = status;
}

Properties& properties() {
  static Properties one;
  return one;
}

int& product_bits() {
  static int bits = 23;
  return bits;
}
float rounded_for_product(float value) {
  constexpr int all = 23;
  if (product_bits() >= all || value == 0 || !std::isfinite(value)) return value;
  int exponent = 0;
  const float fraction = std::frexp(value, &exponent);
  return std::ldexp(std::nearbyint(std::ldexp(fraction, product_bits() + 1)), exponent - product_bits() - 1);
}

}  // namespace ddl::emulation

namespace ddl::cuda {

// This function replaces the host's clock.
double host_seconds() { return emulation::timeline().is_on ? emulation::timeline().host : real_seconds(); }

}  // namespace ddl::cuda

extern "C" {

cudaError_t cudaMalloc(void** data, size_t bytes) {
  if (broken != cudaSuccess) return broken;
  if (bytes > ddl::emulation::properties().memory) return last = cudaErrorMemoryAllocation;
  auto* whole = static_cast<Allocation*>(std::aligned_alloc(256, (sizeof(Allocation) + bytes + fence + 255) / 256 * 256));
  whole->bytes = bytes;
  *data = whole + 1;
  // Uninitialized memory must not be zero.
  std::memset(*data, 0x7f, bytes);
  std::memset(static_cast<char*>(*data) + bytes, fence_value, fence);
  return cudaSuccess;
}
cudaError_t cudaFree(void* data) {
  if (data == nullptr) return cudaSuccess;
  auto* whole = static_cast<Allocation*>(data) - 1;
  const auto* end = static_cast<unsigned char*>(data) + whole->bytes;
  for (std::size_t i = 0; i < fence; ++i) {
    if (end[i] != fence_value) std::abort();  // out-of-bounds write
  }
  std::free(whole);
  return cudaSuccess;
}
cudaError_t cudaMemset(void* data, int value, size_t bytes) {
  std::memset(data, value, bytes);
  return broken;
}
cudaError_t cudaMemsetAsync(void* data, int value, size_t bytes, cudaStream_t) { return cudaMemset(data, value, bytes); }
cudaError_t cudaMemcpy(void* to, const void* from, size_t bytes, cudaMemcpyKind) {
  std::memcpy(to, from, bytes);
  return broken;
}
cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind kind, cudaStream_t) {
  return cudaMemcpy(to, from, bytes, kind);
}
cudaError_t cudaGetLastError() {
  if (broken != cudaSuccess) return broken;
  const cudaError_t status = last;
  last = cudaSuccess;
  return status;
}
const char* cudaGetErrorName(cudaError_t status) {
  return status == cudaErrorMemoryAllocation         ? "cudaErrorMemoryAllocation"
         : status == cudaErrorIllegalAddress         ? "cudaErrorIllegalAddress"
         : status == cudaErrorInsufficientDriver     ? "cudaErrorInsufficientDriver"
         : status == cudaErrorNoKernelImageForDevice ? "cudaErrorNoKernelImageForDevice"
                                                     : "cudaError";
}
const char* cudaGetErrorString(cudaError_t) { return "emulated"; }
cudaError_t cudaStreamCreate(cudaStream_t* stream) {
  *stream = nullptr;
  return cudaSuccess;
}
cudaError_t cudaStreamDestroy(cudaStream_t) { return cudaSuccess; }
cudaError_t cudaStreamSynchronize(cudaStream_t) { return broken; }
cudaError_t cudaDeviceSynchronize() {
  if (is_recording) return last = cudaErrorStreamCaptureUnsupported;
  return broken;
}
struct CUevent_st {
  double at;
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
  ddl::emulation::Timeline& now = ddl::emulation::timeline();
  if (now.is_on) now.free_at = std::max(now.free_at, now.host) + now.event_time;
  event->at = now.is_on ? now.free_at : real_seconds();
  return broken;
}
cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  ddl::emulation::Timeline& now = ddl::emulation::timeline();
  if (now.is_on) now.host = std::max(now.host, event->at);
  return broken;
}
cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t start, cudaEvent_t end) {
  *milliseconds = static_cast<float>(1e3 * (end->at - start->at));
  return broken;
}

// A graph is a number of kernels. The kernels run when they are recorded, and only take time when the graph is launched.
struct CUgraph_st {
  std::int64_t kernels;
};
struct CUgraphExec_st {
  std::int64_t kernels;
};
cudaError_t cudaStreamBeginCapture(cudaStream_t, cudaStreamCaptureMode) {
  is_recording = true;
  recorded = 0;
  return broken;
}
cudaError_t cudaStreamEndCapture(cudaStream_t, cudaGraph_t* graph) {
  is_recording = false;
  *graph = new CUgraph_st{recorded};
  return broken;
}
cudaError_t cudaGraphInstantiate(cudaGraphExec_t* ready, cudaGraph_t graph, unsigned long long) {
  *ready = new CUgraphExec_st{graph->kernels};
  return broken;
}
cudaError_t cudaGraphLaunch(cudaGraphExec_t graph, cudaStream_t) {
  ddl::emulation::Timeline& now = ddl::emulation::timeline();
  const std::int64_t launches = now.launches;
  ddl::emulation::launched(now.kernel_time * static_cast<double>(graph->kernels));
  now.launches = launches;
  ++now.graph_launches;
  return broken;
}
cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  delete graph;
  return cudaSuccess;
}
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t graph) {
  delete graph;
  return cudaSuccess;
}

cudaError_t cudaGetDeviceCount(int* count) {
  *count = 1;
  return ddl::emulation::properties().count_status;
}
cudaError_t cudaSetDevice(int) { return cudaSuccess; }
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int) {
  const ddl::emulation::Properties& its = ddl::emulation::properties();
  *properties = {};
  std::strcpy(properties->name, "emulated device");
  properties->major = its.major;
  properties->minor = its.minor;
  properties->multiProcessorCount = its.multiprocessors;
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
  *version = ddl::emulation::properties().driver;
  return cudaSuccess;
}
cudaError_t cudaRuntimeGetVersion(int* version) {
  *version = 13000;
  return cudaSuccess;
}

}  // extern "C"
