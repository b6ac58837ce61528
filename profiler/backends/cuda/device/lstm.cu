#include "profiler/backends/cuda/device/grid.cuh"

// One step of a long short-term memory between its matrix products [Hochreiter and Schmidhuber, "Long short-term memory",
// Neural Computation 9, 1997, with the forget gate of Gers et al. 2000]. The gates are the concatenated input, forget, cell
// and output gates of all units.
namespace ddl::cuda::device {
namespace {

__device__ inline float logistic(float x) { return 1 / (1 + expf(-x)); }

template <class T>
struct StepForward {
  LstmStep step;
  const T* from_input;  ///< [samples, gates]
  const T* from_state;  ///< [samples, gates], null in the first step
  const float* cells_before;
  T* gates;
  float* cells;
  T* next_state;  ///< [samples, features], null in the last step
  T* output;
  template <int width>
  __device__ void run(std::int64_t item) const {
    const std::int64_t sample = item / step.features;
    const std::int64_t unit = item % step.features;
    const auto gate = [&](int number) {
      const std::int64_t place = (sample * 4 + number) * step.features + unit;
      return to_float(from_input[place]) + (from_state == nullptr ? 0.0F : to_float(from_state[place]));
    };
    const float values[4] = {logistic(gate(0)), logistic(gate(1)), tanhf(gate(2)), logistic(gate(3))};
    const float before = cells_before == nullptr ? 0.0F : cells_before[item];
    const float cell = values[1] * before + values[0] * values[2];
    const T state = from_float<T>(values[3] * tanhf(cell));
    for (int number = 0; number < 4; ++number) {
      gates[(sample * 4 + number) * step.features + unit] = from_float<T>(values[number]);
    }
    cells[item] = cell;
    if (next_state != nullptr) next_state[item] = state;
    output[sample * step.pitch + step.offset + unit] = state;
  }
};

template <class T>
struct StepBackward {
  LstmStep step;
  const T* output_gradient;
  const T* state_gradient;  ///< gradient from the next step, null in the last step
  const T* gates;
  const float* cells_before;
  const float* cells;
  float* cell_gradients;  ///< on entry: gradients of the next step; on return: gradients of this step
  T* gate_gradients;
  template <int width>
  __device__ void run(std::int64_t item) const {
    const std::int64_t sample = item / step.features;
    const std::int64_t unit = item % step.features;
    const auto place = [&](int number) { return (sample * 4 + number) * step.features + unit; };
    float of_state = to_float(output_gradient[sample * step.pitch + step.offset + unit]);
    float of_cell = 0;
    if (state_gradient != nullptr) {
      of_state += to_float(state_gradient[item]);
      of_cell = cell_gradients[item];
    }
    const float in = to_float(gates[place(0)]);
    const float forget = to_float(gates[place(1)]);
    const float value = to_float(gates[place(2)]);
    const float out = to_float(gates[place(3)]);
    const float squashed = tanhf(cells[item]);
    const float before = cells_before == nullptr ? 0.0F : cells_before[item];
    of_cell += of_state * out * (1 - squashed * squashed);
    gate_gradients[place(0)] = from_float<T>(of_cell * value * in * (1 - in));
    gate_gradients[place(1)] = from_float<T>(of_cell * before * forget * (1 - forget));
    gate_gradients[place(2)] = from_float<T>(of_cell * in * (1 - value * value));
    gate_gradients[place(3)] = from_float<T>(of_state * squashed * out * (1 - out));
    cell_gradients[item] = of_cell * forget;
  }
};

}  // namespace

cudaError_t lstm_step(Launch launch, LstmStep step, const void* from_input, const void* from_state,
                      const float* cells_before, void* gates, float* cells, void* next_state, void* output) {
  return dispatch(launch.number, [&](auto number) {
    using T = decltype(number);
    const StepForward<T> work{step,  in<T>(from_input),  in<T>(from_state), cells_before, out<T>(gates),
                              cells, out<T>(next_state), out<T>(output)};
    return map<1>(launch.stream, work, step.samples * step.features);
  });
}

cudaError_t lstm_step_backward(Launch launch, LstmStep step, const void* output_gradient, const void* state_gradient,
                               const void* gates, const float* cells_before, const float* cells, float* cell_gradients,
                               void* gate_gradients) {
  return dispatch(launch.number, [&](auto number) {
    using T = decltype(number);
    const StepBackward<T> work{step,  in<T>(output_gradient), in<T>(state_gradient), in<T>(gates), cells_before,
                               cells, cell_gradients,         out<T>(gate_gradients)};
    return map<1>(launch.stream, work, step.samples * step.features);
  });
}

}  // namespace ddl::cuda::device
