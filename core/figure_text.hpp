#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/quantity.hpp"
#include "core/source_text.hpp"

namespace ddl {

/// Parameters of a simulated object in one line: `peak=10 TFLOP/s latency=5 us seed=1`. Values may contain spaces. Errors
/// point to the wrong word.
class FigureText {
 public:
  struct Figure {
    std::string_view key{}, value{};
    std::size_t offset = 0, value_offset = 0;
  };

  /// Throws Error for words that are not parameters, for keys that `thing` ("a simulated device") does not have, and for
  /// repeated keys.
  FigureText(const std::string& text, const std::string& origin, std::string_view thing,
             std::span<const std::string_view> keys, std::string_view example);
  // A FigureText is not copyable, because its figures are views of its text.
  FigureText(const FigureText&) = delete;
  FigureText& operator=(const FigureText&) = delete;

  [[nodiscard]] const std::vector<Figure>& figures() const { return figures_; }

  /// Returns the figure's value as a quantity. Throws Error if the quantity is less than `least`.
  template <class Q>
  [[nodiscard]] Q quantity(const Figure& figure, Q least) const;
  /// Returns the figure's value as a number. Throws Error if the number is not from 0 to `most`.
  /// `range`: the description of this range in the hint.
  [[nodiscard]] double number(const Figure& figure, double most, std::string_view range) const;
  [[nodiscard]] std::uint64_t whole(const Figure& figure, std::uint64_t most, std::string_view range) const;
  [[nodiscard]] Error error(std::size_t offset, std::string_view message, std::string hint = {}) const {
    return source_.error(offset, message, std::move(hint));
  }

 private:
  SourceText source_;
  std::vector<Figure> figures_;
};

extern template Seconds FigureText::quantity<Seconds>(const Figure&, Seconds) const;
extern template Bandwidth FigureText::quantity<Bandwidth>(const Figure&, Bandwidth) const;
extern template FlopRate FigureText::quantity<FlopRate>(const Figure&, FlopRate) const;

}  // namespace ddl
