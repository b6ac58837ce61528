#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <cudnn.h>

#include "profiler/backends/cuda/layout.hpp"
#include "profiler/backends/cuda/memory.hpp"

// cuDNN's graph interface. The caller describes operations on tensors. cuDNN lists engines that run
// all these operations as one kernel. One engine is planned and executed.
namespace ddl::cuda {

/// One of the library's descriptors, destroyed with its owner.
class Descriptor {
 public:
  explicit Descriptor(cudnnBackendDescriptorType_t type);
  void set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, std::int64_t count, const void* values);
  void set(cudnnBackendAttributeName_t name, std::int64_t value) { set(name, CUDNN_TYPE_INT64, 1, &value); }
  void set(cudnnBackendAttributeName_t name, const std::vector<std::int64_t>& values) {
    set(name, CUDNN_TYPE_INT64, static_cast<std::int64_t>(values.size()), values.data());
  }
  void set(cudnnBackendAttributeName_t name, double value) { set(name, CUDNN_TYPE_DOUBLE, 1, &value); }
  void set(cudnnBackendAttributeName_t name, float value) { set(name, CUDNN_TYPE_FLOAT, 1, &value); }
  void set(cudnnBackendAttributeName_t name, bool value) { set(name, CUDNN_TYPE_BOOLEAN, 1, &value); }
  void set(cudnnBackendAttributeName_t name, cudnnDataType_t value) { set(name, CUDNN_TYPE_DATA_TYPE, 1, &value); }
  void set(cudnnBackendAttributeName_t name, const Descriptor& other);
  void finish();
  [[nodiscard]] cudnnBackendDescriptor_t get() const { return handle_.get(); }

 private:
  struct Destroy {
    void operator()(void* descriptor) const { static_cast<void>(cudnnBackendDestroyDescriptor(descriptor)); }
  };
  std::unique_ptr<void, Destroy> handle_;
};

[[nodiscard]] cudnnDataType_t data_type(Precision precision);

/// A GPU that is present, or a description of a GPU. Plans can be made for a description, but not executed.
class Target {
 public:
  explicit Target(cudnnHandle_t handle) : handle_(handle) {}
  /// `properties`: JSON as cuDNN writes it (CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION, since 9.8).
  explicit Target(const std::string& properties);
  [[nodiscard]] cudnnHandle_t handle() const { return handle_; }
  [[nodiscard]] const Descriptor* described() const { return described_.get(); }

 private:
  cudnnHandle_t handle_ = nullptr;
  std::unique_ptr<Descriptor> described_;
};

/// A graph of operations and tensors. Tensors are identified by numbers.
class Graph {
 public:
  using Tensor = std::int64_t;

  /// `alignment`: alignment of the tensor's address, in bytes. CUDA's own allocations have a larger alignment.
  Tensor add_tensor(const Extents& extents, cudnnDataType_t type, std::int64_t alignment = 16) {
    return add(extents, type, false, alignment);
  }
  /// A tensor between two operations, which is never written to memory.
  Tensor add_virtual(const Extents& extents, cudnnDataType_t type) { return add(extents, type, true, 16); }
  /// One number, passed to the kernel from the host, as a tensor with `rank` extents of one.
  Tensor add_scalar(float value, std::size_t rank);

  /// Adds an operation, to which the caller then attaches tensors and descriptors.
  /// finish_operation() ends the operation that was added last.
  Descriptor& add_operation(cudnnBackendDescriptorType_t type);
  void attach(cudnnBackendAttributeName_t name, Tensor tensor);
  /// Adds a descriptor that the graph stores for its operations, for example the descriptor of a
  /// convolution. The caller finishes it.
  Descriptor& add_part(cudnnBackendDescriptorType_t type);
  Descriptor& operation() { return operations_.back(); }
  /// Whether the graph contains matrix products or convolutions. For other graphs, all engines are exact.
  [[nodiscard]] bool multiplies() const { return multiplies_; }
  void finish_operation() { operations_.back().finish(); }

  struct Stored {
    Tensor tensor = 0;
    cudnnDataType_t type = CUDNN_DATA_FLOAT;
    std::int64_t items = 0;
    std::size_t bytes = 0;
  };
  [[nodiscard]] const std::vector<Stored>& stored() const { return stored_; }
  [[nodiscard]] const std::list<std::pair<Tensor, float>>& scalars() const { return scalars_; }

  /// Returns the engine configurations that the heuristics suggest for the whole graph, best first,
  /// followed by fallbacks that always work. Throws Error if there are none.
  [[nodiscard]] std::vector<Descriptor> configurations(const Target& target);

 private:
  Tensor add(const Extents& extents, cudnnDataType_t type, bool is_virtual, std::int64_t alignment);
  std::vector<Descriptor> ask(const Target& target, cudnnBackendHeurMode_t mode);

  std::map<Tensor, Descriptor> tensors_;
  std::list<Descriptor> parts_, operations_;
  std::unique_ptr<Descriptor> whole_;
  std::vector<Stored> stored_;
  bool multiplies_ = false;
  std::list<std::pair<Tensor, float>> scalars_;  ///< stable addresses: kernels get pointers to them
};

/// The addresses of a graph's tensors, in the library's format. The format is rebuilt only if an address changes.
class Addresses {
 public:
  /// Returns the addresses in the library's format. `addresses` must contain all stored tensors and scalars.
  [[nodiscard]] const Descriptor& of(std::span<const std::pair<Graph::Tensor, void*>> addresses, void* workspace);

 private:
  std::unique_ptr<Descriptor> pack_;
  std::vector<std::pair<Graph::Tensor, void*>> last_;
  void* last_workspace_ = nullptr;
};

/// An engine that is ready to run.
class Plan {
 public:
  /// Throws Error if the engine turns out not to support the graph.
  Plan(const Target& target, const Descriptor& configuration);
  [[nodiscard]] std::size_t workspace() const { return workspace_; }
  [[nodiscard]] const std::string& name() const { return name_; }
  /// Launches the plan in the handle's stream.
  void execute(const Target& target, const Descriptor& addresses) const;

 private:
  Descriptor plan_;
  std::size_t workspace_ = 0;
  std::string name_;
};

/// Whether an engine computes in the required precision. Inputs must not be rounded to fewer bits than their format has. The
/// exception is tf32: its tensor cores round fp32 to 10 bits. fp32 must not use tensor cores. Partial sums of 16-bit formats
/// may be rounded to 16 bits. PyTorch lets cuDNN choose from the same engines (aten/src/ATen/native/cudnn/Conv_v8.cpp,
/// filterEngineConfigs, with its defaults).
[[nodiscard]] bool is_exact_enough(const Descriptor& configuration, Precision precision);

}  // namespace ddl::cuda
