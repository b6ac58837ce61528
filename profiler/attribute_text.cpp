#include "profiler/attribute_text.hpp"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "core/error.hpp"

namespace ddl {
namespace {

template <class Number>
Number parsed(std::string_view key, std::string_view text) {
  Number number{};
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (problem != std::errc() || end != text.data() + text.size()) {
    throw Error(fmt::format("the attribute {}={} is no number", key, text));
  }
  return number;
}

}  // namespace

AttributeText::AttributeText(const Operation& operation) {
  const std::string line = operation.attributes();
  std::string_view rest = line;
  while (!rest.empty()) {
    const std::string_view word = rest.substr(0, rest.find(' '));
    rest.remove_prefix(std::min(word.size() + 1, rest.size()));
    const std::size_t equals = word.find('=');
    if (equals != std::string_view::npos) values_.emplace_back(word.substr(0, equals), word.substr(equals + 1));
  }
}

std::string_view AttributeText::text(std::string_view key, std::string_view otherwise) const {
  const auto found = std::find_if(values_.begin(), values_.end(), [key](const auto& value) { return value.first == key; });
  return found == values_.end() ? otherwise : std::string_view(found->second);
}

std::int64_t AttributeText::integer(std::string_view key, std::int64_t otherwise) const {
  return has(key) ? parsed<std::int64_t>(key, text(key)) : otherwise;
}

double AttributeText::number(std::string_view key, double otherwise) const {
  return has(key) ? parsed<double>(key, text(key)) : otherwise;
}

bool AttributeText::flag(std::string_view key, bool otherwise) const { return has(key) ? text(key) == "yes" : otherwise; }

std::array<std::int64_t, 3> AttributeText::sizes(std::string_view key, std::int64_t otherwise) const {
  std::array<std::int64_t, 3> sizes{otherwise, otherwise, otherwise};
  if (!has(key)) return sizes;
  std::string_view rest = text(key);
  std::size_t count = 0;
  for (;; ++count) {
    const std::string_view word = rest.substr(0, rest.find('x'));
    sizes[std::min<std::size_t>(count, 2)] = parsed<std::int64_t>(key, word);
    if (word.size() == rest.size()) break;
    rest.remove_prefix(word.size() + 1);
  }
  if (count == 0) sizes.fill(sizes[0]);
  return sizes;
}

WindowGeometry window_geometry(const Operation& operation, const TensorShape& large, const TensorShape& small) {
  const AttributeText attributes(operation);
  const bool same = attributes.text("padding") == "same";
  const auto kernel = attributes.sizes("kernel", 1);
  const auto stride = attributes.sizes("stride", 1);
  const auto dilation = attributes.sizes("dilation", 1);
  const auto padding = same ? std::array<std::int64_t, 3>{} : attributes.sizes("padding", 0);
  WindowGeometry geometry;
  for (std::size_t d = 0; d < static_cast<std::size_t>(large.rank); ++d) {
    geometry.kernel[d] = kernel[d];
    geometry.dilation[d] = dilation[d];
    geometry.stride[d] = stride[d];
    // What the places of the window cover beyond the tensor; less than nothing where they leave positions out.
    const std::int64_t reach = dilation[d] * (kernel[d] - 1) + 1;
    const std::int64_t rim = (small.extent[d] - 1) * stride[d] + reach - large.extent[d];
    // `same` puts the odd one behind.
    geometry.before[d] = same ? std::max<std::int64_t>(0, rim) / 2 : padding[d];
    geometry.after[d] = rim - geometry.before[d];
  }
  return geometry;
}

}  // namespace ddl
