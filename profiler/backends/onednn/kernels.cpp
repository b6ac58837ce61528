#include "profiler/backends/onednn/kernels.hpp"

#include <cstdlib>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "core/error.hpp"
#include "profiler/backends/onednn/descriptions.hpp"

namespace ddl::onednn {
namespace {

std::uint16_t to_bf16(float value) {
  std::uint32_t bits = 0;
  std::memcpy(&bits, &value, sizeof bits);
  // Rounds to the nearest, ties to even. Test values are finite.
  return static_cast<std::uint16_t>((bits + 0x7fffU + ((bits >> 16U) & 1U)) >> 16U);
}

float from_bf16(std::uint16_t value) {
  const std::uint32_t bits = static_cast<std::uint32_t>(value) << 16U;
  float result = 0;
  std::memcpy(&result, &bits, sizeof result);
  return result;
}

constexpr std::size_t page = 4096;

class PrimitiveKernel final : public PreparedKernel {
 public:
  PrimitiveKernel(const Device& device, dnnl::primitive primitive, const dnnl::memory::desc& scratchpad,
                  std::string algorithm, const std::vector<Argument>& arguments)
      : device_(device), primitive_(std::move(primitive)), algorithm_(std::move(algorithm)) {
    for (const Argument& argument : arguments) {
      if (argument.own) {
        dnnl::memory memory(argument.plain, device.engine);
        std::memset(memory.get_data_handle(), 0, argument.plain.get_size());
        memory_.emplace(argument.name, memory);
        continue;
      }
      Slot slot;
      slot.plain = dnnl::memory(argument.plain, device.engine, nullptr);
      slot.written = argument.tensor.written;
      slot.added_to = argument.added_to;
      if (argument.wanted != argument.plain) {
        slot.own = in_workspace(argument.wanted);
        slot.reorder = slot.written ? dnnl::reorder(*slot.own, slot.plain) : dnnl::reorder(slot.plain, *slot.own);
        if (algorithm_.find('+') == std::string::npos) algorithm_ += "+reorder";
      }
      tensors_.push_back(argument.tensor);
      // A workspace of bytes or integers is allocated in words.
      const bool is_bf16 = type_of(argument.plain) == dnnl::memory::data_type::bf16;
      tensors_.back().precision = is_bf16 ? Precision::bf16 : Precision::fp32;
      memory_.emplace(argument.name, slot.own ? *slot.own : slot.plain);
      if (argument.behind) {
        slot.behind = dnnl::memory(argument.behind->plain, device.engine, nullptr);
        memory_.emplace(argument.behind->name, *slot.behind);
      }
      slots_.push_back(std::move(slot));
    }
    if (scratchpad.get_size() > 0) memory_.emplace(DNNL_ARG_SCRATCHPAD, in_workspace(scratchpad));
    device_.workspace->reserve(workspace_);
  }

  std::span<const KernelTensor> tensors() const override { return tensors_; }
  void run(std::span<DeviceBuffer* const> buffers) override {
    for (auto& [memory, offset] : scratch_) memory.set_data_handle(device_.workspace->data() + offset);
    for (std::size_t i = 0; i < slots_.size(); ++i) {
      Slot& slot = slots_[i];
      auto* const data = static_cast<std::byte*>(static_cast<HostBuffer*>(buffers[i])->data());
      slot.plain.set_data_handle(data);
      if (slot.behind) slot.behind->set_data_handle(data + slot.plain.get_desc().get_size());
      if (slot.reorder && !slot.written) slot.reorder->execute(device_.stream, slot.plain, *slot.own);
      if (slot.added_to) {
        const dnnl::memory& memory = slot.own ? *slot.own : slot.plain;
        std::memset(memory.get_data_handle(), 0, memory.get_desc().get_size());
      }
    }
    primitive_.execute(device_.stream, memory_);
    for (Slot& slot : slots_) {
      if (slot.reorder && slot.written) slot.reorder->execute(device_.stream, *slot.own, slot.plain);
    }
  }
  Bytes workspace() const override { return Bytes(static_cast<double>(workspace_)); }
  std::string algorithm() const override { return algorithm_; }

 private:
  struct Slot {
    dnnl::memory plain;
    std::optional<dnnl::memory> own;
    std::optional<dnnl::memory> behind;
    std::optional<dnnl::reorder> reorder;
    bool written = false, added_to = false;
  };
  dnnl::memory in_workspace(const dnnl::memory::desc& description) {
    const dnnl::memory memory(description, device_.engine, nullptr);
    scratch_.emplace_back(memory, workspace_);
    workspace_ += (description.get_size() + page - 1) / page * page;
    return memory;
  }

  Device device_;
  dnnl::primitive primitive_;
  std::string algorithm_;
  std::vector<KernelTensor> tensors_;
  std::vector<Slot> slots_;
  std::unordered_map<int, dnnl::memory> memory_;
  std::vector<std::pair<dnnl::memory, std::size_t>> scratch_;  ///< scratch tensors and their offsets in the workspace
  std::size_t workspace_ = 0;
};

class LoopKernel final : public PreparedKernel {
 public:
  LoopKernel(std::vector<KernelTensor> tensors, std::function<void(std::span<DeviceBuffer* const>)> loop)
      : tensors_(std::move(tensors)), loop_(std::move(loop)) {}

  std::span<const KernelTensor> tensors() const override { return tensors_; }
  void run(std::span<DeviceBuffer* const> buffers) override {
    if (loop_) loop_(buffers);
  }
  std::string algorithm() const override { return loop_ ? "loop" : ""; }

 private:
  std::vector<KernelTensor> tensors_;
  std::function<void(std::span<DeviceBuffer* const>)> loop_;
};

class ComposedKernel final : public PreparedKernel {
 public:
  ComposedKernel(const Device& device, std::string algorithm, std::vector<KernelTensor> tensors, std::int64_t scratch,
                 std::function<void(std::span<DeviceBuffer* const>, float*)> run)
      : device_(device),
        algorithm_(std::move(algorithm)),
        tensors_(std::move(tensors)),
        scratch_(static_cast<std::size_t>(scratch) * sizeof(float)),
        run_(std::move(run)) {
    device_.workspace->reserve(scratch_);
  }

  std::span<const KernelTensor> tensors() const override { return tensors_; }
  void run(std::span<DeviceBuffer* const> buffers) override {
    run_(buffers, reinterpret_cast<float*>(device_.workspace->data()));
  }
  Bytes workspace() const override { return Bytes(static_cast<double>(scratch_)); }
  std::string algorithm() const override { return algorithm_; }

 private:
  Device device_;
  std::string algorithm_;
  std::vector<KernelTensor> tensors_;
  std::size_t scratch_;
  std::function<void(std::span<DeviceBuffer* const>, float*)> run_;
};

}  // namespace

Workspace::~Workspace() { std::free(data_); }

void Workspace::reserve(std::size_t bytes) {
  if (bytes <= bytes_) return;
  std::free(data_);
  bytes_ = 0;
  data_ = static_cast<char*>(std::aligned_alloc(page, (bytes + page - 1) / page * page));
  if (data_ == nullptr)
    throw Error(fmt::format("cannot allocate {} bytes of scratch memory", bytes), "use a smaller --batch");
  bytes_ = bytes;
  std::memset(data_, 0, bytes);
}

HostBuffer::HostBuffer(std::int64_t items, Precision precision)
    : items_(items),
      precision_(precision),
      bytes_(static_cast<std::size_t>(static_cast<double>(items) * item_bytes(precision))) {
  constexpr std::size_t line = 64;
  data_ = std::aligned_alloc(line, (bytes_ + line) / line * line);
  if (data_ == nullptr) throw Error(fmt::format("cannot allocate a tensor of {} elements", items), "use a smaller --batch");
  std::memset(data_, 0, bytes_);
}

HostBuffer::~HostBuffer() { std::free(data_); }

void HostBuffer::write(std::span<const float> values) {
  if (precision_ == Precision::bf16) {
    auto* to = static_cast<std::uint16_t*>(data_);
    for (std::size_t i = 0; i < values.size(); ++i) to[i] = to_bf16(values[i]);
  } else {
    std::memcpy(data_, values.data(), values.size_bytes());
  }
}

void HostBuffer::read(std::span<float> values) const {
  if (precision_ == Precision::bf16) {
    const auto* from = static_cast<const std::uint16_t*>(data_);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = from_bf16(from[i]);
  } else {
    std::memcpy(values.data(), data_, values.size_bytes());
  }
}

dnnl::memory::desc dense(const dnnl::memory::dims& dims, dnnl::memory::data_type type) {
  dnnl::memory::dims strides(dims.size(), 1);
  for (std::size_t d = dims.size() - 1; d-- > 0;) strides[d] = strides[d + 1] * dims[d + 1];
  return {dims, type, strides};
}

dnnl::memory::desc any(const dnnl::memory::desc& dense) {
  return {dims_of(dense), type_of(dense), dnnl::memory::format_tag::any};
}

dnnl::memory::data_type data_type(Precision precision) {
  return precision == Precision::bf16 ? dnnl::memory::data_type::bf16 : dnnl::memory::data_type::f32;
}

dnnl::memory::desc tensor(const TensorShape& shape, std::int64_t samples, Precision precision) {
  dnnl::memory::dims dims{samples};
  if (shape.sequence) {
    dims.insert(dims.end(), {shape.extent[0], shape.channels});
  } else {
    dims.push_back(shape.channels);
    dims.insert(dims.end(), shape.extent.begin(), shape.extent.begin() + shape.rank);
  }
  return dense(dims, data_type(precision));
}

dnnl::primitive_attr own_scratchpad() {
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return attributes;
}

std::unique_ptr<PreparedKernel> primitive_kernel(const Device& device, const dnnl::primitive& primitive,
                                                 const dnnl::memory::desc& scratchpad, std::string algorithm,
                                                 const std::vector<Argument>& arguments) {
  return std::make_unique<PrimitiveKernel>(device, primitive, scratchpad, std::move(algorithm), arguments);
}

std::unique_ptr<PreparedKernel> loop_kernel(std::vector<KernelTensor> tensors,
                                            std::function<void(std::span<DeviceBuffer* const>)> loop) {
  return std::make_unique<LoopKernel>(std::move(tensors), std::move(loop));
}

std::unique_ptr<PreparedKernel> composed_kernel(const Device& device, std::string algorithm,
                                                std::vector<KernelTensor> tensors, std::int64_t scratch,
                                                std::function<void(std::span<DeviceBuffer* const>, float*)> run) {
  return std::make_unique<ComposedKernel>(device, std::move(algorithm), std::move(tensors), scratch, std::move(run));
}

std::unique_ptr<PreparedKernel> empty_kernel() {
  return std::make_unique<LoopKernel>(std::vector<KernelTensor>{}, std::function<void(std::span<DeviceBuffer* const>)>{});
}

std::string only_fp32(const Problem& problem) {
  if (problem.precision == Precision::fp32) return {};
  return fmt::format("{} is supported in fp32 only here, not {}", problem.operation->type(), to_string(problem.precision));
}

}  // namespace ddl::onednn
