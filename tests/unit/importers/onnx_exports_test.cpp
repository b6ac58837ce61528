// Tests parts of networks as PyTorch and timm export them: attention with rotary positions and reduced keys, computed
// weights and paddings, and trained tokens.

#include <string>

#include "tests/unit/importers/onnx_text.hpp"

using namespace ddl;

namespace {

/// Returns rotary positions as transformers 5 exports them: r = x · cosines + concat(-x₂, x₁) · sines. `name`: x, and the
/// beginning of the names of the other tensors.
std::string turned(const std::string& name, const std::string& cosines = "cos", const std::string& sines = "sin") {
  return fmt::format(
      "{0}1 = Slice({0}, zero, two, last) {0}2 = Slice({0}, two, four, last) {0}n = Neg({0}2) {0}t = Concat<axis = "
      "-1>({0}n, {0}1) {0}c = Mul({0}, {1}) {0}s = Mul({0}t, {2}) {0}r = Add({0}c, {0}s) ",
      name, cosines, sines);
}

/// The bounds of turned().
const std::string bounds_of_halves =
    "zero = Constant<value = int64[1] {0}>() two = Constant<value = int64[1] {2}>() four = Constant<value = int64[1] {4}>() "
    "last = Constant<value = int64[1] {3}>() ";

/// Returns attention of 16 queries to 4 keys of two heads. `projections` defines kh and vh.
std::string rotated_cross_attention(const std::string& projections) {
  return "g (float[N,8,4,4] x, float[8,8,1,1] wq, float[8,8,2,2] wr, float[8,8] wk, float[8,8] wv, float[8,16] both, "
         "float[1,1,16,4] cos, float[1,1,16,4] sin, float[1,1,4,4] kcos, float[1,1,4,4] ksin) => (float[N,16,8] y) { " +
         bounds_of_halves +
         "c = Conv(x, wq) d = Conv<strides = [2, 2]>(x, wr) flat = Constant<value = int64[3] {-1, 8, 16}>() few = "
         "Constant<value = int64[3] {-1, 8, 4}>() cf = Reshape(c, flat) df = Reshape(d, few) cq = Transpose<perm = [0, 2, "
         "1]>(cf) m = Transpose<perm = [0, 2, 1]>(df) sq = Constant<value = int64[4] {-1, 16, 2, 4}>() sk = Constant<value "
         "= int64[4] {-1, 4, 2, 4}>() qh = Reshape(cq, sq) q = Transpose<perm = [0, 2, 1, 3]>(qh) " +
         projections + "k = Transpose<perm = [0, 2, 1, 3]>(kh) v = Transpose<perm = [0, 2, 1, 3]>(vh) " + turned("q") +
         turned("k", "kcos", "ksin") +
         "columns = Transpose<perm = [0, 1, 3, 2]>(kr) a = MatMul(qr, columns) p = Softmax(a) o = MatMul(p, v) ot = "
         "Transpose<perm "
         "= [0, 2, 1, 3]>(o) z = Constant<value = int64[3] {-1, 16, 8}>() y = Reshape(ot, z) }";
}

/// Returns attention of two heads in four windows of four tokens, like Swin's. `inputs`: further inputs; `scores`: the nodes
/// from the scores `a` to the weights `p`.
std::string attention_in_windows(const std::string& inputs, const std::string& scores) {
  return "g (float[N,16,8] x, float[8,24] w" + inputs +
         ") => (float[N,16,8] y) { cut = Constant<value = int64[3] {-1, 4, 8}>() r = Reshape(x, cut) h = MatMul(r, w) five "
         "= "
         "Constant<value = int64[5] {-1, 4, 3, 2, 4}>() v5 = Reshape(h, five) t = Transpose<perm = [2, 0, 3, 1, 4]>(v5) "
         "parts = Constant<value = int64[3] {1, 1, 1}>() q1, k1, v1 = Split<axis = 0>(t, parts) zero = Constant<value = "
         "int64[1] {0}>() q = Squeeze(q1, zero) k = Squeeze(k1, zero) v = Squeeze(v1, zero) kt = Transpose<perm = [0, 1, 3, "
         "2]>(k) a = MatMul(q, kt) " +
         scores +
         "o = MatMul(p, v) u = Transpose<perm = [0, 2, 1, 3]>(o) z = Constant<value = int64[3] {-1, 16, 8}>() y = "
         "Reshape(u, z) }";
}

}  // namespace

// PyTorch 2.7 and newer export scaled_dot_product_attention with a mask in this form.
TEST_CASE("weights of attention that are not numbers are replaced without a layer") {
  const std::string graph =
      "g (float[N,6,8] x, float[8,8] w) => (float[N,6,8] y) { q = MatMul(x, w) s = Constant<value = int64[4] {-1, 6, 2, "
      "4}>() "
      "r = Reshape(q, s) h = Transpose<perm = [0, 2, 1, 3]>(r) k = Transpose<perm = [0, 2, 3, 1]>(r) a = MatMul(h, k) p = "
      "Softmax(a) n = IsNaN(p) zero = Constant<value = float {0.0}>() q2 = Where(n, zero, p) o = MatMul(q2, h) t = "
      "Transpose<perm = [0, 2, 1, 3]>(o) z = Constant<value = int64[3] {-1, 6, 8}>() y = Reshape(t, z) }";
  CHECK(operations_of(import_text(graph)) == "fc concat attention");
  CHECK(error_in("g (float[N,6,8] x) => (bool[N,6,8] y) { y = IsNaN(x) }").find("on attention scores only") !=
        std::string::npos);
}

// wav2vec 2.0 divides the weights of its convolution of positions by their norm. Axes are an input since opset 18, which
// older libraries of ONNX do not know.
TEST_CASE("weights that are divided by their norm are stored weights") {
  const std::string graph =
      "g (float[N,8,6] x, float[8,8,3] v, float[1,1,3] size) => (float[N,8,4] y) { axes = Constant<value = int64[2] {0, "
      "1}>() "
      "n = ReduceL2(v, axes) d = Div(size, n) w = Mul(v, d) y = Conv(x, w) }";
  const Model model = import_text(graph, 18);
  CHECK(operations_of(model) == "conv");
  CHECK(model.parameters() == 8 * 8 * 3);
}

// YOLOS puts a class token before the patches and tokens of detections after them.
TEST_CASE("trained tokens may stand on both sides of a sequence") {
  const Model model = import_text(
      "g (float[N,6,8] x, float[8,8] w, float[1,1,8] first, float[1,2,8] last) => (float[N,9,8] y) { h = MatMul(x, w) y = "
      "Concat<axis = 1>(first, h, last) }");
  CHECK(operations_of(model) == "fc class_token class_token class_token");
  CHECK(model.parameters() == 8 * 8 + 3 * 8);
}

// Llama's rotary positions as transformers 5 exports them: x · cos + concat(-x₂, x₁) · sin, with shared key-value heads.
TEST_CASE("rotary positions of several operators are a layer before attention") {
  const std::string graph =
      "g (float[N,6,8] x, float[8,8] wq, float[8,8] wk, float[8,8] wv, float[1,1,6,4] cos, float[1,1,6,4] sin) => "
      "(float[N,6,8] y) { s = Constant<value = int64[4] {-1, 6, 2, 4}>() " +
      bounds_of_halves +
      "qm = MatMul(x, wq) km = MatMul(x, wk) vm = MatMul(x, wv) qh = Reshape(qm, s) kh = Reshape(km, s) vh = Reshape(vm, s) "
      "q = "
      "Transpose<perm = [0, 2, 1, 3]>(qh) k = Transpose<perm = [0, 2, 1, 3]>(kh) v = Transpose<perm = [0, 2, 1, 3]>(vh) " +
      turned("q") + turned("k") +
      "turned = Transpose<perm = [0, 1, 3, 2]>(kr) a = MatMul(qr, turned) p = Softmax(a) o = MatMul(p, v) t = "
      "Transpose<perm = [0, "
      "2, "
      "1, 3]>(o) z = Constant<value = int64[3] {-1, 6, 8}>() y = Reshape(t, z) }";
  const Model model = import_text(graph);
  CHECK(operations_of(model) == "fc rotary attention");
  CHECK(model.parameters() == 3 * 8 * 8);
}

TEST_CASE("adjacent slices that are joined again are no layer") {
  const std::string graph =
      "g (float[N,6,8] x, float[8,8] w) => (float[N,6,8] y) { h = MatMul(x, w) zero = Constant<value = int64[1] {0}>() two "
      "= "
      "Constant<value = int64[1] {2}>() all = Constant<value = int64[1] {8}>() last = Constant<value = int64[1] {2}>() a = "
      "Slice(h, zero, two, last) b = Slice(h, two, all, last) y = Concat<axis = 2>(";
  CHECK(operations_of(import_text(graph + "a, b) }")) == "fc loss");
  CHECK(operations_of(import_text(graph + "b, a) }")) != "fc loss");
}

// timm's TensorFlow models compute their padding: max((⌈8 / 3⌉ − 1) · 3 + 3 − 8, 0) = 1 behind each dimension.
TEST_CASE("sizes of a padding are computed with rounding and limits") {
  const std::string graph =
      "g (float[N,3,8,8] x, float[4,3,3,3] w) => (float[N,4,3,3] y) { share = Constant<value = float {2.7}>() three = "
      "Constant<value = float {3.0}>() one = Constant<value = float {1.0}>() eight = Constant<value = float {8.0}>() zero = "
      "Constant<value = float {0.0}>() c = Ceil(share) s = Sub(c, one) m = Mul(s, three) a = Add(m, three) d = Sub(a, "
      "eight) l "
      "= Clip(d, zero) i = Cast<to = 7>(l) first = Constant<value = int64[1] {0}>() u = Unsqueeze(i, first) none = "
      "Constant<value = int64[6] {0, 0, 0, 0, 0, 0}>() p = Concat<axis = 0>(none, u, u) q = Pad(x, p) y = Conv<strides = "
      "[3, "
      "3]>(q, w) }";
  CHECK(import_text(graph).parameters() == 4 * 3 * 3 * 3);
}

// SegFormer and PVT reduce the sequence of keys and values.
TEST_CASE("attention may read keys and values of a shorter sequence") {
  const std::string graph =
      "g (float[N,8,4,4] x, float[8,8,1,1] wq, float[8,8,2,2] wr, float[8,8] wk, float[8,8] wv) => (float[N,16,8] y) { c = "
      "Conv(x, wq) r = Conv<strides = [2, 2]>(x, wr) flat = Constant<value = int64[3] {-1, 8, 16}>() few = Constant<value = "
      "int64[3] {-1, 8, 4}>() cf = Reshape(c, flat) rf = Reshape(r, few) q = Transpose<perm = [0, 2, 1]>(cf) t = "
      "Transpose<perm "
      "= [0, 2, 1]>(rf) km = MatMul(t, wk) vm = MatMul(t, wv) sq = Constant<value = int64[4] {-1, 16, 2, 4}>() sk = "
      "Constant<value = int64[4] {-1, 4, 2, 4}>() qr = Reshape(q, sq) kr = Reshape(km, sk) vr = Reshape(vm, sk) qh = "
      "Transpose<perm = [0, 2, 1, 3]>(qr) kh = Transpose<perm = [0, 2, 3, 1]>(kr) vh = Transpose<perm = [0, 2, 1, 3]>(vr) a "
      "= "
      "MatMul(qh, kh) p = Softmax(a) o = MatMul(p, vh) ot = Transpose<perm = [0, 2, 1, 3]>(o) z = Constant<value = int64[3] "
      "{-1, 16, 8}>() y = Reshape(ot, z) }";
  const Model model = import_text(graph);
  CHECK(operations_of(model).find("attention") != std::string::npos);
  CHECK(model.parameters() == 8 * 8 + 8 * 8 * 4 + 2 * 8 * 8);
  // 16 queries and 4 keys of 8 channels: products of scores and of values.
  CHECK(model.macs() == 16 * 8 * 8 + 4 * 8 * 8 * 4 + 2 * 4 * 8 * 8 + 2 * 16 * 4 * 8);
}

// DINOv2 with registers puts trained tokens between the class token and the patches.
TEST_CASE("trained tokens may stand inside a sequence") {
  const Model model = import_text(
      "g (float[N,6,8] x, float[8,8] w, float[1,4,8] registers) => (float[N,10,8] y) { h = MatMul(x, w) zero = "
      "Constant<value = "
      "int64[1] {0}>() one = Constant<value = int64[1] {1}>() six = Constant<value = int64[1] {6}>() a = Slice(h, zero, "
      "one, "
      "one) b = Slice(h, one, six, one) y = Concat<axis = 1>(a, registers, b) }");
  CHECK(operations_of(model) == "fc class_token class_token class_token class_token");
  CHECK(model.parameters() == 8 * 8 + 4 * 8);
}

// Gemma 2 limits scores: cap · tanh(scores / cap).
TEST_CASE("a tanh of attention scores is a soft cap") {
  const Import imported = import_graph(
      "g (float[N,6,8] x, float[8,8] w) => (float[N,6,8] y) { q = MatMul(x, w) s = Constant<value = int64[4] {-1, 6, 2, "
      "4}>() r = "
      "Reshape(q, s) h = Transpose<perm = [0, 2, 1, 3]>(r) k = Transpose<perm = [0, 2, 3, 1]>(r) a = MatMul(h, k) cap = "
      "Constant<value = float {50.0}>() d = Div(a, cap) e = Tanh(d) f = Mul(e, cap) p = Softmax(f) o = MatMul(p, h) t = "
      "Transpose<perm = [0, 2, 1, 3]>(o) z = Constant<value = int64[3] {-1, 6, 8}>() y = Reshape(t, z) }");
  CHECK(imported.model_file.find("soft_cap: yes") != std::string::npos);
}

// Swin divides 16 tokens into windows of four, and adds a mask to the scores of shifted windows.
TEST_CASE("attention in windows is window attention") {
  const Model model = import_text(attention_in_windows(
      ", float[1,4,1,4,4] hidden",
      "apart = Constant<value = int64[5] {-1, 4, 2, 4, 4}>() b = Reshape(a, apart) c = Add(b, hidden) again = "
      "Constant<value = int64[4] {-1, 2, 4, 4}>() e = Reshape(c, again) p = Softmax(e) "));
  CHECK(operations_of(model).find("window_attention") != std::string::npos);
  CHECK(model.parameters() == 8 * 24);
  // Each token attends to the four tokens of its window: products of scores and of values.
  CHECK(model.macs() == 16 * 8 * 24 + 2 * 16 * 4 * 8);
}

// Kernels of windows compute all scores of a window, also those that a mask hides.
TEST_CASE("a mask of windows takes no time, and dropout of their weights is refused") {
  const Import masked = import_graph(attention_in_windows(", float[1,1,4,4] later", "c = Add(a, later) p = Softmax(c) "));
  CHECK(read_back(masked).macs() == 16 * 8 * 24 + 2 * 16 * 4 * 8);
  CHECK(masked.warnings.front().find("the mask of the windows takes no time") != std::string::npos);
  CHECK(error_in(attention_in_windows("",
                                      "rate = Constant<value = float {0.25}>() trains = Constant<value = bool {1}>() e = "
                                      "Softmax(a) p = Dropout(e, rate, trains) "))
            .find("attention in windows with dropout of its weights is not supported") != std::string::npos);
}

// Swin v2 divides queries and keys by their lengths.
TEST_CASE("attention by cosines is attention") {
  const Import imported = import_graph(
      "g (float[N,6,8] x, float[8,8] w) => (float[N,6,8] y) { q = MatMul(x, w) s = Constant<value = int64[4] {-1, 6, 2, "
      "4}>() r = Reshape(q, s) h = Transpose<perm = [0, 2, 1, 3]>(r) n = ReduceL2<axes = [-1], keepdims = 1>(h) least = "
      "Constant<value = float {1e-12}>() m = Clip(n, least) full = Shape(h) e = Expand(m, full) u = Div(h, e) k = "
      "Transpose<perm = [0, 1, 3, 2]>(u) a = MatMul(u, k) p = Softmax(a) o = MatMul(p, h) t = Transpose<perm = [0, 2, 1, "
      "3]>(o) z = Constant<value = int64[3] {-1, 6, 8}>() y = Reshape(t, z) }");
  const Model model = read_back(imported);
  CHECK(operations_of(model) == "fc concat attention");
  CHECK(model.macs() == 6 * 8 * 8 + 2 * 6 * 6 * 8);
  CHECK(imported.warnings.front().find("the lengths by which queries and keys are divided take no time") !=
        std::string::npos);
}

// MaxViT and MViT write products as sums over named dimensions.
TEST_CASE("sums of products are products with weights and attention") {
  const Model model = import_text(
      "g (float[N,6,8] x, float[8,2,4] w) => (float[N,6,8] y) { h = Einsum<equation = \"b i c, c h d -> b h i d\">(x, w) a "
      "= Einsum<equation = \"bhid,bhjd->bhij\">(h, h) p = Softmax(a) o = Einsum<equation = \"bhij,bhjd->bihd\">(p, h) z = "
      "Constant<value = int64[3] {-1, 6, 8}>() y = Reshape(o, z) }");
  CHECK(operations_of(model) == "fc concat attention");
  CHECK(model.parameters() == 8 * 8);
  CHECK(model.macs() == 6 * 8 * 8 + 2 * 6 * 6 * 8);
}

TEST_CASE("other sums of products are refused") {
  const auto refused = [](const std::string& equation) {
    return error_in(
               "g (float[N,6,8] x, float[8,8] w, float[8,8] v) => (float[N,6,8] y) { q = MatMul(x, w) e = "
               "Einsum<equation = \"" +
               equation + "\">(q, q) y = MatMul(e, v) }")
               .find("a sum of products that is neither a product with weights nor part of an attention") !=
           std::string::npos;
  };
  CHECK(refused("bic,bic->bic"));
  CHECK(refused("...c,...c->...c"));
  // An equation with more dimensions than its factor.
  for (const std::string equation : {"abcdefgh,hi->abcdefgi", "h,hi->i"}) {
    INFO(equation);
    CHECK(error_in("g (float[N,6,8] x, float[8,8] w, float[8,8] v) => (float[N,6,8] y) { e = Einsum<equation = \"" +
                   equation + "\">(x, w) y = MatMul(e, v) }")
              .find("a sum of products that is neither a product with weights") != std::string::npos);
  }
}

TEST_CASE("rotary positions of queries and of fewer keys are two layers") {
  const Import imported = import_graph(
      rotated_cross_attention("km = MatMul(m, wk) vm = MatMul(m, wv) kh = Reshape(km, sk) vh = Reshape(vm, sk) "));
  const Model model = read_back(imported);
  CHECK(operations_of(model).find("rotary") != std::string::npos);
  // A rotation needs three operations for each of 8 channels: of 16 queries and of 4 keys.
  double flops = 0;
  int rotations = 0;
  for (const Layer& layer : model.layers) {
    if (layer.operation->type() != "rotary_embedding") continue;
    ++rotations;
    flops += layer.operation->work(Pass::forward, layer.input_shapes, layer.output_shape).flops;
  }
  CHECK(rotations == 2);
  CHECK(flops == 3 * 8 * (16 + 4));
  CHECK(imported.warnings.size() == 1);  // the graph has no loss
}

TEST_CASE("rotary positions without a layer cause a warning") {
  const Import imported = import_graph(
      rotated_cross_attention("kv = MatMul(m, both) eight = Constant<value = int64[2] {8, 8}>() km, vm = Split<axis = "
                              "2>(kv, eight) kh = Reshape(km, sk) vh = Reshape(vm, sk) "));
  REQUIRE(imported.warnings.size() == 2);
  CHECK(imported.warnings.front().find("rotary positions that no layer represents, and that are not counted") !=
        std::string::npos);
}
