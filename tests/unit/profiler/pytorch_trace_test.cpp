#include "profiler/importers/pytorch_trace.hpp"

#include <algorithm>

#include "model_zoo/network/model.hpp"
#include "tests/catch.hpp"
#include "tests/error_of.hpp"
#include "tests/unit/model_zoo/one_layer.hpp"
#include "tests/unit/profiler/trace_builder.hpp"

using namespace ddl;

namespace {

const ProfileImportOptions on_device{.samples = {}, .precision = {}, .optimizer = {}, .device = "d"};

ProfileImport imported(const TraceBuilder& trace, const Model& model, const ProfileImportOptions& options = on_device) {
  return import_pytorch_trace(trace.text(), "t.json", model, options);
}

/// Returns the only row whose problem begins with `begin` and ends with `end`. Tests compare its median in microseconds.
const ProfileRow& row(const ProfileImport& import, const std::string& begin, const std::string& end) {
  const auto found = std::find_if(import.profile.rows.begin(), import.profile.rows.end(), [&](const ProfileRow& each) {
    return each.measurement.problem.starts_with(begin) && each.measurement.problem.ends_with(end);
  });
  REQUIRE(found != import.profile.rows.end());
  return *found;
}
double micros(const ProfileRow& row) { return row.measurement.samples.median.value() * 1e6; }

const Model two_convolutions = model_of("{channels: 4, size: 8x8}",
                                        "  - convolution: {filters: 4, kernel: 3, padding: 1, bias: no}\n"
                                        "  - activation: relu\n"
                                        "  - convolution: {filters: 4, kernel: 3, padding: 1, bias: no}\n"
                                        "  - flatten\n"
                                        "  - fully_connected: 10\n"
                                        "  - loss: cross_entropy\n");
const std::string image = "[2,4,8,8]";
const std::string filters = "[4,4,3,3]";

/// Adds a step of two_convolutions on 2 samples that begins at `t`. Its operators take `scale` times their nominal time.
void add_step(TraceBuilder& trace, int number, double t, double scale) {
  const std::int64_t s = 100 * number;
  trace.region("ProfilerStep#" + std::to_string(number), t, 1000);
  trace.operation("aten::conv2d", t + 10, 20 * scale, "[" + image + "," + filters + "]", s);
  trace.operation("aten::convolution", t + 11, 10 * scale, "[" + image + "," + filters + "]", s);
  trace.operation("aten::relu", t + 100, 5 * scale, "[" + image + "]", s + 1);
  trace.operation("aten::conv2d", t + 200, 30 * scale, "[" + image + "," + filters + "]", s + 2);
  trace.operation("aten::flatten", t + 300, 1 * scale, "[" + image + "]", s + 3);
  trace.operation("aten::linear", t + 310, 7 * scale, "[[2,256],[10,256],[10]]", s + 4);
  trace.operation("aten::t", t + 311, 1, "[[10,256]]", s + 4);
  trace.operation("aten::addmm", t + 312, 2, "[[10],[2,256],[256,10]]", s + 5);
  trace.operation("aten::cross_entropy_loss", t + 330, 4 * scale, "[[2,10],[2]]", s + 6);
  trace.backward("NllLossBackward0", t + 400, 3 * scale, s + 6);
  trace.backward("AddmmBackward0", t + 420, 20 * scale, s + 5);
  trace.operation("AddmmBackward0", t + 420.5, 15 * scale, "[[2,10]]", s + 5);
  trace.operation("aten::mm", t + 421, 4 * scale, "[[2,10],[10,256]]");
  trace.operation("aten::mm", t + 427, 6 * scale, "[[10,2],[2,256]]");
  trace.backward("TBackward0", t + 445, 2 * scale, s + 4);
  trace.backward("ViewBackward0", t + 450, 1 * scale, s + 3);
  trace.backward("ConvolutionBackward0", t + 500, 50 * scale, s + 2);
  trace.backward("ReluBackward0", t + 600, 6 * scale, s + 1);
  trace.backward("ConvolutionBackward0", t + 700, 24 * scale, s);
  trace.operation("autograd::engine::evaluate_function: torch::autograd::AccumulateGrad", t + 750, 8 * scale);
  trace.region("Optimizer.step#SGD.step", t + 800, 50 * scale);
  trace.operation("aten::add_", t + 801, 5, "[[4,4,3,3],[4,4,3,3]]");
}

TraceBuilder two_steps() {
  TraceBuilder trace;
  add_step(trace, 1, 0, 1);
  add_step(trace, 2, 2000, 1.1);
  return trace;
}

}  // namespace

TEST_CASE("operators of a trace become the problems of their layers") {
  const ProfileImport import = imported(two_steps(), two_convolutions);
  CHECK(import.samples == 2);
  CHECK(import.steps == 2);
  CHECK_FALSE(import.of_device);
  CHECK(import.missing.empty());
  CHECK(import.warnings.empty());
  CHECK(import.profile.head.backend == "pytorch");

  // The median of two steps is their mean, 1.05 times the nominal time of the first step. Two
  // layers of the same shape share their time.
  const ProfileRow& forward = row(import, "convolution", "pass=forward");
  CHECK(forward.layers == 2);
  CHECK(micros(forward) == Approx(1.05 * (20 + 30) / 2));
  CHECK(forward.measurement.samples.seconds.size() == 2);
  CHECK(forward.measurement.algorithm == "aten::conv2d");
  CHECK(micros(row(import, "activation kind=relu", "pass=forward")) == Approx(1.05 * 5));
  CHECK(micros(row(import, "fully_connected", "pass=forward")) == Approx(1.05 * 7));
  CHECK(micros(row(import, "loss", "pass=forward")) == Approx(1.05 * 4));
  CHECK(micros(row(import, "loss", "pass=backward-data")) == Approx(1.05 * 3));
  CHECK(micros(row(import, "activation", "pass=backward-data")) == Approx(1.05 * 6));
}

TEST_CASE("a backward time of inputs and weights is divided by FLOPs, and the row states that") {
  const ProfileImport import = imported(two_steps(), two_convolutions);
  // The 50 of the second convolution are halved. The 24 of the first convolution belong to its
  // weights, because the gradient of the sample is not needed.
  const ProfileRow& data = row(import, "convolution", "pass=backward-data");
  CHECK(data.layers == 1);
  CHECK(micros(data) == Approx(1.05 * 25));
  CHECK(data.measurement.algorithm == "50 % of ConvolutionBackward0 by FLOPs");
  CHECK(micros(row(import, "convolution", "pass=backward-weight")) == Approx(1.05 * (25 + 24) / 2));
}

TEST_CASE("the products of a fully connected layer are distinguished by their shapes") {
  const ProfileImport import = imported(two_steps(), two_convolutions);
  // The products take 4 and 6. The other 12 of the layer's nodes (20 + 2 - 10) are divided in proportion.
  CHECK(micros(row(import, "fully_connected", "pass=backward-data")) == Approx(1.05 * (4 + 12 * 0.4)));
  CHECK(micros(row(import, "fully_connected", "pass=backward-weight")) == Approx(1.05 * (6 + 12 * 0.6)));
}

TEST_CASE("the time of an optimizer's step is divided by parameters") {
  const ProfileImport import = imported(two_steps(), two_convolutions);
  const double parameters = 2 * 144 + 2570;
  const ProfileRow& small = row(import, "update optimizer=sgd parameters=144", "precision=fp32");
  CHECK(small.layers == 2);
  CHECK(micros(small) == Approx(1.05 * 50 * 144 / parameters));
  CHECK(small.measurement.algorithm == "Optimizer.step#SGD.step by parameters");
  CHECK(micros(row(import, "update optimizer=sgd parameters=2570", "precision=fp32")) ==
        Approx(1.05 * 50 * 2570 / parameters));
}

TEST_CASE("time outside layers is reported, and all times add up to the step") {
  const ProfileImport import = imported(two_steps(), two_convolutions);
  CHECK(import.step.value() * 1e6 == Approx(1000));
  // The sum of all operators, without the accumulation of gradients (8).
  const double operators = 20 + 5 + 30 + 1 + 7 + 4 + 3 + 20 + 2 + 1 + 50 + 6 + 24 + 50;
  CHECK(import.matched.value() * 1e6 == Approx(1.05 * operators));
  REQUIRE(import.unmatched.size() == 2);
  CHECK(import.unmatched[0].name == "(between operators)");
  CHECK(import.unmatched[0].time.value() * 1e6 == Approx(1000 - 1.05 * (operators + 8)));
  CHECK(import.unmatched[1].name == "torch::autograd::AccumulateGrad");
  CHECK(import.unmatched[1].calls == 1);
  CHECK(import.unmatched[1].time.value() * 1e6 == Approx(1.05 * 8));
}

TEST_CASE("on a device, times are kernel times, and the names of kernels distinguish gradients") {
  TraceBuilder trace;
  trace.region("ProfilerStep#1", 0, 1000);
  trace.operation("aten::conv2d", 10, 90, "[" + image + "," + filters + "]", 0);
  trace.kernel("fprop", 20, 3);
  trace.operation("aten::relu", 110, 50, "[" + image + "]", 1);
  trace.kernel("relu", 120, 2);
  trace.operation("aten::conv2d", 200, 90, "[" + image + "," + filters + "]", 2);
  trace.kernel("fprop", 210, 5);
  trace.backward("ConvolutionBackward0", 500, 50, 2, 9);
  trace.kernel("sm80_dgrad", 510, 6, 9);
  trace.kernel("sm80_wgrad", 520, 2, 9);
  trace.kernel("reorder", 530, 4, 9);
  trace.kernel("copy of the next batch", 990, 8);
  const ProfileImport import =
      import_pytorch_trace(trace.text(R"("deviceProperties":[{"name":"H100"}],)"), "t.json", two_convolutions, {});
  CHECK(import.of_device);
  CHECK(import.profile.head.device == "H100");
  CHECK(micros(row(import, "convolution", "pass=forward")) == Approx(4));
  CHECK(micros(row(import, "convolution", "pass=backward-data")) == Approx(9));
  CHECK(micros(row(import, "convolution", "pass=backward-weight")) == Approx(3));
  CHECK(import.step.value() * 1e6 == Approx(30));
  CHECK(import.matched.value() * 1e6 == Approx(22));
  CHECK(import.unmatched.front().name == "(kernels of no operator)");
  CHECK(std::count_if(import.missing.begin(), import.missing.end(),
                      [](const std::string& line) { return line.starts_with("fully_connected"); }) == 3);
}

TEST_CASE("copies between host and device are no time of a layer") {
  TraceBuilder trace;
  trace.region("ProfilerStep#1", 0, 1000);
  trace.operation("aten::to", 5, 4, "[" + image + "]");
  trace.copy("Memcpy HtoD (Pageable -> Device)", 6, 40);
  trace.operation("aten::conv2d", 10, 90, "[" + image + "," + filters + "]", 0);
  trace.kernel("fprop", 20, 3);
  trace.operation("aten::conv2d", 200, 90, "[" + image + "," + filters + "]", 2);
  trace.kernel("fprop", 210, 5);
  // A copy inside the device is a kernel.
  trace.copy("Memcpy DtoD (Device -> Device)", 220, 2);
  trace.operation("aten::item", 900, 50, "[[]]");
  trace.copy("CopyDeviceToHost", 910, 1);
  const ProfileImport import = imported(trace, two_convolutions);
  CHECK(micros(row(import, "convolution", "pass=forward")) == Approx((3 + 5 + 2) / 2.0));
  CHECK(import.step.value() * 1e6 == Approx(51));
  CHECK(import.unmatched.front().name == "(copies between host and device)");
  CHECK(import.unmatched.front().time.value() * 1e6 == Approx(41));
}

// PyTorch 1.8 and 1.9 name backward nodes without the engine's prefix; pytorch/kineto, tb_plugin/samples of 2021.
TEST_CASE("backward nodes of PyTorch before 1.10 are recognized") {
  TraceBuilder trace;
  trace.region("ProfilerStep#1", 0, 1000);
  trace.operation("aten::conv2d", 10, 90, "[" + image + "," + filters + "]", 0);
  trace.kernel("fprop", 20, 3);
  trace.operation("aten::conv2d", 200, 90, "[" + image + "," + filters + "]", 2);
  trace.kernel("fprop", 210, 5);
  trace.operation("CudnnConvolutionBackward", 500, 50, {}, 2, 9);
  trace.operation("aten::cudnn_convolution_backward", 501, 40, "[" + image + "," + filters + "]", -1, 9);
  trace.kernel("dgrad", 510, 6, 9);
  trace.kernel("wgrad", 520, 2, 9);
  for (int i = 0; i < 8; ++i) trace.operation("torch::autograd::AccumulateGrad", 600 + 10 * i, 5, {}, -1, 9);
  const ProfileImport import = imported(trace, two_convolutions);
  CHECK(micros(row(import, "convolution", "pass=forward")) == Approx(4));
  CHECK(micros(row(import, "convolution", "pass=backward-data")) == Approx(6));
  CHECK(micros(row(import, "convolution", "pass=backward-weight")) == Approx(2));
}

TEST_CASE("a trace of another model is warned of") {
  TraceBuilder trace;
  trace.region("ProfilerStep#1", 0, 1000);
  trace.operation("aten::conv2d", 10, 90, "[" + image + "," + filters + "]", 0);
  const ProfileImport one = imported(trace, two_convolutions);
  REQUIRE(one.warnings.size() == 1);
  // One of two convolutions, and not the fully connected layer.
  CHECK(one.warnings[0].starts_with("only 33 % of the convolutions and products of the trace and of"));
}

// The trace is as in PyTorch 2.11 for GPT-2's attention with autocast. Casts are inside the outer one of two `aten::linear`.
// Fused attention is inside its operator. Gradients and their launches are on the thread of autograd.
TEST_CASE("fused attention with autocast on a device") {
  const Model model = model_of("{tokens: 16}",
                               "  - embedding: {vocabulary: 100, features: 32}\n"
                               "  - fully_connected: 96\n"
                               "  - attention: {heads: 4, causal: yes, fused: yes}\n"
                               "  - fully_connected: 32\n"
                               "  - loss: cross_entropy\n");
  const std::string heads = "[[3,4,16,8],[3,4,16,8],[3,4,16,8],[],[],[]]";
  for (const std::string kind : {"flash", "efficient", "cudnn"}) {
    INFO(kind);
    TraceBuilder trace;
    trace.region("ProfilerStep#1", 0, 1000);
    trace.operation("aten::embedding", 1, 5, "[[100,32],[3,16]]", 0);
    trace.kernel("indexSelectLargeIndex", 2, 4);
    trace.operation("aten::linear", 10, 30, "[[3,16,32],[96,32],[96]]", 1);
    trace.operation("aten::to", 11, 5, "[[3,16,32]]", 1);
    trace.operation("aten::_to_copy", 12, 4, "[[3,16,32]]", 1);
    trace.operation("aten::copy_", 13, 3, "[[3,16,32],[3,16,32]]");
    trace.kernel("bfloat16_copy_kernel_cuda", 14, 2);
    trace.operation("aten::linear", 20, 15, "[[3,16,32],[96,32],[96]]", 2);
    trace.operation("aten::addmm", 22, 10, "[[96],[48,32],[32,96]]", 3);
    trace.kernel("nvjet_tst_128x64", 24, 7);
    trace.operation("aten::split", 41, 1, "[[3,16,96]]", 4);
    trace.operation("aten::view", 43, 1, "[[3,16,32]]", 5);
    trace.operation("aten::transpose", 45, 1, "[[3,16,4,8]]", 6);
    trace.operation("aten::scaled_dot_product_attention", 50, 20, heads, 7);
    trace.operation("aten::_scaled_dot_product_" + kind + "_attention", 52, 15, heads, 7);
    trace.operation("aten::_flash_attention_forward", 53, 12, heads);
    trace.kernel("pytorch_flash::flash_fwd_kernel", 54, 11);
    trace.operation("aten::transpose", 71, 1, "[[3,4,16,8]]", 8);
    trace.operation("aten::contiguous", 73, 4, "[[3,16,4,8]]", 9);
    trace.kernel("direct_copy_kernel_cuda", 74, 1);
    trace.operation("aten::linear", 80, 10, "[[3,16,32],[32,32],[32]]", 10);
    trace.kernel("nvjet_tst_64x64", 82, 5);
    trace.operation("aten::cross_entropy_loss", 95, 10, "[[48,32],[48]]", 12);
    trace.kernel("cunn_SoftMaxForward", 96, 3);
    trace.backward("ScaledDotProductAttentionBackward0", 200, 30, 7, 9);
    trace.operation("aten::_scaled_dot_product_" + kind + "_attention_backward", 205, 20, heads, -1, 9);
    trace.kernel("pytorch_flash::flash_bwd_dq_dk_dv_loop", 210, 23, 9);
    trace.backward("AddmmBackward0", 240, 20, 3, 9);
    trace.operation("aten::mm", 242, 4, "[[48,96],[96,32]]", -1, 9);
    trace.kernel("nvjet_data", 243, 6, 9);
    trace.operation("aten::mm", 248, 4, "[[96,48],[48,32]]", -1, 9);
    trace.kernel("nvjet_weight", 249, 8, 9);
    trace.backward("ToCopyBackward0", 262, 5, 1, 9);
    trace.kernel("copy_back", 263, 2, 9);
    trace.backward("EmbeddingBackward0", 270, 9, 0, 9);
    trace.operation("aten::embedding_dense_backward", 271, 7, "[[3,16,32],[3,16]]", -1, 9);
    trace.kernel("embedding_backward_feature_kernel", 273, 13, 9);
    const ProfileImport import =
        import_pytorch_trace(trace.text(R"("deviceProperties":[{"name":"H100"}],)"), "t.json", model, {});
    CHECK(import.samples == 3);
    CHECK(import.of_device);
    CHECK(micros(row(import, "embedding", "pass=forward")) == Approx(4));
    CHECK(micros(row(import, "embedding", "pass=backward-weight")) == Approx(13));
    CHECK(micros(row(import, "fully_connected features=96", "pass=forward")) == Approx(2 + 7));
    // The products take 6 and 8. The gradient of the cast is divided in proportion.
    CHECK(micros(row(import, "fully_connected features=96", "pass=backward-data")) == Approx(6 + 2 * 6.0 / 14));
    CHECK(micros(row(import, "fully_connected features=96", "pass=backward-weight")) == Approx(8 + 2 * 8.0 / 14));
    CHECK(micros(row(import, "attention", "pass=forward")) == Approx(11 + 1));
    CHECK(micros(row(import, "attention", "pass=backward-data")) == Approx(23));
    CHECK(micros(row(import, "fully_connected features=32", "pass=forward")) == Approx(5));
    CHECK(micros(row(import, "loss", "pass=forward")) == Approx(3));
    CHECK(import.matched.value() == Approx(import.step.value()));
    CHECK(import.unmatched.empty());
  }
}

TEST_CASE("a kernel outside any operator belongs to the operator whose number it has") {
  TraceBuilder trace;
  trace.region("ProfilerStep#1", 0, 1000);
  trace.operation("aten::conv2d", 10, 90, "[" + image + "," + filters + "]", 0);
  trace.operation("aten::cudnn_convolution", 15, 80, "[" + image + "," + filters + "]");
  const int convolution = trace.last_number();
  trace.kernel("nchwToNhwc", 20, 3);
  trace.kernel_by_number("fprop", 25, 5, convolution);
  trace.kernel_by_number("of nobody", 30, 1, 1000);
  const ProfileImport import = imported(trace, two_convolutions);
  CHECK(micros(row(import, "convolution", "pass=forward")) == Approx(8));
  CHECK(import.step.value() * 1e6 == Approx(9));
  CHECK(import.unmatched.front().name == "(kernels of no operator)");
  CHECK(import.unmatched.front().time.value() * 1e6 == Approx(1));
}

TEST_CASE("an update on a device handles lists of tensors, and includes the scaling of gradients") {
  const auto import_of = [](const std::string& step, const std::string& inside, const std::string& shapes) {
    TraceBuilder trace;
    trace.region("ProfilerStep#1", 0, 1000);
    trace.operation("aten::conv2d", 1, 10, "[" + image + "," + filters + "]");
    trace.kernel("fprop", 2, 5);
    trace.operation("aten::_amp_foreach_non_finite_check_and_unscale_", 80, 10, "[[[4,4,3,3],[10,256]],[1],[1]]");
    trace.kernel("multi_tensor_apply_kernel", 81, 4);
    trace.region(step, 100, 50);
    trace.operation(inside, 101, 10, shapes);
    trace.kernel("multi_tensor_apply_kernel", 102, 6);
    trace.operation("aten::_foreach_add_", 120, 10, "[[[4,4,3,3],[10,256]],[[4,4,3,3],[10,256]],[]]");
    trace.kernel("multi_tensor_apply_kernel", 121, 10);
    return imported(trace, two_convolutions);
  };
  const std::string list = "[[4,4,3,3],[10,256]]";
  const double parameters = 2 * 144 + 2570;
  const auto update = [&](const ProfileImport& import, const std::string& optimizer) {
    const ProfileRow& found = row(import, "update optimizer=" + optimizer + " parameters=2570", "precision=fp32");
    CHECK(found.measurement.algorithm.starts_with("Optimizer.step#"));
    CHECK(import.matched.value() * 1e6 == Approx(25));
    return micros(found) * parameters / 2570;
  };
  CHECK(update(import_of("Optimizer.step#SGD.step", "aten::_foreach_mul_", "[" + list + ",[]]"), "momentum") == Approx(20));
  CHECK(update(import_of("Optimizer.step#SGD.step", "aten::_foreach_norm", "[" + list + ",[]]"), "sgd") == Approx(20));
  const std::string fused = "[" + list + "," + list;
  CHECK(update(import_of("Optimizer.step#SGD.step", "aten::_fused_sgd_", fused + "," + list + ",[]]"), "momentum") ==
        Approx(20));
  CHECK(update(import_of("Optimizer.step#SGD.step", "aten::_fused_sgd_", fused + ",[],[]]"), "sgd") == Approx(20));
  CHECK(update(import_of("Optimizer.step#AdamW.step", "aten::_fused_adamw_", fused + "," + list + "]"), "adam") ==
        Approx(20));
}

TEST_CASE("a convolution with a kernel of one position may be a matrix product") {
  const Model model = model_of("{channels: 4, size: 8x8}",
                               "  - convolution: {filters: 8, kernel: 2, stride: 2}\n"
                               "  - norm: layer\n"
                               "  - convolution: {filters: 24, kernel: 1}\n"
                               "  - activation: gelu\n");
  TraceBuilder trace;
  trace.region("ProfilerStep#1", 0, 1000);
  trace.operation("aten::conv2d", 1, 10, "[[2,4,8,8],[8,4,2,2],[8]]", 0);
  trace.operation("aten::layer_norm", 20, 5, "[[2,4,4,8],[],[8],[8]]", 1);
  trace.operation("aten::linear", 30, 7, "[[2,4,4,8],[24,8],[24]]", 2);
  trace.operation("aten::gelu", 40, 3, "[[2,24,4,4]]", 4);
  trace.backward("AddmmBackward0", 100, 10, 3);
  trace.operation("aten::mm", 101, 3, "[[32,24],[24,8]]");
  trace.operation("aten::mm", 105, 4, "[[24,32],[32,8]]");
  const ProfileImport import = imported(trace, model);
  CHECK(import.samples == 2);
  CHECK(micros(row(import, "convolution filters=24", "pass=forward")) == Approx(7));
  CHECK(micros(row(import, "convolution filters=24", "pass=backward-data")) == Approx(3 + 3 * 3.0 / 7));
  CHECK(micros(row(import, "convolution filters=24", "pass=backward-weight")) == Approx(4 + 3 * 4.0 / 7));
}

TEST_CASE("the rearrangement of an image in windows belongs to the attention, and not to the product before it") {
  const Model model = model_of("{channels: 8, size: 4x4}",
                               "  - norm: layer\n"
                               "  - convolution: {filters: 24, kernel: 1}\n"
                               "  - window_attention: {heads: 2, window: 2, shift: 1}\n"
                               "  - convolution: {filters: 8, kernel: 1}\n");
  TraceBuilder trace;
  trace.region("ProfilerStep#1", 0, 1000);
  trace.operation("aten::layer_norm", 1, 2, "[[3,4,4,8],[],[8],[8]]", 0);
  trace.operation("aten::pad", 10, 1.5, "[[3,4,4,8],[],[],[]]", 1);
  trace.operation("aten::roll", 12, 2.5, "[[3,4,4,8],[],[]]", 2);
  trace.operation("aten::reshape", 15, 3.5, "[[3,2,2,2,2,8],[]]", 3);
  trace.operation("aten::linear", 20, 4, "[[12,4,8],[24,8],[24]]", 4);
  trace.operation("aten::softmax", 30, 5, "[[12,2,4,4],[],[]]", 5);
  trace.operation("aten::roll", 40, 6, "[[3,4,4,8],[],[]]", 6);
  trace.operation("aten::linear", 50, 7, "[[3,4,4,8],[8,8],[8]]", 7);
  const ProfileImport import = imported(trace, model);
  CHECK(import.samples == 3);
  CHECK(micros(row(import, "norm", "pass=forward")) == Approx(2));
  CHECK(micros(row(import, "convolution filters=24", "pass=forward")) == Approx(4));
  CHECK(micros(row(import, "window_attention", "pass=forward")) == Approx(1.5 + 2.5 + 3.5 + 5 + 6));
  CHECK(micros(row(import, "convolution filters=8", "pass=forward")) == Approx(7));
}

TEST_CASE("keys and values of another sequence may be computed by two products") {
  const Model model = model_of("{tokens: 16}",
                               "  - embedding: {vocabulary: 100, features: 32}\n"
                               "    name: words\n"
                               "  - fully_connected: {features: 16, bias: no}\n"
                               "    name: queries\n"
                               "  - fully_connected: {features: 64, bias: no}\n"
                               "    name: keys_and_values\n"
                               "    from: words\n"
                               "  - fully_connected: {features: 32, bias: no}\n"
                               "    name: widened\n"
                               "    from: queries\n"
                               "  - attention: {heads: 4}\n"
                               "    from: [widened, keys_and_values]\n"
                               "  - loss: cross_entropy\n");
  TraceBuilder trace;
  trace.region("ProfilerStep#1", 0, 1000);
  trace.operation("aten::embedding", 1, 2, "[[100,32],[3,16]]", 0);
  trace.operation("aten::linear", 10, 1, "[[3,16,32],[16,32]]", 1);
  trace.operation("aten::linear", 20, 3, "[[3,16,32],[32,32]]", 2);
  trace.operation("aten::view", 24, 1, "[[3,16,32],[]]", 3);
  trace.operation("aten::linear", 30, 4, "[[3,16,32],[32,32]]", 4);
  trace.operation("aten::linear", 40, 5, "[[3,16,16],[32,16]]", 5);
  trace.operation("aten::softmax", 50, 6, "[[3,4,16,16],[],[]]", 6);
  const ProfileImport import = imported(trace, model);
  CHECK(micros(row(import, "fully_connected features=16", "pass=forward")) == Approx(1));
  CHECK(micros(row(import, "fully_connected features=64", "pass=forward")) == Approx(3 + 1 + 4));
  CHECK(micros(row(import, "fully_connected features=32", "pass=forward")) == Approx(5));
}

TEST_CASE("a step may run the model several times") {
  TraceBuilder trace;
  trace.region("ProfilerStep#1", 0, 1000);
  for (int round = 0; round < 3; ++round) {
    const double t = 100.0 * round;
    trace.operation("aten::conv2d", t + 1, 10, "[" + image + "," + filters + "]");
    trace.operation("aten::relu", t + 20, 4.0 + round, "[" + image + "]");
    trace.operation("aten::conv2d", t + 40, 10, "[" + image + "," + filters + "]");
  }
  const ProfileImport import = imported(trace, two_convolutions);
  CHECK(import.samples == 2);
  CHECK(micros(row(import, "activation", "pass=forward")) == Approx(5));
  CHECK(micros(row(import, "convolution", "pass=forward")) == Approx(10));
}

TEST_CASE("the parts of attention belong to its layer, and three projections count as one") {
  const Model model = model_of("{tokens: 16}",
                               "  - embedding: {vocabulary: 100, features: 32}\n"
                               "  - fully_connected: 96\n"
                               "  - attention: {heads: 4}\n"
                               "  - fully_connected: 32\n"
                               "  - loss: cross_entropy\n");
  TraceBuilder trace;
  trace.region("ProfilerStep#1", 0, 1000);
  trace.operation("aten::embedding", 1, 2, "[[100,32],[3,16]]", 0);
  for (int k = 0; k < 3; ++k) {
    trace.operation("aten::linear", 10 + 10 * k, 4, "[[3,16,32],[32,32],[32]]", 1 + 3 * k);
    trace.operation("aten::view", 16 + 10 * k, 1, "[[3,16,32],[]]", 2 + 3 * k);
    trace.operation("aten::permute", 18 + 10 * k, 1, "[[3,16,4,8],[]]", 3 + 3 * k);
  }
  trace.operation("aten::matmul", 50, 10, "[[3,4,16,8],[3,4,8,16]]", 10);
  trace.operation("aten::div", 61, 3, "[[3,4,16,16],[]]", 11);
  trace.operation("aten::softmax", 65, 5, "[[3,4,16,16],[],[]]", 12);
  trace.operation("aten::matmul", 71, 9, "[[3,4,16,16],[3,4,16,8]]", 13);
  trace.operation("aten::contiguous", 81, 2, "[[3,16,4,8],[]]", 14);
  trace.operation("aten::linear", 90, 4.5, "[[3,16,32],[32,32],[32]]", 15);
  trace.operation("aten::cross_entropy_loss", 100, 4, "[[48,32],[48]]", 16);
  trace.backward("SoftmaxBackward0", 200, 6, 12);
  trace.backward("BmmBackward0", 210, 7, 10);
  const ProfileImport import = imported(trace, model);
  CHECK(import.samples == 3);
  // There are three products, and the views between them.
  CHECK(micros(row(import, "fully_connected features=96", "pass=forward")) == Approx(12 + 4));
  CHECK(micros(row(import, "fully_connected features=32", "pass=forward")) == Approx(4.5));
  // The two views before it are included.
  CHECK(micros(row(import, "attention", "pass=forward")) == Approx(10 + 3 + 5 + 9 + 2 + 2));
  CHECK(row(import, "attention", "pass=forward").measurement.algorithm == "aten::matmul and 2 more");
  CHECK(micros(row(import, "attention", "pass=backward-data")) == Approx(13));
  CHECK(micros(row(import, "embedding", "pass=forward")) == Approx(2));
}

TEST_CASE("a sum of gradients becomes a problem of the profile") {
  const Model model = model_of("{channels: 4, size: 8x8}",
                               "  - convolution: {filters: 4, kernel: 3, padding: 1, bias: no}\n"
                               "  - residual: [{convolution: {filters: 4, kernel: 3, padding: 1, bias: no}}]\n");
  TraceBuilder trace;
  trace.region("ProfilerStep#1", 0, 1000);
  trace.operation("aten::conv2d", 1, 10, "[" + image + "," + filters + "]", 0);
  trace.operation("aten::conv2d", 20, 10, "[" + image + "," + filters + "]", 1);
  trace.operation("aten::add", 40, 3, "[" + image + "," + image + ",[]]", 2);
  trace.backward("AddBackward0", 100, 1, 2);
  trace.backward("ConvolutionBackward0", 110, 30, 1);
  trace.operation("aten::add", 135, 4, "[" + image + "," + image + ",[]]");
  const ProfileImport import = imported(trace, model);
  // The sum of the branches and the sum of their gradients are the same problem, with times 3 and 4.
  const ProfileRow& sum = row(import, "add", "pass=forward");
  CHECK(sum.layers == 2);
  CHECK(micros(sum) == Approx(3.5));
  CHECK(micros(row(import, "convolution", "pass=backward-data")) == Approx(26.0 / 2));
}

// A table of 16 positions is added to one sample, either with a dimension for the samples, as in
// torchvision, or without. Only the first addition has the shapes of a residual addition.
TEST_CASE("with one sample, the addition of positions is not mistaken for a residual addition") {
  const Model model = model_of("{channels: 4, size: 4x4}",
                               "  - convolution: {filters: 8, kernel: 1, bias: no}\n"
                               "  - reshape: {channels: 8, tokens: 16}\n"
                               "  - position_embedding: {positions: 16}\n"
                               "  - residual: [{fully_connected: 8}]\n"
                               "  - residual: [{fully_connected: 8}]\n");
  for (const std::string table : {"[1,16,8]", "[16,8]"}) {
    TraceBuilder trace;
    trace.region("ProfilerStep#1", 0, 1000);
    trace.operation("aten::conv2d", 1, 10, "[[1,4,4,4],[8,4,1,1]]", 0);
    trace.operation("aten::add", 20, 7, "[[1,16,8]," + table + ",[]]", 1);
    for (int k = 0; k < 2; ++k) {
      trace.operation("aten::linear", 30 + 20 * k, 5, "[[1,16,8],[8,8],[8]]", 2 + 2 * k);
      trace.operation("aten::add", 40 + 20 * k, 3, "[[1,16,8],[1,16,8],[]]", 3 + 2 * k);
    }
    trace.backward("AddBackward0", 100, 2, 5);
    trace.backward("AddBackward0", 120, 2, 3);
    trace.backward("AddBackward0", 140, 9, 1);
    INFO(table);
    const ProfileImport import = imported(trace, model);
    CHECK(import.samples == 1);
    CHECK(micros(row(import, "position_embedding", "pass=forward")) == Approx(7));
    CHECK(micros(row(import, "position_embedding", "pass=backward-weight")) == Approx(9));
    CHECK(micros(row(import, "add", "pass=forward")) == Approx(3));
  }
}

TEST_CASE("the optimizer is read from the trace") {
  const auto update_of = [](const std::string& step, const std::string& inside) {
    TraceBuilder trace;
    trace.region("ProfilerStep#1", 0, 1000);
    trace.operation("aten::conv2d", 1, 10, "[" + image + "," + filters + "]");
    trace.region(step, 100, 10);
    trace.operation(inside, 101, 1, "[[4]]");
    return row(imported(trace, two_convolutions), "update", "precision=fp32").measurement.problem;
  };
  CHECK(update_of("Optimizer.step#SGD.step", "aten::add_") == "update optimizer=sgd parameters=144 precision=fp32");
  CHECK(update_of("Optimizer.step#SGD.step", "aten::mul_") == "update optimizer=momentum parameters=144 precision=fp32");
  CHECK(update_of("Optimizer.step#AdamW.step", "aten::mul_") == "update optimizer=adam parameters=144 precision=fp32");
}

TEST_CASE("the precision is read from the trace's products unless an option sets it") {
  std::string text = two_steps().text();
  CHECK(imported(two_steps(), two_convolutions).precision == Precision::fp32);
  const std::string dims = "\"Input Dims\":[[10],";
  for (std::size_t at = 0; (at = text.find(dims, at)) != std::string::npos; at += 2 * dims.size()) {
    text.insert(at, "\"Input type\":[\"c10::BFloat16\"],");
  }
  CHECK(import_pytorch_trace(text, "t.json", two_convolutions, on_device).precision == Precision::bf16);
  ProfileImportOptions said = on_device;
  said.precision = Precision::tf32;
  CHECK(imported(two_steps(), two_convolutions, said).precision == Precision::tf32);
}

TEST_CASE("a trace that cannot be of the model is refused") {
  const auto error = [](const TraceBuilder& trace, const ProfileImportOptions& options = on_device) {
    return error_of([&] { static_cast<void>(imported(trace, two_convolutions, options)); });
  };
  CHECK(error(TraceBuilder()) ==
        "t.json: the trace has no operators of PyTorch in a step\nhint: profile with activities=[ProfilerActivity.CPU, "
        "ProfilerActivity.CUDA], and call profiler.step()");
  CHECK(error(TraceBuilder().operation("aten::relu", 0, 1)) ==
        "t.json: the trace has no shapes of tensors\nhint: profile with torch.profiler.profile(record_shapes=True)");
  CHECK(error(TraceBuilder().operation("aten::relu", 0, 1, "[[2,3,4,4]]")) ==
        "t.json: no operator of the trace has the shapes of a layer of m\nhint: check that the trace is of that model, with "
        "images or sequences of that size");
  CHECK(error(TraceBuilder().operation("aten::conv2d", 0, 1, "[[2,4,16,16],[4,4,3,3],[]]"))
            .ends_with("hint: the trace has inputs of 4x16x16: --model m@input=4x16x16"));
  const Model text = model_of(
      "{tokens: 16}", "  - embedding: {vocabulary: 50, features: 8}\n  - fully_connected: 8\n  - loss: cross_entropy\n");
  const TraceBuilder shorter = TraceBuilder().operation("aten::linear", 0, 1, "[[1,7,8],[8,8],[8]]");
  CHECK(error_of([&] {
          static_cast<void>(imported(shorter, text, on_device));
        }).ends_with("hint: the trace has sequences of 7 tokens: --model m@tokens=7"));
  // The hint repeats the user's name of the model with one size of each kind.
  ProfileImportOptions named = on_device;
  const auto hint_for = [&](const std::string& asked) {
    named.model = asked;
    const std::string text_of_error = error_of([&] { static_cast<void>(imported(shorter, text, named)); });
    return text_of_error.substr(text_of_error.find("--model "));
  };
  CHECK(hint_for("./net.yaml") == "--model ./net.yaml@tokens=7");
  CHECK(hint_for("a@tokens=1/net.yaml@tokens=16@layers=2") == "--model a@tokens=1/net.yaml@layers=2@tokens=7");
  CHECK(error(TraceBuilder().operation("aten::conv2d", 0, 1, "[[2,4,0,0],[4,4,3,3],[]]"))
            .ends_with("hint: check that the trace is of that model, with images or sequences of that size"));
  CHECK(error(two_steps(), {}) == "the trace does not state its device\nhint: add --device NAME");
  ProfileImportOptions many = on_device;
  many.samples = std::int64_t{1} << 53U;
  CHECK(error(two_steps(), many) == "the input would have more than 2^53 elements");
}

TEST_CASE("another number of samples, unmarked steps and too many steps cause warnings") {
  ProfileImportOptions options = on_device;
  options.samples = 3;
  CHECK(imported(two_steps(), two_convolutions, options).warnings ==
        std::vector<std::string>{"most operators of the trace have 2 samples, not 3"});
  TraceBuilder unmarked;
  unmarked.operation("aten::conv2d", 1, 10, "[" + image + "," + filters + "]");
  CHECK(imported(unmarked, two_convolutions).warnings.front() ==
        "no steps are marked (ProfilerStep#…): the whole trace counts as one");
  TraceBuilder many;
  for (int step = 0; step < 205; ++step) add_step(many, step, 2000.0 * step, 1);
  const ProfileImport import = imported(many, two_convolutions);
  CHECK(import.steps == 200);
  CHECK(import.warnings == std::vector<std::string>{"only the first 200 of 205 steps are read"});
}
