#include "model_zoo/importers/onnx/numbers.hpp"

#include <algorithm>
#include <cmath>

namespace ddl::onnx_import {
namespace {

std::optional<std::int64_t> whole_result(std::string_view operation, std::int64_t a, std::int64_t b) {
  std::int64_t result = 0;
  const bool divides = b != 0 && b != -1;  // excludes 0, and -1, which overflows for the smallest number
  if (operation == "Add") return __builtin_add_overflow(a, b, &result) ? std::nullopt : std::optional(result);
  if (operation == "Sub") return __builtin_sub_overflow(a, b, &result) ? std::nullopt : std::optional(result);
  if (operation == "Mul") return __builtin_mul_overflow(a, b, &result) ? std::nullopt : std::optional(result);
  if (operation == "Div") return divides ? std::optional(a / b) : std::nullopt;
  if (operation == "Mod") return divides ? std::optional((a % b + b) % b) : std::nullopt;
  if (operation == "Max") return std::max(a, b);
  if (operation == "Min") return std::min(a, b);
  if (operation == "Equal") return a == b;
  if (operation == "Less") return a < b;
  if (operation == "LessOrEqual") return a <= b;
  if (operation == "Greater") return a > b;
  if (operation == "GreaterOrEqual") return a >= b;
  if (operation == "And") return a != 0 && b != 0;
  if (operation == "Or") return a != 0 || b != 0;
  return std::nullopt;
}

std::optional<double> real_result(std::string_view operation, double a, double b) {
  if (operation == "Add") return a + b;
  if (operation == "Sub") return a - b;
  if (operation == "Mul") return a * b;
  if (operation == "Div") return a / b;
  if (operation == "Pow") return std::pow(a, b);
  if (operation == "Max") return std::max(a, b);
  if (operation == "Min") return std::min(a, b);
  return std::nullopt;
}

bool is_comparison(std::string_view operation) {
  return operation == "Equal" || operation.starts_with("Less") || operation.starts_with("Greater");
}

}  // namespace

std::optional<double> uniform(const Numbers& numbers) {
  if (numbers.count() == 0) return std::nullopt;
  const double first = numbers.real(0);
  for (std::size_t i = 1; i < numbers.count(); ++i) {
    if (numbers.real(i) != first) return std::nullopt;
  }
  return first;
}

std::optional<std::vector<std::int64_t>> broadcast(const std::vector<std::int64_t>& a, const std::vector<std::int64_t>& b) {
  std::vector<std::int64_t> result(std::max(a.size(), b.size()), 1);
  for (const std::vector<std::int64_t>* shape : {&a, &b}) {
    for (std::size_t i = 0; i < shape->size(); ++i) {
      std::int64_t& at = result[result.size() - 1 - i];
      const std::int64_t size = (*shape)[shape->size() - 1 - i];
      if (size == at || size == 1) continue;
      if (at != 1) return std::nullopt;
      at = size;
    }
  }
  if (!is_countable(result)) return std::nullopt;
  return result;
}

bool is_countable(const std::vector<std::int64_t>& shape) {
  constexpr std::int64_t most_items = std::int64_t{1} << 53U;
  std::int64_t items = 1;
  for (const std::int64_t size : shape) {
    if (size < 0 || (size > 0 && items > most_items / size)) return false;
    items *= std::max<std::int64_t>(size, 1);
  }
  return true;
}

std::optional<std::size_t> small_count(const std::vector<std::int64_t>& shape) {
  std::size_t count = 1;
  for (const std::int64_t size : shape) {
    if (size < 0) return std::nullopt;
    if (size == 0) return 0;
    if (static_cast<std::size_t>(size) > most_numbers / count) return std::nullopt;
    count *= static_cast<std::size_t>(size);
  }
  return count;
}

std::optional<Numbers> joined(std::string_view operation, const Numbers& a, const Numbers& b) {
  const auto shape = broadcast(a.shape, b.shape);
  if (!shape) return std::nullopt;
  const auto count = small_count(*shape);
  if (!count) return std::nullopt;
  const auto place = [&](const Numbers& numbers, std::size_t index) {
    std::size_t at = 0;
    std::size_t stride = 1;
    for (std::size_t i = 0; i < shape->size(); ++i) {
      const auto extent = static_cast<std::size_t>((*shape)[shape->size() - 1 - i]);
      if (i < numbers.shape.size()) {
        const auto own = static_cast<std::size_t>(numbers.shape[numbers.shape.size() - 1 - i]);
        if (own != 1) at += index % extent * stride;
        stride *= own;
      }
      index /= extent;
    }
    return at;
  };
  const bool whole = a.integral && b.integral && operation != "Pow";
  Numbers result{.shape = *shape, .integral = whole || is_comparison(operation)};
  for (std::size_t i = 0; i < *count; ++i) {
    const std::size_t left = place(a, i);
    const std::size_t right = place(b, i);
    if (whole) {
      const auto value = whole_result(operation, a.integers[left], b.integers[right]);
      if (!value) return std::nullopt;
      result.integers.push_back(*value);
    } else if (result.integral) {
      const double x = a.real(left);
      const double y = b.real(right);
      result.integers.push_back(operation == "Equal"            ? x == y
                                : operation == "Less"           ? x < y
                                : operation == "LessOrEqual"    ? x <= y
                                : operation == "GreaterOrEqual" ? x >= y
                                                                : x > y);
    } else {
      const auto value = real_result(operation, a.real(left), b.real(right));
      if (!value) return std::nullopt;
      result.reals.push_back(*value);
    }
  }
  return result;
}

}  // namespace ddl::onnx_import
