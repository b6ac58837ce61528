#include <algorithm>
#include <set>
#include <string>

#include <fmt/format.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include "core/csv.hpp"
#include "core/source_text.hpp"
#include "model_zoo/importers/onnx/translation.hpp"
#include "tests/unit/importers/onnx_text.hpp"

using namespace ddl;

namespace {

Import import_file(const std::string& name) {
  const std::string path = DATA_FOLDER + name + ".onnx";
  return import_onnx(read_file(path), path, {});
}

}  // namespace

TEST_CASE("imported networks have the parameters and multiply-adds of the exported networks") {
  const CsvTable table = CsvTable::load(DATA_FOLDER "networks.csv");
  REQUIRE(table.rows() >= 40);
  for (std::size_t row = 0; row < table.rows(); ++row) {
    const std::string& name = table.cell(row, table.column("name"));
    CAPTURE(name);
    const Model model = read_back(import_file(name));
    CHECK(model.parameters() == table.positive_integer(row, table.column("parameters")));
    CHECK(static_cast<std::int64_t>(model.macs()) == table.positive_integer(row, table.column("macs")));
  }
}

TEST_CASE("a bundled network that is exported and imported is unchanged") {
  for (const char* const name : {"resnet50", "vgg16"}) {
    CAPTURE(name);
    const Model ours = load_model(name);
    for (const char* const kind : {".inputs", ".stub"}) {
      const Model imported = read_back(import_file(std::string(name) + kind));
      CHECK(imported.parameters() == ours.parameters());
      CHECK(imported.buffers() == ours.buffers());
      CHECK(imported.macs() == ours.macs());
      CHECK(imported.input == ours.input);
      // The layers and their counts are the same. torch exports a pool that changes nothing as a pool of 1 × 1.
      const auto shapes = [](const Model& model) {
        std::multiset<std::string> result;
        for (const Layer& layer : model.layers) {
          result.insert(fmt::format("{} {} {}", layer.operation->type(), to_string(layer.output_shape), layer.parameters()));
        }
        return result;
      };
      CHECK(shapes(imported) == shapes(ours));
    }
  }
}

TEST_CASE("every layer of an import has the shape that the ONNX library infers") {
  const CsvTable table = CsvTable::load(DATA_FOLDER "networks.csv");
  for (std::size_t row = 0; row < table.rows(); ++row) {
    const std::string& name = table.cell(row, table.column("name"));
    CAPTURE(name);
    const std::string path = DATA_FOLDER + name + ".onnx";
    const std::string bytes = read_file(path);
    const ImportOptions options;
    google::protobuf::io::ArrayInputStream stream(bytes.data(), static_cast<int>(bytes.size()));
    const onnx_import::Graph graph(stream, path);
    const onnx_import::Network network = onnx_import::Translation(graph, options).run();
    const Model model = read_back(import_file(name));
    std::size_t index = 0;
    for (const onnx_import::NetworkLayer& layer : network.layers) {
      if (layer.removed) continue;
      REQUIRE(index < model.layers.size());
      CAPTURE(layer.name);
      CHECK(model.layers[index].name == layer.name);
      if (layer.operation != "loss") CHECK(model.layers[index].output_shape == layer.shape);
      ++index;
    }
    CHECK(index == model.layers.size());
  }
}

TEST_CASE("an import is the same each time") {
  for (const char* const name : {"gpt_small.stub", "mobilenet_v2.inputs", "grouped_op13"}) {
    CHECK(import_file(name).model_file == import_file(name).model_file);
  }
}

TEST_CASE("a transformer is imported with every opset") {
  CHECK(operations_of(read_back(import_file("gpt_joint_op11"))) == operations_of(read_back(import_file("gpt_joint_op17"))));
  CHECK(operations_of(read_back(import_file("encoder_op11"))) == operations_of(read_back(import_file("encoder_op17"))));
  const std::string block = "norm fc attention fc dropout add norm fc gelu fc dropout add";
  CHECK(operations_of(read_back(import_file("gpt_joint_op17"))) ==
        "embedding positions " + block + " " + block + " norm fc loss");
  // Separate projections are merged, because they read one tensor.
  CHECK(operations_of(read_back(import_file("gpt_separate_op14"))) ==
        "embedding positions " + block + " " + block + " norm fc loss");
}

TEST_CASE("slices, shuffles, crops, resizing and scales become separate layers") {
  CHECK(operations_of(read_back(import_file("shuffle_op14"))) == "conv slice conv slice concat shuffle");
  CHECK(operations_of(read_back(import_file("upsample_op14"))) == "conv resize conv");
  const std::string scaled = import_file("scaled_op13").model_file;
  for (const char* const part :
       {"norm: {kind: instance, scale: no, bias: no}", "norm: instance", "scale: trained", "crop: 11x11"}) {
    CAPTURE(part);
    CHECK(scaled.find(part) != std::string::npos);
  }
}

TEST_CASE("heads, masks and shared tables of a transformer are found") {
  const Model gpt = read_back(import_file("gpt_joint_op17"));
  const auto attention = std::find_if(gpt.layers.begin(), gpt.layers.end(),
                                      [](const Layer& layer) { return layer.operation->type() == "attention"; });
  REQUIRE(attention != gpt.layers.end());
  CHECK(attention->operation->attributes() == "heads=2 causal=yes dropout=0.1");
  CHECK(gpt.layers[gpt.layers.size() - 2].tied_to == 0);
  CHECK(import_file("grouped_op13").model_file.find("attention: {heads: 4, kv_heads: 2}") != std::string::npos);
  CHECK(import_file("encoder_op14").model_file.find("causal") == std::string::npos);
}

TEST_CASE("activations are recognized by their values, in any form") {
  const auto kind_of = [](const std::string& nodes) {
    const Model model =
        import_text("g (float[N,3,4,4] x, float[2,3,1,1] w) => (float[N,2,4,4] y) { c = Conv(x, w) " + nodes + " }");
    return operations_of(model);
  };
  CHECK(kind_of("y = Relu(c)") == "conv relu");
  CHECK(kind_of("s = Sigmoid(c) y = Mul(s, c)") == "conv silu");
  CHECK(kind_of("y = HardSwish(c)") == "conv hardswish");
  CHECK(
      kind_of("a = Constant<value = float {3.0}>() l = Constant<value = float {0.0}>() h = Constant<value = float {6.0}>() "
              "p = Add(a, c) q = Clip(p, l, h) r = Mul(c, q) y = Div(r, h)") == "conv hardswish");
  CHECK(kind_of("a = Constant<value = float {1.41421356}>() b = Constant<value = float {1.0}>() h = Constant<value = float "
                "{0.5}>() "
                "d = Div(c, a) e = Erf(d) f = Add(b, e) g = Mul(c, h) y = Mul(g, f)") == "conv gelu");
  CHECK(kind_of("a = Constant<value = float {1.702}>() d = Mul(c, a) e = Sigmoid(d) y = Mul(c, e)") == "conv gelu");
  CHECK(kind_of("y = LeakyRelu<alpha = 0.2>(c)") == "conv leaky_relu");
  // The graph has several activations in a row, and an unsupported activation that consists of supported operators.
  CHECK(kind_of("d = Relu(c) y = Tanh(d)") == "conv relu tanh");
  CHECK(kind_of("d = Softplus(c) e = Tanh(d) y = Mul(c, e)") == "conv softplus tanh multiply");
  // A scale by a number is not a layer.
  CHECK(kind_of("a = Constant<value = float {0.125}>() d = Mul(c, a) y = Relu(d)") == "conv relu");
}

TEST_CASE("weights that are all equal are still weights") {
  onnx::ModelProto model;
  REQUIRE(model.ParseFromString(
      bytes_of("g (float[N,4] x, float[4,4] w) => (float[N,4] y) { z = MatMul(x, w) y = Add(z, b) }")));
  onnx::TensorProto* const bias = model.mutable_graph()->add_initializer();
  bias->set_name("b");
  bias->set_data_type(onnx::TensorProto::FLOAT);
  bias->add_dims(4);
  for (int i = 0; i < 4; ++i) bias->add_float_data(0);
  CHECK(read_back(import_onnx(model.SerializeAsString(), "net.onnx", {})).parameters() == 4 * 4 + 4);
}

TEST_CASE("padding that differs between sides becomes 'same', a symmetric padding with as many positions, or a layer") {
  const std::string head = "g (float[N,3,8,8] x, float[2,3,3,3] w) => (float[N,2,4,4] y) ";
  const Model same = import_text(head + "{ y = Conv<strides = [2, 2], pads = [0, 0, 1, 1]>(x, w) }");
  CHECK(same.layers.front().output_shape.extent[0] == 4);
  CHECK(import_text(head + "{ y = Conv<strides = [2, 2], auto_pad = \"SAME_UPPER\">(x, w) }").macs() == same.macs());
  const Model one_side = import_text(head + "{ y = Conv<strides = [2, 2], pads = [0, 0, 3, 3]>(x, w) }");
  CHECK(operations_of(one_side) == "conv");
  CHECK(one_side.layers.back().output_shape.extent[0] == 5);
  const Model odd = import_text(head + "{ y = Conv<pads = [0, 0, 3, 3]>(x, w) }");
  CHECK(operations_of(odd) == "resize conv");
  CHECK(odd.layers.back().output_shape.extent[0] == 9);
}

TEST_CASE("the batch may be open, one or any number") {
  for (const char* const batch : {"N", "1", "4"}) {
    CAPTURE(batch);
    const Model model = import_text(
        fmt::format("g (float[{0},16] x, float[8,16] w) => (float[{0},8] y) {{ y = Gemm<transB = 1>(x, w) }}", batch));
    CHECK(model.input.channels == 16);
    CHECK(model.parameters() == 128);
  }
}

TEST_CASE("a file that is not a network is refused with the reason") {
  const auto error_with = [](const std::string& bytes) {
    return error_of([&] { static_cast<void>(import_onnx(bytes, "net.onnx", {})); });
  };
  CHECK(error_with("") == "net.onnx: the file is empty\nhint: export the network again");
  const std::string no_file =
      "net.onnx: this is not an ONNX file, or only a part of one\nhint: export the network again, and copy the whole file";
  CHECK(error_with("hello, world") == no_file);
  const std::string whole = read_file(DATA_FOLDER "residual_train_op17.onnx");
  CHECK(error_with(whole.substr(0, whole.size() / 2)) == no_file);
  CHECK(error_with(onnx::ModelProto().SerializeAsString() + "\x08\x07").starts_with("net.onnx: the file has no graph"));

  const std::string relu = "g (float[N,4] x) => (float[N,4] y) { y = Relu(x) }";
  CHECK(error_in(relu, 6).starts_with("net.onnx: the file has opset 6, but only 7 to 28 are supported"));
  CHECK(error_in(relu, 99).starts_with("net.onnx: the file has opset 99"));
  CHECK(error_in("g (float[N,4] x) => (float[N,4] y) { y = Add(x, z) z = Relu(y) }") ==
        "net.onnx: node 'y' (Add of 'x', 'z'): 'z' is produced by this node or a later one\nhint: the nodes of a graph must "
        "be in execution order, without cycles");
  CHECK(error_in("g (float[N,4] x) => (float[N,4] y) { y = Add(x, z) }")
            .starts_with("net.onnx: node 'y' (Add of 'x', 'z'): no node produces 'z'"));
  CHECK(error_in("g (float[N,4] x) => (float[N,4] y) { y = Relu(x) y = Tanh(x) }") ==
        "net.onnx: node 'y' (Tanh of 'x'): 'y' is produced twice");
  CHECK(error_in("g (float[N,4] x, float[N,4] x) => (float[N,4] y) { y = Relu(x) }") ==
        "net.onnx: two inputs are named 'x'");
  onnx::ModelProto shapeless;
  REQUIRE(shapeless.ParseFromString(bytes_of(relu)));
  shapeless.mutable_graph()->mutable_input(0)->mutable_type()->mutable_tensor_type()->clear_shape();
  CHECK(error_with(shapeless.SerializeAsString()).starts_with("net.onnx: the input 'x' has no shape"));
  CHECK(error_in("g (float[N,T,4] x) => (float[N,T,4] y) { y = Relu(x) }") ==
        "net.onnx: dimension 1 of the input 'x' has no size, but the name 'T'\n"
        "hint: set the sizes of one sample: --input-shape 128x4, or @input=128x4 after the file's name");
  CHECK(error_in("g (float[N,4] x) => (float[N,4] y) { y = Relu(x, x) }")
            .find("violates the definition of its operator in ONNX") != std::string::npos);
}

TEST_CASE("sizes that are too large are refused") {
  CHECK(error_in("g (float[N,1000000000000,8,8] x, float[2,3,1,1] w) => (float[N,2,8,8] y) { y = Conv(x, w) }") ==
        "net.onnx: 'x' is too large: 1 x 1000000000000 x 8 x 8\n"
        "hint: a size is at most 2^31, and a tensor has at most 2^53 elements");
  CHECK(error_in("g (float[N,2000000000,200000000] x, float[2,3] w) => (float[N,2] y) { y = MatMul(x, w) }")
            .find("too large") != std::string::npos);
  CHECK(error_in("g (float[N,3,8,8] x, float[2,3,1,1] w) => (float[N,2,8,8] y) { y = Conv<strides = [0, 1]>(x, w) }") ==
        "net.onnx: node 'y' (Conv of 'x', 'w'): strides cannot be 0");
  CHECK(error_in("g (float[N,3,8,8] x, float[2,3,9,9] w) => (float[N,2,8,8] y) { y = Conv(x, w) }") ==
        "net.onnx: node 'y' (Conv of 'x', 'w'): the window does not fit the input");
  onnx::ModelProto negative;
  REQUIRE(negative.ParseFromString(bytes_of("g (float[2,4] x, float[4,4] w) => (float[2,4] y) { y = MatMul(x, w) }")));
  negative.mutable_graph()
      ->mutable_input(1)
      ->mutable_type()
      ->mutable_tensor_type()
      ->mutable_shape()
      ->mutable_dim(0)
      ->set_dim_value(-4);
  CHECK(error_of([&] { static_cast<void>(import_onnx(negative.SerializeAsString(), "net.onnx", {})); }) ==
        "net.onnx: 'w' has a dimension of -4");
}

TEST_CASE("nested graphs cannot exhaust the stack") {
  onnx::ModelProto model;
  model.add_opset_import()->set_version(17);
  onnx::GraphProto* graph = model.mutable_graph();
  for (int depth = 0; depth < 5000; ++depth) {
    onnx::NodeProto* const node = graph->add_node();
    node->set_op_type("If");
    onnx::AttributeProto* const attribute = node->add_attribute();
    attribute->set_type(onnx::AttributeProto::GRAPH);
    graph = attribute->mutable_g();
  }
  CHECK(error_of([&] {
          static_cast<void>(import_onnx(model.SerializeAsString(), "net.onnx", {}));
        }).starts_with("net.onnx: this is not an ONNX file"));
}

TEST_CASE("an unknown operator becomes a layer only if the user allows it and the shape is unchanged") {
  const std::string bytes = bytes_of(
      "g (float[N,2,9,9] x, float[4,2,1,1] v, float[3,4,1,1] w) => (float[N,3,9,9] y) { a = Conv(x, v) b = com.x.Swirl(a) y "
      "= Conv(b, w) }");
  CHECK(error_of([&] {
          static_cast<void>(import_onnx(bytes, "net.onnx", {}));
        }).starts_with("net.onnx: node 'b' (com.x.Swirl of 'a'): operators of 'com.x' are not supported"));
  const Import kept = import_onnx(bytes, "net.onnx", {.allow_unknown = true, .name = "mine"});
  CHECK(operations_of(read_back(kept)) == "conv elementwise conv");
  CHECK(read_back(kept).name == "mine");
  REQUIRE(kept.warnings.size() == 2);
  CHECK(kept.warnings.front().find("kept as an elementwise layer") != std::string::npos);
  // Tokens are not a tensor of the network yet, so a layer could not keep them.
  const std::string strange = bytes_of(
      "g (int64[N,6] x, float[9,8] t, float[8,5] w) => (float[N,6,5] y) { e = com.x.Gather(t, x) y = MatMul(e, w) }");
  CHECK(error_of([&] {
          static_cast<void>(import_onnx(strange, "net.onnx", {.allow_unknown = true, .name = "mine"}));
        }).find("operators of 'com.x' are not supported") != std::string::npos);
}

TEST_CASE("names of layers come from modules, and are unique") {
  const Model resnet = read_back(import_file("resnet50.inputs"));
  CHECK(resnet.layers[0].name == "conv1");
  CHECK(resnet.layers[4].name == "layer1_0_conv1");
  std::set<std::string> names;
  for (const Layer& layer : resnet.layers) names.insert(layer.name);
  CHECK(names.size() == resnet.layers.size());
  const Model odd = import_text(
      "g (float[N,4] x, float[4,4] input, float[4,4] b) => (float[N,4] y) { c = MatMul(x, input) d = MatMul(c, input) y = "
      "MatMul(d, b) }");
  CHECK(odd.layers.size() == 4);
}

TEST_CASE("names of tensors are escaped in warnings") {
  onnx::ModelProto model;
  REQUIRE(model.ParseFromString(
      bytes_of("g (float[N,4] x, float[4,4] w) => (float[N,4] y) { c = MatMul(x, w) y = MatMul(c, w) }")));
  const std::string odd = "w\n- evil: \x1b[31m1";
  model.mutable_graph()->mutable_input(1)->set_name(odd);
  for (int i = 0; i < 2; ++i) {
    model.mutable_graph()->mutable_node(i)->set_input(1, odd);
    model.mutable_graph()->mutable_node(i)->set_name(odd);
  }
  const Import imported = import_onnx(model.SerializeAsString(), "net.onnx", {});
  REQUIRE(imported.warnings.size() == 2);
  CHECK(imported.warnings.front().find("share the weights") != std::string::npos);
  for (const std::string& warning : imported.warnings) {
    CHECK(std::none_of(warning.begin(), warning.end(), [](char c) { return c >= '\0' && c < ' '; }));
  }
}

TEST_CASE("unread outputs are not part of the network") {
  CHECK(operations_of(import_text("g (float[N,3,8,8] x, float[2,3,1,1] w) => (float[N,2,4,4] y, int64[N,2,4,4] i) { c = "
                                  "Conv(x, w) y, i = MaxPool<kernel_shape = [2, 2], strides = [2, 2]>(c) }")) ==
        "conv pool");
  CHECK(operations_of(import_text("g (float[N,5,8] x, float[8] s, float[8] b) => (float[N,5,8] y, float[N,5,1] m, "
                                  "float[N,5,1] d) { y, m, d = LayerNormalization(x, s, b) }")) == "norm");
  CHECK(error_in("g (float[N,3,8,8] x) => (int64[N,3,4,4] i) { y, i = MaxPool<kernel_shape = [2, 2], strides = [2, 2]>(x) }")
            .find("no output of the graph") != std::string::npos);
}

TEST_CASE("a long chain of products is imported, with any weights") {
  constexpr int products = 20'000;
  onnx::ModelProto model;
  REQUIRE(model.ParseFromString(bytes_of("g (float[N,4] x, float[4,4] w) => (float[N,4] y) { y = Gemm(x, w) }")));
  onnx::GraphProto& graph = *model.mutable_graph();
  graph.mutable_node(0)->set_output(0, "0");
  for (int i = 1; i < products; ++i) {
    onnx::NodeProto& node = *graph.add_node();
    node.set_op_type("Gemm");
    const std::string weight = "w" + std::to_string(i);
    node.add_input(std::to_string(i - 1));
    node.add_input(weight);
    node.add_output(i + 1 < products ? std::to_string(i) : "y");
    *graph.add_input() = graph.input(1);
    graph.mutable_input(graph.input_size() - 1)->set_name(weight);
  }
  CHECK(read_back(import_onnx(model.SerializeAsString(), "net.onnx", {})).layers.size() == products + 1);
}

TEST_CASE("operations on a view of a composed activation are kept") {
  // mish is x · tanh(softplus(x)).
  const std::string head =
      "g (float[N,3,4,4] x, float[2,3,1,1] w, float[7,32] v) => (float[N,7] y) { c = Conv(x, w) "
      "d = Softplus(c) e = Tanh(d) m = Mul(c, e) ";
  CHECK(operations_of(import_text(head + "f = Flatten(m) y = Gemm<transB = 1>(f, v) }")) ==
        "conv softplus tanh multiply flatten fc loss");
  const Model turned = import_text(
      "g (float[N,3,4,4] x, float[2,3,1,1] w, float[2,7] v) => (float[N,4,4,7] y) { c = Conv(x, w) d = Softplus(c) e = "
      "Tanh(d) "
      "m = Mul(c, e) t = Transpose<perm = [0, 2, 3, 1]>(m) y = MatMul(t, v) }");
  CHECK(turned.parameters() == 2 * 3 + 2 * 7);
  CHECK(static_cast<std::int64_t>(turned.macs()) == 16 * (2 * 3 + 2 * 7));
}

TEST_CASE("an embedding is found for any view of the tokens") {
  const auto model_of = [&](const std::string& nodes) {
    return import_text("g (int64[N,6] x, float[9,8] t, float[8,5] w) => (float[N,6,5] y) { " + nodes +
                       " y = MatMul(e, w) }");
  };
  const Model straight = model_of("e = Gather(t, x)");
  CHECK(operations_of(straight) == "embedding fc loss");
  for (const char* const nodes :
       {"i = Identity(x) e = Gather(t, i)", "i = Cast<to = 6>(x) e = Gather(t, i)",
        "s = Constant<value = int64[2] {-1, 6}>() i = Reshape(x, s) e = Gather(t, i)",
        "i = Transpose(x) g = Gather(t, i) e = Transpose<perm = [1, 0, 2]>(g)",
        "a = Constant<value = int64[1] {2}>() u = Unsqueeze(x, a) i = Squeeze(u, a) e = Gather(t, i)"}) {
    CAPTURE(nodes);
    const Model model = model_of(nodes);
    CHECK(operations_of(model) == operations_of(straight));
    CHECK(model.macs() == straight.macs());
  }
  const Model shorter = import_text(
      "g (int64[N,6] x, float[9,8] t, float[8,5] w) => (float[N,5,5] y) { a = Constant<value = int64[1] {1}>() b = "
      "Constant<value = int64[1] {0}>() z = Constant<value = int64[1] {-1}>() i = Slice(x, b, z, a) e = Gather(t, i) y = "
      "MatMul(e, w) }");
  CHECK(shorter.input.extent[0] == 5);
  CHECK(error_in("g (int64[N,6] x, float[9,8] t, float[8,5] w) => (float[N,6,5] y) { i = Mul(x, x) e = Gather(t, i) y = "
                 "MatMul(e, w) }")
            .starts_with("net.onnx: node 'e' (Gather of 't', 'i'): the looked-up values are computed from"));
}

TEST_CASE("the factors of a resize may be computed") {
  CHECK(operations_of(import_text(
            "g (float[N,3,4,4] x, float[2,3,1,1] w) => (float[N,2,8,8] y) { c = Conv(x, w) a = Constant<value = float[2] "
            "{1.0, "
            "1.0}>() b = Constant<value = float[2] {2.0, 2.0}>() f = Concat<axis = 0>(a, b) y = Resize(c, , f) }")) ==
        "conv resize");
}

TEST_CASE("one number for each channel may be repeated to all positions") {
  CHECK(operations_of(import_text(
            "g (float[N,3,4,4] x, float[2,3,1,1] w) => (float[N,2,4,4] y) { c = Conv(x, w) p = GlobalAveragePool(c) s = "
            "Sigmoid(p) z = Shape(c) e = Expand(s, z) y = Mul(c, e) }")) == "conv pool sigmoid multiply");
}

TEST_CASE("shared weights give a warning, and so do uncounted parameters") {
  const auto warnings_of = [](const std::string& graph) { return import_onnx(bytes_of(graph), "net.onnx", {}).warnings; };
  CHECK(warnings_of(
            "g (float[N,3,4,4] x, float[3,3,1,1] w) => (float[N,3,4,4] y) { c = Conv(x, w) d = Relu(c) e = Conv(d, w) y "
            "= Conv(e, w) }")
            .front() == "'conv', 'conv_2' and 1 other layer share the weights 'w', which are counted for each of them");
  CHECK(warnings_of("g (float[N,5,8] x, float[8] s, float[8] b) => (float[N,5,8] y) { a = LayerNormalization(x, s, b) y = "
                    "LayerNormalization(a, s, b) }")
            .front() == "'norm' and 'norm_2' share the weights 's', which are counted for each of them");
  const std::string scores =
      "g (float[N,6,8] x, float[2,6,6] rel, float[8,8] w) => (float[N,6,8] y) { q = MatMul(x, w) s = Constant<value = "
      "int64[4] "
      "{-1, 6, 2, 4}>() r = Reshape(q, s) h = Transpose<perm = [0, 2, 1, 3]>(r) k = Transpose<perm = [0, 2, 3, 1]>(r) a = "
      "MatMul(h, k) b = Add(a, rel) p = Softmax(b) o = MatMul(p, h) t = Transpose<perm = [0, 2, 1, 3]>(o) z = "
      "Constant<value = "
      "int64[3] {-1, 6, 8}>() y = Reshape(t, z) }";
  CHECK(warnings_of(scores).front() == "not counted: 'rel', which acts on the scores of an attention");
}

TEST_CASE("a table with fewer rows than tokens is a table of token types") {
  onnx::ModelProto model;
  REQUIRE(
      model.ParseFromString(bytes_of("g (int64[N,3] x, float[9,8] t, float[2,8] k) => (float[N,3,8] y) { z = Constant<value "
                                     "= int64[1,3] {0, 0, 0}>() e = Gather(t, x) f = Gather(k, z) y = Add(e, f) }")));
  const Model imported = read_back(import_onnx(model.SerializeAsString(), "net.onnx", {}));
  CHECK(operations_of(imported) == "embedding embedding add");
  CHECK(imported.parameters() == (9 + 2) * 8);
}

TEST_CASE("a batch norm without weights stays without weights") {
  const std::string graph =
      "g (float[N,2,4,4] x, float[2] m, float[2] v) => (float[N,2,4,4] y) { s = Constant<value = float[2] {1.0, 1.0}>() b = "
      "Constant<value = float[2] {0.0, 0.0}>() y = BatchNormalization(x, s, b, m, v) }";
  CHECK(import_onnx(bytes_of(graph), "net.onnx", {}).model_file.find("norm: {kind: batch, scale: no, bias: no}") !=
        std::string::npos);
}

TEST_CASE("names with a meaning in YAML stay names") {
  for (const char* const name : {"NULL", "Null", "True", "No", "oFF", "Y", "null"}) {
    CAPTURE(name);
    const Import imported =
        import_onnx(bytes_of("g (float[N,3,4,4] x, float[2,3,1,1] w) => (float[N,2,4,4] y) { y = Conv(x, w) }"), "net.onnx",
                    {.allow_unknown = false, .name = name});
    CHECK(read_back(imported).name == name);
  }
}

TEST_CASE("padding given with 'VALID' is ignored") {
  const std::string head = "g (float[N,3,8,8] x, float[2,3,3,3] w) => (float[N,2,6,6] y) ";
  CHECK(import_text(head + "{ y = Conv<auto_pad = \"VALID\", pads = [1, 1, 1, 1]>(x, w) }")
            .layers.front()
            .output_shape.extent[0] == 6);
}
