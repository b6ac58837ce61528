#pragma once

#include <cstddef>
#include <cstdint>

#include <cuda_runtime_api.h>

// Our own kernels, for operations that the libraries lack or for which frameworks use their own kernels. All are launched in
// a stream and return the launch status. Sums are in fp32 in every number format. CUDA's compiler compiles this file too, in
// C++17, so it includes none of our headers.
namespace ddl::cuda::device {

enum class Number { fp32, fp16, bf16 };

/// Element-wise functions.
enum class Function { relu, relu6, leaky_relu, tanh, sigmoid, gelu, silu, hardswish, elu, hardsigmoid, softplus };

struct Launch {
  cudaStream_t stream = nullptr;
  Number number = Number::fp32;
};

// Element-wise kernels.
cudaError_t apply(Launch launch, Function function, const void* input, void* output, std::int64_t items);
/// Computes the gradient of a function from the function's input.
cudaError_t apply_backward(Launch launch, Function function, const void* input, const void* output_gradient,
                           void* input_gradient, std::int64_t items);
cudaError_t add(Launch launch, const void* first, const void* second, void* output, std::int64_t items);
/// Copies one tensor to two tensors.
cudaError_t copy_twice(Launch launch, const void* input, void* first, void* second, std::int64_t items);
cudaError_t multiply(Launch launch, const void* first, const void* second, void* output, std::int64_t items);
cudaError_t multiply_backward(Launch launch, const void* first, const void* second, const void* output_gradient,
                              void* first_gradient, void* second_gradient, std::int64_t items);
/// Draws a mask (Philox 4x32-10 [Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011], deterministic for a
/// seed), and multiplies the kept elements by 1 / (1 - rate).
cudaError_t dropout(Launch launch, const void* input, std::uint8_t* mask, void* output, std::int64_t items, double rate,
                    std::uint64_t seed);
/// output = input · mask · scale
cudaError_t mask(Launch launch, const void* input, const std::uint8_t* mask, void* output, std::int64_t items, float scale);
/// Like dropout and mask, for whole samples of `each` elements, with one mask value per sample.
cudaError_t drop_samples(Launch launch, const void* input, std::uint8_t* mask, void* output, std::int64_t samples,
                         std::int64_t each, double rate, std::uint64_t seed);
cudaError_t mask_samples(Launch launch, const void* input, const std::uint8_t* mask, void* output, std::int64_t samples,
                         std::int64_t each, float scale);
/// output = input · factor
cudaError_t multiply_by(Launch launch, const void* input, float factor, void* output, std::int64_t items);
/// Fills a tensor with values in (-1, 1), for tuning.
cudaError_t fill(Launch launch, void* output, std::int64_t items);

// Kernels on rows and columns.
/// Copies rows of `length` elements. The rows begin `from_pitch` elements apart in the input, and `to_pitch` in the output.
cudaError_t copy_rows(Launch launch, const void* input, std::int64_t from_pitch, void* output, std::int64_t to_pitch,
                      std::int64_t rows, std::int64_t length);
/// A permutation of the elements of a tensor. `size` and the strides `from` and `to` of each dimension are in elements. The
/// last dimension is innermost in the output.
struct Order {
  static constexpr int most = 10;
  int dimensions = 0;
  std::int64_t size[most]{}, from[most]{}, to[most]{};
  std::int64_t from_start = 0, to_start = 0;
};
cudaError_t rearrange(Launch launch, const Order& order, const void* input, void* output);
/// Sums each column over the rows, which begin `pitch` elements apart.
cudaError_t sum_rows(Launch launch, const void* input, std::int64_t pitch, std::int64_t rows, std::int64_t length,
                     void* sums);
/// Copies a tensor, and inserts the `length` elements of `first` before the `each` elements of every sample.
cudaError_t prepend(Launch launch, const void* first, std::int64_t length, const void* input, std::int64_t each,
                    std::int64_t samples, void* output);
/// output[r][p][c] = first[r][p][c] · second[r][c] if channels are innermost. Otherwise first and output are [r][c][p].
struct Image {
  std::int64_t samples = 1, channels = 1, positions = 1;
  bool channels_innermost = false;
  std::int64_t items() const { return samples * channels * positions; }
};
cudaError_t scale_channels(Launch launch, Image image, const void* first, const void* second, void* output);
cudaError_t scale_channels_backward(Launch launch, Image image, const void* first, const void* second,
                                    const void* output_gradient, void* first_gradient, void* second_gradient);
/// Adds the bias of its channel to each element of an image, in place.
cudaError_t add_bias(Launch launch, Image image, const void* bias, void* output);
/// Sums each channel over samples and positions. `partial` has room for channel_sum_parts(image) · channels fp32.
int channel_sum_parts(Image image);
cudaError_t channel_sums(Launch launch, Image image, const void* input, float* partial, void* sums);

/// output = input · factors[c] + shifts[c], for channels c. `shifts` is null for a gradient.
/// `scratch` has room for channel_scratch(image) fp32.
std::int64_t channel_scratch(Image image);
cudaError_t scale_shift(Launch launch, Image image, const void* input, const void* factors, const void* shifts,
                        void* output);
/// Computes the gradients of factors and shifts. `shift_gradient` may be null.
cudaError_t scale_shift_gradients(Launch launch, Image image, const void* input, const void* output_gradient,
                                  void* factor_gradient, void* shift_gradient, float* scratch);

/// An image resized by nearest-neighbor or linear interpolation.
struct Resizing {
  Image input;  ///< the input, with the extents `in`
  std::int64_t in[3]{1, 1, 1}, out[3]{1, 1, 1};
  bool linear = false;
};
cudaError_t resize(Launch launch, const Resizing& resizing, const void* input, void* output);
cudaError_t resize_backward(Launch launch, const Resizing& resizing, const void* output_gradient, void* input_gradient);

/// `split_heads` copies [samples, tokens, width] to [samples, heads, tokens, size]; `join_heads`
/// copies back. Both functions use the heads · size channels from `offset` on.
struct Heads {
  std::int64_t samples = 1, tokens = 1, heads = 1, size = 1, width = 1, offset = 0;
};
cudaError_t split_heads(Launch launch, Heads heads, const void* together, void* apart);
cudaError_t join_heads(Launch launch, Heads heads, const void* apart, void* together);

/// Attention scores: rows of `length` scores, with `queries` rows per matrix. Row i of a causal
/// matrix uses its first i + 1 columns.
struct Scores {
  std::int64_t rows = 1, length = 1, queries = 1;
  bool causal = false;
  float scale = 1;
};
cudaError_t softmax(Launch launch, Scores scores, const void* input, void* output);
/// Computes the gradients of scores from the probabilities and the gradients of the probabilities.
cudaError_t softmax_backward(Launch launch, Scores scores, const void* output, const void* output_gradient,
                             void* input_gradient);

/// Attention scores of [outer, heads, queries] rows. They are multiplied by `scale`, and a bias is
/// added. Some entries of each row may be masked.
struct ScoreRules {
  std::int64_t rows = 1, length = 1, queries = 1, heads = 1;
  float scale = 1;
  bool causal = false;
  std::int64_t window = 0;   ///< number of visible keys, up to and including the query; 0: all
  bool alibi = false;        ///< scores are reduced by the distance times the head's slope
  std::int64_t windows = 1;  ///< number of windows in `outer`; each has its own edges
};
/// The softmax of masked and biased scores. `biases`: [heads, queries, length], equal for all `outer`. `edges`: [windows,
/// length]; a query attends only to keys with its own edges. `biases` and `edges` may be null.
cudaError_t ruled_softmax(Launch launch, ScoreRules rules, const void* biases, const std::uint8_t* edges, const void* input,
                          void* output);
/// biases[h][p] = table[rows[p]][h]
cudaError_t look_up_biases(Launch launch, const void* table, const std::int32_t* rows, void* biases, std::int64_t heads,
                           std::int64_t pairs);
/// Adds the gradients of [matrices, heads, pairs] scores, times a factor, to an fp32 table initialized to zero.
cudaError_t table_gradient(Launch launch, const void* score_gradients, const std::int32_t* rows, float* table,
                           std::int64_t matrices, std::int64_t heads, std::int64_t pairs, float factor);
/// `cut_windows` copies windows of an image with innermost channels to [samples, windows, heads,
/// area, size]; `paste_windows` copies back. Both functions use the heads · size channels from
/// `offset` on. `places`: [windows, area], the position of each element in the image.
struct Cut {
  std::int64_t samples = 1, windows = 1, heads = 1, area = 1, size = 1, channels = 1, offset = 0;
  const std::int32_t* places = nullptr;
};
cudaError_t cut_windows(Launch launch, Cut cut, const void* image, void* windows);
cudaError_t paste_windows(Launch launch, Cut cut, const void* windows, void* image);

/// Rotary embedding: rotates pairs of channels by an angle that depends on the token, in the first
/// `heads` heads of each row. A head has `size` channels.
struct Turning {
  std::int64_t tokens = 1, width = 1, heads = 1, size = 1, pairs = 1;
};
/// Computes a rotary embedding. `cosines` and `sines`: [tokens, pairs].
cudaError_t turn(Launch launch, Turning turning, bool back, const void* input, const float* cosines, const float* sines,
                 void* output, std::int64_t rows);

/// Additive attention: a score is v·tanh(query + key), where v, queries and keys have `features` numbers.
struct Additive {
  std::int64_t samples = 1, queries = 1, keys = 1, features = 1;
  bool normalized = false;  ///< whether v has a trained length, and the sums have a bias
};
/// Computes v of additive attention in fp32, and the length of v's weights. `biases`: v's weights;
/// if normalized, followed by the sums' bias and the trained length of v.
cudaError_t weigh(Launch launch, const void* biases, std::int64_t features, bool normalized, float* v, float* length);
/// Computes the scores of additive attention. `sums` receives tanh(query + key): [samples, queries, keys, features].
cudaError_t additive_scores(Launch launch, Additive sizes, const void* queries, const void* keys, const void* biases,
                            const float* v, void* sums, void* scores);
/// Computes the gradients of queries and keys in additive attention. `to_v` receives contributions
/// to the gradient of v: [samples · queries, features].
cudaError_t additive_gradients(Launch launch, Additive sizes, const void* sums, const void* score_gradients, const float* v,
                               void* query_gradients, void* key_gradients, float* to_v);
/// Computes the gradient of `biases` in additive attention, from `to_v` and from `to_bias`, the gradient of the sums' bias.
cudaError_t direction_gradient(Launch launch, const void* biases, const float* to_v, const float* length,
                               const void* to_bias, std::int64_t features, bool normalized, void* gradients);

/// One time step of an LSTM for all samples. In the output, consecutive samples are `pitch` elements
/// apart, and this step is at `offset`.
struct LstmStep {
  std::int64_t samples = 1, features = 1, pitch = 1, offset = 0;
};
/// Computes a step of an LSTM. `from_state` and `cells_before` are null in the first step,
/// `next_state` is null in the last step.
cudaError_t lstm_step(Launch launch, LstmStep step, const void* from_input, const void* from_state,
                      const float* cells_before, void* gates, float* cells, void* next_state, void* output);
/// Computes the gradients of a step of an LSTM. `state_gradient` is null in the last step. `cell_gradients` contains the
/// gradients of the next step on entry, and the gradients of this step on return.
cudaError_t lstm_step_backward(Launch launch, LstmStep step, const void* output_gradient, const void* state_gradient,
                               const void* gates, const float* cells_before, const float* cells, float* cell_gradients,
                               void* gate_gradients);

// Mixtures of experts.
/// Finds the indices of the best `active` scores of each row, best first.
cudaError_t choose_best(Launch launch, const void* scores, std::int32_t* chosen, std::int64_t rows, std::int64_t experts,
                        std::int64_t active);
/// Groups copies of rows by expert. Inside a group, copies are in the order of the rows. `tokens`: the row of each copy.
/// `places`: the copy of each choice. `counts` has room for one number per expert.
cudaError_t place_copies(cudaStream_t stream, const std::int32_t* chosen, std::int64_t rows, std::int64_t experts,
                         std::int64_t active, std::int32_t* counts, std::int32_t* tokens, std::int32_t* places);
/// Keeps the best `active` scores of each row, and sets all other scores to zero.
cudaError_t keep_best(Launch launch, const void* scores, void* output, std::int64_t rows, std::int64_t experts,
                      std::int64_t active);
/// Copies each element of the gradient for which the element of the output is not zero; sets all other elements to zero.
cudaError_t where_kept(Launch launch, const void* output, const void* output_gradient, void* result, std::int64_t items);
cudaError_t gather_rows(Launch launch, const void* input, const std::int32_t* rows, void* output, std::int64_t count,
                        std::int64_t channels);
struct Routes {
  std::int64_t experts = 1, active = 1, channels = 1;
  const std::int32_t* chosen = nullptr;
  const std::int32_t* places = nullptr;
};
/// Adds up the copies of each row, each multiplied by its weight in [rows, experts]. `weights` may be null.
cudaError_t add_copies(Launch launch, Routes routes, const void* copies, const void* weights, void* output,
                       std::int64_t rows);
/// Computes the gradients of the copies of tokens and of their weights. `weight_gradients` must be zero on entry.
cudaError_t combine_backward(Launch launch, Routes routes, const void* copies, const void* weights,
                             const void* output_gradient, void* copy_gradients, void* weight_gradients, std::int64_t rows);

/// Addresses of `count` tensors with vectors of `channels` elements. `stack` concatenates the vectors
/// of each sample, from `together` on, with samples `pitch` elements apart.
struct Addresses {
  static constexpr int most = 64;
  void* at[most]{};
};
cudaError_t stack(Launch launch, const Addresses& addresses, int count, std::int64_t channels, std::int64_t samples,
                  std::int64_t pitch, void* together);
/// Separates the gradients of `count` concatenated tensors.
cudaError_t unstack(Launch launch, const Addresses& addresses, int count, std::int64_t channels, std::int64_t samples,
                    std::int64_t pitch, const void* first, const void* second);
/// The output of an interaction: the first vector of each sample, followed by the products of every two vectors.
struct Pairs {
  std::int64_t samples = 1, count = 1, channels = 1;
  std::int64_t length() const { return channels + count * (count - 1) / 2; }
};
/// Writes the output of an interaction. `products`: [samples, count, count].
cudaError_t pick_pairs(Launch launch, Pairs pairs, const void* together, const void* products, void* output);
/// Writes the gradients of the products of every two vectors, with zeros on and above the diagonal.
cudaError_t put_pairs(Launch launch, Pairs pairs, const void* output_gradient, void* product_gradients);
/// Adds the gradient of the first vector's copy in the output to the gradient of the first vector.
cudaError_t add_first(Launch launch, Pairs pairs, const void* output_gradient, void* first_gradient);

// Embedding tables.
/// Looks up rows of a table. Tokens are row indices stored as fp32.
cudaError_t look_up(Launch launch, const float* tokens, const void* table, void* output, std::int64_t count,
                    std::int64_t rows, std::int64_t features);
/// Adds the gradients of looked-up rows to an fp32 table, which must be zero on entry.
cudaError_t look_up_backward(Launch launch, const float* tokens, const void* output_gradient, float* table,
                             std::int64_t count, std::int64_t rows, std::int64_t features);
/// output[s][i] = input[s][i] + table[i], where i runs over the `each` elements of a sample.
cudaError_t add_table(Launch launch, const void* input, const void* table, void* output, std::int64_t samples,
                      std::int64_t each);
cudaError_t add_table_backward(Launch launch, const void* output_gradient, void* table, std::int64_t samples,
                               std::int64_t each);

// Losses. The target class of a row is its index modulo the number of classes. `row_losses` has
// room for `rows` fp32. `adds`: whether the kernel adds to the loss instead of overwriting it.
cudaError_t cross_entropy(Launch launch, const void* input, float* logarithms, float* row_losses, float* loss,
                          std::int64_t rows, std::int64_t classes, bool adds);
cudaError_t cross_entropy_backward(Launch launch, const float* logarithms, const float* loss_gradient, void* input_gradient,
                                   std::int64_t rows, std::int64_t classes);
/// Cross entropy over the channels of an image with innermost positions.
cudaError_t channel_cross_entropy(Launch launch, Image image, const void* input, float* logarithms, float* row_losses,
                                  float* loss, bool adds);
cudaError_t channel_cross_entropy_backward(Launch launch, Image image, const float* logarithms, const float* loss_gradient,
                                           void* input_gradient);
/// The softmax over the channels of an image with innermost positions.
cudaError_t channel_softmax(Launch launch, Image image, const void* input, void* output);
cudaError_t channel_softmax_backward(Launch launch, Image image, const void* output, const void* output_gradient,
                                     void* input_gradient);
cudaError_t mean(cudaStream_t stream, const float* parts, std::int64_t count, double divisor, float* result, bool adds);
/// The mean of squares of all elements. `partial` has room for square_parts(elements) fp32.
int square_parts(std::int64_t items);
cudaError_t mean_square(Launch launch, const void* input, float* partial, float* loss, std::int64_t items, bool adds);
cudaError_t mean_square_backward(Launch launch, const void* input, const float* loss_gradient, void* input_gradient,
                                 std::int64_t items);

/// Pooling windows with three extents.
struct Windows {
  Image input;  ///< the input, with the extents `in`
  std::int64_t in[3]{1, 1, 1}, out[3]{1, 1, 1}, kernel[3]{1, 1, 1}, stride[3]{1, 1, 1}, before[3]{0, 0, 0};
  bool adaptive = false;  ///< whether windows are from ⌊i·in/out⌋ to ⌈(i+1)·in/out⌉
  bool is_max = false;
  bool counts_rim = false;  ///< whether an average counts the padding in a window's volume
};
/// Pools an image. For a maximum, `winners` receives the position in the input of each output element.
cudaError_t pool(Launch launch, Windows windows, const void* input, std::int32_t* winners, void* output);
cudaError_t pool_backward(Launch launch, Windows windows, const void* output_gradient, const std::int32_t* winners,
                          void* input_gradient);

/// The scales and shifts of a norm. Null stands for scales of one, and for shifts of zero.
struct Trained {
  const float* scales = nullptr;
  const float* shifts = nullptr;
};
/// Norm over groups of a sample's channels, with one channel per group for an instance norm. `scratch` has room for
/// group_scratch(image, groups) fp32. Gradients of scales and shifts may be null.
std::int64_t group_scratch(Image image, std::int64_t groups);
cudaError_t group_norm(Launch launch, Image image, std::int64_t groups, const void* input, Trained trained, float* means,
                       float* inverse_deviations, void* output, float* scratch, float epsilon);
cudaError_t group_norm_backward(Launch launch, Image image, std::int64_t groups, const void* input, Trained trained,
                                const float* means, const float* inverse_deviations, const void* output_gradient,
                                void* input_gradient, float* scale_gradient, float* shift_gradient, float* scratch);
/// Root mean squares of rows of channels. `scratch` has room for channel_scratch({1, channels, rows, true}) fp32.
cudaError_t rms_norm(Launch launch, const void* input, Trained trained, float* inverse_roots, void* output,
                     std::int64_t rows, std::int64_t channels, float epsilon);
cudaError_t rms_norm_backward(Launch launch, const void* input, Trained trained, const float* inverse_roots,
                              const void* output_gradient, void* input_gradient, float* scale_gradient,
                              float* shift_gradient, float* scratch, std::int64_t rows, std::int64_t channels);
/// Batch norm of a channel over samples and positions, for shapes that the library does not support.
cudaError_t batch_norm(Launch launch, Image image, const void* input, Trained trained, float* mean, float* inverse_deviation,
                       void* output, float epsilon);
cudaError_t batch_norm_backward(Launch launch, Image image, const void* input, Trained trained, const float* mean,
                                const float* inverse_deviation, const void* output_gradient, void* input_gradient,
                                float* scale_gradient, float* shift_gradient);

/// An optimizer step in one pass. Unless `copy` is null, it receives the new weights in the number
/// format of the launch. Gradients also have this format.
enum class Step { sgd, momentum, adam };
cudaError_t update(Launch launch, Step step, float* weights, const void* gradients, float* first, float* second, void* copy,
                   std::int64_t items);

/// Converts elements from the format of the launch to the format `to`.
cudaError_t cast(Launch launch, const void* input, Number to, void* output, std::int64_t items);

/// A list of consecutive tensors that is divided into chunks, as in PyTorch's multi-tensor kernels.
/// Each chunk has one thread block.
struct ListPart {
  std::int64_t items = 0;                    ///< elements of all tensors
  std::int64_t of_tensor = 0;                ///< elements of each tensor except the last
  std::int64_t chunk = 0;                    ///< maximum number of elements of a chunk
  std::int64_t first_block = 0, blocks = 0;  ///< blocks of this launch, counted over all tensors
};
/// An operator of an optimizer step on fp32 elements (as in UpdatePass).
enum class ListFunction { scale, add, lerp, addcmul, root, shift, addcdiv };
cudaError_t list_pass(cudaStream_t stream, ListFunction function, ListPart part, float* to, const float* a, const float* b,
                      float factor);
/// Runs the whole optimizer step in one pass over the list of tensors.
cudaError_t list_update(cudaStream_t stream, Step step, ListPart part, float* weights, const float* gradients, float* first,
                        float* second);

/// Reads all bytes of `data`, which loads them into the caches.
cudaError_t touch(cudaStream_t stream, const void* data, std::size_t bytes, float* sink);
/// Keeps the device busy for this many of the device's clock cycles.
cudaError_t hold(cudaStream_t stream, std::int64_t cycles);

}  // namespace ddl::cuda::device
