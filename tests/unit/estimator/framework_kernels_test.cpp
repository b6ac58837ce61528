#include "estimator/kernels/framework_kernels.hpp"

#include <algorithm>
#include <cmath>
#include <string_view>

#include "calibration/inputs/machine_reader.hpp"
#include "calibration/inputs/study.hpp"
#include "estimator/facts/model_facts.hpp"
#include "estimator/kernels/kernel_model.hpp"
#include "estimator/kernels/kernel_time.hpp"
#include "estimator/kernels/recurrent_steps.hpp"
#include "model_zoo/files/load_model.hpp"
#include "model_zoo/network/attention_variants.hpp"
#include "model_zoo/network/model.hpp"
#include "tests/catch.hpp"

// The tests check the effect of a framework's choice of kernels on a kernel's time.

using namespace ddl;

TEST_CASE("a fused kernel of dot products reads its vectors once, and matrix units compute them") {
  const Model model = load_model("dlrm");
  const auto interaction = std::find_if(model.layers.begin(), model.layers.end(),
                                        [](const Layer& layer) { return layer.operation->type() == "interaction"; });
  REQUIRE(interaction != model.layers.end());
  const KernelModel a100(load_machine("dgx-a100").device, Precision::fp16, {}, Conditions::training);
  constexpr double samples = 6912;
  for (const Pass pass : {Pass::forward, Pass::backward_data}) {
    const Work work = interaction->operation->work(pass, interaction->input_shapes, interaction->output_shape);
    const Work fused = fused_interaction(work, pass, 27 * 128, 479);
    // 27 vectors of 128 elements and an output of 479; backward also writes the gradients of the vectors.
    CHECK(fused.activation_items == 479 + (pass == Pass::forward ? 1 : 2) * 27 * 128);
    CHECK(fused.flops == work.flops);
    CHECK(std::max({fused.m, fused.n, fused.k}) == 128);
    CHECK(std::min({fused.m, fused.n, fused.k}) == 32);
    // An odd number of vectors keeps a library's batched product from the matrix units.
    CHECK(a100.seconds(fused, pass, samples) < 0.25 * a100.seconds(work, pass, samples));
  }
}

TEST_CASE("time steps of a recurrent layer wait for each other") {
  const Model model = load_model("gnmt@tokens=40");
  const auto at = [&](std::string_view name) -> const Layer& {
    const auto found =
        std::find_if(model.layers.begin(), model.layers.end(), [&](const Layer& layer) { return layer.name == name; });
    REQUIRE(found != model.layers.end());
    return *found;
  };
  const auto waits = [&](std::string_view name, Pass pass, double samples, PersistentKernels persistent) {
    const Layer& layer = at(name);
    return time_between_steps(*layer.operation, pass, layer.input_shapes, layer.output_shape, samples, persistent).value();
  };
  const auto between = [&](std::string_view name, Pass pass) { return waits(name, pass, 64, PersistentKernels::never); };
  // Both directions of the first layer overlap.
  for (const std::string_view name : {"encoder1", "decoder1"}) {
    CHECK(std::abs(between(name, Pass::forward) - 40 * 25e-6) < 1e-12);
    CHECK(std::abs(between(name, Pass::backward_weight) - 40 * 25e-6) < 1e-12);
    CHECK(between(name, Pass::backward_data) == 0);
  }
  CHECK(between("head", Pass::forward) == 0);
  // Persistent kernels have one direction, and PyTorch chooses them by samples and time steps.
  using enum PersistentKernels;
  const auto is_persistent = [&](std::string_view name, double samples, PersistentKernels persistent) {
    return waits(name, Pass::forward, samples, persistent) == 0;
  };
  CHECK(!is_persistent("encoder1", 64, volta));
  CHECK(is_persistent("decoder1", 64, volta));
  CHECK(is_persistent("decoder1", 128, volta));
  CHECK(!is_persistent("decoder1", 112, volta));
  CHECK(is_persistent("decoder1", 112, ampere));
  CHECK(!is_persistent("decoder1", 136, ampere));
  CHECK(!is_persistent("decoder1", 100, ampere));
}

TEST_CASE("some GPUs have persistent kernels in fp16") {
  const auto of = [](double capability, int multiprocessors, Precision precision) {
    Device device;
    device.compute_capability = capability, device.multiprocessors = multiprocessors;
    return persistent_kernels(device, precision);
  };
  CHECK(of(7.0, 80, Precision::fp16) == PersistentKernels::volta);
  CHECK(of(7.0, 80, Precision::fp32) == PersistentKernels::never);
  CHECK(of(7.5, 72, Precision::fp16) == PersistentKernels::never);
  CHECK(of(8.0, 108, Precision::fp16) == PersistentKernels::ampere);
  CHECK(of(8.0, 56, Precision::fp16) == PersistentKernels::never);
  CHECK(of(8.6, 108, Precision::fp16) == PersistentKernels::never);
  CHECK(of(9.0, 132, Precision::fp16) == PersistentKernels::ampere);
}

TEST_CASE("fused attention in full precision takes three products in tf32 for each product") {
  const Device a100 = load_machine("dgx-a100").device, v100 = load_machine("dgx-1-v100").device;
  constexpr AttentionKernels flash2 = AttentionKernels::flash2;
  CHECK(splits_full_precision(flash2, a100));
  CHECK_FALSE(splits_full_precision(flash2, v100));
  CHECK_FALSE(splits_full_precision(AttentionKernels::cudnn, a100));
  for (const Pass pass : {Pass::forward, Pass::backward_data}) {
    CHECK(attention_factor(flash2, a100, pass, Precision::tf32) > 3);
    CHECK(attention_factor(std::nullopt, a100, pass, Precision::tf32) == 1);
  }
  const Model model = load_model("vit_b_16");
  const ModelFacts facts = facts_of(model);
  const auto found = std::find_if(model.layers.begin(), model.layers.end(),
                                  [](const Layer& layer) { return layer.operation->type() == "attention"; });
  const auto at = static_cast<std::size_t>(found - model.layers.begin());
  Assumptions pytorch;
  pytorch.attention = flash2;
  const auto time = [&](Precision precision) {
    const KernelTimes times(facts, a100, Coefficients{}, precision, Optimizer::momentum, std::nullopt, nullptr, pytorch);
    return times.serial()[at].forward.value();
  };
  // The same kernel runs, whether tf32 is allowed or not.
  CHECK(time(Precision::fp32) == Approx(time(Precision::tf32)));
  CHECK(time(Precision::tf32) > 4 * time(Precision::bf16));
}

TEST_CASE("generations of fused attention have the published time ratios") {
  const Device a100 = load_machine("dgx-a100").device, h100 = load_machine("dgx-h100").device;
  for (const Device& device : {a100, h100}) {
    for (const Pass pass : {Pass::forward, Pass::backward_data}) {
      CHECK(attention_factor(std::nullopt, device, pass, Precision::bf16) == 1);
      const auto factor = [&](AttentionKernels kernels) { return attention_factor(kernels, device, pass, Precision::bf16); };
      // By Dao 2023, section 4.1, the ratio is around two.
      CHECK(factor(AttentionKernels::flash1) == Approx(1.8 * factor(AttentionKernels::flash2)));
      CHECK(factor(AttentionKernels::flash3) <= factor(AttentionKernels::flash2));
    }
  }
  // An A100 has no FlashAttention-3. Its kernel files were fitted to FlashAttention-2.
  CHECK(attention_factor(AttentionKernels::flash2, a100, Pass::forward, Precision::bf16) == 1);
  CHECK(attention_factor(AttentionKernels::flash3, a100, Pass::forward, Precision::bf16) == 1);
  // The kernel files of an H100 were fitted to FlashAttention-3 in forward and FlashAttention-2 in
  // backward. By Shah et al. 2024, the ratios are 1.5 to 2 and 1.5 to 1.75.
  CHECK(attention_factor(AttentionKernels::flash3, h100, Pass::forward, Precision::bf16) == 1);
  CHECK(attention_factor(AttentionKernels::flash2, h100, Pass::forward, Precision::bf16) >= 1.5);
  CHECK(attention_factor(AttentionKernels::flash2, h100, Pass::forward, Precision::bf16) <= 2);
  CHECK(attention_factor(AttentionKernels::flash2, h100, Pass::backward_data, Precision::bf16) == 1);
  CHECK(1 / attention_factor(AttentionKernels::flash3, h100, Pass::backward_data, Precision::bf16) >= 1.5);
  CHECK(1 / attention_factor(AttentionKernels::flash3, h100, Pass::backward_data, Precision::bf16) <= 1.75);
  // FlashAttention-2 uses no units of Blackwell: FlashAttention-4 is 3.9 times as fast forward and 3.6 times in both passes
  // (whitecircle/halo, flash-attention.md). PyTorch runs cuDNN's kernels there, which are as fast.
  const Device b200 = load_machine("dgx-b200").device;
  for (const Pass pass : {Pass::forward, Pass::backward_data}) {
    const auto factor = [&](AttentionKernels kernels) { return attention_factor(kernels, b200, pass, Precision::bf16); };
    CHECK(factor(AttentionKernels::flash2) / factor(AttentionKernels::flash4) >= 3.5);
    CHECK(factor(AttentionKernels::flash2) / factor(AttentionKernels::flash4) <= 4);
    CHECK(factor(AttentionKernels::sdpa) == factor(AttentionKernels::flash4));
    CHECK(factor(AttentionKernels::flash3) == factor(AttentionKernels::flash2));
    CHECK(factor(AttentionKernels::cudnn) == 1);
  }
  for (const Device& device : {a100, h100})
    CHECK(attention_factor(AttentionKernels::sdpa, device, Pass::forward, Precision::bf16) ==
          attention_factor(AttentionKernels::flash2, device, Pass::forward, Precision::bf16));
  CHECK(attention_factor(AttentionKernels::flash4, h100, Pass::forward, Precision::bf16) == 1);
  // A V100 has no FlashAttention-2.
  const Device v100 = load_machine("dgx-1-v100").device;
  CHECK(attention_factor(std::nullopt, v100, Pass::forward, Precision::bf16) == 1);
  CHECK(attention_factor(AttentionKernels::flash1, v100, Pass::forward, Precision::bf16) == Approx(1.8));
  CHECK(attention_factor(AttentionKernels::flash2, v100, Pass::forward, Precision::bf16) == Approx(1.8));
  // The kernel file of an MI355X was fitted to kernels of AMD. PyTorch's take 2.0 to 2.2 times as long
  // (facebookexperimental/ triton, pull request 1782).
  const Device mi355x = load_machine("server-mi355x").device;
  CHECK(attention_factor(std::nullopt, mi355x, Pass::forward, Precision::bf16) == 1);
  CHECK(attention_factor(AttentionKernels::cudnn, mi355x, Pass::forward, Precision::bf16) == 1);
  CHECK(attention_factor(AttentionKernels::flash2, mi355x, Pass::forward, Precision::bf16) >= 2);
  CHECK(attention_factor(AttentionKernels::flash2, mi355x, Pass::forward, Precision::bf16) <= 2.2);
  for (const Pass pass : {Pass::forward, Pass::backward_data})
    CHECK(attention_factor(AttentionKernels::flash1, mi355x, pass, Precision::bf16) >=
          attention_factor(AttentionKernels::flash2, mi355x, pass, Precision::bf16));
}

TEST_CASE("cross entropy has the memory traffic of its operators") {
  using enum CrossEntropy;
  // In half precision, forward has the copy (2 + 4) and the logarithm of the softmax (4 + 4). Backward has the gradient of
  // the picked logarithm (4), that of the softmax (4 + 4 + 4), and the copy (4 + 2).
  CHECK(entropy_bytes(operators, Pass::forward, true, true) == 2 + 4 + 4 + 4);
  CHECK(entropy_bytes(operators, Pass::backward_data, true, true) == 4 + 12 + 6);
  // Without the copy, each read and write is of half precision.
  CHECK(entropy_bytes(operators, Pass::forward, true, false) == 2 + 2);
  CHECK(entropy_bytes(operators, Pass::backward_data, true, false) == 4 * 2);
  CHECK(entropy_bytes(in_place, Pass::forward, true, false) == entropy_bytes(in_place, Pass::forward, true, true));
  // In fp32, cross entropy makes no copy.
  CHECK(entropy_bytes(operators, Pass::forward, false, true) == 8);
  CHECK(entropy_bytes(operators, Pass::backward_data, false, true) == 16);
  // Forward has the copy 6, maximum 4, subtraction 8, exponential 8, sum 4 and division 8. Backward
  // has the scaling 8 and the copy 6.
  CHECK(entropy_bytes(in_place, Pass::forward, true, true) == 6 + 4 + 8 + 8 + 4 + 8);
  CHECK(entropy_bytes(in_place, Pass::backward_data, true, true) == 8 + 6);
  // Forward has the copy 6, the exponential 8 and the division 8; backward has the copy 6.
  CHECK(entropy_bytes(compiled, Pass::forward, true, true) == 6 + 8 + 8);
  CHECK(entropy_bytes(compiled, Pass::backward_data, true, true) == 6);
  for (const bool mixed : {false, true}) {
    for (const Pass pass : {Pass::forward, Pass::backward_data}) {
      for (const bool widens : {false, true})
        CHECK(entropy_bytes(fused, pass, mixed, widens) <= entropy_bytes(operators, pass, mixed, widens));
    }
  }
}

TEST_CASE("PyTorch sums the gradients of a layer norm's weights in one thread block for each 32 channels") {
  const Device a100 = load_machine("dgx-a100").device, rtx3090 = load_machine("workstation-rtx3090").device;
  const auto seconds = [](const Device& device, NormSums sums, const std::string& channels, double rows, bool all_passes) {
    const Model model = parse_model(
        "format: 1\nmodel: m\ninput: {channels: " + channels + ", tokens: 1}\nlayers:\n  - norm: layer\n", "m.yaml");
    const Layer& norm = model.layers.front();
    Assumptions assumptions;
    assumptions.norm_sums = sums;
    const KernelModel kernels(device, Precision::fp32, assumptions, Conditions::training);
    double sum = 0;
    for (const Pass pass : {Pass::forward, Pass::backward_data, Pass::backward_weight}) {
      if (!all_passes && pass != Pass::backward_weight) continue;
      sum += kernels.seconds(norm.operation->work(pass, norm.input_shapes, norm.output_shape), pass, rows).value();
    }
    return sum;
  };
  using enum NormSums;
  // Measured: forward and backward of norms in fp32 on an A100, in microseconds (pytorch/pytorch#87445).
  CHECK(seconds(a100, blocks, "512", 8192, true) * 1e6 == Approx(138.7).epsilon(0.2));
  CHECK(seconds(a100, blocks, "1024", 6144, true) * 1e6 == Approx(165.3).epsilon(0.2));
  CHECK(seconds(a100, blocks, "1024", 8192, true) * 1e6 == Approx(211.9).epsilon(0.2));
  // The norms of deit_tiny, vit_small and mixer_b16 take 3.1, 2.6 and 2.0 ms longer with PyTorch 1.10 than with 1.11.
  const auto older = [&](const std::string& channels, double rows) {
    return 1e3 * (seconds(rtx3090, old_blocks, channels, rows, false) - seconds(rtx3090, blocks, channels, rows, false));
  };
  CHECK(older("192", 512 * 197) == Approx(3.1).epsilon(0.2));
  CHECK(older("384", 384 * 197) == Approx(2.6).epsilon(0.2));
  CHECK(older("768", 256 * 196) == Approx(2.0).epsilon(0.25));
  // The last block does not have fewer channels if there are more blocks.
  CHECK(seconds(a100, blocks, "33", 802816, false) >= seconds(a100, blocks, "32", 802816, false));
  // With as many blocks as multiprocessors, the memory limits the kernel. Products have no such sums.
  CHECK(seconds(a100, blocks, "8192", 8192, false) == seconds(a100, device, "8192", 8192, false));
  CHECK(seconds(a100, blocks, "96", 802816, false) > 5 * seconds(a100, device, "96", 802816, false));
  // PyTorch has other kernels for AMD's and Intel's GPUs (pytorch/pytorch#87635; intel/torch-xpu-ops, LayerNormKernels.cpp).
  for (const char* other : {"server-mi300x", "aurora"}) {
    const Device of_other = load_machine(other).device;
    for (const NormSums sums : {blocks, old_blocks})
      CHECK(seconds(of_other, sums, "96", 802816, false) == seconds(of_other, device, "96", 802816, false));
  }
  const Work product{.flops = 1e9, .activation_items = 1e6, .m = 1000, .n = 1000, .k = 500};
  CHECK(block_sum_time(blocks, product, 4e6, device_peaks(a100, Precision::fp32)) == 0);
}

TEST_CASE("the softmaxes of all steps of a context split are in fp32") {
  const Model model = parse_model(
      "format: 1\nmodel: m\ninput: {channels: 24, tokens: 16}\nlayers:\n  - attention: {heads: 2, fused: no, dropout: "
      "0.1}\n",
      "m.yaml");
  const Layer& layer = model.layers.front();
  for (const Pass pass : {Pass::forward, Pass::backward_data}) {
    for (const bool is_autocast : {false, true}) {
      const auto added = [&](std::int64_t ranks) {
        std::vector<TensorShape> inputs = layer.input_shapes;
        TensorShape output = layer.output_shape;
        inputs.front().extent[0] = output.extent[0] = 16 / ranks;
        const std::vector<Work> kernels = layer.operation->in_contexts(ranks)->kernels(pass, inputs, output);
        const std::vector<Work> wide = with_wide_softmax(kernels, pass, is_autocast);
        CHECK(wide.size() - kernels.size() == static_cast<std::size_t>(ranks));
        return sum_of(wide).activation_items - sum_of(kernels).activation_items;
      };
      CHECK(added(1) > 0);
      // Each of the ranks has its part of the scores.
      for (const std::int64_t ranks : {2, 4}) CHECK(static_cast<double>(ranks) * added(ranks) == added(1));
    }
  }
}

TEST_CASE("autocast's softmax between two products writes fp32, and its result is converted") {
  // Attention of 2 heads over 16 tokens has 512 scores. In half precision, forward reads and writes a score (2 + 2 bytes).
  // Under autocast, the softmax reads 2 bytes and writes 4, and another kernel reads 4 and writes 2.
  const Model model = parse_model(
      "format: 1\nmodel: m\ninput: {channels: 24, tokens: 16}\nlayers:\n"
      "  - attention: {heads: 2, fused: no, dropout: 0.1}\n  - softmax\n",
      "m.yaml");
  const auto items = [&](std::size_t layer, Pass pass, KernelKind kind, bool wide) {
    const Layer& at = model.layers[layer];
    std::vector<Work> kernels = at.operation->kernels(pass, at.input_shapes, at.output_shape);
    std::erase_if(kernels, [](const Work& work) { return work.is_separate; });
    if (wide) kernels = with_wide_softmax(kernels, pass, true);
    double sum = 0;
    for (const Work& work : kernels) sum += work.kernel_kind() == kind ? work.activation_items : 0;
    return sum;
  };
  const double scores = 2 * 16 * 16;
  using enum KernelKind;
  CHECK(items(0, Pass::forward, softmax, false) == 2 * scores);
  CHECK(items(0, Pass::forward, softmax, true) == (2 + 4) / 2 * scores);
  CHECK(items(0, Pass::forward, elementwise, true) == (4 + 2) / 2 * scores);
  // Dropout reads and writes 4 bytes, and a mask of one.
  CHECK(items(0, Pass::forward, dropout, true) == (4 + 4 + 1) / 2.0 * scores);
  // Backward converts a gradient, and the softmax reads this gradient and its output, and writes half precision.
  CHECK(items(0, Pass::backward_data, softmax, true) == (4 + 4 + 2) / 2 * scores);
  CHECK(items(0, Pass::backward_data, elementwise, true) == (2 + 4) / 2 * scores);
  // A softmax that is a layer is in fp32 as a whole.
  CHECK(items(1, Pass::forward, softmax, true) == items(1, Pass::forward, softmax, false));

  // Compiled code converts inside its kernels, and plain half precision converts nothing.
  const Model network = load_model("vit_b_16@fused=no");
  const ModelFacts facts = facts_of(network);
  const Device device = load_machine("dgx-a100").device;
  const auto seconds = [&](MixedPrecision mixed, CompositeKernels composites) {
    Assumptions assumptions;
    assumptions.mixed_precision = mixed;
    assumptions.composites = composites;
    const KernelTimes times(facts, device, {}, Precision::fp16, Optimizer::adam, std::nullopt, nullptr, assumptions);
    Seconds sum{};
    for (std::size_t i = 0; i < network.layers.size(); ++i) {
      const Layer& layer = network.layers[i];
      if (!layer.operation->is_attention()) continue;
      sum +=
          times.pass_time(i, *layer.operation, Pass::forward, layer.input_shapes, layer.output_shape, 64, Precision::fp16);
    }
    return sum;
  };
  const Seconds half = seconds(MixedPrecision::half_gradients, CompositeKernels::operators);
  CHECK(seconds(MixedPrecision::autocast, CompositeKernels::operators) > 1.05 * half);
  CHECK(seconds(MixedPrecision::autocast, CompositeKernels::fused) ==
        seconds(MixedPrecision::half_gradients, CompositeKernels::fused));
}

namespace {

double activation_items(const std::vector<Work>& kernels) {
  double items = 0;
  for (const Work& work : kernels) items += work.activation_items;
  return items;
}

}  // namespace

TEST_CASE("TensorFlow 1 composes layer norms, softmaxes and dropouts of operators") {
  const Model model = parse_model(
      "format: 1\nmodel: m\ninput: {channels: 24, tokens: 16}\nlayers:\n"
      "  - norm: layer\n  - dropout: 0.1\n  - attention: {heads: 2, fused: no, dropout: 0.1}\n  - norm: rms\n",
      "m.yaml");
  const auto more = [&](std::size_t layer, Pass pass, bool mixed) {
    const Layer& at = model.layers[layer];
    const std::vector<Work> kernels = at.operation->kernels(pass, at.input_shapes, at.output_shape);
    const auto elements = static_cast<double>(at.output_shape.items());
    return activation_items(with_composed_layers(kernels, *at.operation, pass, elements, mixed)) - activation_items(kernels);
  };
  using enum Pass;
  const double scores = 2 * 16 * 16;
  // Mean 1, squared difference 2, its mean 1, inv 1, x·inv 3, mean·inv 2, the difference 2, and the sum 3; one kernel
  // moves 2.
  CHECK(more(0, forward, false) == (15 - 2) * 24 * 16);
  // The sum of the scale's gradient is that of a product, which is written: 1 + 2 + 1 in place of 2.
  CHECK(more(0, backward_weight, false) == (4 - 2) * 24 * 16);
  CHECK(more(0, backward_data, false) == (37 - 3) * 24 * 16);
  // Random numbers 1, comparison 1.25, scaling 2, conversion of the mask 1.25, product 3; one kernel moves 2.5.
  CHECK(more(1, forward, false) == (8.5 - 2.5) * 24 * 16);
  CHECK(more(1, backward_data, false) == (5 - 2.5) * 24 * 16);
  // The maximum and the sum are two more reads. Backward: product 3, sum 1, difference 2, product 3, in place of 3.
  CHECK(more(2, forward, false) == (2 + 8.5 - 2.5) * scores);
  CHECK(more(2, backward_data, false) == (9 - 3 + 5 - 2.5) * scores);
  // In mixed precision, what is between the products of attention has 4 bytes: 2 items.
  CHECK(more(2, backward_data, true) == (2 * 6 + 3 + 2 * 2 - 2.5) * scores);
  CHECK(more(3, forward, false) == 0);
}

TEST_CASE("older compiled code has a kernel for each sum of a layer norm or softmax") {
  const Model model = parse_model(
      "format: 1\nmodel: m\ninput: {channels: 24, tokens: 16}\nlayers:\n"
      "  - norm: layer\n  - attention: {heads: 2, fused: no}\n  - norm: rms\n",
      "m.yaml");
  const auto more = [&](std::size_t layer, Pass pass) {
    const Layer& at = model.layers[layer];
    const std::vector<Work> kernels = at.operation->kernels(pass, at.input_shapes, at.output_shape);
    return activation_items(with_separate_sums(kernels, *at.operation, pass, static_cast<double>(at.output_shape.items()))) -
           activation_items(kernels);
  };
  using enum Pass;
  constexpr double items = 24 * 16, scores = 2 * 16 * 16;
  CHECK(more(0, forward) == items);  // the variance
  CHECK(more(0, backward_data) == 2 * items);
  CHECK(more(0, backward_weight) == 0);
  CHECK(more(1, forward) == 2 * scores);  // the largest score and the sum of exponentials
  CHECK(more(1, backward_data) == Approx(2 * scores));
  CHECK(more(2, forward) == 0);                    // the sum of squares belongs to the kernel before it
  CHECK(more(2, backward_data) == 2 * items / 3);  // attention returns a third of its channels
  Device device;
  CHECK_FALSE(separates_sums(CompiledSums::blocks, device));
  // The compilers of TPUs and accelerators are others.
  CHECK_FALSE(separates_sums(CompiledSums::separate, device));
  CHECK_FALSE(separates_sums(CompiledSums::ampere_blocks, device));
  device.compute_capability = 7.0;
  CHECK(separates_sums(CompiledSums::separate, device));
  CHECK(separates_sums(CompiledSums::ampere_blocks, device));
  device.compute_capability = 8.0;
  CHECK_FALSE(separates_sums(CompiledSums::ampere_blocks, device));
}

TEST_CASE("operator by operator, root-mean-square norms and rotary positions move the bytes of their operators") {
  const Model model = parse_model(
      "format: 1\nmodel: m\ninput: {channels: 24, tokens: 16}\nlayers:\n"
      "  - norm: rms\n  - rotary_embedding: {heads: 2}\n  - norm: layer\n",
      "m.yaml");
  const auto bytes = [&](std::size_t layer, Pass pass, bool mixed) {
    const Layer& at = model.layers[layer];
    double sum = 0;
    for (const Work& work :
         with_operators(at.operation->kernels(pass, at.input_shapes, at.output_shape), *at.operation, pass, mixed))
      sum += work.activation_items * (mixed ? 2 : 4);
    return sum;
  };
  using enum Pass;
  const double elements = 24 * 16;
  // Conversion 2 + 4, square 4 + 4, mean 4, product with the inverse root 4 + 4, conversion 4 + 2, scale 2 + 2.
  CHECK(bytes(0, forward, true) == (6 + 8 + 4 + 8 + 6 + 4) * elements);
  CHECK(bytes(0, forward, false) == (8 + 4 + 8 + 8) * elements);
  // Scale 2 + 2, conversion 2 + 4, both factors of the product 4 + 4, 8 + 4 and the sum 4, the square's x, 2x and product
  // 4 + 4, 4 + 4 and 8 + 4, the mean's quotient 4, the sum of two gradients 8 + 4, and conversion 4 + 2.
  CHECK(bytes(0, backward_data, true) == (4 + 6 + 8 + 12 + 4 + 8 + 8 + 12 + 4 + 12 + 6) * elements);
  CHECK(bytes(0, backward_data, false) == (8 + 8 + 12 + 4 + 8 + 8 + 12 + 4 + 12) * elements);
  // The scale's gradient is a product and a sum.
  CHECK(bytes(0, backward_weight, true) == (6 + 2) * elements);
  // Queries and keys of 2 heads of 4 channels rotate: half a negation, concatenation, two products, and a sum.
  const double rotated = 2 * 2 * 4 * 16;
  CHECK(bytes(1, forward, true) == (2 + 4 + 4 + 4 + 6) * rotated);
  CHECK(bytes(1, backward_data, true) == (4 + 4 + 2 + 2 * (2 + 2) + 6 + 6) * rotated);
  // PyTorch has a kernel for layer norms.
  CHECK(bytes(2, forward, true) == (2 + 2) * elements);

  const Model llama = load_model("llama2-7b@layers=1");
  const ModelFacts facts = facts_of(llama);
  const Device device = load_machine("dgx-a100").device;
  const auto norm = [&](CompositeKernels composites, Fusing fusing) {
    Assumptions assumptions;
    assumptions.composites = composites;
    assumptions.fusing = fusing;
    const KernelTimes times(facts, device, {}, Precision::bf16, Optimizer::adam, std::nullopt, nullptr, assumptions);
    const Layer& layer = llama.layers[1];
    REQUIRE(is_mean_square_norm(*layer.operation));
    return times.pass_time(1, *layer.operation, forward, layer.input_shapes, layer.output_shape, 1, Precision::bf16);
  };
  const Seconds fused = norm(CompositeKernels::fused, Fusing::none);
  // The operators move nine times as many bytes. Elementwise kernels reach more of the bandwidth than norms.
  CHECK(norm(CompositeKernels::operators, Fusing::none) / fused > 4.5);
  // Compiled code fuses the operators.
  CHECK(norm(CompositeKernels::operators, Fusing::all) <= fused);
}

TEST_CASE("a root-mean-square norm that autocast runs in fp32 converts nothing") {
  const Model model = parse_model(
      "format: 1\nmodel: m\ninput: {tokens: 16}\nlayers:\n"
      "  - embedding: {vocabulary: 100, features: 4096}\n  - norm: rms\n",
      "m.yaml");
  const ModelFacts facts = facts_of(model);
  REQUIRE(facts.autocast.is_wide[1]);
  const auto bytes = [&](MixedPrecision mixed) {
    Assumptions assumptions;
    assumptions.composites = CompositeKernels::operators;
    assumptions.mixed_precision = mixed;
    const KernelTimes times(facts, load_machine("dgx-a100").device, {}, Precision::bf16, Optimizer::adam, std::nullopt,
                            nullptr, assumptions);
    const Layer& layer = model.layers[1];
    double items = 0;
    for (const Work& work : times.works(1, *layer.operation, Pass::forward, layer.input_shapes, layer.output_shape))
      items += work.activation_items;
    return items * (mixed == MixedPrecision::autocast ? 4 : 2) / static_cast<double>(layer.output_shape.items());
  };
  // Per element: square 4 + 4, mean 4, product with the inverse root 4 + 4, scale 4 + 4; and with conversions as above.
  CHECK(bytes(MixedPrecision::autocast) == 8 + 4 + 8 + 8);
  CHECK(bytes(MixedPrecision::half_gradients) == 6 + 8 + 4 + 8 + 6 + 4);
}

TEST_CASE("compiled code scales the output of an adapter in the kernel that adds it") {
  const Model model = load_model("llama2-7b@layers=1@lora=8@lora_layers=projection");
  const ModelFacts facts = facts_of(model);
  const Device device = load_machine("dgx-a100").device;
  const auto projection = std::find_if(model.layers.begin(), model.layers.end(),
                                       [](const Layer& layer) { return layer.name.ends_with("projection"); });
  REQUIRE(projection != model.layers.end());
  const auto moved = [&](Fusing fusing) {
    Assumptions assumptions;
    assumptions.fusing = fusing;
    const KernelTimes times(facts, device, {}, Precision::bf16, Optimizer::adam, std::nullopt, nullptr, assumptions);
    double items = 0;
    for (const Work& work : times.works(static_cast<std::size_t>(projection - model.layers.begin()), *projection->operation,
                                        Pass::forward, projection->input_shapes, projection->output_shape))
      items += work.m > 0 ? 0 : work.activation_items;
    return items / static_cast<double>(projection->output_shape.items());
  };
  // Separate kernels read and write the output to scale it, and read two outputs and write their sum.
  CHECK(moved(Fusing::none) == 2 + 3);
  CHECK(moved(Fusing::residuals) == 2 + 3);
  CHECK(moved(Fusing::all) == 3);
}

TEST_CASE("adapters in fp32 convert what they share with a base in half precision") {
  const Model model = load_model("llama2-7b@layers=1@lora=8@lora_layers=projection");
  const ModelFacts facts = facts_of(model);
  const Device device = load_machine("dgx-a100").device;
  const auto projection = std::find_if(model.layers.begin(), model.layers.end(),
                                       [](const Layer& layer) { return layer.name.ends_with("projection"); });
  REQUIRE(projection != model.layers.end());
  const auto bytes = [&](AdapterPrecision adapters, Pass pass, bool of_products) {
    Assumptions assumptions;
    assumptions.adapters = adapters;
    const KernelTimes times(facts, device, {}, Precision::bf16, Optimizer::adam, std::nullopt, nullptr, assumptions);
    double items = 0;
    for (const Work& work : times.works(static_cast<std::size_t>(projection - model.layers.begin()), *projection->operation,
                                        pass, projection->input_shapes, projection->output_shape))
      items += (work.m > 0) == of_products ? (work.is_wide ? 2 : 1) * work.activation_items : 0;
    return 2 * items / static_cast<double>(projection->output_shape.items());
  };
  using enum AdapterPrecision;
  // In fp32, forward converts the input (2 + 4 bytes), scales (4 + 4), adds (2 + 4 + 4) and converts the sum back (4 + 2).
  CHECK(bytes(half, Pass::forward, false) == Approx(4 + 6));
  CHECK(bytes(fp32, Pass::forward, false) == Approx(6 + 8 + 10 + 6));
  // Backward converts the gradient of the input (4 + 2) and adds it (2 + 2 + 2). For the weights, it converts the gradient
  // of the output (2 + 4) and scales it (4 + 4).
  CHECK(bytes(fp32, Pass::backward_data, false) == Approx(6 + 6));
  CHECK(bytes(fp32, Pass::backward_weight, false) == Approx(6 + 8));
  // Under autocast, the input is converted to fp32 and back, and so is its gradient.
  CHECK(bytes(autocast, Pass::forward, false) == Approx(4 + 6 + 12));
  CHECK(bytes(autocast, Pass::backward_data, false) == Approx(6 + 12));
  CHECK(bytes(autocast, Pass::backward_weight, false) == bytes(half, Pass::backward_weight, false));
  // Only the products of the adapter are in fp32: the base still moves 2 + 2 bytes.
  CHECK(bytes(half, Pass::forward, true) == Approx(4 + 4).epsilon(0.01));
  CHECK(bytes(fp32, Pass::forward, true) == Approx(4 + 8).epsilon(0.01));
  CHECK(bytes(autocast, Pass::forward, true) == bytes(half, Pass::forward, true));
}

TEST_CASE("products of adapters in fp32 are as slow as fp32 makes them") {
  const Model model = load_model("llama2-7b@layers=1@lora=256@lora_layers=projection");
  const ModelFacts facts = facts_of(model);
  const Device device = load_machine("dgx-a100").device;
  const auto projection = std::find_if(model.layers.begin(), model.layers.end(),
                                       [](const Layer& layer) { return layer.name.ends_with("projection"); });
  REQUIRE(projection != model.layers.end());
  const auto seconds = [&](AdapterPrecision adapters, Pass pass) {
    Assumptions assumptions;
    assumptions.adapters = adapters;
    const KernelTimes times(facts, device, {}, Precision::bf16, Optimizer::adam, std::nullopt, nullptr, assumptions);
    return times
        .pass_time(static_cast<std::size_t>(projection - model.layers.begin()), *projection->operation, pass,
                   projection->input_shapes, projection->output_shape, 1, Precision::bf16)
        .value();
  };
  // Two products of 4,096 tokens, 4,096 channels and rank 256, at 19.5 TFLOP/s. In bf16, they run at up to 312 TFLOP/s.
  const double products = 2 * 2.0 * 4096 * 4096 * 256 / 19.5e12;
  using enum AdapterPrecision;
  for (const Pass pass : {Pass::forward, Pass::backward_weight}) {
    CHECK(seconds(fp32, pass) > products);
    CHECK(seconds(fp32, pass) - seconds(half, pass) > 0.6 * products);
    CHECK(seconds(autocast, pass) - seconds(half, pass) < 0.6 * products);
  }
}

TEST_CASE("with matrix units, convolutions of channels-first images copy their inputs and outputs") {
  const Device device = load_machine("dgx-a100").device;
  Assumptions first;
  first.memory_format = MemoryFormat::channels_first;
  const Work convolution{.flops = 2e9,
                         .activation_items = 2e6,
                         .weight_items = 4e4,
                         .m = 3136,
                         .n = 64,
                         .k = 576,
                         .kind = KernelKind::convolution};
  const double samples = 32;
  for (const Precision precision : {Precision::tf32, Precision::fp16}) {
    const KernelModel plain(device, precision), copying(device, precision, first);
    // A transposition has one and a half times the elements of an elementwise kernel (kernel_model.cpp).
    const double items = 2 * convolution.activation_items * samples;
    const Seconds copies = plain.traffic_time(items * item_bytes(precision), 1.5 * items);
    for (const Pass pass : {Pass::forward, Pass::backward_data, Pass::backward_weight}) {
      CHECK(copying.seconds(convolution, pass, samples).value() ==
            Approx((plain.seconds(convolution, pass, samples) + copies).value()));
      CHECK(copying.least(convolution, pass, samples).value() ==
            Approx((plain.least(convolution, pass, samples) + copies).value()));
      CHECK(copying.least(convolution, pass, samples) <= copying.seconds(convolution, pass, samples));
    }
    // Depthwise convolutions and matrix products make no copies.
    for (const KernelKind kind : {KernelKind::depthwise_convolution, KernelKind::matrix_product}) {
      Work other = convolution;
      other.kind = kind;
      CHECK(copying.seconds(other, Pass::forward, samples) == plain.seconds(other, Pass::forward, samples));
    }
  }
  const KernelModel single(device, Precision::fp32), same(device, Precision::fp32, first);
  CHECK(single.seconds(convolution, Pass::forward, samples) == same.seconds(convolution, Pass::forward, samples));
}

TEST_CASE("groups are convolved one by one in channels-first order, together or directly in channels-last order") {
  constexpr MemoryFormat first = MemoryFormat::channels_first, last = MemoryFormat::channels_last;
  const auto groups = [](double number, double inputs, double outputs) {
    return Work{.groups = number, .group_inputs = inputs, .group_outputs = outputs, .kind = KernelKind::grouped_convolution};
  };
  CHECK(group_kernels(groups(32, 4, 4), true, first) == KernelKind::grouped_convolution);
  CHECK(group_kernels(groups(32, 4, 4), false, first) == KernelKind::direct_convolution);
  // ResNeXt has 32 or 64 groups of 4 to 32 channels.
  for (const double channels : {4, 8, 16, 32}) {
    CHECK(group_kernels(groups(32, channels, channels), true, last) == KernelKind::packed_convolution);
    CHECK(group_kernels(groups(64, channels, channels), true, last) == KernelKind::packed_convolution);
  }
  // These cases are wide groups, RegNet's numbers of groups, and SENet, in which a group writes twice as many channels as it
  // reads.
  CHECK(group_kernels(groups(32, 64, 64), true, last) == KernelKind::direct_convolution);
  CHECK(group_kernels(groups(10, 16, 16), true, last) == KernelKind::direct_convolution);
  CHECK(group_kernels(groups(64, 4, 8), true, last) == KernelKind::direct_convolution);
}

TEST_CASE("the work of a convolution with one group has its number of input channels, in any dimensions") {
  const Model cosmoflow = load_model("cosmoflow-mlperf");
  double inputs = 4;
  for (const Layer& layer : cosmoflow.layers) {
    if (layer.operation->type() != "convolution") continue;
    const Work work = layer.operation->work(Pass::forward, layer.input_shapes, layer.output_shape);
    CHECK(work.group_inputs == inputs);
    CHECK(work.groups == 1);
    inputs = work.n;
  }
  CHECK(inputs == 512);
}

TEST_CASE("narrow groups use a small part of a tile, and wide groups are convolved directly at a lower speed") {
  const Device device = load_machine("rtx3090").device;
  Assumptions first;
  first.memory_format = MemoryFormat::channels_first;
  const KernelModel one_by_one(device, Precision::fp16, first), last(device, Precision::fp16);
  const auto rate = [](const KernelModel& model, const char* name) {
    // The sums include the forward kernels of all 3 x 3 convolutions with several groups.
    double flops = 0, seconds = 0;
    const Model network = load_model(name);
    for (const Layer& layer : network.layers) {
      const Work work = layer.operation->work(Pass::forward, layer.input_shapes, layer.output_shape);
      if (work.kernel_kind() != KernelKind::grouped_convolution) continue;
      flops += work.flops * 128;
      seconds += model.seconds(work, Pass::forward, 128).value();
    }
    return flops / seconds;
  };
  // The measurements are timm's on RTX 3090. Groups of RegNetX-002, -032 and -320 have 8, 48 and 168 channels.
  CHECK(rate(one_by_one, "regnetx_002") < rate(one_by_one, "regnetx_032"));
  CHECK(rate(one_by_one, "regnetx_032") < rate(one_by_one, "regnetx_320"));
  CHECK(rate(last, "regnetx_320") < rate(one_by_one, "regnetx_320") / 4);
  // 32 groups of 4 to 32 channels are compared with 2 to 24 groups of 16 channels.
  CHECK(rate(last, "resnext50_32x4d") > 2 * rate(last, "regnetx_004"));
}

TEST_CASE("on a device with high bandwidth, an elementwise kernel in 16 bits takes more than half of its time in fp32") {
  const Work sum{.flops = 1e6, .activation_items = 3e6};
  const auto ratio = [&](const char* machine) {
    const Device device = load_machine(machine).device;
    return KernelModel(device, Precision::fp16).seconds(sum, Pass::forward, 64) /
           KernelModel(device, Precision::fp32).seconds(sum, Pass::forward, 64);
  };
  // By bytes and clock cycles of the datasheets, with 24 elements per cycle, the ratios are (2.01 +
  // 0.13) / (4.03 + 0.13) ps per element, and (0.61 + 0.16) / (1.21 + 0.16) ps per element.
  CHECK(ratio("rtx4090") == Approx(0.515).epsilon(0.01));
  CHECK(ratio("dgx-h100") == Approx(0.558).epsilon(0.01));
}

TEST_CASE("a linear convolution has the kernel kind of a matrix product") {
  const Model model = load_model("convnext_tiny");
  int linear = 0;
  for (const Layer& layer : model.layers) {
    if (layer.operation->type() != "convolution") continue;
    const KernelKind kind = layer.operation->work(Pass::forward, layer.input_shapes, layer.output_shape).kernel_kind();
    linear += kind == KernelKind::matrix_product ? 1 : 0;
  }
  // Each of 18 units has two linear convolutions [Liu et al., 2022, table 9].
  CHECK(linear == 36);
}

TEST_CASE("more ranks wait longer for each other, unless the coefficients are fitted to measured runs") {
  StudySpec spec;
  spec.coefficients = "none";
  spec.software = "pytorch";
  spec.precision = Precision::fp16;
  const Study study(spec);
  const double theta = study.coefficients().software.rank_waiting.value();
  const auto waiting = [&](const Job& job, int ranks) {
    Plan plan;
    plan.mesh.set(Axis::data, ranks);
    plan.global_batch = 256 * ranks;
    plan.precision = Precision::fp16;
    const Estimate estimate = Estimator(job).estimate(plan);
    return (estimate.time[Part::waiting] - estimate.host_waiting) /
           (estimate.time[Part::forward] + estimate.time[Part::backward]);
  };
  CHECK(waiting(study.job(), 1) == 0);
  CHECK(waiting(study.job(), 8) == Approx(theta * std::log(8)));
  CHECK(waiting(study.job(), 64) == Approx(theta * std::log(64)));
  Coefficients fitted = study.coefficients();
  Learned learned;
  learned[Coefficient::kernels] = 1.1;
  fitted.learned = {{family_bit(Axis::data), learned}};
  CHECK(waiting(study.job().with_coefficients(fitted), 8) == 0);
}

namespace {

/// Returns the elements that a layer's kernels move in a pass, for one sample.
double moved(const KernelTimes& prices, const Model& model, std::size_t layer, Pass pass) {
  const Layer& at = model.layers[layer];
  double items = 0;
  for (const Work& work : prices.works(layer, *at.operation, pass, at.input_shapes, at.output_shape))
    items += work.activation_items;
  return items;
}

}  // namespace

TEST_CASE("ranks of TensorFlow wait for each other, but ranks of OneFlow and PaddlePaddle do not") {
  const auto waiting = [](const char* software) {
    StudySpec spec;
    spec.coefficients = "none";
    spec.software = software;
    return Study(spec).coefficients().software.rank_waiting.value();
  };
  CHECK(waiting("tensorflow") == 0.03);
  CHECK(waiting("tensorflow-xla") == waiting("tensorflow"));
  CHECK(waiting("oneflow") == 0);
  CHECK(waiting("paddlepaddle") == 0);
}

TEST_CASE("a compiler saves the traffic between elementwise kernels") {
  const Model model = load_model("resnet50");
  const ModelFacts facts = facts_of(model);
  const Device device = load_machine("dgx-a100").device;
  Assumptions fusing;
  fusing.fusing = Fusing::half;
  const auto prices_of = [&](Precision precision, const Assumptions& assumptions) {
    return KernelTimes(facts, device, {}, precision, Optimizer::momentum, std::nullopt, nullptr, assumptions);
  };
  const KernelTimes plain = prices_of(Precision::fp16, {}), fused = prices_of(Precision::fp16, fusing),
                    single = prices_of(Precision::fp32, fusing);
  int activations = 0, additions = 0;
  for (std::size_t i = 0; i < model.layers.size(); ++i) {
    const Layer& layer = model.layers[i];
    const std::string_view type = layer.operation->type();
    const auto items = static_cast<double>(layer.output_shape.items());
    for (const Pass pass : {Pass::forward, Pass::backward_data}) {
      CHECK(moved(fused, model, i, pass) <= moved(plain, model, i, pass));
      // With Fusing::half, kernels in fp32 are not fused.
      CHECK(moved(single, model, i, pass) == moved(plain, model, i, pass));
    }
    if (type == "activation") {
      // After a norm or an addition without other readers, the activation's input is neither read nor written.
      ++activations;
      CHECK(moved(plain, model, i, Pass::forward) == 2 * items);
      CHECK(moved(fused, model, i, Pass::forward) == 0);
    } else if (type == "add") {
      // The norm before the addition is not written. The other branch is read, and the sum would be written.
      ++additions;
      CHECK(moved(fused, model, i, Pass::forward) == moved(plain, model, i, Pass::forward) - 2 * items);
    } else {
      CHECK(moved(fused, model, i, Pass::forward) == moved(plain, model, i, Pass::forward));
    }
  }
  CHECK(activations == 49);
  CHECK(additions == 16);
}

TEST_CASE("without fusion, a formula of several operators has a kernel for each") {
  const Model model = load_model("gpt2@layers=1@fused=no@dropout=0");
  const ModelFacts facts = facts_of(model);
  const Device device = load_machine("dgx-a100").device;
  const auto prices_of = [&](CompositeKernels composites, Fusing fusing) {
    Assumptions assumptions;
    assumptions.composites = composites;
    assumptions.fusing = fusing;
    return KernelTimes(facts, device, {}, Precision::fp32, Optimizer::adam, std::nullopt, nullptr, assumptions);
  };
  const KernelTimes fused = prices_of(CompositeKernels::fused, Fusing::none),
                    apart = prices_of(CompositeKernels::operators, Fusing::none),
                    compiled = prices_of(CompositeKernels::operators, Fusing::all);
  const auto more = [&](std::size_t layer, Pass pass) {
    return moved(apart, model, layer, pass) - moved(fused, model, layer, pass);
  };
  int seen = 0;
  for (std::size_t i = 0; i < model.layers.size(); ++i) {
    const Layer& layer = model.layers[i];
    const auto items = static_cast<double>(layer.output_shape.items());
    double forward = 0, backward = 0;
    if (layer.operation->is_attention()) {
      // Scores are scaled and masked. Each of the two operators reads and writes all scores, in forward and backward. The
      // result, or its gradient, is copied.
      ++seen;
      forward = backward = 4 * 12.0 * 1024 * 1024 + 2 * items;
    } else if (layer.operation->type() == "activation") {
      // NewGELUActivation in Hugging Face's transformers has 8 operators that read and write 18 tensors, and gradients of 11
      // kernels with 28 tensors. One kernel in each pass moves 2 and 3 tensors.
      ++seen;
      forward = 16 * items;
      backward = 25 * items;
    }
    CHECK(more(i, Pass::forward) == forward);
    CHECK(more(i, Pass::backward_data) == backward);
    CHECK(moved(compiled, model, i, Pass::forward) <= moved(fused, model, i, Pass::forward));
  }
  CHECK(seen == 2);
}

TEST_CASE("attention with sinks writes its scores if no fused kernel supports sinks") {
  const Model fused = load_model("gpt-oss-20b@layers=2");
  Model written = fused;
  write_sinks(written);
  const ModelFacts of_fused = facts_of(fused), of_written = facts_of(written);
  int seen = 0;
  for (std::size_t i = 0; i < fused.layers.size(); ++i) {
    const auto kernels = [&](const Model& model) {
      const Layer& layer = model.layers[i];
      return layer.operation->kernels(Pass::forward, layer.input_shapes, layer.output_shape).size();
    };
    const bool is_attention = fused.layers[i].operation->is_attention();
    // QKᵀ, softmax and AV are kernels of their own. Backward reads the scores of each query and head.
    CHECK((kernels(written) >= kernels(fused) + 2) == is_attention);
    CHECK((of_written.kept[i].extra_items > of_fused.kept[i].extra_items) == is_attention);
    seen += is_attention ? 1 : 0;
  }
  CHECK(seen == 2);
}

TEST_CASE("a softmax in fp32 has a kernel that converts its result, but dropout stays in half precision") {
  const Model model = load_model("gpt2@layers=1@fused=no");
  const ModelFacts facts = facts_of(model);
  const auto times = [&](Precision precision, bool wide) {
    Assumptions assumptions;
    assumptions.composites = CompositeKernels::operators;
    assumptions.wide_softmax = wide;
    return KernelTimes(facts, load_machine("dgx-a100").device, {}, precision, Optimizer::adam, std::nullopt, nullptr,
                       assumptions);
  };
  const KernelTimes half = times(Precision::bf16, false), wide = times(Precision::bf16, true);
  for (std::size_t i = 0; i < model.layers.size(); ++i) {
    if (!model.layers[i].operation->is_attention()) continue;
    const double scores = 12.0 * 1024 * 1024;
    // In items of 2 bytes: the softmax writes one more, and reads two more in backward. The conversion moves three.
    CHECK(moved(wide, model, i, Pass::forward) - moved(half, model, i, Pass::forward) == (1 + 3) * scores);
    CHECK(moved(wide, model, i, Pass::backward_data) - moved(half, model, i, Pass::backward_data) == (2 + 3) * scores);
    CHECK(moved(times(Precision::fp32, true), model, i, Pass::forward) ==
          moved(times(Precision::fp32, false), model, i, Pass::forward));
  }
}

TEST_CASE("fused attention that reads a mask computes all scores, PyTorch's with the memory-efficient kernel") {
  const Device a100 = load_machine("dgx-a100").device, b200 = load_machine("dgx-b200").device;
  CHECK(kernels_with_mask(AttentionKernels::sdpa, a100) == AttentionKernels::efficient);
  CHECK(kernels_with_mask(AttentionKernels::sdpa, b200) == AttentionKernels::cudnn);
  // Only PyTorch's choice depends on a mask.
  for (const AttentionKernels asked : enum_values<AttentionKernels>)
    CHECK((asked == AttentionKernels::sdpa || kernels_with_mask(asked, a100) == asked));
  CHECK_FALSE(kernels_with_mask(std::nullopt, a100));
  for (const Pass pass : {Pass::forward, Pass::backward_data}) {
    for (const Device& device : {a100, b200, load_machine("dgx-h100").device}) {
      const double ratio = attention_factor(AttentionKernels::efficient, device, pass, Precision::bf16) /
                           attention_factor(AttentionKernels::flash2, device, pass, Precision::bf16);
      // facebookresearch/xformers#712, #924 and #587: 2.1 forward, 2.4 backward.
      CHECK(ratio == Approx(pass == Pass::forward ? 2.1 : 2.4));
    }
    const Device v100 = load_machine("dgx-1-v100").device, mi355x = load_machine("server-mi355x").device;
    for (const Device& device : {v100, mi355x})
      CHECK(attention_factor(AttentionKernels::efficient, device, pass, Precision::bf16) ==
            attention_factor(AttentionKernels::flash2, device, pass, Precision::bf16));
  }
  const Model causal = load_model("llama3-8b@tokens=2048@layers=2");
  Model masked = causal;
  read_masks(masked);
  const ModelFacts of_causal = facts_of(causal), of_masked = facts_of(masked);
  for (std::size_t i = 0; i < causal.layers.size(); ++i) {
    if (!causal.layers[i].operation->is_attention()) continue;
    const auto flops = [&](const Model& model) {
      const Layer& layer = model.layers[i];
      return layer.operation->work(Pass::forward, layer.input_shapes, layer.output_shape).flops;
    };
    CHECK(flops(masked) / flops(causal) == Approx(2 * 2048.0 / 2049));
    // The mask of a sample, converted to the precision of the queries, is kept for backward.
    CHECK(of_masked.kept[i].extra_items - of_causal.kept[i].extra_items == 2048.0 * 2048);
    CHECK(masked.layers[i].operation->attribute_values().flag("masked", false));
  }
}

TEST_CASE("only the biases of the experts' last layer are weighted by operators") {
  // Hidden and feed-forward sizes are equal, so all three products of an expert have equal shapes.
  const Device device = load_machine("dgx-h100").device;
  struct Items {
    double forward, data, weights;
  };
  const auto added = [&](const std::string& name, Precision precision, ExpertBiases biases) {
    const Model model = load_model(name);
    const ModelFacts facts = facts_of(model);
    Assumptions operators;
    operators.expert_biases = biases;
    const KernelTimes fused(facts, device, {}, precision, Optimizer::adam, std::nullopt, nullptr, {}),
        apart(facts, device, {}, precision, Optimizer::adam, std::nullopt, nullptr, operators);
    std::optional<Items> last;
    for (std::size_t i = 0; i < model.layers.size(); ++i) {
      const Layer& layer = model.layers[i];
      const auto more = [&](Pass pass) {
        return (moved(apart, model, i, pass) - moved(fused, model, i, pass)) /
               static_cast<double>(layer.output_shape.items());
      };
      const Items items{more(Pass::forward), more(Pass::backward_data), more(Pass::backward_weight)};
      if (layer.name.ends_with("experts.down")) {
        last = items;
      } else {
        CHECK(std::abs(items.forward) + std::abs(items.data) + std::abs(items.weights) < 1e-9);
      }
    }
    REQUIRE(last);
    return *last;
  };
  using enum ExpertBiases;
  // The numbers are elements that each operator moves, where an fp32 element counts as two. In fp32, forward moves: p·b 2; y
  // 1, p·b 1·2, the sum 2; concatenated 2 and 2; converted 2 and 1. Backward moves: converted 1 and 2, for y 2 and 1,
  // concatenated gradients 1 and 1, the product 2 and 2 and its sum 2. Backward with the weights moves: the product 2 and 2,
  // its sum 2.
  for (const Precision half : {Precision::bf16, Precision::fp8}) {
    const Items wide = added("gpt-oss-20b@layers=2", half, fp32_operators);
    CHECK(wide.forward == Approx(14));
    CHECK(wide.data == Approx(14));
    CHECK(wide.weights == Approx(6));
  }
  // In one precision, forward moves: p·b 1; y 1, p·b 1, the sum 1; concatenated 1 and 1. Backward
  // moves: concatenated gradients 2, the product 2 and its sum 1.
  for (const auto& [precision, biases] : {std::pair{Precision::bf16, operators}, {Precision::fp32, fp32_operators}}) {
    const Items same = added("gpt-oss-20b@layers=2", precision, biases);
    CHECK(same.forward == Approx(6));
    CHECK(same.data == Approx(5));
    CHECK(same.weights == Approx(3));
  }
  CHECK(added("gpt-oss-20b@layers=2", Precision::bf16, fused).forward == Approx(0).margin(1e-9));
  // Adapters do not change the bias.
  const Items adapted = added("gpt-oss-20b@layers=2@lora=8", Precision::bf16, operators);
  CHECK(adapted.forward == Approx(6));
  CHECK(adapted.weights == Approx(0).margin(1e-9));
  // The experts of qwen3-30b-a3b have no biases.
  CHECK(added("qwen3-30b-a3b@layers=1", Precision::bf16, operators).forward == Approx(0).margin(1e-9));
}

TEST_CASE("facts are found for weights combined with a tensor that no layer produces") {
  const Model model = parse_model(R"(format: 1
model: without-experts
source: a test
input: {channels: 8, tokens: 64}
layers:
  - router: {experts: 4, active: 1}
    name: router
  - combine:
    from: [input, router]
  - loss: mse
)",
                                  "without-experts.yaml");
  const ModelFacts facts = facts_of(model);
  CHECK(std::count(facts.weighs_bias.begin(), facts.weighs_bias.end(), true) == 0);
}

TEST_CASE("a tensor that other layers read is written even if its kernels are fused") {
  // In residuals of a transformer, the norm and the next addition both read the sum.
  const Model model = load_model("llama3-8b@layers=2");
  const ModelFacts facts = facts_of(model);
  bool seen = false;
  for (std::size_t i = 0; i < model.layers.size(); ++i) {
    if (model.layers[i].operation->type() != "norm" || facts.fusion[i].input < 0) continue;
    const auto maker = static_cast<std::size_t>(model.layers[i].inputs.front());
    CHECK(model.layers[maker].operation->type() == "add");
    // The last norm is an exception, because only the head follows it.
    if (model.layers[i].output_shape.items() == model.layers[maker].output_shape.items() && !facts.fusion[i].unwritten)
      seen = true;
  }
  CHECK(seen);
}

TEST_CASE("if only residuals are fused, dropout is fused with the next addition in forward") {
  const Model model = parse_model(
      "format: 1\nmodel: run\nfamily: gpt\nparameters: {layers: 1, hidden: 64, heads: 8, vocabulary: 800, tokens: 32, "
      "dropout: "
      "0.1}\n",
      "run.yaml");
  const ModelFacts facts = facts_of(model);
  const Device device = load_machine("dgx-a100").device;
  const auto items = [&](Fusing fusing, std::string_view type, Pass pass) {
    Assumptions assumptions;
    assumptions.fusing = fusing;
    const KernelTimes prices(facts, device, {}, Precision::fp16, Optimizer::adam, std::nullopt, nullptr, assumptions);
    double sum = 0;
    for (std::size_t i = 0; i < model.layers.size(); ++i) {
      const Layer& at = model.layers[i];
      if (at.operation->type() != type) continue;
      for (const Work& work : prices.works(i, *at.operation, pass, at.input_shapes, at.output_shape))
        sum += work.activation_items;
    }
    return sum;
  };
  // With two residuals per block, dropout's output is neither written nor read.
  const double residual = 64 * 32;
  CHECK(items(Fusing::none, "add", Pass::forward) - items(Fusing::residuals, "add", Pass::forward) == 2 * 2 * residual);
  CHECK(items(Fusing::residuals, "add", Pass::backward_data) == items(Fusing::none, "add", Pass::backward_data));
  for (const std::string_view other : {"dropout", "norm", "activation"}) {
    for (const Pass pass : {Pass::forward, Pass::backward_data})
      CHECK(items(Fusing::residuals, other, pass) == items(Fusing::none, other, pass));
  }
}

TEST_CASE("passes in addition to the update move bytes per parameter, only in mixed precision") {
  const Model model = load_model("alexnet");
  const ModelFacts facts = facts_of(model);
  const Device device = load_machine("dgx-a100").device;
  const auto update = [&](Precision precision, double extra_bytes) {
    Assumptions assumptions;
    assumptions.extra_update_bytes = extra_bytes;
    const KernelTimes prices(facts, device, {}, precision, Optimizer::adam, std::nullopt, nullptr, assumptions);
    return prices.update_cost(1e9).time.value();
  };
  // Adam reads and writes 28 bytes per parameter in mixed precision (update_bytes_per_parameter).
  CHECK(update(Precision::fp16, 28) == Approx(2 * update(Precision::fp16, 0)).epsilon(1e-3));
  CHECK(update(Precision::fp32, 28) == update(Precision::fp32, 0));
}

TEST_CASE("a bias has the separate kernels that the software sets, over the elements of its layer's output") {
  const Model model = parse_model(R"(
format: 1
model: biases
input: {channels: 16, size: 32x32}
layers:
  - convolution: {filters: 24, kernel: 3, padding: 1}
  - convolution: {filters: 24, kernel: 3, padding: 1, groups: 24}
  - convolution: {filters: 8, kernel: 1, bias: no}
  - flatten
  - fully_connected: {features: 10}
)",
                                  "biases.yaml");
  const ModelFacts facts = facts_of(model);
  const Device device = load_machine("dgx-a100").device;
  const auto items_of = [&](BiasKernels convolutions, BiasKernels linear, Fusing fusing, std::size_t layer, Pass pass) {
    Assumptions assumptions;
    assumptions.convolution_biases = convolutions;
    assumptions.linear_biases = linear;
    assumptions.fusing = fusing;
    const KernelTimes prices(facts, device, {}, Precision::fp16, Optimizer::sgd, std::nullopt, nullptr, assumptions);
    const Layer& at = model.layers[layer];
    double items = 0;
    for (const Work& work : prices.works(layer, *at.operation, pass, at.input_shapes, at.output_shape))
      items += work.bias == Work::Bias::none ? 0 : work.activation_items;
    return items;
  };
  using enum BiasKernels;
  constexpr std::size_t usual = 0, depthwise = 1, without = 2, linear = 4;
  const double image = 24 * 32 * 32;
  // The addition reads and writes the elements. The sum of the gradient reads them.
  CHECK(items_of(operators, fused, Fusing::none, usual, Pass::forward) == 2 * image);
  CHECK(items_of(operators, fused, Fusing::none, usual, Pass::backward_weight) == image);
  CHECK(items_of(operators, fused, Fusing::none, usual, Pass::backward_data) == 0);
  CHECK(items_of(gradients, fused, Fusing::none, usual, Pass::forward) == 0);
  CHECK(items_of(gradients, fused, Fusing::none, usual, Pass::backward_weight) == image);
  CHECK(items_of(fused, operators, Fusing::none, usual, Pass::backward_weight) == 0);
  // Convolution libraries do not run depthwise convolutions.
  CHECK(items_of(operators, gradients, Fusing::none, depthwise, Pass::forward) == 0);
  CHECK(items_of(operators, gradients, Fusing::none, depthwise, Pass::backward_weight) == image);
  CHECK(items_of(operators, operators, Fusing::none, without, Pass::forward) == 0);
  CHECK(items_of(fused, operators, Fusing::none, linear, Pass::forward) == 20);
  CHECK(items_of(fused, gradients, Fusing::none, linear, Pass::forward) == 0);
  CHECK(items_of(fused, gradients, Fusing::none, linear, Pass::backward_weight) == 10);
  // A graph compiler fuses both operators with their neighbors.
  CHECK(items_of(operators, operators, Fusing::half, usual, Pass::forward) == 0);
}
