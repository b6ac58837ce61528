// Emulates cuDNN's graph interface by its definitions. Descriptors store attributes, and a plan
// runs the operations of its graph one after the other in plain loops. Like the library, the
// emulation rejects batch norms of odd channels and operations without kernels.

#include <array>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <stdexcept>
#include <utility>
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
    // NOLINTBEGIN(bugprone-sizeof-expression): a value may be a pointer.
    std::vector<Value> result(found->second.size() / sizeof(Value));
    std::memcpy(result.data(), found->second.data(), result.size() * sizeof(Value));
    // NOLINTEND(bugprone-sizeof-expression)
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

Index number_of(const Parts& tensor) { return tensor.one<Index>(CUDNN_ATTR_TENSOR_UNIQUE_ID); }

/// The memory of the tensors of a graph. Tensors between operations have their own fp32 memory, whatever their declared
/// format.
struct Addresses {
  struct Place {
    void* address;
    cudnnDataType_t type;
  };
  std::map<Index, Place> places;
  std::map<Index, std::vector<float>> between;

  Place of(const Parts& tensor) {
    const Index number = number_of(tensor);
    const auto known = places.find(number);
    const auto type = tensor.one<cudnnDataType_t>(CUDNN_ATTR_TENSOR_DATA_TYPE);
    if (known != places.end()) {
      // The tensor has its own format, unless it is an alias of another tensor's memory.
      if (known->second.type == CUDNN_DATA_DOUBLE) known->second.type = type;
      return known->second;
    }
    Index items = 1;
    for (const Index size : tensor.all<Index>(CUDNN_ATTR_TENSOR_DIMENSIONS)) items *= size;
    auto& memory = between[number];
    memory.resize(static_cast<std::size_t>(items));
    return places[number] = {memory.data(), CUDNN_DATA_FLOAT};
  }
};

/// A tensor of a graph with its address.
class Tensor {
 public:
  Tensor(const Parts& tensor, Addresses& addresses)
      : sizes(tensor.all<Index>(CUDNN_ATTR_TENSOR_DIMENSIONS)),
        strides(tensor.all<Index>(CUDNN_ATTR_TENSOR_STRIDES)),
        type(addresses.of(tensor).type),
        address(addresses.of(tensor).address),
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
  /// Returns an element as rounded by a product.
  [[nodiscard]] double factor(const std::vector<Index>& index) const { return numbers_.factor(place(index)); }
  void set(const std::vector<Index>& index, double value) const {
    if (type == CUDNN_DATA_INT8) {
      static_cast<signed char*>(address)[place(index)] = static_cast<signed char>(value);
    } else {
      numbers_.set(place(index), value);
    }
  }
  void add(const std::vector<Index>& index, double value) const { sums_[index] += value; }
  /// Writes the sums of a reduction, and zeros to all other elements.
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

enum class Direction { forward, data, weights };

void convolve(const Parts& operation, Addresses& addresses, Direction direction,
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
      if (direction == Direction::forward) small.add(out, large.factor(in) * weights.factor(weight));
      if (direction == Direction::data) large.add(in, small.factor(out) * weights.factor(weight));
      if (direction == Direction::weights) weights.add(weight, small.factor(out) * large.factor(in));
    });
  });
  (direction == Direction::forward ? small : direction == Direction::data ? large : weights).write_sums();
}

/// Returns the group of an element, as an index into the statistics, and the channel's index into the parameters.
std::vector<Index> matching(const std::vector<Index>& index, const std::vector<Index>& sizes) {
  std::vector<Index> result = index;
  for (std::size_t d = 0; d < result.size(); ++d) {
    if (sizes[d] == 1) result[d] = 0;
  }
  return result;
}

void norm_forward(const Parts& operation, Addresses& addresses) {
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

void norm_backward(const Parts& operation, Addresses& addresses) {
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

void resample(const Parts& operation, Addresses& addresses, bool forward) {
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

/// Computes functions of one to three elements, with broadcasting of smaller tensors.
void point(const Parts& operation, Addresses& addresses) {
  const Tensor x(operation.part(CUDNN_ATTR_OPERATION_POINTWISE_XDESC), addresses);
  const Tensor y(operation.part(CUDNN_ATTR_OPERATION_POINTWISE_YDESC), addresses);
  const auto other = [&](cudnnBackendAttributeName_t name) {
    return operation.has(name) ? std::optional<Tensor>(std::in_place, operation.part(name), addresses) : std::nullopt;
  };
  const std::optional<Tensor> b = other(CUDNN_ATTR_OPERATION_POINTWISE_BDESC);
  const std::optional<Tensor> t = other(CUDNN_ATTR_OPERATION_POINTWISE_TDESC);
  const Parts& function = operation.part(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR);
  const auto mode = function.one<cudnnPointwiseMode_t>(CUDNN_ATTR_POINTWISE_MODE);
  each(y.sizes, [&](const std::vector<Index>& i) {
    const double first = x.at(matching(i, x.sizes));
    const double second = b ? b->at(matching(i, b->sizes)) : 0;
    switch (mode) {
      case CUDNN_POINTWISE_MUL:
        return y.set(i, first * second);
      case CUDNN_POINTWISE_ADD:
        return y.set(i, first + second);
      case CUDNN_POINTWISE_SUB:
        return y.set(i, first - second);
      case CUDNN_POINTWISE_DIV:
        return y.set(i, first / second);
      case CUDNN_POINTWISE_EXP:
        return y.set(i, std::exp(first));
      case CUDNN_POINTWISE_LOG:
        return y.set(i, std::log(first));
      case CUDNN_POINTWISE_IDENTITY:
        return y.set(i, first);
      case CUDNN_POINTWISE_CMP_GE:
        return y.set(i, first >= second ? 1 : 0);
      case CUDNN_POINTWISE_GEN_INDEX:
        return y.set(i, static_cast<double>(i[static_cast<std::size_t>(function.one<Index>(CUDNN_ATTR_POINTWISE_AXIS))]));
      case CUDNN_POINTWISE_BINARY_SELECT:
        return y.set(i, t->at(matching(i, t->sizes)) != 0 ? first : second);
      default:
        throw std::logic_error("a function that the emulation does not know");
    }
  });
}

void multiply(const Parts& operation, Addresses& addresses) {
  const Tensor a(operation.part(CUDNN_ATTR_OPERATION_MATMUL_ADESC), addresses);
  const Tensor b(operation.part(CUDNN_ATTR_OPERATION_MATMUL_BDESC), addresses);
  const Tensor c(operation.part(CUDNN_ATTR_OPERATION_MATMUL_CDESC), addresses);
  // Consecutive heads of the first matrix may share a head of the second.
  const Index sharing = a.sizes[1] / b.sizes[1];
  each(c.sizes, [&](const std::vector<Index>& i) {
    double sum = 0;
    for (Index k = 0; k < a.sizes[3]; ++k)
      sum += a.factor({i[0], i[1], i[2], k}) * b.factor({i[0], i[1] / sharing, k, i[3]});
    c.set(i, sum);
  });
}

void reduce(const Parts& operation, Addresses& addresses) {
  const Tensor x(operation.part(CUDNN_ATTR_OPERATION_REDUCTION_XDESC), addresses);
  const Tensor y(operation.part(CUDNN_ATTR_OPERATION_REDUCTION_YDESC), addresses);
  const bool adds =
      operation.part(CUDNN_ATTR_OPERATION_REDUCTION_DESC).one<cudnnReduceTensorOp_t>(CUDNN_ATTR_REDUCTION_OPERATOR) ==
      CUDNN_REDUCE_TENSOR_ADD;
  if (y.sizes[3] == x.sizes[3] && y.sizes[1] < x.sizes[1]) {
    // The sum is over the heads that share a head of keys and values.
    const Index sharing = x.sizes[1] / y.sizes[1];
    each(y.sizes, [&](const std::vector<Index>& i) {
      double sum = 0;
      for (Index head = i[1] * sharing; head < (i[1] + 1) * sharing; ++head) sum += x.at({i[0], head, i[2], i[3]});
      y.set(i, sum);
    });
    return;
  }
  each(y.sizes, [&](const std::vector<Index>& i) {
    double value = adds ? 0 : -std::numeric_limits<double>::infinity();
    for (Index k = 0; k < x.sizes[3]; ++k) {
      const double item = x.at({i[0], i[1], i[2], k});
      value = adds ? value + item : std::max(value, item);
    }
    y.set(i, value);
  });
}

/// Gives the same memory other sizes and strides.
void reshape(const Parts& operation, Addresses& addresses) {
  const Parts& to = operation.part(CUDNN_ATTR_OPERATION_RESHAPE_YDESC);
  addresses.places[number_of(to)] = addresses.of(operation.part(CUDNN_ATTR_OPERATION_RESHAPE_XDESC));
}

/// Returns whether the library would have engines for the graph, as observed in its lists for an H100.
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
    case CUDNN_BACKEND_OPERATION_RESAMPLE_BWD_DESCRIPTOR: {
      // The backward of a maximum is only supported with channels innermost.
      const Parts& dx = operation.part(CUDNN_ATTR_OPERATION_RESAMPLE_BWD_DXDESC);
      return !operation.has(CUDNN_ATTR_OPERATION_RESAMPLE_BWD_IDXDESC) || dx.all<Index>(CUDNN_ATTR_TENSOR_STRIDES)[1] == 1;
    }
    default:
      return true;
  }
}

cudnnStatus_t run(const Parts& operation, Addresses& addresses) {
  switch (operation.type) {
    case CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR:
      multiply(operation, addresses);
      return CUDNN_STATUS_SUCCESS;
    case CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR:
      reduce(operation, addresses);
      return CUDNN_STATUS_SUCCESS;
    case CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR:
      reshape(operation, addresses);
      return CUDNN_STATUS_SUCCESS;
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
  to.values[name].assign(bytes, bytes + sizeof value);  // NOLINT(bugprone-sizeof-expression): a value may be a pointer
}

std::vector<const Parts*> operations_of(const Parts& graph) {
  return graph.all<const Parts*>(CUDNN_ATTR_OPERATIONGRAPH_OPS);
}

/// How an engine multiplies in fp32.
struct Engine {
  std::vector<cudnnBackendNumericalNote_t> notes;
  int bits;  ///< bits that are kept of fp32 after the binary point
};
/// The first engine rounds its inputs to bf16, the second multiplies on tensor cores, and the third does neither.
const std::vector<Engine> engines{
    {{CUDNN_NUMERICAL_NOTE_TENSOR_CORE, CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS}, 7},
    {{CUDNN_NUMERICAL_NOTE_TENSOR_CORE}, 10},
    {{}, 23},
};

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
    *count = first && is_offered(*operations_of(graph).front()) ? static_cast<Index>(engines.size()) : 0;
    for (Index i = 0; i < std::min(asked, *count); ++i) {
      Parts& configuration = parts(static_cast<cudnnBackendDescriptor_t*>(values)[i]);
      keep(configuration, CUDNN_ATTR_ENGINE_OPERATION_GRAPH, &graph);
      keep(configuration, CUDNN_ATTR_ENGINE_GLOBAL_INDEX, i);
    }
    // The returned number of engines is the number of the first call, minus one if an engine is not available.
    return CUDNN_STATUS_SUCCESS;
  }
  *count = 1;
  if (name == CUDNN_ATTR_ENGINECFG_ENGINE) {
    Parts& engine = parts(*static_cast<cudnnBackendDescriptor_t*>(values));
    engine.values = its.values;
  } else if (name == CUDNN_ATTR_ENGINE_GLOBAL_INDEX) {
    *static_cast<Index*>(values) = its.one<Index>(name);
  } else if (name == CUDNN_ATTR_ENGINE_NUMERICAL_NOTE) {
    const auto& notes = engines.at(static_cast<std::size_t>(its.one<Index>(CUDNN_ATTR_ENGINE_GLOBAL_INDEX))).notes;
    *count = static_cast<Index>(notes.size());
    std::copy(notes.begin(), notes.end(), static_cast<cudnnBackendNumericalNote_t*>(values));
  } else if (name == CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE) {
    const Parts& configuration = its.part(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG);
    *static_cast<Index*>(values) = 512 * (2 - configuration.one<Index>(CUDNN_ATTR_ENGINE_GLOBAL_INDEX));
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
  ddl::emulation::launched();
  ddl::emulation::product_bits() =
      engines.at(static_cast<std::size_t>(configuration.one<Index>(CUDNN_ATTR_ENGINE_GLOBAL_INDEX))).bits;
  Addresses addresses;
  for (std::size_t i = 0; i < numbers.size(); ++i) addresses.places[numbers[i]] = {pointers[i], CUDNN_DATA_DOUBLE};
  for (const Parts* operation : operations_of(graph)) {
    if (const cudnnStatus_t status = run(*operation, addresses); status != CUDNN_STATUS_SUCCESS) return status;
  }
  return CUDNN_STATUS_SUCCESS;
}

struct cudnnTensorStruct {
  cudnnDataType_t type;
  std::vector<Index> sizes, strides;

  [[nodiscard]] Numbers at(const void* address) const {
    return {address, type == CUDNN_DATA_HALF       ? ddl::Precision::fp16
                     : type == CUDNN_DATA_BFLOAT16 ? ddl::Precision::bf16
                                                   : ddl::Precision::fp32};
  }
  [[nodiscard]] Index place(const std::vector<Index>& index) const {
    Index place = 0;
    for (std::size_t d = 0; d < index.size(); ++d) place += index[d] * strides[d];
    return place;
  }
};
cudnnStatus_t cudnnCreateTensorDescriptor(cudnnTensorDescriptor_t* descriptor) {
  *descriptor = new cudnnTensorStruct();
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnDestroyTensorDescriptor(cudnnTensorDescriptor_t descriptor) {
  delete descriptor;
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnSetTensorNdDescriptor(cudnnTensorDescriptor_t descriptor, cudnnDataType_t type, int count,
                                         const int* sizes, const int* strides) {
  *descriptor = {type, {sizes, sizes + count}, {strides, strides + count}};
  return CUDNN_STATUS_SUCCESS;
}

/// Calls `row` with the positions of each row that sums to one: a sample, or the channels of a position.
static void each_softmax_row(const cudnnTensorStruct& data, cudnnSoftmaxMode_t mode,
                             const std::function<void(const std::vector<Index>&)>& row) {
  std::map<std::vector<Index>, std::vector<Index>> rows;
  each(data.sizes, [&](const std::vector<Index>& i) {
    std::vector<Index> key{i[0]};
    if (mode == CUDNN_SOFTMAX_MODE_CHANNEL) key.insert(key.end(), i.begin() + 2, i.end());
    rows[key].push_back(data.place(i));
  });
  for (const auto& [key, places] : rows) row(places);
}
cudnnStatus_t cudnnSoftmaxForward(cudnnHandle_t, cudnnSoftmaxAlgorithm_t, cudnnSoftmaxMode_t mode, const void*,
                                  const cudnnTensorDescriptor_t data, const void* x, const void*,
                                  const cudnnTensorDescriptor_t, void* y) {
  const Numbers from = data->at(x), to = data->at(y);
  each_softmax_row(*data, mode, [&](const std::vector<Index>& places) {
    double sum = 0;
    for (const Index i : places) sum += std::exp(from.at(i));
    for (const Index i : places) to.set(i, std::exp(from.at(i)) / sum);
  });
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnSoftmaxBackward(cudnnHandle_t, cudnnSoftmaxAlgorithm_t, cudnnSoftmaxMode_t mode, const void*,
                                   const cudnnTensorDescriptor_t data, const void* y, const cudnnTensorDescriptor_t,
                                   const void* dy, const void*, const cudnnTensorDescriptor_t, void* dx) {
  const Numbers output = data->at(y), gradient = data->at(dy), to = data->at(dx);
  each_softmax_row(*data, mode, [&](const std::vector<Index>& places) {
    double sum = 0;
    for (const Index i : places) sum += output.at(i) * gradient.at(i);
    for (const Index i : places) to.set(i, output.at(i) * (gradient.at(i) - sum));
  });
  return CUDNN_STATUS_SUCCESS;
}

struct cudnnActivationStruct {
  cudnnActivationMode_t mode;
  double coefficient, beta;

  [[nodiscard]] double value(double x) const {
    switch (mode) {
      case CUDNN_ACTIVATION_SIGMOID:
        return 1 / (1 + std::exp(-x));
      case CUDNN_ACTIVATION_TANH:
        return std::tanh(x);
      case CUDNN_ACTIVATION_CLIPPED_RELU:
        return std::min(std::max(x, 0.0), coefficient);
      case CUDNN_ACTIVATION_ELU:
        return x > 0 ? x : coefficient * (std::exp(x) - 1);
      case CUDNN_ACTIVATION_SWISH:
        return x / (1 + std::exp(-beta * x));
      default:
        return std::max(x, 0.0);
    }
  }
};
cudnnStatus_t cudnnCreateActivationDescriptor(cudnnActivationDescriptor_t* descriptor) {
  *descriptor = new cudnnActivationStruct();
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnDestroyActivationDescriptor(cudnnActivationDescriptor_t descriptor) {
  delete descriptor;
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnSetActivationDescriptor(cudnnActivationDescriptor_t descriptor, cudnnActivationMode_t mode,
                                           cudnnNanPropagation_t, double coefficient) {
  *descriptor = {mode, coefficient, 1};
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnSetActivationDescriptorSwishBeta(cudnnActivationDescriptor_t descriptor, double beta) {
  descriptor->beta = beta;
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnActivationForward(cudnnHandle_t, cudnnActivationDescriptor_t function, const void*,
                                     const cudnnTensorDescriptor_t data, const void* x, const void*,
                                     const cudnnTensorDescriptor_t, void* y) {
  const Numbers from = data->at(x), to = data->at(y);
  each(data->sizes, [&](const std::vector<Index>& i) { to.set(data->place(i), function->value(from.at(data->place(i)))); });
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnActivationBackward(cudnnHandle_t, cudnnActivationDescriptor_t function, const void*,
                                      const cudnnTensorDescriptor_t data, const void*, const cudnnTensorDescriptor_t,
                                      const void* dy, const cudnnTensorDescriptor_t, const void* x, const void*,
                                      const cudnnTensorDescriptor_t, void* dx) {
  const Numbers from = data->at(x), gradient = data->at(dy), to = data->at(dx);
  constexpr double step = 1e-6;
  each(data->sizes, [&](const std::vector<Index>& index) {
    const Index i = data->place(index);
    const double value = from.at(i);
    to.set(i, gradient.at(i) * (function->value(value + step) - function->value(value - step)) / (2 * step));
  });
  return CUDNN_STATUS_SUCCESS;
}

// As in a library without kernels for bf16, the call fails, so that the graph interface is used next.
cudnnStatus_t cudnnGetBatchNormalizationForwardTrainingExWorkspaceSize(
    cudnnHandle_t, cudnnBatchNormMode_t mode, cudnnBatchNormOps_t, const cudnnTensorDescriptor_t data,
    const cudnnTensorDescriptor_t, const cudnnTensorDescriptor_t, const cudnnTensorDescriptor_t,
    const cudnnActivationDescriptor_t, size_t* bytes) {
  *bytes = mode == CUDNN_BATCHNORM_SPATIAL_PERSISTENT ? 256 : 0;
  return data->type == CUDNN_DATA_BFLOAT16 ? CUDNN_STATUS_NOT_SUPPORTED : CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnGetBatchNormalizationBackwardExWorkspaceSize(cudnnHandle_t, cudnnBatchNormMode_t, cudnnBatchNormOps_t,
                                                                const cudnnTensorDescriptor_t, const cudnnTensorDescriptor_t,
                                                                const cudnnTensorDescriptor_t, const cudnnTensorDescriptor_t,
                                                                const cudnnTensorDescriptor_t, const cudnnTensorDescriptor_t,
                                                                const cudnnActivationDescriptor_t, size_t* bytes) {
  *bytes = 128;
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnGetBatchNormalizationTrainingExReserveSpaceSize(cudnnHandle_t, cudnnBatchNormMode_t mode,
                                                                   cudnnBatchNormOps_t, const cudnnActivationDescriptor_t,
                                                                   const cudnnTensorDescriptor_t, size_t* bytes) {
  *bytes = mode == CUDNN_BATCHNORM_SPATIAL_PERSISTENT ? 16 : 0;
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnBatchNormalizationForwardTrainingEx(
    cudnnHandle_t, cudnnBatchNormMode_t, cudnnBatchNormOps_t, const void*, const void*, const cudnnTensorDescriptor_t data,
    const void* x, const cudnnTensorDescriptor_t, const void*, const cudnnTensorDescriptor_t, void* y,
    const cudnnTensorDescriptor_t, const void* scale, const void* shift, double, void* running_mean, void* running_variance,
    double epsilon, void* mean, void* inverse, cudnnActivationDescriptor_t, void*, size_t, void* aside, size_t aside_bytes) {
  const Numbers from = data->at(x), to = data->at(y);
  const auto* scales = static_cast<const float*>(scale);
  const auto* shifts = static_cast<const float*>(shift);
  std::map<Index, std::array<double, 3>> sums;
  each(data->sizes, [&](const std::vector<Index>& i) {
    auto& [count, sum, squares] = sums[i[1]];
    const double value = from.at(data->place(i));
    count += 1;
    sum += value;
    squares += value * value;
  });
  for (const auto& [channel, sum] : sums) {
    const double average = sum[1] / sum[0];
    const double variance = sum[2] / sum[0] - average * average;
    static_cast<float*>(mean)[channel] = static_cast<float>(average);
    static_cast<float*>(inverse)[channel] = static_cast<float>(1 / std::sqrt(variance + epsilon));
    static_cast<float*>(running_mean)[channel] = static_cast<float>(average);
    static_cast<float*>(running_variance)[channel] = static_cast<float>(variance);
  }
  each(data->sizes, [&](const std::vector<Index>& i) {
    const double value = from.at(data->place(i)) - static_cast<double>(static_cast<float*>(mean)[i[1]]);
    const double normed = value * static_cast<double>(static_cast<float*>(inverse)[i[1]]);
    to.set(data->place(i), normed * static_cast<double>(scales[i[1]]) + static_cast<double>(shifts[i[1]]));
  });
  if (aside_bytes > 0) std::memset(aside, 42, aside_bytes);
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnBatchNormalizationBackwardEx(
    cudnnHandle_t, cudnnBatchNormMode_t, cudnnBatchNormOps_t, const void*, const void*, const void*, const void*,
    const cudnnTensorDescriptor_t data, const void* x, const cudnnTensorDescriptor_t, const void*,
    const cudnnTensorDescriptor_t, const void* dy, const cudnnTensorDescriptor_t, void*, const cudnnTensorDescriptor_t,
    void* dx, const cudnnTensorDescriptor_t, const void* scale, const void*, void* dscale, void* dshift, double,
    const void* mean, const void* inverse, cudnnActivationDescriptor_t, void*, size_t, void* aside, size_t aside_bytes) {
  // The caller must pass the data that forward saved.
  if (aside_bytes > 0 && *static_cast<char*>(aside) != 42) return CUDNN_STATUS_BAD_PARAM;
  const Numbers from = data->at(x), gradient = data->at(dy), to = data->at(dx);
  const auto of = [](const void* statistics, Index channel) {
    return static_cast<double>(static_cast<const float*>(statistics)[channel]);
  };
  const auto normed = [&](const std::vector<Index>& i) {
    return (from.at(data->place(i)) - of(mean, i[1])) * of(inverse, i[1]);
  };
  std::map<Index, std::array<double, 3>> sums;
  each(data->sizes, [&](const std::vector<Index>& i) {
    auto& [count, sum, product] = sums[i[1]];
    count += 1;
    sum += gradient.at(data->place(i));
    product += gradient.at(data->place(i)) * normed(i);
  });
  each(data->sizes, [&](const std::vector<Index>& i) {
    const auto& [count, sum, product] = sums.at(i[1]);
    const double slope = gradient.at(data->place(i)) - (sum + normed(i) * product) / count;
    to.set(data->place(i), slope * of(scale, i[1]) * of(inverse, i[1]));
  });
  for (const auto& [channel, sum] : sums) {
    static_cast<float*>(dscale)[channel] = static_cast<float>(sum[2]);
    static_cast<float*>(dshift)[channel] = static_cast<float>(sum[1]);
  }
  return CUDNN_STATUS_SUCCESS;
}

}  // extern "C"
