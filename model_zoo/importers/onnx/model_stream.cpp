// Parses protocol buffers field by field down to the tensors, because the library would read the whole file at once. The
// library parses the fields that contain no large tensor (https://protobuf.dev/programming-guides/encoding).

#include "model_zoo/importers/onnx/model_stream.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>

#include <fmt/format.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/wire_format_lite.h>

#include "core/error.hpp"
#include "model_zoo/importers/onnx/numbers.hpp"

namespace ddl::onnx_import {
namespace {

using google::protobuf::internal::WireFormatLite;
using google::protobuf::io::CodedInputStream;
using google::protobuf::io::CodedOutputStream;

/// Maximum bytes of one tensor's content. An element takes at most 10 bytes, so longer contents have
/// more elements than are evaluated.
constexpr std::size_t most_content_bytes = 10 * most_numbers;
/// Maximum bytes of the contents of all tensors. Beyond this limit, only contents that are as short
/// as shapes and axes are kept.
constexpr std::size_t most_contents_bytes = std::size_t{256} << 20U;
constexpr std::size_t shape_bytes = 1024;
constexpr std::size_t most_other_bytes = std::size_t{256} << 20U;

/// The tag of a length-delimited field: a message, a text, or packed numbers.
constexpr std::uint32_t tag_of(int field) { return static_cast<std::uint32_t>(field) << 3U | 2U; }
constexpr bool has_length(std::uint32_t tag) { return (tag & 7U) == 2U; }

constexpr int content_fields[] = {onnx::TensorProto::kFloatDataFieldNumber,  onnx::TensorProto::kInt32DataFieldNumber,
                                  onnx::TensorProto::kInt64DataFieldNumber,  onnx::TensorProto::kRawDataFieldNumber,
                                  onnx::TensorProto::kDoubleDataFieldNumber, onnx::TensorProto::kUint64DataFieldNumber};

class Reader {
 public:
  Reader(CodedInputStream& in, const std::string& origin) : in_(in), origin_(origin) {}

  bool read(onnx::ModelProto& model) {
    return fields(model, [&](std::uint32_t tag, CodedOutputStream&) -> std::optional<bool> {
      if (tag != tag_of(onnx::ModelProto::kGraphFieldNumber)) return std::nullopt;
      return within(*model.mutable_graph());
    });
  }

 private:
  bool read(onnx::GraphProto& graph) {
    return fields(graph, [&](std::uint32_t tag, CodedOutputStream&) -> std::optional<bool> {
      if (tag == tag_of(onnx::GraphProto::kInitializerFieldNumber)) return within(*graph.add_initializer());
      if (tag == tag_of(onnx::GraphProto::kNodeFieldNumber)) return within(*graph.add_node());
      return std::nullopt;
    });
  }

  bool read(onnx::NodeProto& node) {
    return fields(node, [&](std::uint32_t tag, CodedOutputStream&) -> std::optional<bool> {
      if (tag != tag_of(onnx::NodeProto::kAttributeFieldNumber)) return std::nullopt;
      return within(*node.add_attribute());
    });
  }

  bool read(onnx::AttributeProto& attribute) {
    return fields(attribute, [&](std::uint32_t tag, CodedOutputStream&) -> std::optional<bool> {
      if (tag != tag_of(onnx::AttributeProto::kTFieldNumber)) return std::nullopt;
      return within(*attribute.mutable_t());
    });
  }

  bool read(onnx::TensorProto& tensor) {
    return fields(tensor, [&](std::uint32_t tag, CodedOutputStream& rest) -> std::optional<bool> {
      for (const int field : content_fields) {
        if (tag == tag_of(field)) return content(tag, rest);
      }
      return std::nullopt;
    });
  }

  /// Parses a message. `own` receives the tag of a field, and returns whether it could read the
  /// field. If `own` returns empty, the library reads the field.
  template <class Message, class Own>
  bool fields(Message& message, const Own& own) {
    std::string rest;
    {
      google::protobuf::io::StringOutputStream stream(&rest);
      CodedOutputStream out(&stream);
      while (const std::uint32_t tag = in_.ReadTag()) {
        const std::optional<bool> was_read = own(tag, out);
        if (!(was_read ? *was_read : copy(tag, out))) return false;
      }
    }
    return in_.ConsumedEntireMessage() && message.MergeFromString(rest);
  }

  template <class Message>
  bool within(Message& message) {
    const std::optional<int> length = read_length();
    if (!length) return false;
    const auto outer = in_.PushLimit(*length);
    // A truncated file ends inside a message.
    const bool is_whole = read(message) && in_.BytesUntilLimit() == 0;
    in_.PopLimit(outer);
    return is_whole;
  }

  bool content(std::uint32_t tag, CodedOutputStream& out) {
    const std::optional<int> length = read_length();
    if (!length) return false;
    const auto bytes = static_cast<std::size_t>(*length);
    if (bytes <= shape_bytes) return copy_bytes(tag, *length, out);
    if (bytes > most_content_bytes || bytes > most_contents_bytes - contents_) return in_.Skip(*length);
    contents_ += bytes;
    return copy_bytes(tag, *length, out);
  }

  bool copy(std::uint32_t tag, CodedOutputStream& out) {
    if (!has_length(tag)) return WireFormatLite::SkipField(&in_, tag, &out);
    const std::optional<int> length = read_length();
    if (!length) return false;
    if (static_cast<std::size_t>(*length) > most_other_bytes - others_) {
      throw Error(
          fmt::format("{}: the file has more than {} MiB in addition to its tensors", origin_, most_other_bytes >> 20U),
          "export the network again without unused parts");
    }
    others_ += static_cast<std::size_t>(*length);
    return copy_bytes(tag, *length, out);
  }

  bool copy_bytes(std::uint32_t tag, int length, CodedOutputStream& out) {
    std::string bytes;
    if (!in_.ReadString(&bytes, length)) return false;
    out.WriteVarint32(tag);
    out.WriteVarint32(static_cast<std::uint32_t>(length));
    out.WriteString(bytes);
    return true;
  }

  /// Reads a length; empty if the length exceeds the rest of the enclosing message.
  std::optional<int> read_length() {
    int length = 0;
    if (!in_.ReadVarintSizeAsInt(&length)) return std::nullopt;
    const int left = in_.BytesUntilLimit();  // -1 in the outermost message
    if (left >= 0 && length > left) return std::nullopt;
    return length;
  }

  CodedInputStream& in_;
  const std::string& origin_;
  std::size_t contents_ = 0;
  std::size_t others_ = 0;
};

}  // namespace

onnx::ModelProto read_model(google::protobuf::io::ZeroCopyInputStream& bytes, const std::string& origin) {
  CodedInputStream in(&bytes);
  onnx::ModelProto model;
  if (Reader(in, origin).read(model)) return model;
  throw Error(origin + ": this is not an ONNX file, or only a part of one",
              "export the network again, and copy the whole file");
}

}  // namespace ddl::onnx_import
