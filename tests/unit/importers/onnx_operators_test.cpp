#include <string>

#include "tests/unit/importers/onnx_text.hpp"

using namespace ddl;

namespace {

TensorShape output_of(const Model& model) { return model.layers.back().output_shape; }

std::string warnings_of(const Import& imported) {
  std::string text;
  for (const std::string& warning : imported.warnings) text += warning + "\n";
  return text;
}

}  // namespace

TEST_CASE("bounds, axes, pads and scales are read from attributes or inputs, by opset") {
  const std::string head = "g (float[N,3,8,8] x, float[4,3,3,3] w) => (float[N,4,8,8] y) ";
  const std::string clip6 = head + "{ a = Conv<pads = [1, 1, 1, 1]>(x, w) y = Clip<min = 0.0, max = 6.0>(a) }";
  const std::string clip11 =
      head +
      "{ a = Conv<pads = [1, 1, 1, 1]>(x, w) l = Constant<value_float = 0.0>() h = Constant<value_float = 6.0>() y = "
      "Clip(a, l, h) }";
  for (const int opset : {7, 9, 10}) CHECK(operations_of(import_text(clip6, opset)) == "conv relu6");
  for (const int opset : {13, 17, 18, 21, 24}) CHECK(operations_of(import_text(clip11, opset)) == "conv relu6");

  const std::string slice = "g (float[N,6,8,8] x, float[4,3,1,1] w) => (float[N,4,8,8] y) ";
  CHECK(operations_of(import_text(slice + "{ a = Slice<starts = [3], ends = [6], axes = [1]>(x) y = Conv(a, w) }", 9)) ==
        "slice conv");
  CHECK(operations_of(import_text(slice + "{ a, b = Split<num_outputs = 2, axis = 1>(x) y = Conv(a, w) }", 18)) ==
        "slice conv");
  const std::string pad = "g (float[N,3,8,8] x, float[4,3,3,3] w) => (float[N,4,8,8] y) ";
  CHECK(output_of(import_text(pad + "{ a = Pad<pads = [0, 0, 1, 1, 0, 0, 1, 1]>(x) y = Conv(a, w) }", 9)).extent[0] == 8);
  CHECK(output_of(
            import_text(
                pad + "{ p = Constant<value = int64[4] {1, 1, 1, 1}>() n = Constant<value = int64[2] {2, 3}>() a = Pad(x, "
                      "p, , n) y = Conv(a, w) }",
                18))
            .extent[0] == 8);
  const std::string mean = "g (float[N,3,8,8] x, float[3,5] w) => (float[N,5] y) ";
  const std::string axes = "{ n = Constant<value = int64[2] {2, 3}>() a = ReduceMean<keepdims = 0>(x, n) y = MatMul(a, w) }";
  CHECK(operations_of(import_text(mean + axes, 18)) == "pool flatten fc loss");
  CHECK(operations_of(import_text(mean + axes, 24)) == "pool flatten fc loss");
  CHECK(operations_of(import_text(mean + "{ a = ReduceMean<keepdims = 0, axes = [2, 3]>(x) y = MatMul(a, w) }", 9)) ==
        "pool flatten fc loss");
  const std::string up = "g (float[N,3,8,8] x, float[4,3,1,1] w) => (float[N,4,16,16] y) ";
  CHECK(output_of(import_text(up + "{ a = Upsample<scales = [1.0, 1.0, 2.0, 2.0]>(x) y = Conv(a, w) }", 8)).extent[0] == 16);
  CHECK(output_of(import_text(up + "{ s = Constant<value = float[4] {1, 1, 2, 2}>() a = Resize(x, s) y = Conv(a, w) }", 10))
            .extent[0] == 16);
}

TEST_CASE("the user sets the dynamic sizes of a file") {
  const std::string graph = "g (float[N,3,H,W] x, float[4,3,3,3] w) => (float[N,4,H,W] y) { y = Conv(x, w) }";
  CHECK(import_text(graph, 17, {3, 64, 32}).input.extent == std::array<std::int64_t, 3>{64, 32, 1});
  CHECK(import_text(graph, 17, {1, 3, 64, 32}).macs() == 62.0 * 30 * 4 * 27);
  CHECK(error_in(graph) ==
        "net.onnx: dimension 2 of the input 'x' has no size, but the name 'H'\n"
        "hint: set the sizes of one sample: --input-shape 3x640x640, or @input=3x640x640 after the file's name");
  CHECK(error_in(graph, 17, {64, 32}) ==
        "net.onnx: the input 'x' has 4 dimensions, which 64x32 does not fit\n"
        "hint: use the sizes of one sample, without the batch, such as 3x640x640");
  CHECK(error_in(graph, 17, {4, 64, 32})
            .starts_with("net.onnx: the file fixes dimension 1 of the input 'x' at 3, so that it cannot be 4"));
  // A dynamic size has the same name in several inputs.
  const Model tokens = import_text(
      "g (int64[N,T] x, int64[N,T] m, float[9,8] t, float[8,5] w) => (float[N,T,5] y) { e = Gather(t, x) y = MatMul(e, w) }",
      17, {12});
  CHECK(tokens.sequence_length == 12);
}

TEST_CASE("weights that the graph computes count like stored weights") {
  const Model made = import_text(
      "g (float[N,3,32,32] x) => (float[N,2048,1,1] y) { s = Constant<value = int64[4] {2048, 3, 32, 32}>() w = "
      "ConstantOfShape(s) y = Conv(x, w) }",
      9);
  CHECK(made.parameters() == 2048 * 3 * 32 * 32);
  const Model scaled = import_text(
      "g (float[N,16] x, float[8,16] w) => (float[N,8] y) { h = Constant<value_float = 0.5>() v = Mul(w, h) t = "
      "Transpose<perm = [1, 0]>(v) y = MatMul(x, t) }");
  CHECK(scaled.parameters() == 128);
}

TEST_CASE("operators of classic networks are layers") {
  const std::string two = "g (float[N,3,8,8] x, float[4,3,1,1] v, float[4,3,1,1] w) => (float[N,4,8,8] y) ";
  CHECK(operations_of(import_text(two + "{ a = Conv(x, v) b = Conv(x, w) y = Sum(a, b) }")) == "conv conv add");
  CHECK(operations_of(import_text(two + "{ a = Conv(x, v) b = Conv(x, w) c = Relu(a) y = Sum(a, b, c) }")) ==
        "conv conv relu add");
  const Import lrn = import_graph(two + "{ a = Conv(x, v) b = LRN<size = 5>(a) c = Conv(x, w) y = Add(b, c) }");
  CHECK(operations_of(read_back(lrn)) == "conv elementwise conv add");
  CHECK(warnings_of(lrn).find("node 'b' (LRN of 'a'): LRN, which counts as one pass over the elements") == 0);
  const std::string one = "g (float[N,3,8,8] x, float[4,3,1,1] v, float[4,1,1] s) => (float[N,4,8,8] y) ";
  const Model prelu = import_text(one + "{ a = Conv(x, v) y = PRelu(a, s) }");
  CHECK(operations_of(prelu) == "conv scale");
  CHECK(prelu.parameters() == 12 + 4);
  // The pooling has one padded side, and its output is a single position.
  const Model pool = import_text(
      "g (float[N,3,6,6] x) => (float[N,3,1,1] y) { y = AveragePool<kernel_shape = [7, 7], pads = [0, 0, 1, 1]>(x) }");
  CHECK(output_of(pool).positions() == 1);
  const Model shuffle = import_text(
      "g (float[N,8,4,4] x, float[8,8,1,1] v, float[8,4,1,1] w) => (float[N,8,4,4] y) { a = Conv(x, v) b = Relu(a) s = "
      "Constant<value = int64[5] {0, 2, 4, 4, 4}>() c = Reshape(b, s) d = Transpose<perm = [0, 2, 1, 3, 4]>(c) t = "
      "Constant<value = int64[4] {0, 8, 4, 4}>() e = Reshape(d, t) y = Conv<group = 2>(e, w) }");
  CHECK(operations_of(shuffle) == "conv relu shuffle conv");
}

TEST_CASE("operators that join, cut and reduce positions are imported") {
  const std::string head = "g (float[N,3,8,8] x, float[4,3,1,1] v, float[6,4,1] w) => (float[N,6,80] y) ";
  const std::string flat =
      "a = Conv(x, v) b = MaxPool<kernel_shape = [2, 2], strides = [2, 2]>(a) s = Constant<value = int64[3] {0, 4, -1}>() c "
      "= "
      "Reshape(a, s) d = Reshape(b, s) e = Concat<axis = 2>(c, d) y = Conv(e, w) ";
  const Model joined = import_text(head + "{ " + flat + "}");
  CHECK(output_of(joined).channels == 6);
  CHECK(output_of(joined).positions() == 80);
  CHECK(joined.macs() == 64 * 12 + 80 * 24);
  // The four corners of each block become channels.
  const Model focus = import_text(
      "g (float[N,3,8,8] x, float[5,6,1,1] w) => (float[N,5,4,8] y) { o = Constant<value = int64[1] {0}>() i = "
      "Constant<value "
      "= int64[1] {1}>() m = Constant<value = int64[1] {100}>() h = Constant<value = int64[1] {2}>() a = Slice(x, o, m, h, "
      "h) b "
      "= Slice(x, i, m, h, h) c = Concat<axis = 1>(a, b) y = Conv(c, w) }");
  CHECK(output_of(focus).extent == std::array<std::int64_t, 3>{4, 8, 1});
  CHECK(focus.macs() == 32 * 30);
  const Model over_channels = import_text(
      "g (float[N,6,8,8] x, float[2,1,3,3] w) => (float[N,2,6,6] y) { a = ReduceMax<axes = [1]>(x) y = Conv(a, w) }");
  CHECK(output_of(over_channels).extent == std::array<std::int64_t, 3>{6, 6, 1});
  const Model gate = import_text(
      "g (float[N,6,8,8] x, float[1,6,1,1] v, float[2,6,1,1] w) => (float[N,2,8,8] y) { a = Conv(x, v) b = Sigmoid(a) c = "
      "Mul(x, b) y = Conv(c, w) }");
  CHECK(gate.macs() == 64 * 6 + 64 * 12);
  CHECK(operations_of(gate).find("multiply") != std::string::npos);
  const Model softmax = import_text(
      "g (float[N,6,8,8] x, float[2,6,1,1] w) => (float[N,2,8,8] y) { a = Softmax<axis = 3>(x) y = Conv(a, w) }");
  CHECK(softmax.macs() == 64 * 12);
}

TEST_CASE("layers without weights at the end of a network are left out, with a warning") {
  const std::string net =
      "g (float[N,3,8,8] x, float[4,3,1,1] v) => (int64[K] y) { a = Conv(x, v) s = Constant<value = int64[2] {0, -1}>() b = "
      "Reshape(a, s) c = NonZero(b) y = Transpose(c) }";
  const Import cut = import_graph(net);
  CHECK(operations_of(read_back(cut)) == "conv");
  CHECK(warnings_of(cut).find("left out at the end: 2 nodes without weights (NonZero, Transpose), first a node that no "
                              "layer represents: node 'c' (NonZero of 'b'): this operator is not supported") == 0);
  // In the middle of a network, a layer without weights that is not supported is an error.
  CHECK(error_in("g (float[N,6] x, float[6,6] v, float[6,6] w) => (float[K,6] y) { a = MatMul(x, v) b = NonZero(a) c = "
                 "Cast<to = 1>(b) y = MatMul(c, w) }")
            .starts_with("net.onnx: node 'b' (NonZero of 'a'): this operator is not supported"));
  // A mistake in the file is an error at any place.
  CHECK(error_in(
            "g (float[N,3,8,8] x, float[4,3,1,1] v) => (float[N,4,8,8] y) { a = Conv(x, v) y = Transpose<perm = [0, 0, 1, "
            "2]>(a) }")
            .find("is not an order of 4 dimensions") != std::string::npos);
}

TEST_CASE("a long short-term memory is a layer, and a GRU is refused with the reason") {
  const std::string head =
      "g (float[7,batch,12] x, float[2,40,12] w, float[2,40,10] r, float[2,80] b) => (float[7,2,batch,10] y) ";
  const Model lstm = import_text(head + "{ y = LSTM<hidden_size = 10, direction = \"bidirectional\">(x, w, r, b) }");
  CHECK(operations_of(lstm) == "lstm");
  CHECK(lstm.parameters() == 2 * (40 * 12 + 40 * 10 + 80));
  CHECK(lstm.input.sequence);
  CHECK(error_in(
            "g (float[7,batch,12] x, float[1,30,12] w, float[1,30,10] r) => (float[7,1,batch,10] y) { y = GRU<hidden_size = "
            "10>(x, w, r) }")
            .find("model files have no GRU") != std::string::npos);
}

TEST_CASE("a token before a sequence is trained") {
  const Model model = import_text(
      "g (float[N,3,8,8] x, float[16,3,4,4] v, float[1,1,16] c, float[16,16] w) => (float[N,5,16] y) { a = Conv<strides = "
      "[4, "
      "4]>(x, v) s = Constant<value = int64[3] {0, 16, -1}>() b = Reshape(a, s) d = Transpose<perm = [0, 2, 1]>(b) e = "
      "Concat<axis = 1>(c, d) y = MatMul(e, w) }");
  CHECK(output_of(model).positions() >= 1);
  CHECK(model.parameters() == 16 * 48 + 16 + 256);
}

TEST_CASE("a branch is followed if sizes decide its condition, and refused if data decides its condition") {
  const std::string branches =
      "then_branch = t () => (float[N,4] p) { p = MatMul(a, v) }, else_branch = e () => (float[N,4] q) { q = Relu(a) }";
  const std::string net =
      "g (float[N,4] x, float[4,4] v) => (float[N,4] y) { a = Relu(x) s = Shape(a) i = Constant<value_int = 1>() n = "
      "Gather(s, "
      "i) k = Constant<value_int = 4>() c = Equal(n, k) y = If<";
  CHECK(operations_of(import_text(net + branches + ">(c) }")) == "relu fc loss");
  CHECK(error_in("g (float[N,4] x, bool c, float[4,4] v) => (float[N,4] y) { a = Relu(x) y = If<" + branches + ">(c) }")
            .find("the condition depends on the content of tensors") != std::string::npos);
}

TEST_CASE("a tensor of sizes that is far too long makes no tensor of as many dimensions") {
  CHECK(error_in("g (float[N,4] x, int64[2147483647] s) => (float[N,4] y) { w = ConstantOfShape(s) y = MatMul(x, w) }")
            .find("neither a stored matrix nor part of an attention") != std::string::npos);
}

TEST_CASE("an attention operator becomes an attention layer, with its input in rows or in heads") {
  const std::string rows =
      "g (float[N,6,8] x, float[8,24] w) => (float[N,6,8] y) { a = MatMul(x, w) q, k, v = Split<axis = 2, num_outputs = "
      "3>(a) y "
      "= Attention<q_num_heads = 2, kv_num_heads = 2, is_causal = 1>(q, k, v) }";
  const Model model = import_text(rows, 23);
  CHECK(operations_of(model) == "fc attention");
  CHECK(model.layers.back().operation->attributes() == "heads=2 causal=yes");
}

TEST_CASE("a network in integers and operators of classical learning are refused with the reason") {
  CHECK(error_in(
            "g (float[N,4] x, float[4,4] w) => (float[N,4] y) { a, s, z = DynamicQuantizeLinear(x) b = Cast<to = 1>(a) y = "
            "MatMul(b, w) }")
            .find("the network was quantized to integers") != std::string::npos);
  onnx::ModelProto trees;
  REQUIRE(trees.ParseFromString(bytes_of("g (float[N,4] x) => (float[N,4] y) { y = Relu(x) }")));
  trees.mutable_opset_import(0)->set_domain("ai.onnx.ml");
  CHECK(error_of([&] {
          static_cast<void>(import_onnx(trees.SerializeAsString(), "net.onnx", {}));
        }).starts_with("net.onnx: the graph has only operators of 'ai.onnx.ml'"));
}

TEST_CASE("a gather with many constant indices is a part of the tensor, with the shape of the indices") {
  const Model model = import_text(
      "g (float[N,12,4] x, float[4,5] w) => (float[N,2,3,5] y) { i = Constant<value = int64[2,3] {0, 2, 4, 6, 8, 10}>() a = "
      "Gather<axis = 1>(x, i) y = MatMul(a, w) }");
  CHECK(model.macs() == 6 * 20);
}
