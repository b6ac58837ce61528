#include "profiler/backends/cuda/device/grid.cuh"

namespace ddl::cuda::device {
namespace {

constexpr int list_block = 512;  ///< threads of a block, as in PyTorch's MultiTensorApply.cuh

/// Calls `work.template run<width>(item)` for the elements of each chunk of a list of tensors.
template <int width, class Work>
__global__ void list_kernel(Work work, ListPart part) {
  const std::int64_t chunks = (part.of_tensor + part.chunk - 1) / part.chunk;
  const std::int64_t at = part.first_block + blockIdx.x;
  const std::int64_t tensor = at / chunks;
  const std::int64_t begin = tensor * part.of_tensor + at % chunks * part.chunk;
  std::int64_t end = (tensor + 1) * part.of_tensor;
  if (end > begin + part.chunk) end = begin + part.chunk;
  if (end > part.items) end = part.items;
  const std::int64_t step = static_cast<std::int64_t>(blockDim.x) * width;
  for (std::int64_t item = begin + static_cast<std::int64_t>(threadIdx.x) * width; item < end; item += step) {
    if (item + width <= end) {
      work.template run<width>(item);
    } else {
      for (std::int64_t i = item; i < end; ++i) work.template run<1>(i);
    }
  }
}

template <class Work>
cudaError_t over_list(cudaStream_t stream, Work work, ListPart part) {
  if (part.blocks == 0) return cudaSuccess;
  // Four elements are read at a time only if all tensors are aligned.
  constexpr int width = whole_width<float>();
  if (part.of_tensor % width == 0 && part.chunk % width == 0) {
    DDL_LAUNCH((list_kernel<width, Work>), static_cast<unsigned>(part.blocks), list_block, stream, work, part);
  } else {
    DDL_LAUNCH((list_kernel<1, Work>), static_cast<unsigned>(part.blocks), list_block, stream, work, part);
  }
  return cudaGetLastError();
}

template <ListFunction function>
struct ListPass {
  float* to;
  const float* a;
  const float* b;
  float factor;
  template <int width>
  __device__ void run(std::int64_t item) const {
    constexpr bool reads_a = function != ListFunction::scale && function != ListFunction::shift;
    constexpr bool reads_b = function == ListFunction::addcmul || function == ListFunction::addcdiv;
    Pack<float, width> value, x, y;
    if constexpr (function != ListFunction::root) value = load<width>(to, item);
    if constexpr (reads_a) x = load<width>(a, item);
    if constexpr (reads_b) y = load<width>(b, item);
    for (int i = 0; i < width; ++i) {
      float& out = value.at[i];
      if constexpr (function == ListFunction::scale) out *= factor;
      if constexpr (function == ListFunction::shift) out += factor;
      if constexpr (function == ListFunction::add) out += factor * x.at[i];
      if constexpr (function == ListFunction::lerp) out += factor * (x.at[i] - out);
      if constexpr (function == ListFunction::addcmul) out += factor * x.at[i] * y.at[i];
      if constexpr (function == ListFunction::root) out = sqrtf(x.at[i]);
      if constexpr (function == ListFunction::addcdiv) out += factor * x.at[i] / y.at[i];
    }
    store<width>(to, item, value);
  }
};

template <Step step>
struct ListUpdate {
  float* weights;
  const float* gradients;
  float* first;
  float* second;
  template <int width>
  __device__ void run(std::int64_t item) const {
    constexpr float rate = 1e-3F;  // small, so that values stay finite however often it runs
    Pack<float, width> weight = load<width>(weights, item);
    const Pack<float, width> gradient = load<width>(gradients, item);
    Pack<float, width> m, v;
    if constexpr (step != Step::sgd) m = load<width>(first, item);
    if constexpr (step == Step::adam) v = load<width>(second, item);
    for (int i = 0; i < width; ++i) {
      const float slope = gradient.at[i];
      if constexpr (step == Step::sgd) weight.at[i] -= rate * slope;
      if constexpr (step == Step::momentum) {
        m.at[i] = 0.9F * m.at[i] + slope;
        weight.at[i] -= rate * m.at[i];
      }
      if constexpr (step == Step::adam) {
        m.at[i] = 0.9F * m.at[i] + 0.1F * slope;
        v.at[i] = 0.999F * v.at[i] + 0.001F * slope * slope;
        weight.at[i] -= rate * m.at[i] / (sqrtf(v.at[i]) + 1e-8F);
      }
    }
    store<width>(weights, item, weight);
    if constexpr (step != Step::sgd) store<width>(first, item, m);
    if constexpr (step == Step::adam) store<width>(second, item, v);
  }
};

}  // namespace

cudaError_t list_pass(cudaStream_t stream, ListFunction function, ListPart part, float* to, const float* a, const float* b,
                      float factor) {
  switch (function) {
    case ListFunction::scale:
      return over_list(stream, ListPass<ListFunction::scale>{to, a, b, factor}, part);
    case ListFunction::add:
      return over_list(stream, ListPass<ListFunction::add>{to, a, b, factor}, part);
    case ListFunction::lerp:
      return over_list(stream, ListPass<ListFunction::lerp>{to, a, b, factor}, part);
    case ListFunction::addcmul:
      return over_list(stream, ListPass<ListFunction::addcmul>{to, a, b, factor}, part);
    case ListFunction::root:
      return over_list(stream, ListPass<ListFunction::root>{to, a, b, factor}, part);
    case ListFunction::shift:
      return over_list(stream, ListPass<ListFunction::shift>{to, a, b, factor}, part);
    case ListFunction::addcdiv:
      break;
  }
  return over_list(stream, ListPass<ListFunction::addcdiv>{to, a, b, factor}, part);
}

cudaError_t list_update(cudaStream_t stream, Step step, ListPart part, float* weights, const float* gradients, float* first,
                        float* second) {
  switch (step) {
    case Step::sgd:
      return over_list(stream, ListUpdate<Step::sgd>{weights, gradients, first, second}, part);
    case Step::momentum:
      return over_list(stream, ListUpdate<Step::momentum>{weights, gradients, first, second}, part);
    case Step::adam:
      break;
  }
  return over_list(stream, ListUpdate<Step::adam>{weights, gradients, first, second}, part);
}

}  // namespace ddl::cuda::device
