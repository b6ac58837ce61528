#include <type_traits>

#include "profiler/backends/cuda/device/random.cuh"

namespace ddl::cuda::device {
namespace {

__device__ inline float sigmoid_of(float x) { return 1 / (1 + expf(-x)); }

template <Function function>
__device__ inline float value_of(float x) {
  if constexpr (function == Function::relu) {
    return fmaxf(x, 0);
  } else if constexpr (function == Function::relu6) {
    return fminf(fmaxf(x, 0), 6);
  } else if constexpr (function == Function::leaky_relu) {
    return x > 0 ? x : 0.01F * x;
  } else if constexpr (function == Function::tanh) {
    return tanhf(x);
  } else if constexpr (function == Function::sigmoid) {
    return sigmoid_of(x);
  } else if constexpr (function == Function::gelu) {
    return 0.5F * x * (1 + erff(x * 0.70710678F));
  } else if constexpr (function == Function::silu) {
    return x * sigmoid_of(x);
  } else if constexpr (function == Function::hardswish) {
    return x * fminf(fmaxf(x + 3, 0), 6) / 6;
  } else if constexpr (function == Function::hardsigmoid) {
    return fminf(fmaxf(x + 3, 0), 6) / 6;
  } else if constexpr (function == Function::softplus) {
    return fmaxf(x, 0) + log1pf(expf(-fabsf(x)));
  } else {
    return x > 0 ? x : expm1f(x);
  }
}

template <Function function>
__device__ inline float slope_of(float x) {
  if constexpr (function == Function::relu) {
    return x > 0 ? 1 : 0;
  } else if constexpr (function == Function::relu6) {
    return x > 0 && x < 6 ? 1 : 0;
  } else if constexpr (function == Function::leaky_relu) {
    return x > 0 ? 1 : 0.01F;
  } else if constexpr (function == Function::tanh) {
    const float y = tanhf(x);
    return 1 - y * y;
  } else if constexpr (function == Function::sigmoid) {
    const float y = sigmoid_of(x);
    return y * (1 - y);
  } else if constexpr (function == Function::gelu) {
    // GELU is x·Φ(x). Its derivative is Φ(x) + x·φ(x), with φ(x) = exp(-x²/2) / √(2π).
    return 0.5F * (1 + erff(x * 0.70710678F)) + x * 0.39894228F * expf(-0.5F * x * x);
  } else if constexpr (function == Function::silu) {
    const float y = sigmoid_of(x);
    return y * (1 + x * (1 - y));
  } else if constexpr (function == Function::hardswish) {
    return x <= -3 ? 0 : (x >= 3 ? 1 : (2 * x + 3) / 6);
  } else if constexpr (function == Function::hardsigmoid) {
    return x > -3 && x < 3 ? 1.0F / 6 : 0;
  } else if constexpr (function == Function::softplus) {
    return sigmoid_of(x);
  } else {
    return x > 0 ? 1 : expf(x);
  }
}

template <class T, Function function>
struct Apply {
  const T* input;
  T* output;
  template <int width>
  __device__ void run(std::int64_t item) const {
    Pack<T, width> pack = load<width>(input, item);
    for (T& x : pack.at) x = from_float<T>(value_of<function>(to_float(x)));
    store<width>(output, item, pack);
  }
};

template <class T, Function function>
struct ApplyBackward {
  const T* input;
  const T* gradient;
  T* result;
  template <int width>
  __device__ void run(std::int64_t item) const {
    const Pack<T, width> x = load<width>(input, item);
    Pack<T, width> pack = load<width>(gradient, item);
    for (int i = 0; i < width; ++i) pack.at[i] = from_float<T>(to_float(pack.at[i]) * slope_of<function>(to_float(x.at[i])));
    store<width>(result, item, pack);
  }
};

/// Calls `call` with an object of the type that implements the function.
template <class Call>
cudaError_t dispatch_function(Function function, Call call) {
  switch (function) {
    case Function::relu:
      return call(std::integral_constant<Function, Function::relu>());
    case Function::relu6:
      return call(std::integral_constant<Function, Function::relu6>());
    case Function::leaky_relu:
      return call(std::integral_constant<Function, Function::leaky_relu>());
    case Function::tanh:
      return call(std::integral_constant<Function, Function::tanh>());
    case Function::sigmoid:
      return call(std::integral_constant<Function, Function::sigmoid>());
    case Function::gelu:
      return call(std::integral_constant<Function, Function::gelu>());
    case Function::silu:
      return call(std::integral_constant<Function, Function::silu>());
    case Function::hardswish:
      return call(std::integral_constant<Function, Function::hardswish>());
    case Function::hardsigmoid:
      return call(std::integral_constant<Function, Function::hardsigmoid>());
    case Function::softplus:
      return call(std::integral_constant<Function, Function::softplus>());
    case Function::elu:
      break;
  }
  return call(std::integral_constant<Function, Function::elu>());
}

template <class T, bool multiplies>
struct Combine {
  const T* first;
  const T* second;
  T* output;
  template <int width>
  __device__ void run(std::int64_t item) const {
    Pack<T, width> a = load<width>(first, item);
    const Pack<T, width> b = load<width>(second, item);
    for (int i = 0; i < width; ++i) {
      const float x = to_float(a.at[i]);
      const float y = to_float(b.at[i]);
      a.at[i] = from_float<T>(multiplies ? x * y : x + y);
    }
    store<width>(output, item, a);
  }
};

template <class T>
struct CopyTwice {
  const T* input;
  T* first;
  T* second;
  template <int width>
  __device__ void run(std::int64_t item) const {
    const Pack<T, width> pack = load<width>(input, item);
    store<width>(first, item, pack);
    store<width>(second, item, pack);
  }
};

template <class T>
struct MultiplyBackward {
  const T* first;
  const T* second;
  const T* gradient;
  T* first_gradient;
  T* second_gradient;
  template <int width>
  __device__ void run(std::int64_t item) const {
    Pack<T, width> a = load<width>(first, item);
    Pack<T, width> b = load<width>(second, item);
    const Pack<T, width> g = load<width>(gradient, item);
    for (int i = 0; i < width; ++i) {
      const float slope = to_float(g.at[i]);
      const float x = to_float(a.at[i]);
      a.at[i] = from_float<T>(slope * to_float(b.at[i]));
      b.at[i] = from_float<T>(slope * x);
    }
    store<width>(first_gradient, item, a);
    store<width>(second_gradient, item, b);
  }
};

template <class T>
struct Dropout {
  const T* input;
  std::uint8_t* mask;
  T* output;
  std::uint32_t threshold;
  float scale;
  std::uint64_t seed;
  template <int width>
  __device__ void run(std::int64_t item) const {
    Pack<T, width> pack = load<width>(input, item);
    Pack<std::uint8_t, width> stays;
    for (int first = 0; first < width; first += 4) {
      const auto place = static_cast<std::uint64_t>(item + first);
      const Random random(place / 4, seed);
      for (int i = first; i < first + 4 && i < width; ++i) {
        // An element's random word does not depend on the vector width.
        const bool kept = random.word[(place + static_cast<unsigned>(i - first)) % 4] >= threshold;
        stays.at[i] = kept ? 1 : 0;
        pack.at[i] = from_float<T>(kept ? to_float(pack.at[i]) * scale : 0);
      }
    }
    store<width>(mask, item, stays);
    store<width>(output, item, pack);
  }
};

template <class T>
struct Mask {
  const T* input;
  const std::uint8_t* mask;
  T* output;
  float scale;
  template <int width>
  __device__ void run(std::int64_t item) const {
    Pack<T, width> pack = load<width>(input, item);
    const Pack<std::uint8_t, width> stays = load<width>(mask, item);
    for (int i = 0; i < width; ++i) pack.at[i] = from_float<T>(stays.at[i] != 0 ? to_float(pack.at[i]) * scale : 0);
    store<width>(output, item, pack);
  }
};

template <class T>
struct Fill {
  T* output;
  template <int width>
  __device__ void run(std::int64_t item) const {
    Pack<T, width> pack;
    for (int i = 0; i < width; ++i) {
      const Random random(static_cast<std::uint64_t>(item + i), 1);
      pack.at[i] = from_float<T>(static_cast<float>(random.word[0]) / 2147483648.0F - 1);
    }
    store<width>(output, item, pack);
  }
};

template <class T, Step step>
struct Update {
  float* weights;
  const T* gradients;
  float* first;
  float* second;
  T* copy;
  template <int width>
  __device__ void run(std::int64_t item) const {
    constexpr float rate = 1e-3F;  // small, so that values stay finite however often it runs
    Pack<float, width> weight = load<width>(weights, item);
    const Pack<T, width> gradient = load<width>(gradients, item);
    Pack<float, width> a, b;
    if constexpr (step != Step::sgd) a = load<width>(first, item);
    if constexpr (step == Step::adam) b = load<width>(second, item);
    for (int i = 0; i < width; ++i) {
      const float slope = to_float(gradient.at[i]);
      if constexpr (step == Step::sgd) weight.at[i] -= rate * slope;
      if constexpr (step == Step::momentum) {
        a.at[i] = 0.9F * a.at[i] + slope;
        weight.at[i] -= rate * a.at[i];
      }
      if constexpr (step == Step::adam) {
        // Kingma & Ba, "Adam", ICLR 2015, without the bias correction, a factor that is computed once per step.
        a.at[i] = 0.9F * a.at[i] + 0.1F * slope;
        b.at[i] = 0.999F * b.at[i] + 0.001F * slope * slope;
        weight.at[i] -= rate * a.at[i] / (sqrtf(b.at[i]) + 1e-8F);
      }
    }
    store<width>(weights, item, weight);
    if constexpr (step != Step::sgd) store<width>(first, item, a);
    if constexpr (step == Step::adam) store<width>(second, item, b);
    if (copy != nullptr) {
      Pack<T, width> rounded;
      for (int i = 0; i < width; ++i) rounded.at[i] = from_float<T>(weight.at[i]);
      store<width>(copy, item, rounded);
    }
  }
};

}  // namespace

cudaError_t apply(Launch launch, Function function, const void* input, void* output, std::int64_t items) {
  return dispatch(launch.number, [&](auto number) {
    using T = decltype(number);
    return dispatch_function(function, [&](auto chosen) {
      return map<whole_width<T>()>(launch.stream, Apply<T, decltype(chosen)::value>{in<T>(input), out<T>(output)}, items);
    });
  });
}

cudaError_t apply_backward(Launch launch, Function function, const void* input, const void* output_gradient,
                           void* input_gradient, std::int64_t items) {
  return dispatch(launch.number, [&](auto number) {
    using T = decltype(number);
    return dispatch_function(function, [&](auto chosen) {
      return map<whole_width<T>()>(
          launch.stream,
          ApplyBackward<T, decltype(chosen)::value>{in<T>(input), in<T>(output_gradient), out<T>(input_gradient)}, items);
    });
  });
}

cudaError_t add(Launch launch, const void* first, const void* second, void* output, std::int64_t items) {
  return dispatch(launch.number, [&](auto number) {
    using T = decltype(number);
    return map<whole_width<T>()>(launch.stream, Combine<T, false>{in<T>(first), in<T>(second), out<T>(output)}, items);
  });
}

cudaError_t copy_twice(Launch launch, const void* input, void* first, void* second, std::int64_t items) {
  return dispatch(launch.number, [&](auto number) {
    using T = decltype(number);
    return map<whole_width<T>()>(launch.stream, CopyTwice<T>{in<T>(input), out<T>(first), out<T>(second)}, items);
  });
}

cudaError_t multiply(Launch launch, const void* first, const void* second, void* output, std::int64_t items) {
  return dispatch(launch.number, [&](auto number) {
    using T = decltype(number);
    return map<whole_width<T>()>(launch.stream, Combine<T, true>{in<T>(first), in<T>(second), out<T>(output)}, items);
  });
}

cudaError_t multiply_backward(Launch launch, const void* first, const void* second, const void* output_gradient,
                              void* first_gradient, void* second_gradient, std::int64_t items) {
  return dispatch(launch.number, [&](auto number) {
    using T = decltype(number);
    return map<whole_width<T>()>(launch.stream,
                                 MultiplyBackward<T>{in<T>(first), in<T>(second), in<T>(output_gradient),
                                                     out<T>(first_gradient), out<T>(second_gradient)},
                                 items);
  });
}

cudaError_t dropout(Launch launch, const void* input, std::uint8_t* mask, void* output, std::int64_t items, double rate,
                    std::uint64_t seed) {
  return dispatch(launch.number, [&](auto number) {
    using T = decltype(number);
    return map<whole_width<T>()>(
        launch.stream, Dropout<T>{in<T>(input), mask, out<T>(output), drop_threshold(rate), kept_scale(rate), seed}, items);
  });
}

cudaError_t mask(Launch launch, const void* input, const std::uint8_t* mask, void* output, std::int64_t items, float scale) {
  return dispatch(launch.number, [&](auto number) {
    using T = decltype(number);
    return map<whole_width<T>()>(launch.stream, Mask<T>{in<T>(input), mask, out<T>(output), scale}, items);
  });
}

cudaError_t fill(Launch launch, void* output, std::int64_t items) {
  return dispatch(launch.number, [&](auto number) {
    using T = decltype(number);
    return map<whole_width<T>()>(launch.stream, Fill<T>{out<T>(output)}, items);
  });
}

cudaError_t update(Launch launch, Step step, float* weights, const void* gradients, float* first, float* second, void* copy,
                   std::int64_t items) {
  return dispatch(launch.number, [&](auto number) {
    using T = decltype(number);
    constexpr int width = whole_width<float>();  // the widest of the formats determines the vector width
    switch (step) {
      case Step::sgd:
        return map<width>(launch.stream, Update<T, Step::sgd>{weights, in<T>(gradients), first, second, out<T>(copy)},
                          items);
      case Step::momentum:
        return map<width>(launch.stream, Update<T, Step::momentum>{weights, in<T>(gradients), first, second, out<T>(copy)},
                          items);
      case Step::adam:
        break;
    }
    return map<width>(launch.stream, Update<T, Step::adam>{weights, in<T>(gradients), first, second, out<T>(copy)}, items);
  });
}

}  // namespace ddl::cuda::device
