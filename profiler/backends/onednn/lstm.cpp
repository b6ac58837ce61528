#include "profiler/backends/onednn/descriptions.hpp"
#include "profiler/backends/onednn/kernels.hpp"

namespace ddl::onednn {
namespace {

using dnnl::memory;
using dnnl::rnn_direction;

// The gates are in the order input, forget, cell, output. Each direction has two matrices of [gates × features, channels],
// for the input and for the state, and one bias. oneDNN has no second bias, which would be added to the first.
std::unique_ptr<PreparedKernel> prepare_lstm(const Device& device, const Problem& problem) {
  // This pass is empty. backward-weight computes all gradients, because they all need a backward
  // pass through the time steps. It runs even if the input's gradient is not needed.
  if (problem.pass == Pass::backward_data) return empty_kernel();
  const AttributeValues attributes = problem.operation->attribute_values();
  constexpr std::int64_t gates = 4;
  const std::int64_t features = attributes.integer("features", 1);
  const bool both = attributes.flag("bidirectional", false);
  const std::int64_t directions = both ? 2 : 1;
  const std::int64_t samples = problem.samples;
  const std::int64_t tokens = problem.output.extent[0];
  const std::int64_t channels = problem.inputs.front().channels;
  const std::int64_t width = directions * features;
  const memory::data_type type = memory::data_type::f32;
  // The library's dimensions are tokens, samples, channels; in a buffer, samples are outermost.
  const auto sequence = [&](std::int64_t size) {
    return memory::desc({tokens, samples, size}, type, memory::dims{size, tokens * size, 1});
  };
  // The dimensions of the library's matrices are layers, directions, inputs, gates, outputs.
  const auto matrices = [&](std::int64_t inputs) {
    return memory::desc(
        {1, directions, inputs, gates, features}, type,
        memory::dims{directions * gates * features * inputs, gates * features * inputs, 1, features * inputs, inputs});
  };
  const memory::desc source = sequence(channels);
  const memory::desc destination = sequence(width);
  const memory::desc of_input = matrices(channels);
  const memory::desc of_state = matrices(features);
  const memory::desc bias = dense({1, directions, gates, features}, type);
  // Without initial states, oneDNN 2.6 computes a wrong gradient of the state's matrix.
  const memory::desc state = dense({1, directions, samples, features}, type);
  const memory::desc none;  // the last state is not needed
  const auto direction = both ? rnn_direction::bidirectional_concat : rnn_direction::unidirectional_left2right;
  const dnnl::primitive_attr scratch = own_scratchpad();
  const auto forward =
      describe<dnnl::lstm_forward>(device, scratch, dnnl::prop_kind::forward_training, direction, any(source), state, state,
                                   any(of_input), any(of_state), bias, any(destination), none, none);
  const auto words = [](const memory::desc& desc) {
    return static_cast<std::int64_t>((desc.get_size() + sizeof(float) - 1) / sizeof(float));
  };
  const std::int64_t in = samples * tokens * channels;
  const std::int64_t out = samples * tokens * width;
  const std::int64_t rows = directions * gates * features;
  const memory::desc kept = forward.workspace_desc();
  const KernelTensor workspace{TensorRole::kept, 0, words(kept), problem.pass == Pass::forward};
  const auto own_state = [&](int name) { return Argument{{}, name, state, state, false, true}; };
  const KernelTensor input{TensorRole::input, 0, in, false};
  if (problem.pass == Pass::forward) {
    return primitive_kernel(
        device, dnnl::lstm_forward(forward), forward.scratchpad_desc(), forward.impl_info_str(),
        {{input, DNNL_ARG_SRC_LAYER, source, forward.src_layer_desc()},
         {{TensorRole::weight, 0, rows * channels, false}, DNNL_ARG_WEIGHTS_LAYER, of_input, forward.weights_layer_desc()},
         {{TensorRole::weight, 1, rows * features, false}, DNNL_ARG_WEIGHTS_ITER, of_state, forward.weights_iter_desc()},
         {{TensorRole::bias, 0, rows, false}, DNNL_ARG_BIAS, bias, bias},
         own_state(DNNL_ARG_SRC_ITER),
         own_state(DNNL_ARG_SRC_ITER_C),
         {workspace, DNNL_ARG_WORKSPACE, kept, kept},
         {{TensorRole::output, 0, out, true}, DNNL_ARG_DST_LAYER, destination, forward.dst_layer_desc()}});
  }
  const auto backward = describe_backward<dnnl::lstm_backward>(
      device, scratch, forward, dnnl::prop_kind::backward, direction, any(source), state, state, any(of_input),
      any(of_state), bias, any(destination), none, none, any(source), state, state, any(of_input), any(of_state), bias,
      any(destination), none, none);
  return primitive_kernel(
      device, dnnl::lstm_backward(backward), backward.scratchpad_desc(), backward.impl_info_str(),
      {{input, DNNL_ARG_SRC_LAYER, source, backward.src_layer_desc()},
       {{TensorRole::weight, 0, rows * channels, false}, DNNL_ARG_WEIGHTS_LAYER, of_input, backward.weights_layer_desc()},
       {{TensorRole::weight, 1, rows * features, false}, DNNL_ARG_WEIGHTS_ITER, of_state, backward.weights_iter_desc()},
       {{TensorRole::bias, 0, rows, false}, DNNL_ARG_BIAS, bias, bias},
       {{TensorRole::output, 0, out, false}, DNNL_ARG_DST_LAYER, destination, backward.dst_layer_desc()},
       own_state(DNNL_ARG_SRC_ITER),
       own_state(DNNL_ARG_SRC_ITER_C),
       own_state(DNNL_ARG_DIFF_SRC_ITER),
       own_state(DNNL_ARG_DIFF_SRC_ITER_C),
       {workspace, DNNL_ARG_WORKSPACE, kept, kept},
       {{TensorRole::output_gradient, 0, out, false}, DNNL_ARG_DIFF_DST_LAYER, destination, backward.diff_dst_layer_desc()},
       {{TensorRole::input_gradient, 0, in, true}, DNNL_ARG_DIFF_SRC_LAYER, source, backward.diff_src_layer_desc()},
       {{TensorRole::weight_gradient, 0, rows * channels, true},
        DNNL_ARG_DIFF_WEIGHTS_LAYER,
        of_input,
        backward.diff_weights_layer_desc(),
        true},
       {{TensorRole::weight_gradient, 1, rows * features, true},
        DNNL_ARG_DIFF_WEIGHTS_ITER,
        of_state,
        backward.diff_weights_iter_desc(),
        true},
       {{TensorRole::bias_gradient, 0, rows, true}, DNNL_ARG_DIFF_BIAS, bias, bias, true}});
}

}  // namespace

const Kind lstm{"lstm", only_fp32, prepare_lstm};

}  // namespace ddl::onednn
