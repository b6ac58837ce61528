#pragma once

#include <cstddef>
#include <cstdint>

#include <cuda_runtime_api.h>

// Kernels of our own, where the libraries have none or frameworks use theirs. All are started in a stream and return what
// starting them gave; sums are in fp32 whatever the format. Read by CUDA's compiler too, in C++17: no headers of ours.
namespace ddl::cuda::device {

enum class Number { fp32, fp16, bf16 };

/// Functions of one item.
enum class Function { relu, relu6, leaky_relu, tanh, sigmoid, gelu, silu, hardswish, elu };

struct Launch {
  cudaStream_t stream = nullptr;
  Number number = Number::fp32;
};

// Item by item.
cudaError_t apply(Launch launch, Function function, const void* input, void* output, std::int64_t items);
/// From the function's input.
cudaError_t apply_backward(Launch launch, Function function, const void* input, const void* output_gradient,
                           void* input_gradient, std::int64_t items);
cudaError_t add(Launch launch, const void* first, const void* second, void* output, std::int64_t items);
/// Copies one tensor to two.
cudaError_t copy_twice(Launch launch, const void* input, void* first, void* second, std::int64_t items);
cudaError_t multiply(Launch launch, const void* first, const void* second, void* output, std::int64_t items);
cudaError_t multiply_backward(Launch launch, const void* first, const void* second, const void* output_gradient,
                              void* first_gradient, void* second_gradient, std::int64_t items);
/// Draws a mask (Philox 4x32-10 [Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011], the same for the
/// same seed), and multiplies what stays by 1 / (1 - rate).
cudaError_t dropout(Launch launch, const void* input, std::uint8_t* mask, void* output, std::int64_t items, double rate,
                    std::uint64_t seed);
/// output = input · mask · scale
cudaError_t mask(Launch launch, const void* input, const std::uint8_t* mask, void* output, std::int64_t items, float scale);
/// Values in (-1, 1), for tuning.
cudaError_t fill(Launch launch, void* output, std::int64_t items);

// Rows and columns.
/// Rows of `length` items, which begin `from_pitch` and `to_pitch` items apart.
cudaError_t copy_rows(Launch launch, const void* input, std::int64_t from_pitch, void* output, std::int64_t to_pitch,
                      std::int64_t rows, std::int64_t length);
/// output[r][p][c] = first[r][p][c] · second[r][c] where channels are innermost, else [r][c][p].
struct Image {
  std::int64_t samples = 1, channels = 1, positions = 1;
  bool channels_innermost = false;
  std::int64_t items() const { return samples * channels * positions; }
};
cudaError_t scale_channels(Launch launch, Image image, const void* first, const void* second, void* output);
cudaError_t scale_channels_backward(Launch launch, Image image, const void* first, const void* second,
                                    const void* output_gradient, void* first_gradient, void* second_gradient);
/// Adds an item for each channel, in place.
cudaError_t add_bias(Launch launch, Image image, const void* bias, void* output);
/// Sums over samples and positions; `partial` has room for channel_sum_parts(image) · channels fp32.
int channel_sum_parts(Image image);
cudaError_t channel_sums(Launch launch, Image image, const void* input, float* partial, void* sums);

/// [samples, tokens, width], of which it takes heads · size channels from `offset` on, to [samples, heads, tokens, size],
/// and back.
struct Heads {
  std::int64_t samples = 1, tokens = 1, heads = 1, size = 1, width = 1, offset = 0;
};
cudaError_t split_heads(Launch launch, Heads heads, const void* together, void* apart);
cudaError_t join_heads(Launch launch, Heads heads, const void* apart, void* together);

/// Rows of `length` scores, `queries` rows a matrix; those of a causal matrix see as many columns as their number.
struct Scores {
  std::int64_t rows = 1, length = 1, queries = 1;
  bool causal = false;
  float scale = 1;
};
cudaError_t softmax(Launch launch, Scores scores, const void* input, void* output);
/// From probabilities and their gradients.
cudaError_t softmax_backward(Launch launch, Scores scores, const void* output, const void* output_gradient,
                             void* input_gradient);

// Tables.
/// Tokens are fp32 numbers of rows.
cudaError_t look_up(Launch launch, const float* tokens, const void* table, void* output, std::int64_t count,
                    std::int64_t rows, std::int64_t features);
/// Adds to a table of fp32 that is zero.
cudaError_t look_up_backward(Launch launch, const float* tokens, const void* output_gradient, float* table,
                             std::int64_t count, std::int64_t rows, std::int64_t features);
/// output[s][i] = input[s][i] + table[i], for `each` items of a sample.
cudaError_t add_table(Launch launch, const void* input, const void* table, void* output, std::int64_t samples,
                      std::int64_t each);
cudaError_t add_table_backward(Launch launch, const void* output_gradient, void* table, std::int64_t samples,
                               std::int64_t each);

// Losses; the wanted class of a row is its number modulo classes. `row_losses` has room for `rows` fp32.
cudaError_t cross_entropy(Launch launch, const void* input, float* logarithms, float* row_losses, float* loss,
                          std::int64_t rows, std::int64_t classes);
cudaError_t cross_entropy_backward(Launch launch, const float* logarithms, const float* loss_gradient, void* input_gradient,
                                   std::int64_t rows, std::int64_t classes);
/// The mean of squares; `partial` has room for square_parts(items) fp32.
int square_parts(std::int64_t items);
cudaError_t mean_square(Launch launch, const void* input, float* partial, float* loss, std::int64_t items);
cudaError_t mean_square_backward(Launch launch, const void* input, const float* loss_gradient, void* input_gradient,
                                 std::int64_t items);

/// Windows of a pooling, three extents.
struct Windows {
  Image input;  ///< positions are those of the extents below
  std::int64_t in[3]{1, 1, 1}, out[3]{1, 1, 1}, kernel[3]{1, 1, 1}, stride[3]{1, 1, 1}, before[3]{0, 0, 0};
  bool adaptive = false;  ///< windows from ⌊i·in/out⌋ to ⌈(i+1)·in/out⌉ instead
  bool is_max = false;
  bool counts_rim = false;  ///< an average divides by the window's volume, rim included
};
/// `winners`: for a maximum, the position in the input of each output item.
cudaError_t pool(Launch launch, Windows windows, const void* input, std::int32_t* winners, void* output);
cudaError_t pool_backward(Launch launch, Windows windows, const void* output_gradient, const std::int32_t* winners,
                          void* input_gradient);

/// Norms over groups of items, for those that the library does not run: a channel over samples and positions.
cudaError_t batch_norm(Launch launch, Image image, const void* input, const float* scale_shift, float* mean,
                       float* inverse_deviation, void* output, float epsilon);
cudaError_t batch_norm_backward(Launch launch, Image image, const void* input, const float* scale_shift, const float* mean,
                                const float* inverse_deviation, const void* output_gradient, void* input_gradient,
                                float* scale_shift_gradient);

/// Steps of an optimizer in one pass. `copy`, where it is not null, gets the new weights in the launch's format; so do
/// gradients come in it.
enum class Step { sgd, momentum, adam };
cudaError_t update(Launch launch, Step step, float* weights, const void* gradients, float* first, float* second, void* copy,
                   std::int64_t items);

/// Copies items to another format: `from` is the launch's.
cudaError_t cast(Launch launch, const void* input, Number to, void* output, std::int64_t items);

/// Chunks of tensors that lie one behind the other, as PyTorch hands lists of them to the device: a block of threads each.
struct ListPart {
  std::int64_t items = 0;                    ///< of all tensors
  std::int64_t of_tensor = 0;                ///< items of each tensor but the last
  std::int64_t chunk = 0;                    ///< items of a block, at most
  std::int64_t first_block = 0, blocks = 0;  ///< those of this launch, counted over all tensors
};
/// An operator of an optimizer's step, of fp32 items (UpdatePass has the same).
enum class ListFunction { scale, add, lerp, addcmul, root, shift, addcdiv };
cudaError_t list_pass(cudaStream_t stream, ListFunction function, ListPart part, float* to, const float* a, const float* b,
                      float factor);
/// The whole step in one pass over the list.
cudaError_t list_update(cudaStream_t stream, Step step, ListPart part, float* weights, const float* gradients, float* first,
                        float* second);

/// Reads all of it.
cudaError_t touch(cudaStream_t stream, const void* data, std::size_t bytes, float* sink);
/// Keeps the device busy for so many of its cycles.
cudaError_t hold(cudaStream_t stream, std::int64_t cycles);

}  // namespace ddl::cuda::device
