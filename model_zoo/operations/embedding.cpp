#include <fmt/format.h>

#include "core/error.hpp"
#include "model_zoo/operations/registry.hpp"

namespace ddl {
namespace {

/// The form of a table's gradient: all rows, or only the rows of the tokens. `pooled`: the gradient is sparse, and one
/// kernel looks up the rows of a sample's tokens and sums them.
enum class TableGradient { dense, sparse, pooled };

/// Looks up a row of a table for each token.
class Embedding final : public Operation {
 public:
  Embedding(std::int64_t vocabulary, std::int64_t features, std::string tied, TableGradient gradient = TableGradient::dense)
      : vocabulary_(vocabulary), features_(features), tied_(std::move(tied)), gradient_(gradient) {}

  std::string_view type() const override { return is_pooled() ? "embedding_bag" : "embedding"; }
  AttributeValues attribute_values() const override {
    AttributeValues values{{"vocabulary", vocabulary_}, {"features", features_}};
    if (!tied_.empty()) values.add("tied", tied_);
    return values;
  }
  AttributeValues lasting_values() const override { return {}; }
  TensorShape infer(std::span<const TensorShape> inputs) const override {
    TensorShape output = only_input(inputs, type());
    if (!output.sequence || output.channels != 1) {
      throw Error(fmt::format("embedding needs tokens, not {}", to_string(output)),
                  "an embedding reads the input of the model, with 'input: {tokens: N}'");
    }
    static_cast<void>(item_count("the table", {vocabulary_, features_}));
    if (is_pooled()) output = TensorShape{};
    output.channels = features_;
    return checked(output);
  }
  std::int64_t weights(std::span<const TensorShape> /*inputs*/, const TensorShape& output) const override {
    return tied_.empty() ? vocabulary_ * output.channels : 0;
  }
  SharedTable shared_table(std::span<const TensorShape> /*inputs*/, const TensorShape& output) const override {
    return {.owner = "embedding", .rows = vocabulary_, .columns = output.channels};
  }
  Work work(Pass pass, std::span<const TensorShape> inputs, const TensorShape& output) const override {
    if (is_pooled()) return pooled_work(pass, items(inputs.front()), items(output));
    // For each token, a row of the table is read, and written to the output.
    if (pass == Pass::forward) {
      return {.activation_items = items(inputs.front()) + 2 * items(output), .kind = KernelKind::lookup};
    }
    if (pass != Pass::backward_weight) return {};
    // The gradient of the whole table is set to zero. Then each token adds to the gradient of its row. A sparse gradient has
    // only the rows of the tokens.
    return {.flops = items(output),
            .activation_items = 3 * items(output),
            .weight_items = gradient_ == TableGradient::dense ? real(vocabulary_) * real(output.channels) : 0,
            .kind = KernelKind::lookup};
  }
  double depth(Pass pass, std::span<const TensorShape> /*inputs*/, const TensorShape& output,
               double samples) const override {
    // All tokens of a batch may be equal. Their gradients are then summed into one row.
    return pass == Pass::backward_weight ? reduction_depth({real(output.positions()), samples}) : 1;
  }
  Divisible divisible() const override { return {.matrix = true}; }
  /// An operation outside of a model owns a complete table.
  Local local(std::span<const TensorShape> inputs, const TensorShape& output) const override {
    return {.operation = std::make_shared<Embedding>(vocabulary_, output.channels, "", gradient_),
            .inputs = {inputs.begin(), inputs.end()}};
  }
  std::shared_ptr<const Operation> with_rows(std::int64_t rows) const override {
    return std::make_shared<Embedding>(rows, features_, "", gradient_);
  }
  std::shared_ptr<const Operation> with_sparse_gradient(std::int64_t rows, std::int64_t columns,
                                                        bool pooled) const override {
    return std::make_shared<Embedding>(rows, columns, tied_, pooled ? TableGradient::pooled : TableGradient::sparse);
  }
  Kept kept(std::span<const TensorShape> /*inputs*/, const TensorShape& /*output*/) const override {
    return {.input = true};
  }

 private:
  [[nodiscard]] bool is_pooled() const { return gradient_ == TableGradient::pooled; }
  /// Forward reads a row for each token, and writes their sum. Backward reads the gradient of the sum once for each token,
  /// and adds it to the token's row in registers. The update of the rows is a part of the optimizer [FBGEMM, "Table batched
  /// embedding", fbgemm_gpu/codegen, split_embedding_backward].
  [[nodiscard]] Work pooled_work(Pass pass, double tokens, double sums) const {
    const double rows = tokens * real(features_);
    if (pass == Pass::forward) return {.activation_items = tokens + rows + sums, .kind = KernelKind::lookup};
    if (pass != Pass::backward_weight) return {};
    return {.flops = rows, .activation_items = tokens + rows, .kind = KernelKind::lookup};
  }

  std::int64_t vocabulary_, features_;
  std::string tied_;
  TableGradient gradient_;
};

}  // namespace

std::shared_ptr<const Operation> read_embedding(const Attributes& attributes) {
  return std::make_shared<Embedding>(attributes.integer("vocabulary"), attributes.integer("features"),
                                     attributes.find_text("tied").value_or(""));
}

}  // namespace ddl
