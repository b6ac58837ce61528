#pragma once

#include "profiler/backends/onednn/kernels.hpp"

/// Functions that create primitive descriptors. oneDNN 3 changed the constructors of oneDNN 2 (its "Transition from v2.x to
/// v3.x"). This back end uses features that both versions have; only this file depends on the version. The description of a
/// gradient needs the description of the forward primitive.
namespace ddl::onednn {

/// Windows of `kernel` elements with a stride of `stride`, without dilation.
struct Pooling {
  dnnl::algorithm kind{};
  dnnl::memory::desc source{}, destination{};
  dnnl::memory::dims stride{}, kernel{}, before{}, after{};
};

#if DNNL_VERSION_MAJOR >= 3

[[nodiscard]] inline dnnl::memory::dims dims_of(const dnnl::memory::desc& desc) { return desc.get_dims(); }
[[nodiscard]] inline dnnl::memory::data_type type_of(const dnnl::memory::desc& desc) { return desc.get_data_type(); }

/// Describes a primitive that takes the same arguments in oneDNN 2 and 3.
template <class Forward, class... Arguments>
[[nodiscard]] typename Forward::primitive_desc describe(const Device& device, const dnnl::primitive_attr& attributes,
                                                        const Arguments&... arguments) {
  return {device.engine, arguments..., attributes};
}
template <class Backward, class Hint, class... Arguments>
[[nodiscard]] typename Backward::primitive_desc describe_backward(const Device& device,
                                                                  const dnnl::primitive_attr& attributes,
                                                                  const Hint& forward, const Arguments&... arguments) {
  return {device.engine, arguments..., forward, attributes};
}

/// An element-wise function. Its gradient uses `data`, the input or the output.
[[nodiscard]] inline dnnl::eltwise_forward::primitive_desc describe_function(const Device& device,
                                                                             const dnnl::primitive_attr& attributes,
                                                                             dnnl::algorithm kind,
                                                                             const dnnl::memory::desc& data, float alpha,
                                                                             float beta) {
  return {device.engine, dnnl::prop_kind::forward_training, kind, data, data, alpha, beta, attributes};
}
[[nodiscard]] inline dnnl::eltwise_backward::primitive_desc describe_function_backward(
    const Device& device, const dnnl::primitive_attr& attributes, const dnnl::eltwise_forward::primitive_desc& forward,
    dnnl::algorithm kind, const dnnl::memory::desc& data, float alpha, float beta) {
  return {device.engine, kind, data, data, data, alpha, beta, forward, attributes};
}

/// The softmax over `axis`, or its logarithm.
using LogSoftmax = dnnl::softmax_forward;
[[nodiscard]] inline dnnl::softmax_forward::primitive_desc describe_softmax(const Device& device,
                                                                            const dnnl::primitive_attr& attributes,
                                                                            const dnnl::memory::desc& data, int axis) {
  return {device.engine, dnnl::prop_kind::forward_training, dnnl::algorithm::softmax_accurate, data, data, axis, attributes};
}
[[nodiscard]] inline LogSoftmax::primitive_desc describe_log_softmax(const Device& device,
                                                                     const dnnl::primitive_attr& attributes,
                                                                     const dnnl::memory::desc& data, int axis) {
  return {device.engine, dnnl::prop_kind::forward_training, dnnl::algorithm::softmax_log, data, data, axis, attributes};
}
[[nodiscard]] inline dnnl::softmax_backward::primitive_desc describe_softmax_backward(
    const Device& device, const dnnl::primitive_attr& attributes, const dnnl::softmax_forward::primitive_desc& forward,
    const dnnl::memory::desc& data, int axis) {
  return {device.engine, dnnl::algorithm::softmax_accurate, data, data, data, axis, forward, attributes};
}

[[nodiscard]] inline dnnl::pooling_forward::primitive_desc describe_pool(const Device& device,
                                                                         const dnnl::primitive_attr& attributes,
                                                                         const Pooling& p) {
  return describe<dnnl::pooling_forward>(device, attributes, dnnl::prop_kind::forward_training, p.kind, p.source,
                                         p.destination, p.stride, p.kernel, dnnl::memory::dims(p.kernel.size(), 0), p.before,
                                         p.after);
}
[[nodiscard]] inline dnnl::pooling_backward::primitive_desc describe_pool_backward(
    const Device& device, const dnnl::primitive_attr& attributes, const dnnl::pooling_forward::primitive_desc& forward,
    const Pooling& p) {
  return describe_backward<dnnl::pooling_backward>(device, attributes, forward, p.kind, p.source, p.destination, p.stride,
                                                   p.kernel, dnnl::memory::dims(p.kernel.size(), 0), p.before, p.after);
}

/// A shuffle of channels, in groups of `group` channels.
[[nodiscard]] inline dnnl::shuffle_forward::primitive_desc describe_shuffle(const Device& device,
                                                                            const dnnl::primitive_attr& attributes,
                                                                            const dnnl::memory::desc& data, int axis,
                                                                            int group) {
  return {device.engine, dnnl::prop_kind::forward_training, data, data, axis, group, attributes};
}
[[nodiscard]] inline dnnl::shuffle_backward::primitive_desc describe_shuffle_backward(
    const Device& device, const dnnl::primitive_attr& attributes, const dnnl::shuffle_forward::primitive_desc& forward,
    const dnnl::memory::desc& data, int axis, int group) {
  return {device.engine, data, data, axis, group, forward, attributes};
}

/// A batch or layer norm.
template <class Norm>
[[nodiscard]] typename Norm::primitive_desc describe_norm(const Device& device, const dnnl::primitive_attr& attributes,
                                                          const dnnl::memory::desc& data, float epsilon,
                                                          dnnl::normalization_flags flags) {
  return {device.engine, dnnl::prop_kind::forward_training, data, data, epsilon, flags, attributes};
}
template <class Backward, class Norm>
[[nodiscard]] typename Backward::primitive_desc describe_norm_backward(const Device& device,
                                                                       const dnnl::primitive_attr& attributes,
                                                                       const Norm& forward, dnnl::prop_kind kind,
                                                                       const dnnl::memory::desc& data, float epsilon,
                                                                       dnnl::normalization_flags flags) {
  return {device.engine, kind, data, data, data, epsilon, flags, forward, attributes};
}
/// Whether scale and shift of a norm are in one tensor, or in two.
inline constexpr bool norm_has_one_tensor = false;
inline const auto scale_and_shift = dnnl::normalization_flags::use_scale | dnnl::normalization_flags::use_shift;
inline constexpr int scale_shift_argument = DNNL_ARG_SCALE, scale_shift_gradient_argument = DNNL_ARG_DIFF_SCALE;

#else

[[nodiscard]] inline dnnl::memory::dims dims_of(const dnnl::memory::desc& desc) { return desc.dims(); }
[[nodiscard]] inline dnnl::memory::data_type type_of(const dnnl::memory::desc& desc) { return desc.data_type(); }

template <class Forward, class... Arguments>
[[nodiscard]] typename Forward::primitive_desc describe(const Device& device, const dnnl::primitive_attr& attributes,
                                                        const Arguments&... arguments) {
  return {typename Forward::desc(arguments...), attributes, device.engine};
}
template <class Backward, class Hint, class... Arguments>
[[nodiscard]] typename Backward::primitive_desc describe_backward(const Device& device,
                                                                  const dnnl::primitive_attr& attributes,
                                                                  const Hint& forward, const Arguments&... arguments) {
  return {typename Backward::desc(arguments...), attributes, device.engine, forward};
}

[[nodiscard]] inline dnnl::eltwise_forward::primitive_desc describe_function(const Device& device,
                                                                             const dnnl::primitive_attr& attributes,
                                                                             dnnl::algorithm kind,
                                                                             const dnnl::memory::desc& data, float alpha,
                                                                             float beta) {
  return describe<dnnl::eltwise_forward>(device, attributes, dnnl::prop_kind::forward_training, kind, data, alpha, beta);
}
[[nodiscard]] inline dnnl::eltwise_backward::primitive_desc describe_function_backward(
    const Device& device, const dnnl::primitive_attr& attributes, const dnnl::eltwise_forward::primitive_desc& forward,
    dnnl::algorithm kind, const dnnl::memory::desc& data, float alpha, float beta) {
  return describe_backward<dnnl::eltwise_backward>(device, attributes, forward, kind, data, data, alpha, beta);
}

using LogSoftmax = dnnl::logsoftmax_forward;
[[nodiscard]] inline dnnl::softmax_forward::primitive_desc describe_softmax(const Device& device,
                                                                            const dnnl::primitive_attr& attributes,
                                                                            const dnnl::memory::desc& data, int axis) {
  return describe<dnnl::softmax_forward>(device, attributes, dnnl::prop_kind::forward_training, data, axis);
}
[[nodiscard]] inline LogSoftmax::primitive_desc describe_log_softmax(const Device& device,
                                                                     const dnnl::primitive_attr& attributes,
                                                                     const dnnl::memory::desc& data, int axis) {
  return describe<LogSoftmax>(device, attributes, dnnl::prop_kind::forward_training, data, axis);
}
[[nodiscard]] inline dnnl::softmax_backward::primitive_desc describe_softmax_backward(
    const Device& device, const dnnl::primitive_attr& attributes, const dnnl::softmax_forward::primitive_desc& forward,
    const dnnl::memory::desc& data, int axis) {
  return describe_backward<dnnl::softmax_backward>(device, attributes, forward, data, data, axis);
}

[[nodiscard]] inline dnnl::pooling_forward::primitive_desc describe_pool(const Device& device,
                                                                         const dnnl::primitive_attr& attributes,
                                                                         const Pooling& p) {
  return describe<dnnl::pooling_forward>(device, attributes, dnnl::prop_kind::forward_training, p.kind, p.source,
                                         p.destination, p.stride, p.kernel, p.before, p.after);
}
[[nodiscard]] inline dnnl::pooling_backward::primitive_desc describe_pool_backward(
    const Device& device, const dnnl::primitive_attr& attributes, const dnnl::pooling_forward::primitive_desc& forward,
    const Pooling& p) {
  return describe_backward<dnnl::pooling_backward>(device, attributes, forward, p.kind, p.source, p.destination, p.stride,
                                                   p.kernel, p.before, p.after);
}

[[nodiscard]] inline dnnl::shuffle_forward::primitive_desc describe_shuffle(const Device& device,
                                                                            const dnnl::primitive_attr& attributes,
                                                                            const dnnl::memory::desc& data, int axis,
                                                                            int group) {
  return {{dnnl::prop_kind::forward_training, data, axis, group}, device.engine, attributes};
}
[[nodiscard]] inline dnnl::shuffle_backward::primitive_desc describe_shuffle_backward(
    const Device& device, const dnnl::primitive_attr& attributes, const dnnl::shuffle_forward::primitive_desc& forward,
    const dnnl::memory::desc& data, int axis, int group) {
  return {{data, axis, group}, device.engine, forward, attributes};
}

template <class Norm>
[[nodiscard]] typename Norm::primitive_desc describe_norm(const Device& device, const dnnl::primitive_attr& attributes,
                                                          const dnnl::memory::desc& data, float epsilon,
                                                          dnnl::normalization_flags flags) {
  return describe<Norm>(device, attributes, dnnl::prop_kind::forward_training, data, epsilon, flags);
}
template <class Backward, class Norm>
[[nodiscard]] typename Backward::primitive_desc describe_norm_backward(const Device& device,
                                                                       const dnnl::primitive_attr& attributes,
                                                                       const Norm& forward, dnnl::prop_kind kind,
                                                                       const dnnl::memory::desc& data, float epsilon,
                                                                       dnnl::normalization_flags flags) {
  return describe_backward<Backward>(device, attributes, forward, kind, data, data, epsilon, flags);
}
inline constexpr bool norm_has_one_tensor = true;
inline constexpr auto scale_and_shift = dnnl::normalization_flags::use_scale_shift;
inline constexpr int scale_shift_argument = DNNL_ARG_SCALE_SHIFT, scale_shift_gradient_argument = DNNL_ARG_DIFF_SCALE_SHIFT;

#endif

}  // namespace ddl::onednn
