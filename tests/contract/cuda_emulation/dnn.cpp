// cuDNN's graph interface by its definitions: descriptors keep what is set, and a plan runs the one operation of its graph
// in plain loops. Like the library, it declines batch norms of odd channels and what it has no kernels for.

#include <array>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <vector>

#include <cudnn.h>

#include "tests/contract/cuda_emulation/numbers.hpp"

namespace {

using ddl::emulation::Numbers;
using Index = std::int64_t;

struct Parts {
  cudnnBackendDescriptorType_t type;
  std::map<cudnnBackendAttributeName_t, std::vector<char>> values;

  template <class Value>
  [[nodiscard]] std::vector<Value> all(cudnnBackendAttributeName_t name) const {
    const auto found = values.find(name);
    if (found == values.end()) return {};
    std::vector<Value> result(found->second.size() / sizeof(Value));
    std::memcpy(result.data(), found->second.data(), result.size() * sizeof(Value));
    return result;
  }
  template <class Value>
  [[nodiscard]] Value one(cudnnBackendAttributeName_t name) const {
    return all<Value>(name).at(0);
  }
  [[nodiscard]] const Parts& part(cudnnBackendAttributeName_t name) const { return *one<const Parts*>(name); }
  [[nodiscard]] bool has(cudnnBackendAttributeName_t name) const { return values.contains(name); }
};

std::size_t size_of(cudnnBackendAttributeType_t type) {
  switch (type) {
    case CUDNN_TYPE_BOOLEAN:
      return sizeof(bool);
    case CUDNN_TYPE_CHAR:
      return 1;
    case CUDNN_TYPE_INT64:
    case CUDNN_TYPE_DOUBLE:
    case CUDNN_TYPE_VOID_PTR:
    case CUDNN_TYPE_HANDLE:
    case CUDNN_TYPE_BACKEND_DESCRIPTOR:
      return 8;
    case CUDNN_TYPE_FRACTION:
      return sizeof(cudnnFraction_t);
    default:
      return 4;
  }
}

/// A tensor of a graph with its address.
class Tensor {
 public:
  Tensor(const Parts& tensor, const std::map<Index, void*>& addresses)
      : sizes(tensor.all<Index>(CUDNN_ATTR_TENSOR_DIMENSIONS)),
        strides(tensor.all<Index>(CUDNN_ATTR_TENSOR_STRIDES)),
        type(tensor.one<cudnnDataType_t>(CUDNN_ATTR_TENSOR_DATA_TYPE)),
        address(addresses.at(tensor.one<Index>(CUDNN_ATTR_TENSOR_UNIQUE_ID))),
        numbers_(address, type == CUDNN_DATA_HALF       ? ddl::Precision::fp16
                          : type == CUDNN_DATA_BFLOAT16 ? ddl::Precision::bf16
                                                        : ddl::Precision::fp32) {}
  [[nodiscard]] Index place(const std::vector<Index>& index) const {
    Index place = 0;
    for (std::size_t d = 0; d < index.size(); ++d) place += index[d] * strides[d];
    return place;
  }
  [[nodiscard]] double at(const std::vector<Index>& index) const {
    return type == CUDNN_DATA_INT8 ? static_cast<signed char*>(address)[place(index)] : numbers_.at(place(index));
  }
  void set(const std::vector<Index>& index, double value) const {
    if (type == CUDNN_DATA_INT8) {
      static_cast<signed char*>(address)[place(index)] = static_cast<signed char>(value);
    } else {
      numbers_.set(place(index), value);
    }
  }
  void add(const std::vector<Index>& index, double value) const { sums_[index] += value; }
  /// Writes what was added up, and zeros elsewhere.
  void write_sums() const;

  std::vector<Index> sizes, strides;
  cudnnDataType_t type;
  void* address;

 private:
  Numbers numbers_;
  mutable std::map<std::vector<Index>, double> sums_;
};

void each(const std::vector<Index>& sizes, const std::function<void(const std::vector<Index>&)>& visit) {
  std::vector<Index> index(sizes.size(), 0);
  for (;;) {
    visit(index);
    std::size_t d = sizes.size();
    while (d-- > 0) {
      if (++index[d] < sizes[d]) break;
      index[d] = 0;
      if (d == 0) return;
    }
  }
}

void Tensor::write_sums() const {
  each(sizes, [&](const std::vector<Index>& index) {
    const auto sum = sums_.find(index);
    set(index, sum == sums_.end() ? 0.0 : sum->second);
  });
}

using Addresses = std::map<Index, void*>;

enum class Direction { forward, data, weights };

void convolve(const Parts& operation, const Addresses& addresses, Direction direction,
              const std::array<cudnnBackendAttributeName_t, 4>& names) {
  const Tensor large(operation.part(names[0]), addresses);
  const Tensor weights(operation.part(names[1]), addresses);
  const Tensor small(operation.part(names[2]), addresses);
  const Parts& convolution = operation.part(names[3]);
  const auto stride = convolution.all<Index>(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES);
  const auto dilation = convolution.all<Index>(CUDNN_ATTR_CONVOLUTION_DILATIONS);
  const auto before = convolution.all<Index>(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS);
  const Index groups = large.sizes[1] / weights.sizes[1];
  const Index filters = small.sizes[1] / groups;
  each(small.sizes, [&](const std::vector<Index>& out) {
    each({weights.sizes.begin() + 1, weights.sizes.end()}, [&](const std::vector<Index>& step) {
      std::vector<Index> in{out[0], out[1] / filters * weights.sizes[1] + step[0]};
      std::vector<Index> weight{out[1]};
      weight.insert(weight.end(), step.begin(), step.end());
      for (std::size_t d = 0; d < stride.size(); ++d) {
        in.push_back(out[d + 2] * stride[d] - before[d] + step[d + 1] * dilation[d]);
        if (in.back() < 0 || in.back() >= large.sizes[d + 2]) return;
      }
      if (direction == Direction::forward) small.add(out, large.at(in) * weights.at(weight));
      if (direction == Direction::data) large.add(in, small.at(out) * weights.at(weight));
      if (direction == Direction::weights) weights.add(weight, small.at(out) * large.at(in));
    });
  });
  (direction == Direction::forward ? small : direction == Direction::data ? large : weights).write_sums();
}

/// The group of an item, as an index into the statistics, and the channel's into what is trained.
std::vector<Index> matching(const std::vector<Index>& index, const std::vector<Index>& sizes) {
  std::vector<Index> result = index;
  for (std::size_t d = 0; d < result.size(); ++d) {
    if (sizes[d] == 1) result[d] = 0;
  }
  return result;
}

void norm_forward(const Parts& operation, const Addresses& addresses) {
  const auto tensor = [&](cudnnBackendAttributeName_t name) { return Tensor(operation.part(name), addresses); };
  const Tensor x = tensor(CUDNN_ATTR_OPERATION_NORM_FWD_XDESC), y = tensor(CUDNN_ATTR_OPERATION_NORM_FWD_YDESC);
  const Tensor mean = tensor(CUDNN_ATTR_OPERATION_NORM_FWD_MEAN_DESC);
  const Tensor inverse = tensor(CUDNN_ATTR_OPERATION_NORM_FWD_INV_VARIANCE_DESC);
  const Tensor scale = tensor(CUDNN_ATTR_OPERATION_NORM_FWD_SCALE_DESC);
  const Tensor shift = tensor(CUDNN_ATTR_OPERATION_NORM_FWD_BIAS_DESC);
  const double epsilon = tensor(CUDNN_ATTR_OPERATION_NORM_FWD_EPSILON_DESC).at({0});
  std::map<std::vector<Index>, std::array<double, 3>> groups;
  const auto group_of = [&](const std::vector<Index>& index) -> auto& { return groups[matching(index, mean.sizes)]; };
  each(x.sizes, [&](const std::vector<Index>& i) {
    auto& [count, sum, squares] = group_of(i);
    count += 1;
    sum += x.at(i);
    squares += x.at(i) * x.at(i);
  });
  for (const auto& [index, group] : groups) {
    const double average = group[1] / group[0];
    mean.set(index, average);
    inverse.set(index, 1 / std::sqrt(group[2] / group[0] - average * average + epsilon));
  }
  each(x.sizes, [&](const std::vector<Index>& i) {
    const auto group = matching(i, mean.sizes);
    const auto channel = matching(i, scale.sizes);
    y.set(i, (x.at(i) - mean.at(group)) * inverse.at(group) * scale.at(channel) + shift.at(channel));
  });
}

void norm_backward(const Parts& operation, const Addresses& addresses) {
  const auto tensor = [&](cudnnBackendAttributeName_t name) { return Tensor(operation.part(name), addresses); };
  const Tensor x = tensor(CUDNN_ATTR_OPERATION_NORM_BWD_XDESC), dy = tensor(CUDNN_ATTR_OPERATION_NORM_BWD_DYDESC);
  const Tensor dx = tensor(CUDNN_ATTR_OPERATION_NORM_BWD_DXDESC);
  const Tensor mean = tensor(CUDNN_ATTR_OPERATION_NORM_BWD_MEAN_DESC);
  const Tensor inverse = tensor(CUDNN_ATTR_OPERATION_NORM_BWD_INV_VARIANCE_DESC);
  const Tensor scale = tensor(CUDNN_ATTR_OPERATION_NORM_BWD_SCALE_DESC);
  const Tensor dscale = tensor(CUDNN_ATTR_OPERATION_NORM_BWD_DSCALE_DESC);
  const Tensor dshift = tensor(CUDNN_ATTR_OPERATION_NORM_BWD_DBIAS_DESC);
  std::map<std::vector<Index>, std::array<double, 3>> groups;
  const auto value_of = [&](const std::vector<Index>& i) {
    const auto group = matching(i, mean.sizes);
    return (x.at(i) - mean.at(group)) * inverse.at(group);
  };
  each(x.sizes, [&](const std::vector<Index>& i) {
    const auto channel = matching(i, scale.sizes);
    const double slope = dy.at(i) * scale.at(channel);
    auto& [count, sum, product] = groups[matching(i, mean.sizes)];
    count += 1;
    sum += slope;
    product += slope * value_of(i);
    dscale.add(channel, dy.at(i) * value_of(i));
    dshift.add(channel, dy.at(i));
  });
  each(x.sizes, [&](const std::vector<Index>& i) {
    const auto group = matching(i, mean.sizes);
    const auto& [count, sum, product] = groups.at(group);
    const double slope = dy.at(i) * scale.at(matching(i, scale.sizes));
    dx.set(i, inverse.at(group) * (slope - (sum + value_of(i) * product) / count));
  });
  dscale.write_sums();
  dshift.write_sums();
}

void resample(const Parts& operation, const Addresses& addresses, bool forward) {
  const Tensor large(
      operation.part(forward ? CUDNN_ATTR_OPERATION_RESAMPLE_FWD_XDESC : CUDNN_ATTR_OPERATION_RESAMPLE_BWD_DXDESC),
      addresses);
  const Tensor small(
      operation.part(forward ? CUDNN_ATTR_OPERATION_RESAMPLE_FWD_YDESC : CUDNN_ATTR_OPERATION_RESAMPLE_BWD_DYDESC),
      addresses);
  const auto winners_name = forward ? CUDNN_ATTR_OPERATION_RESAMPLE_FWD_IDXDESC : CUDNN_ATTR_OPERATION_RESAMPLE_BWD_IDXDESC;
  std::optional<Tensor> winners;
  if (operation.has(winners_name)) winners.emplace(operation.part(winners_name), addresses);
  const Parts& window =
      operation.part(forward ? CUDNN_ATTR_OPERATION_RESAMPLE_FWD_DESC : CUDNN_ATTR_OPERATION_RESAMPLE_BWD_DESC);
  const auto mode = window.one<cudnnResampleMode_t>(CUDNN_ATTR_RESAMPLE_MODE);
  const auto whole = [&](cudnnBackendAttributeName_t name) {
    std::vector<Index> sizes;
    for (const cudnnFraction_t& size : window.all<cudnnFraction_t>(name)) sizes.push_back(size.numerator / size.denominator);
    return sizes;
  };
  const auto kernel = whole(CUDNN_ATTR_RESAMPLE_WINDOW_DIMS);
  const auto stride = whole(CUDNN_ATTR_RESAMPLE_STRIDES);
  const auto before = whole(CUDNN_ATTR_RESAMPLE_PRE_PADDINGS);
  each(small.sizes, [&](const std::vector<Index>& out) {
    double largest = -std::numeric_limits<double>::infinity();
    double sum = 0;
    double inside = 0;
    Index winner = 0;
    Index step_number = -1;
    std::vector<std::vector<Index>> read;
    std::vector<Index> numbers;
    each(kernel, [&](const std::vector<Index>& step) {
      ++step_number;
      std::vector<Index> in{out[0], out[1]};
      for (std::size_t d = 0; d < kernel.size(); ++d) {
        in.push_back(out[d + 2] * stride[d] - before[d] + step[d]);
        if (in.back() < 0 || in.back() >= large.sizes[d + 2]) return;
      }
      read.push_back(in);
      numbers.push_back(step_number);
      inside += 1;
      if (!forward) return;
      sum += large.at(in);
      if (large.at(in) > largest) {
        largest = large.at(in);
        winner = step_number;
      }
    });
    const double divisor = mode == CUDNN_RESAMPLE_AVGPOOL_EXCLUDE_PADDING ? inside : static_cast<double>(step_number + 1);
    if (forward) {
      small.set(out, mode == CUDNN_RESAMPLE_MAXPOOL ? largest : sum / divisor);
      if (winners) winners->set(out, static_cast<double>(winner));
      return;
    }
    for (std::size_t i = 0; i < read.size(); ++i) {
      if (!winners) large.add(read[i], small.at(out) / divisor);
      if (winners && winners->at(out) == static_cast<double>(numbers[i])) large.add(read[i], small.at(out));
    }
  });
  if (!forward) large.write_sums();
}

void point(const Parts& operation, const Addresses& addresses) {
  const Parts& function = operation.part(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR);
  const auto mode = function.one<cudnnPointwiseMode_t>(CUDNN_ATTR_POINTWISE_MODE);
  const double ceiling = function.has(CUDNN_ATTR_POINTWISE_RELU_UPPER_CLIP)
                             ? function.one<double>(CUDNN_ATTR_POINTWISE_RELU_UPPER_CLIP)
                             : std::numeric_limits<double>::infinity();
  const double slope = function.has(CUDNN_ATTR_POINTWISE_RELU_LOWER_CLIP_SLOPE)
                           ? function.one<double>(CUDNN_ATTR_POINTWISE_RELU_LOWER_CLIP_SLOPE)
                           : 0;
  const bool forward = operation.has(CUDNN_ATTR_OPERATION_POINTWISE_YDESC);
  const auto value = [&](double x) {
    const double sigmoid = 1 / (1 + std::exp(-x));
    switch (mode) {
      case CUDNN_POINTWISE_TANH_FWD:
      case CUDNN_POINTWISE_TANH_BWD:
        return std::tanh(x);
      case CUDNN_POINTWISE_SIGMOID_FWD:
      case CUDNN_POINTWISE_SIGMOID_BWD:
        return sigmoid;
      case CUDNN_POINTWISE_GELU_FWD:
      case CUDNN_POINTWISE_GELU_BWD:
        return 0.5 * x * (1 + std::erf(x / std::sqrt(2.0)));
      case CUDNN_POINTWISE_SWISH_FWD:
      case CUDNN_POINTWISE_SWISH_BWD:
        return x * sigmoid;
      case CUDNN_POINTWISE_ELU_FWD:
      case CUDNN_POINTWISE_ELU_BWD:
        return x > 0 ? x : std::exp(x) - 1;
      default:
        return std::min(x > 0 ? x : slope * x, ceiling);
    }
  };
  const Tensor x(operation.part(CUDNN_ATTR_OPERATION_POINTWISE_XDESC), addresses);
  if (forward) {
    const Tensor y(operation.part(CUDNN_ATTR_OPERATION_POINTWISE_YDESC), addresses);
    each(x.sizes, [&](const std::vector<Index>& i) { y.set(i, value(x.at(i))); });
    return;
  }
  const Tensor dy(operation.part(CUDNN_ATTR_OPERATION_POINTWISE_DYDESC), addresses);
  const Tensor dx(operation.part(CUDNN_ATTR_OPERATION_POINTWISE_DXDESC), addresses);
  constexpr double step = 1e-6;
  each(x.sizes, [&](const std::vector<Index>& i) {
    dx.set(i, dy.at(i) * (value(x.at(i) + step) - value(x.at(i) - step)) / (2 * step));
  });
}

/// Whether the library would have engines for the graph, as far as was seen on its own lists for an H100.
bool is_offered(const Parts& operation) {
  switch (operation.type) {
    case CUDNN_BACKEND_OPERATION_NORM_FORWARD_DESCRIPTOR:
    case CUDNN_BACKEND_OPERATION_NORM_BACKWARD_DESCRIPTOR: {
      const bool forward = operation.type == CUDNN_BACKEND_OPERATION_NORM_FORWARD_DESCRIPTOR;
      const auto mode = operation.one<cudnnBackendNormMode_t>(forward ? CUDNN_ATTR_OPERATION_NORM_FWD_MODE
                                                                      : CUDNN_ATTR_OPERATION_NORM_BWD_MODE);
      const Parts& x = operation.part(forward ? CUDNN_ATTR_OPERATION_NORM_FWD_XDESC : CUDNN_ATTR_OPERATION_NORM_BWD_XDESC);
      return mode != CUDNN_BATCH_NORM || x.all<Index>(CUDNN_ATTR_TENSOR_DIMENSIONS)[1] % 2 == 0;
    }
    case CUDNN_BACKEND_OPERATION_RESAMPLE_FWD_DESCRIPTOR:
      return true;
    case CUDNN_BACKEND_OPERATION_RESAMPLE_BWD_DESCRIPTOR: {
      // Backward of a maximum only with channels innermost.
      const Parts& dx = operation.part(CUDNN_ATTR_OPERATION_RESAMPLE_BWD_DXDESC);
      return !operation.has(CUDNN_ATTR_OPERATION_RESAMPLE_BWD_IDXDESC) || dx.all<Index>(CUDNN_ATTR_TENSOR_STRIDES)[1] == 1;
    }
    default:
      return true;
  }
}

cudnnStatus_t run(const Parts& operation, const Addresses& addresses) {
  switch (operation.type) {
    case CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR:
      convolve(operation, addresses, Direction::forward,
               {CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W,
                CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC});
      return CUDNN_STATUS_SUCCESS;
    case CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR:
      convolve(operation, addresses, Direction::data,
               {CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W,
                CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC});
      return CUDNN_STATUS_SUCCESS;
    case CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR:
      convolve(operation, addresses, Direction::weights,
               {CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW,
                CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC});
      return CUDNN_STATUS_SUCCESS;
    case CUDNN_BACKEND_OPERATION_NORM_FORWARD_DESCRIPTOR:
      norm_forward(operation, addresses);
      return CUDNN_STATUS_SUCCESS;
    case CUDNN_BACKEND_OPERATION_NORM_BACKWARD_DESCRIPTOR:
      norm_backward(operation, addresses);
      return CUDNN_STATUS_SUCCESS;
    case CUDNN_BACKEND_OPERATION_RESAMPLE_FWD_DESCRIPTOR:
      resample(operation, addresses, true);
      return CUDNN_STATUS_SUCCESS;
    case CUDNN_BACKEND_OPERATION_RESAMPLE_BWD_DESCRIPTOR:
      resample(operation, addresses, false);
      return CUDNN_STATUS_SUCCESS;
    case CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR:
      point(operation, addresses);
      return CUDNN_STATUS_SUCCESS;
    default:
      return CUDNN_STATUS_NOT_SUPPORTED;
  }
}

Parts& parts(cudnnBackendDescriptor_t descriptor) { return *static_cast<Parts*>(descriptor); }

template <class Value>
void keep(Parts& to, cudnnBackendAttributeName_t name, const Value& value) {
  const auto* bytes = reinterpret_cast<const char*>(&value);
  to.values[name].assign(bytes, bytes + sizeof value);
}

const Parts& operation_of(const Parts& graph) { return graph.part(CUDNN_ATTR_OPERATIONGRAPH_OPS); }

/// Engine 0 multiplies on tensor cores in less than fp32, engine 1 does not.
constexpr Index engines = 2;

}  // namespace

extern "C" {

cudnnStatus_t cudnnCreate(cudnnHandle_t* handle) {
  static int any = 0;
  *handle = reinterpret_cast<cudnnHandle_t>(&any);
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnDestroy(cudnnHandle_t) { return CUDNN_STATUS_SUCCESS; }
cudnnStatus_t cudnnSetStream(cudnnHandle_t, cudaStream_t) { return CUDNN_STATUS_SUCCESS; }
size_t cudnnGetVersion() { return 91900; }
const char* cudnnGetErrorString(cudnnStatus_t) { return "CUDNN_STATUS"; }
void cudnnGetLastErrorString(char* message, size_t size) {
  if (size > 0) message[0] = '\0';
}

cudnnStatus_t cudnnBackendCreateDescriptor(cudnnBackendDescriptorType_t type, cudnnBackendDescriptor_t* descriptor) {
  *descriptor = new Parts{type, {}};
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnBackendDestroyDescriptor(cudnnBackendDescriptor_t descriptor) {
  delete static_cast<Parts*>(descriptor);
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnBackendFinalize(cudnnBackendDescriptor_t) { return CUDNN_STATUS_SUCCESS; }
cudnnStatus_t cudnnBackendSetAttribute(cudnnBackendDescriptor_t descriptor, cudnnBackendAttributeName_t name,
                                       cudnnBackendAttributeType_t type, int64_t count, const void* values) {
  const auto* bytes = static_cast<const char*>(values);
  parts(descriptor).values[name].assign(bytes, bytes + static_cast<std::size_t>(count) * size_of(type));
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnBackendGetAttribute(cudnnBackendDescriptor_t descriptor, cudnnBackendAttributeName_t name,
                                       cudnnBackendAttributeType_t, int64_t asked, int64_t* count, void* values) {
  const Parts& its = parts(descriptor);
  if (name == CUDNN_ATTR_ENGINEHEUR_RESULTS) {
    const Parts& graph = its.part(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH);
    const bool first = its.one<cudnnBackendHeurMode_t>(CUDNN_ATTR_ENGINEHEUR_MODE) == CUDNN_HEUR_MODE_A;
    *count = first && is_offered(operation_of(graph)) ? engines : 0;
    for (Index i = 0; i < std::min(asked, *count); ++i) {
      Parts& configuration = parts(static_cast<cudnnBackendDescriptor_t*>(values)[i]);
      keep(configuration, CUDNN_ATTR_ENGINE_OPERATION_GRAPH, &graph);
      keep(configuration, CUDNN_ATTR_ENGINE_GLOBAL_INDEX, i);
    }
    // As many are thought of as in the first call, and one fewer is given where there is nothing to give.
    return CUDNN_STATUS_SUCCESS;
  }
  *count = 1;
  if (name == CUDNN_ATTR_ENGINECFG_ENGINE) {
    Parts& engine = parts(*static_cast<cudnnBackendDescriptor_t*>(values));
    engine.values = its.values;
  } else if (name == CUDNN_ATTR_ENGINE_GLOBAL_INDEX) {
    *static_cast<Index*>(values) = its.one<Index>(name);
  } else if (name == CUDNN_ATTR_ENGINE_NUMERICAL_NOTE) {
    *count = its.one<Index>(CUDNN_ATTR_ENGINE_GLOBAL_INDEX) == 0 ? 1 : 0;
    *static_cast<cudnnBackendNumericalNote_t*>(values) = CUDNN_NUMERICAL_NOTE_TENSOR_CORE;
  } else if (name == CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE) {
    const Parts& configuration = its.part(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG);
    *static_cast<Index*>(values) = 512 * (1 - configuration.one<Index>(CUDNN_ATTR_ENGINE_GLOBAL_INDEX));
  } else {
    return CUDNN_STATUS_BAD_PARAM;
  }
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnBackendExecute(cudnnHandle_t, cudnnBackendDescriptor_t plan, cudnnBackendDescriptor_t pack) {
  const Parts& configuration = parts(plan).part(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG);
  const Parts& graph = configuration.part(CUDNN_ATTR_ENGINE_OPERATION_GRAPH);
  const auto numbers = parts(pack).all<Index>(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS);
  const auto pointers = parts(pack).all<void*>(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS);
  Addresses addresses;
  for (std::size_t i = 0; i < numbers.size(); ++i) addresses[numbers[i]] = pointers[i];
  return run(operation_of(graph), addresses);
}

struct cudnnTensorStruct {
  cudnnDataType_t type;
  int rows, columns;
};
cudnnStatus_t cudnnCreateTensorDescriptor(cudnnTensorDescriptor_t* descriptor) {
  *descriptor = new cudnnTensorStruct();
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnDestroyTensorDescriptor(cudnnTensorDescriptor_t descriptor) {
  delete descriptor;
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnSetTensor4dDescriptor(cudnnTensorDescriptor_t descriptor, cudnnTensorFormat_t, cudnnDataType_t type,
                                         int rows, int columns, int, int) {
  *descriptor = {type, rows, columns};
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnSoftmaxForward(cudnnHandle_t, cudnnSoftmaxAlgorithm_t, cudnnSoftmaxMode_t, const void*,
                                  const cudnnTensorDescriptor_t descriptor, const void* x, const void*,
                                  const cudnnTensorDescriptor_t, void* y) {
  const auto precision = descriptor->type == CUDNN_DATA_HALF       ? ddl::Precision::fp16
                         : descriptor->type == CUDNN_DATA_BFLOAT16 ? ddl::Precision::bf16
                                                                   : ddl::Precision::fp32;
  const Numbers from(x, precision), to(y, precision);
  for (Index row = 0; row < descriptor->rows; ++row) {
    const Index start = row * descriptor->columns;
    double sum = 0;
    for (Index i = start; i < start + descriptor->columns; ++i) sum += std::exp(from.at(i));
    for (Index i = start; i < start + descriptor->columns; ++i) to.set(i, std::exp(from.at(i)) / sum);
  }
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnSoftmaxBackward(cudnnHandle_t, cudnnSoftmaxAlgorithm_t, cudnnSoftmaxMode_t, const void*,
                                   const cudnnTensorDescriptor_t descriptor, const void* y, const cudnnTensorDescriptor_t,
                                   const void* dy, const void*, const cudnnTensorDescriptor_t, void* dx) {
  const auto precision = descriptor->type == CUDNN_DATA_HALF       ? ddl::Precision::fp16
                         : descriptor->type == CUDNN_DATA_BFLOAT16 ? ddl::Precision::bf16
                                                                   : ddl::Precision::fp32;
  const Numbers output(y, precision), gradient(dy, precision), to(dx, precision);
  for (Index row = 0; row < descriptor->rows; ++row) {
    const Index start = row * descriptor->columns;
    double sum = 0;
    for (Index i = start; i < start + descriptor->columns; ++i) sum += output.at(i) * gradient.at(i);
    for (Index i = start; i < start + descriptor->columns; ++i) to.set(i, output.at(i) * (gradient.at(i) - sum));
  }
  return CUDNN_STATUS_SUCCESS;
}

}  // extern "C"
