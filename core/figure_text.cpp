#include "core/figure_text.hpp"

#include <algorithm>
#include <charconv>
#include <optional>

#include <fmt/format.h>

#include "core/suggest.hpp"
#include "core/units.hpp"

namespace ddl {
namespace {

constexpr std::string_view blanks = " \t\r\n";

template <class Number>
Number read_number(const SourceText& source, const FigureText::Figure& figure, Number most, std::string_view range) {
  Number number{};
  const std::string_view text = figure.value;
  const auto [stop, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
  // This form of the condition is also true for NaN, and so refuses NaN.
  if (problem != std::errc() || stop != text.data() + text.size() || !(number >= 0 && number <= most)) {
    throw source.error(figure.value_offset, fmt::format("{} is not a valid {}", quote(figure.value), figure.key),
                       fmt::format("{}", range));
  }
  return number;
}

}  // namespace

FigureText::FigureText(const std::string& text, const std::string& origin, std::string_view thing,
                       std::span<const std::string_view> keys, std::string_view example)
    : source_(text, origin) {
  const std::string_view all = source_.text();
  for (std::size_t at = all.find_first_not_of(blanks); at != std::string_view::npos;
       at = all.find_first_not_of(blanks, at)) {
    const std::size_t end = std::min(all.find_first_of(blanks, at), all.size());
    const std::string_view word = all.substr(at, end - at);
    const std::size_t equals = word.find('=');
    if (equals != std::string_view::npos) {
      figures_.push_back({word.substr(0, equals), word.substr(equals + 1), at, at + equals + 1});
    } else if (!figures_.empty()) {
      Figure& last = figures_.back();
      last.value = all.substr(last.value_offset, end - last.value_offset);
    } else {
      throw source_.error(at, fmt::format("{} is not KEY=VALUE", quote(word)), fmt::format("such as: {}", example));
    }
    at = end;
  }
  for (std::size_t i = 0; i < figures_.size(); ++i) {
    const Figure& figure = figures_[i];
    if (std::find(keys.begin(), keys.end(), figure.key) == keys.end()) {
      throw source_.error(figure.offset, fmt::format("{} has no {}", thing, quote(figure.key)), suggest(figure.key, keys));
    }
    const auto before = figures_.begin() + static_cast<std::ptrdiff_t>(i);
    if (std::find_if(figures_.begin(), before, [&](const Figure& other) { return other.key == figure.key; }) != before) {
      throw source_.error(figure.offset, fmt::format("{} is given twice", quote(figure.key)));
    }
  }
}

template <class Q>
Q FigureText::quantity(const Figure& figure, Q least) const {
  UnitProblem problem;
  const std::optional<Q> quantity = parse_quantity<Q>(figure.value, problem);
  if (!quantity) throw source_.error(figure.value_offset, problem.message, problem.hint);
  if (*quantity < least) {
    throw source_.error(figure.value_offset, fmt::format("{} of {} is too small", figure.key, quote(figure.value)),
                        fmt::format("at least {}", print_quantity(least)));
  }
  return *quantity;
}
template Seconds FigureText::quantity<Seconds>(const Figure&, Seconds) const;
template Bandwidth FigureText::quantity<Bandwidth>(const Figure&, Bandwidth) const;
template FlopRate FigureText::quantity<FlopRate>(const Figure&, FlopRate) const;

double FigureText::number(const Figure& figure, double most, std::string_view range) const {
  return read_number(source_, figure, most, range);
}
std::uint64_t FigureText::whole(const Figure& figure, std::uint64_t most, std::string_view range) const {
  return read_number(source_, figure, most, range);
}

}  // namespace ddl
