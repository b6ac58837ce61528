#include "profiler/backends/cuda/graph.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "core/error.hpp"
#include "profiler/backends/cuda/status.hpp"

namespace ddl::cuda {
namespace {

constexpr std::string_view library = "cuDNN";

std::int64_t item_bytes_of(cudnnDataType_t type) {
  switch (type) {
    case CUDNN_DATA_HALF:
    case CUDNN_DATA_BFLOAT16:
      return 2;
    case CUDNN_DATA_INT8:
    case CUDNN_DATA_BOOLEAN:
      return 1;
    case CUDNN_DATA_INT64:
      return 8;
    default:
      return 4;
  }
}

/// Reads an attribute that contains a single descriptor.
Descriptor part_of(const Descriptor& whole, cudnnBackendAttributeName_t name, cudnnBackendDescriptorType_t type) {
  Descriptor part(type);
  cudnnBackendDescriptor_t raw = part.get();
  std::int64_t count = 0;
  check(cudnnBackendGetAttribute(whole.get(), name, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &count, &raw), library);
  return part;
}

std::int64_t number_of(const Descriptor& descriptor, cudnnBackendAttributeName_t name) {
  std::int64_t value = 0;
  std::int64_t count = 0;
  check(cudnnBackendGetAttribute(descriptor.get(), name, CUDNN_TYPE_INT64, 1, &count, &value), library);
  return value;
}

}  // namespace

Descriptor::Descriptor(cudnnBackendDescriptorType_t type) {
  cudnnBackendDescriptor_t raw = nullptr;
  check(cudnnBackendCreateDescriptor(type, &raw), library);
  handle_.reset(raw);
}

void Descriptor::set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, std::int64_t count,
                     const void* values) {
  check(cudnnBackendSetAttribute(handle_.get(), name, type, count, values), library);
}

void Descriptor::set(cudnnBackendAttributeName_t name, const Descriptor& other) {
  cudnnBackendDescriptor_t raw = other.get();
  set(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &raw);
}

void Descriptor::finish() { check(cudnnBackendFinalize(handle_.get()), library); }

cudnnDataType_t data_type(Precision precision) {
  switch (precision) {
    case Precision::fp16:
      return CUDNN_DATA_HALF;
    case Precision::bf16:
      return CUDNN_DATA_BFLOAT16;
    case Precision::fp32:
    case Precision::tf32:
    case Precision::fp8:
    case Precision::nvfp4:
    case Precision::mxfp8:
    case Precision::mxfp6:
    case Precision::mxfp4:
    case Precision::int8:
      break;
  }
  return CUDNN_DATA_FLOAT;
}

Target::Target(const std::string& properties)
    : described_(std::make_unique<Descriptor>(CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR)) {
  described_->set(CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION, CUDNN_TYPE_CHAR,
                  static_cast<std::int64_t>(properties.size() + 1), properties.c_str());
  described_->finish();
}

Graph::Tensor Graph::add(const Extents& extents, cudnnDataType_t type, bool is_virtual, std::int64_t alignment) {
  const auto number = static_cast<Tensor>(tensors_.size()) + 1;
  Descriptor& tensor = tensors_.emplace(number, CUDNN_BACKEND_TENSOR_DESCRIPTOR).first->second;
  tensor.set(CUDNN_ATTR_TENSOR_UNIQUE_ID, number);
  tensor.set(CUDNN_ATTR_TENSOR_DATA_TYPE, type);
  tensor.set(CUDNN_ATTR_TENSOR_DIMENSIONS, extents.sizes);
  tensor.set(CUDNN_ATTR_TENSOR_STRIDES, extents.strides);
  tensor.set(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, alignment);
  if (is_virtual) tensor.set(CUDNN_ATTR_TENSOR_IS_VIRTUAL, true);
  tensor.finish();
  if (!is_virtual) {
    // The memory for tuning must cover the whole range of a tensor, including gaps, because
    // queries, keys and values are interleaved.
    stored_.push_back({number, type, extents.reach(), static_cast<std::size_t>(extents.reach() * item_bytes_of(type))});
  }
  return number;
}

Graph::Tensor Graph::add_scalar(float value, std::size_t rank) {
  const auto number = static_cast<Tensor>(tensors_.size()) + 1;
  Descriptor& tensor = tensors_.emplace(number, CUDNN_BACKEND_TENSOR_DESCRIPTOR).first->second;
  const std::vector<std::int64_t> ones(rank, 1);
  tensor.set(CUDNN_ATTR_TENSOR_UNIQUE_ID, number);
  tensor.set(CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_DATA_FLOAT);
  tensor.set(CUDNN_ATTR_TENSOR_DIMENSIONS, ones);
  tensor.set(CUDNN_ATTR_TENSOR_STRIDES, ones);
  tensor.set(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, std::int64_t{sizeof(float)});
  tensor.set(CUDNN_ATTR_TENSOR_IS_BY_VALUE, true);
  tensor.finish();
  scalars_.emplace_back(number, value);
  return number;
}

Descriptor& Graph::add_operation(cudnnBackendDescriptorType_t type) {
  multiplies_ = multiplies_ || type == CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR ||
                type == CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR ||
                type == CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR ||
                type == CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR;
  return operations_.emplace_back(type);
}
Descriptor& Graph::add_part(cudnnBackendDescriptorType_t type) { return parts_.emplace_back(type); }
void Graph::attach(cudnnBackendAttributeName_t name, Tensor tensor) { operations_.back().set(name, tensors_.at(tensor)); }

std::vector<Descriptor> Graph::ask(const Target& target, cudnnBackendHeurMode_t mode) {
  Descriptor heuristics(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
  heuristics.set(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, *whole_);
  heuristics.set(CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, 1, &mode);
  if (target.described() != nullptr) heuristics.set(CUDNN_ATTR_ENGINEHEUR_DEVICEPROP, *target.described());
  // A heuristic mode that does not support a graph fails.
  if (cudnnBackendFinalize(heuristics.get()) != CUDNN_STATUS_SUCCESS) return {};
  std::int64_t count = 0;
  check(cudnnBackendGetAttribute(heuristics.get(), CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_TYPE_BACKEND_DESCRIPTOR, 0, &count,
                                 nullptr),
        library);
  std::vector<Descriptor> found;
  std::vector<cudnnBackendDescriptor_t> raw;
  for (std::int64_t i = 0; i < count; ++i) raw.push_back(found.emplace_back(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR).get());
  // `count` is the number of candidates that cuDNN has, and `given` is the number that it returns.
  std::int64_t given = 0;
  if (count > 0) {
    check(cudnnBackendGetAttribute(heuristics.get(), CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_TYPE_BACKEND_DESCRIPTOR, count,
                                   &given, raw.data()),
          library);
  }
  found.erase(found.begin() + static_cast<std::ptrdiff_t>(std::min(given, count)), found.end());
  return found;
}

std::vector<Descriptor> Graph::configurations(const Target& target) {
  whole_ = std::make_unique<Descriptor>(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
  if (target.handle() != nullptr) {
    cudnnHandle_t handle = target.handle();
    whole_->set(CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, 1, &handle);
  }
  std::vector<cudnnBackendDescriptor_t> raw;
  for (const Descriptor& operation : operations_) raw.push_back(operation.get());
  whole_->set(CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR, static_cast<std::int64_t>(raw.size()),
              raw.data());
  whole_->finish();
  std::vector<Descriptor> found = ask(target, CUDNN_HEUR_MODE_A);
  for (Descriptor& fallback : ask(target, CUDNN_HEUR_MODE_FALLBACK)) found.push_back(std::move(fallback));
  if (found.empty()) throw Error("cuDNN has no engine for this problem");
  return found;
}

Plan::Plan(const Target& target, const Descriptor& configuration) : plan_(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR) {
  if (target.handle() != nullptr) {
    cudnnHandle_t handle = target.handle();
    plan_.set(CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, 1, &handle);
  } else {
    plan_.set(CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP, *target.described());
  }
  plan_.set(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, configuration);
  plan_.finish();
  workspace_ =
      static_cast<std::size_t>(std::max<std::int64_t>(0, number_of(plan_, CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE)));
  const Descriptor engine = part_of(configuration, CUDNN_ATTR_ENGINECFG_ENGINE, CUDNN_BACKEND_ENGINE_DESCRIPTOR);
  name_ = fmt::format("cudnn:engine{}", number_of(engine, CUDNN_ATTR_ENGINE_GLOBAL_INDEX));
}

const Descriptor& Addresses::of(std::span<const std::pair<Graph::Tensor, void*>> addresses, void* workspace) {
  if (!pack_ || workspace != last_workspace_ || !std::ranges::equal(addresses, last_)) {
    std::vector<std::int64_t> numbers;
    std::vector<void*> pointers;
    for (const auto& [tensor, address] : addresses) {
      numbers.push_back(tensor);
      pointers.push_back(address);
    }
    pack_ = std::make_unique<Descriptor>(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
    pack_->set(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, numbers);
    pack_->set(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, static_cast<std::int64_t>(pointers.size()),
               pointers.data());
    pack_->set(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, 1, &workspace);
    pack_->finish();
    last_.assign(addresses.begin(), addresses.end());
    last_workspace_ = workspace;
  }
  return *pack_;
}

void Plan::execute(const Target& target, const Descriptor& addresses) const {
  check(cudnnBackendExecute(target.handle(), plan_.get(), addresses.get()), name_);
}

bool is_exact_enough(const Descriptor& configuration, Precision precision) {
  const Descriptor engine = part_of(configuration, CUDNN_ATTR_ENGINECFG_ENGINE, CUDNN_BACKEND_ENGINE_DESCRIPTOR);
  std::array<cudnnBackendNumericalNote_t, CUDNN_NUMERICAL_NOTE_TYPE_COUNT> notes{};
  std::int64_t count = 0;
  check(cudnnBackendGetAttribute(engine.get(), CUDNN_ATTR_ENGINE_NUMERICAL_NOTE, CUDNN_TYPE_NUMERICAL_NOTE,
                                 CUDNN_NUMERICAL_NOTE_TYPE_COUNT, &count, notes.data()),
        library);
  const auto has = [&](cudnnBackendNumericalNote_t note) {
    return std::find(notes.begin(), notes.begin() + count, note) != notes.begin() + count;
  };
  if (has(CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS)) return false;
  return precision != Precision::fp32 || !has(CUDNN_NUMERICAL_NOTE_TENSOR_CORE);
}

}  // namespace ddl::cuda
