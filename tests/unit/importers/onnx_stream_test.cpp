// Tests that an ONNX file read as a stream equals the library's result, except for the contents of large tensors.

#include <string>

#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include "core/source_text.hpp"
#include "model_zoo/importers/onnx/model_stream.hpp"
#include "model_zoo/importers/onnx/numbers.hpp"
#include "tests/catch.hpp"
#include "tests/error_of.hpp"

using namespace ddl;
using onnx_import::most_numbers;

namespace {

onnx::ModelProto read(const std::string& bytes) {
  // Blocks are small, so that tags, lengths and contents are divided between blocks.
  google::protobuf::io::ArrayInputStream stream(bytes.data(), static_cast<int>(bytes.size()), 7);
  return onnx_import::read_model(stream, "net.onnx");
}

bool is_refused(const std::string& bytes) {
  return error_of([&] { static_cast<void>(read(bytes)); }) != "no error";
}

onnx::TensorProto tensor_of(std::int64_t items, int bytes_of_item) {
  onnx::TensorProto tensor;
  tensor.set_name("w");
  tensor.set_data_type(onnx::TensorProto::FLOAT);
  tensor.add_dims(items);
  tensor.set_raw_data(std::string(static_cast<std::size_t>(items * bytes_of_item), 'x'));
  return tensor;
}

}  // namespace

TEST_CASE("a file is read like by the library") {
  for (const char* const name : {"vit_op17", "gpt_joint_op17", "decoder_op13", "unknown_prelu"}) {
    CAPTURE(name);
    const std::string bytes = read_file(std::string(DATA_FOLDER) + name + ".onnx");
    onnx::ModelProto expected;
    REQUIRE(expected.ParseFromString(bytes));
    CHECK(read(bytes).SerializeAsString() == expected.SerializeAsString());
  }
}

TEST_CASE("a truncated file is read or refused exactly as by the library") {
  const std::string bytes = read_file(DATA_FOLDER "unknown_prelu.onnx");
  for (std::size_t length = 1; length < bytes.size(); ++length) {
    CAPTURE(length);
    const std::string part = bytes.substr(0, length);
    onnx::ModelProto expected;
    const bool is_whole = expected.ParseFromString(part);
    REQUIRE(is_refused(part) == !is_whole);
  }
}

TEST_CASE("a length that is longer than what is left is refused") {
  onnx::ModelProto model;
  model.mutable_graph()->set_name("g");
  std::string bytes = model.SerializeAsString();
  REQUIRE(bytes.size() == 5);
  REQUIRE_FALSE(is_refused(bytes));
  for (const char length : {'\x02', '\x04', '\x7f'}) {
    std::string wrong = bytes;
    wrong[1] = length;
    CHECK(is_refused(wrong));
  }
  for (const char length : {'\x00', '\x02', '\x7f'}) {
    std::string wrong = bytes;
    wrong[3] = length;
    CHECK(is_refused(wrong));
  }
  // The length exceeds the maximum length of a message.
  CHECK(is_refused("\x3a\xff\xff\xff\xff\x7f"));
}

TEST_CASE("contents too long to compute with are ignored, but the shape is kept") {
  onnx::ModelProto model;
  const auto longest = static_cast<std::int64_t>(most_numbers);
  *model.mutable_graph()->add_initializer() = tensor_of(10 * longest, 1);
  *model.mutable_graph()->add_initializer() = tensor_of(10 * longest + 1, 1);
  *model.mutable_graph()->add_node()->add_attribute()->mutable_t() = tensor_of(3 * longest, 4);
  model.mutable_graph()->mutable_node(0)->set_op_type("Constant");
  onnx::TensorProto& numbers = *model.mutable_graph()->add_initializer();
  numbers.mutable_float_data()->Resize(static_cast<int>(3 * longest), 1);
  const onnx::ModelProto read_back = read(model.SerializeAsString());
  const onnx::GraphProto& graph = read_back.graph();
  REQUIRE(graph.initializer_size() == 3);
  CHECK(graph.initializer(0).raw_data().size() == 10 * most_numbers);
  CHECK_FALSE(graph.initializer(1).has_raw_data());
  CHECK(graph.initializer(1).dims(0) == 10 * longest + 1);
  CHECK(graph.initializer(1).name() == "w");
  CHECK(graph.initializer(2).float_data_size() == 0);
  CHECK(graph.node(0).op_type() == "Constant");
  CHECK_FALSE(graph.node(0).attribute(0).t().has_raw_data());
  CHECK(graph.node(0).attribute(0).t().dims(0) == 3 * longest);
}

TEST_CASE("the number of tensors with kept contents is limited, except for shapes") {
  onnx::ModelProto model;
  const auto items = static_cast<std::int64_t>(2 * most_numbers);
  for (int i = 0; i < 140; ++i) *model.mutable_graph()->add_initializer() = tensor_of(items, 4);
  *model.mutable_graph()->add_initializer() = tensor_of(256, 4);
  const onnx::ModelProto read_back = read(model.SerializeAsString());
  int kept = 0;
  for (const onnx::TensorProto& tensor : read_back.graph().initializer()) kept += tensor.has_raw_data() ? 1 : 0;
  CHECK(kept == 128 + 1);
  CHECK(read_back.graph().initializer(140).raw_data().size() == 1024);
}

TEST_CASE("a file that is much larger than its tensors is refused") {
  onnx::ModelProto model;
  model.set_doc_string(std::string((std::size_t{256} << 20U) + 1, 'x'));
  const std::string bytes = model.SerializeAsString();
  google::protobuf::io::ArrayInputStream stream(bytes.data(), static_cast<int>(bytes.size()));
  CHECK(error_of([&] {
          static_cast<void>(onnx_import::read_model(stream, "net.onnx"));
        }).starts_with("net.onnx: the file has more than 256 MiB in addition to its tensors"));
}
