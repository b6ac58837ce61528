// Translates sums of products over named dimensions: matrix products with weights, and the two products of attention.

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "model_zoo/importers/onnx/numbers.hpp"
#include "model_zoo/importers/onnx/translation.hpp"

namespace ddl::onnx_import {

Translator translate_einsum;

namespace {

/// An equation of two factors, such as `bhid,bhjd->bhij`: the letters of each factor and of the result.
struct Equation {
  std::string left, right, result;
};

bool has(std::string_view letters, char letter) { return letters.find(letter) != std::string_view::npos; }

/// Whether no letter occurs twice.
bool is_unique(std::string letters) {
  std::sort(letters.begin(), letters.end());
  return std::adjacent_find(letters.begin(), letters.end()) == letters.end();
}

/// Returns the equation of a node; empty if there are not two factors, or if a factor has an ellipsis or a repeated letter.
std::optional<Equation> equation_of(const onnx::NodeProto& node) {
  const auto* const attribute = find_attribute(node, "equation");
  if (attribute == nullptr || node.input_size() != 2) return std::nullopt;
  std::string text;
  for (const char c : attribute->s()) {
    if (c != ' ') text += c;
  }
  const std::size_t comma = text.find(','), arrow = text.find("->");
  if (comma == std::string::npos || arrow == std::string::npos || arrow < comma || has(text, '.')) return std::nullopt;
  Equation equation{text.substr(0, comma), text.substr(comma + 1, arrow - comma - 1), text.substr(arrow + 2)};
  const bool is_known = is_unique(equation.left) && is_unique(equation.right) && is_unique(equation.result) &&
                        std::all_of(equation.result.begin(), equation.result.end(),
                                    [&](char c) { return has(equation.left, c) || has(equation.right, c); });
  return is_known ? std::optional(equation) : std::nullopt;
}

/// Returns the letters of `from` that are, or are not, among `others`, in the order of `from`.
std::string letters_of(std::string_view from, std::string_view others, bool are_among) {
  std::string letters;
  for (const char c : from) {
    if (has(others, c) == are_among) letters += c;
  }
  return letters;
}

/// Returns the permutation that transposes dimensions with the letters `from` to the order `to`.
std::vector<std::int64_t> order_of(std::string_view from, std::string_view to) {
  std::vector<std::int64_t> order;
  for (const char c : to) order.push_back(static_cast<std::int64_t>(from.find(c)));
  return order;
}

Value transposed_value(Value value, std::string_view from, std::string_view to) {
  value.view = transposed(value.view, order_of(from, to));
  return value;
}

/// Translates a product with a stored tensor, each of whose dimensions is summed or new. The summed dimensions become the
/// channels.
bool multiply_by_weight(Translation& translation, const onnx::NodeProto& node, const Equation& equation, const Value& input,
                        const Value& weight) {
  const std::string summed = letters_of(equation.left, equation.right, true);
  const std::string kept = letters_of(equation.left, equation.right, false);
  const std::string added = letters_of(equation.right, equation.left, false);
  if (!weight.shape || weight.shape->size() != equation.right.size() || summed.empty() || added.empty()) return false;
  if (!is_countable(*weight.shape)) return false;
  if (!letters_of(summed, equation.result, true).empty() || !is_unique(kept + added) ||
      kept.size() + added.size() != equation.result.size())
    return false;
  const auto size_in_weight = [&](char letter) { return (*weight.shape)[equation.right.find(letter)]; };
  std::int64_t rows = 1, columns = 1;
  for (const char c : summed) rows *= size_in_weight(c);
  for (const char c : added) columns *= size_in_weight(c);
  const View whole = translation.plain(node, input);
  if (whole.dimensions.size() != equation.left.size() || rows <= 0 || columns <= 0) return false;
  const View view = transposed(whole, order_of(equation.left, kept + summed));
  std::vector<std::int64_t> sizes = sizes_of(view);
  sizes.resize(kept.size());
  std::vector<std::int64_t> result_sizes = sizes;
  sizes.push_back(rows);
  const auto joined = reshaped(view, sizes);
  if (!joined) return false;
  add_fully_connected(translation, node, translation.as_rows(node, translation.gathered(node, *joined)), weight, rows,
                      columns, false);
  for (const char c : added) result_sizes.push_back(size_in_weight(c));
  const auto split = reshaped(translation.output(node).view, result_sizes);
  if (!split) return false;
  translation.set_view(node, transposed(*split, order_of(kept + added, equation.result)));
  return true;
}

/// Translates a product of two activations: the scores of attention, or the scores times the values.
bool multiply_activations(Translation& translation, const onnx::NodeProto& node, const Equation& equation, const Value& left,
                          const Value& right) {
  const std::string shared = letters_of(equation.left, equation.right, true);
  const std::string batches = letters_of(shared, equation.result, true), summed = letters_of(shared, equation.result, false);
  const std::string row = letters_of(equation.left, equation.right, false);
  const std::string column = letters_of(equation.right, equation.left, false);
  if (summed.size() != 1 || row.size() != 1 || column.size() != 1) return false;
  if (left.view.dimensions.size() != equation.left.size() || right.view.dimensions.size() != equation.right.size())
    return false;
  const std::string result = batches + row + column;
  // The dimensions of scores are supported in one order only.
  if (left.scores && equation.left != batches + row + summed) return false;
  if (!left.scores && equation.result != result) return false;
  translate_attention(translation, node, left.scores ? left : transposed_value(left, equation.left, batches + row + summed),
                      transposed_value(right, equation.right, batches + summed + column));
  if (equation.result != result)
    translation.set_view(node, transposed(translation.output(node).view, order_of(result, equation.result)));
  return true;
}

}  // namespace

void translate_einsum(Translation& translation, const onnx::NodeProto& node) {
  std::optional<Equation> equation = equation_of(node);
  if (equation) {
    Value left = translation.input(node, 0), right = translation.input(node, 1);
    // The factor with activations, or with the scores, comes first.
    if (!left.is_network() || right.scores) {
      std::swap(left, right);
      std::swap(equation->left, equation->right);
    }
    const bool is_stored = right.kind == Value::Kind::stored;
    if (left.is_network() && is_stored && multiply_by_weight(translation, node, *equation, left, right)) return;
    if (left.is_network() && right.is_network() && multiply_activations(translation, node, *equation, left, right)) return;
  }
  translation.not_understood(node, "a sum of products that is neither a product with weights nor part of an attention");
}

}  // namespace ddl::onnx_import
