#include "profiler/backends/cuda/device/grid.cuh"

namespace ddl::cuda::device {
namespace {

template <class From, class To>
struct Cast {
  const From* input;
  To* output;
  template <int width>
  __device__ void run(std::int64_t item) const {
    const Pack<From, width> read = load<width>(input, item);
    Pack<To, width> written;
    for (int i = 0; i < width; ++i) written.at[i] = from_float<To>(to_float(read.at[i]));
    store<width>(output, item, written);
  }
};

}  // namespace

cudaError_t cast(Launch launch, const void* input, Number to, void* output, std::int64_t items) {
  return dispatch(launch.number, [&](auto number) {
    using From = decltype(number);
    return dispatch(to, [&](auto other) {
      using To = decltype(other);
      // The wider of the two formats determines the number of elements in 16 bytes.
      constexpr int width = sizeof(From) > sizeof(To) ? whole_width<From>() : whole_width<To>();
      return map<width>(launch.stream, Cast<From, To>{in<From>(input), out<To>(output)}, items);
    });
  });
}

}  // namespace ddl::cuda::device
