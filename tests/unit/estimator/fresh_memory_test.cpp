#include "estimator/kernels/fresh_memory.hpp"

#include <string>

#include "tests/catch.hpp"

namespace {

using namespace ddl;

double fresh(const std::string& line) { return fresh_bytes(parse_problem(line, "test")).value(); }

TEST_CASE("tensors of 32 MiB or more are fresh each time") {
  // 64 x 512 x 256 elements of four bytes are 32 MiB.
  CHECK(fresh("add in=64x512x256,64x512x256 samples=1 pass=forward") == 33554432);
  CHECK(fresh("add in=64x512x255,64x512x255 samples=1 pass=forward") == 0);
  // For two samples, the two halves are one tensor. With two bytes per element, the tensor is too small again.
  CHECK(fresh("add in=64x256x256,64x256x256 samples=2 pass=forward") == 33554432);
  CHECK(fresh("add in=64x256x256,64x256x256 samples=2 precision=bf16 pass=forward") == 0);
}

TEST_CASE("each pass creates its own tensors") {
  // The layer is the first fully connected layer of VGG-16 [Simonyan and Zisserman 2015, table 1]:
  // 25,088 x 4,096 weights, and vectors far below the threshold.
  CHECK(fresh("fully_connected features=4096 in=25088 samples=1 pass=forward") == 0);
  CHECK(fresh("fully_connected features=4096 in=25088 samples=1 pass=backward-data") == 0);
  CHECK(fresh("fully_connected features=4096 in=25088 samples=1 pass=backward-weight") == (25088.0 + 1) * 4096 * 4);
  // The layer is VGG-16's first convolution on four samples: an output of 4 x 64 x 224 x 224, and
  // inputs of 4 x 3 x 224 x 224.
  const std::string convolution = "convolution filters=64 kernel=3x3 padding=1 in=3x224x224 samples=4 pass=";
  CHECK(fresh(convolution + "forward") == 4.0 * 64 * 224 * 224 * 4);
  CHECK(fresh(convolution + "backward-data") == 0);
}

TEST_CASE("gradients of weights are fresh at any size") {
  // The layer has 64 filters of 3 x 3 on 3 channels, and their biases.
  const std::string convolution = "convolution filters=64 kernel=3x3 padding=1 in=3x224x224 samples=4 pass=";
  CHECK(fresh(convolution + "backward-weight") == (64 * 3 * 9 + 64) * 4);
  CHECK(fresh("fully_connected features=16 bias=no in=8 samples=64 pass=backward-weight") == 16 * 8 * 4);
}

TEST_CASE("an in-place output is not fresh, but its gradient is") {
  const double bytes = 4.0 * 64 * 224 * 224 * 4;
  CHECK(fresh("activation kind=relu in=64x224x224 samples=4 pass=forward") == bytes);
  CHECK(fresh("activation kind=relu in_place=yes in=64x224x224 samples=4 pass=forward") == 0);
  CHECK(fresh("activation kind=relu in_place=yes in=64x224x224 samples=4 pass=backward-data") == bytes);
}

TEST_CASE("temporaries between the operators of a layer are fresh, and so are their gradients") {
  // GPT-2's scores have 12 heads x 1,024 x 1,024 elements, which are 48 MiB. Separate tensors hold their product, the scaled
  // scores, the masked scores and the softmax. The output of attention has only 3 MiB.
  const double scores = 12.0 * 1024 * 1024 * 4;
  const std::string attention = "attention heads=12 causal=yes in=2304x1024t samples=1 pass=";
  CHECK(fresh(attention + "forward") == 4 * scores);
  CHECK(fresh(attention + "backward-data") == 4 * scores);
  CHECK(fresh("attention heads=12 in=2304x1024t samples=1 pass=forward") == 3 * scores);
  CHECK(fresh("attention heads=12 causal=yes fused=yes in=2304x1024t samples=1 pass=forward") == 0);
  // Forward of GPT-2's loss computes the logarithm of the softmax. Backward computes the gradients
  // of this logarithm and of the input.
  const double logits = 50257.0 * 1024 * 4;
  CHECK(fresh("loss kind=cross_entropy in=50257x1024t samples=1 pass=forward") == logits);
  CHECK(fresh("loss kind=cross_entropy in=50257x1024t samples=1 pass=backward-data") == 2 * logits);
}

TEST_CASE("a table that two layers share has a gradient from each layer") {
  const double table = 50257.0 * 768 * 4;
  CHECK(fresh("embedding vocabulary=50257 features=768 in=1x1024t samples=1 pass=backward-weight") == table);
  CHECK(fresh("fully_connected features=50257 bias=no in=768x1024t samples=1 pass=backward-weight") == table);
  // The sum of the two gradients is a third tensor.
  const Problem sum = table_addition({.owner = {}, .rows = 50257, .columns = 768}, Precision::fp32);
  CHECK(print_problem(sum) == "add in=768x50257t,768x50257t samples=1 precision=fp32 pass=forward");
  CHECK(fresh_bytes(sum).value() == table);
}

}  // namespace
