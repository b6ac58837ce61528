#include "core/units.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdlib>
#include <span>
#include <system_error>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/lower_case.hpp"
#include "core/source_text.hpp"
#include "core/suggest.hpp"

namespace ddl {
namespace {

/// One unit is 10^decimal_shift × factor base units. The power of ten is applied to the written number before it becomes a
/// double: `3.2 us` is the double nearest to 3.2e-6, whereas the product 3.2 × 1e-6 is not. The factor is a power of two, or
/// a number of seconds.
struct Unit {
  std::string_view name;
  int decimal_shift;
  double factor;
  bool printed = true;
};

constexpr double ki = 1024.0;
constexpr double mi = ki * ki;
constexpr double gi = mi * ki;
constexpr double ti = gi * ki;
constexpr double pi = ti * ki;

// Each list starts with its smallest unit. If several units are equally suitable, the last one is
// printed. A bit (b) is an eighth of a byte (B).
constexpr std::array byte_units{Unit{"B", 0, 1},    Unit{"kB", 3, 1},  Unit{"KiB", 0, ki}, Unit{"MB", 6, 1},
                                Unit{"MiB", 0, mi}, Unit{"GB", 9, 1},  Unit{"GiB", 0, gi}, Unit{"TB", 12, 1},
                                Unit{"TiB", 0, ti}, Unit{"PB", 15, 1}, Unit{"PiB", 0, pi}};
constexpr std::array time_units{
    Unit{"ns", -9, 1},  Unit{"us", -6, 1},  Unit{"ms", -3, 1},   Unit{"s", 0, 1},
    Unit{"min", 0, 60}, Unit{"h", 0, 3600}, Unit{"d", 0, 86400}, Unit{"years", 0, 365.25 * 86400, false}};
constexpr std::array bandwidth_units{Unit{"B/s", 0, 1},
                                     Unit{"kB/s", 3, 1},
                                     Unit{"KiB/s", 0, ki},
                                     Unit{"MB/s", 6, 1},
                                     Unit{"MiB/s", 0, mi},
                                     Unit{"GB/s", 9, 1},
                                     Unit{"GiB/s", 0, gi},
                                     Unit{"TB/s", 12, 1},
                                     Unit{"TiB/s", 0, ti},
                                     Unit{"PB/s", 15, 1},
                                     Unit{"PiB/s", 0, pi},
                                     Unit{"b/s", 0, 1.0 / 8, false},
                                     Unit{"kb/s", 3, 1.0 / 8, false},
                                     Unit{"Kib/s", 0, ki / 8, false},
                                     Unit{"Mb/s", 6, 1.0 / 8, false},
                                     Unit{"Mib/s", 0, mi / 8, false},
                                     Unit{"Gb/s", 9, 1.0 / 8, false},
                                     Unit{"Gib/s", 0, gi / 8, false},
                                     Unit{"Tb/s", 12, 1.0 / 8, false},
                                     Unit{"Tib/s", 0, ti / 8, false},
                                     Unit{"Pb/s", 15, 1.0 / 8, false},
                                     Unit{"Pib/s", 0, pi / 8, false}};
constexpr std::array flop_rate_units{
    Unit{"FLOP/s", 0, 1},        Unit{"kFLOP/s", 3, 1},       Unit{"MFLOP/s", 6, 1},        Unit{"GFLOP/s", 9, 1},
    Unit{"TFLOP/s", 12, 1},      Unit{"PFLOP/s", 15, 1},      Unit{"FLOPS", 0, 1, false},   Unit{"kFLOPS", 3, 1, false},
    Unit{"MFLOPS", 6, 1, false}, Unit{"GFLOPS", 9, 1, false}, Unit{"TFLOPS", 12, 1, false}, Unit{"PFLOPS", 15, 1, false}};

struct Dimension {
  std::string_view noun;
  std::string_view base;     ///< the unit of a Quantity's value
  std::string_view example;  ///< the unit of the hint "use for example"
  std::span<const Unit> units;
};

constexpr Dimension size_dimension{"a size", "B", "GiB", byte_units};
constexpr Dimension time_dimension{"a time", "s", "us", time_units};
constexpr Dimension bandwidth_dimension{"a bandwidth", "B/s", "GB/s", bandwidth_units};
constexpr Dimension flop_rate_dimension{"a compute rate", "FLOP/s", "TFLOP/s", flop_rate_units};
constexpr std::array dimensions{size_dimension, time_dimension, bandwidth_dimension, flop_rate_dimension};

constexpr const Dimension& dimension_of(Bytes) { return size_dimension; }
constexpr const Dimension& dimension_of(Seconds) { return time_dimension; }
constexpr const Dimension& dimension_of(Bandwidth) { return bandwidth_dimension; }
constexpr const Dimension& dimension_of(FlopRate) { return flop_rate_dimension; }

const Unit* find_unit(const Dimension& dimension, std::string_view name) {
  const auto found =
      std::find_if(dimension.units.begin(), dimension.units.end(), [name](const Unit& u) { return u.name == name; });
  return found == dimension.units.end() ? nullptr : &*found;
}

std::string_view trim(std::string_view text) {
  constexpr std::string_view blanks = " \t";
  const std::size_t first = text.find_first_not_of(blanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(blanks) - first + 1);
}

/// Converts the micro sign and the Greek letter mu, which look alike, to `u`.
std::string with_ascii_micro(std::string_view unit) {
  for (const std::string_view micro : {"\u00B5", "\u03BC"}) {
    if (unit.starts_with(micro)) return fmt::format("u{}", unit.substr(micro.size()));
  }
  return std::string(unit);
}

/// Returns `number` times 10^shift, rounded once. `number` has the syntax of std::from_chars. The
/// result is infinite or zero if it is out of range.
double shifted(std::string_view number, int shift) {
  const std::string_view mantissa = number.substr(0, number.find_first_of("eE"));
  int exponent = 0;
  if (mantissa.size() < number.size()) {
    std::string_view digits = number.substr(mantissa.size() + 1);
    if (digits.starts_with('+')) digits.remove_prefix(1);
    const auto result = std::from_chars(digits.data(), digits.data() + digits.size(), exponent);
    if (result.ec != std::errc()) return digits.starts_with('-') ? 0.0 : HUGE_VAL;
  }
  // An exponent beyond these limits is out of range for any `shift`.
  exponent = std::clamp(exponent, -1'000'000'000, 1'000'000'000) + shift;
  const std::string moved = fmt::format("{}e{}", mantissa, exponent);
  double value = 0.0;
  const auto result = std::from_chars(moved.data(), moved.data() + moved.size(), value);
  if (result.ec == std::errc()) return value;
  // from_chars does not report whether the number is too large or too small. The position of the
  // first significant digit tells which.
  const auto point = static_cast<std::int64_t>(std::min(mantissa.find('.'), mantissa.size()));
  const auto first_digit = static_cast<std::int64_t>(mantissa.find_first_of("123456789"));
  return point - first_digit + exponent > 0 ? HUGE_VAL : 0.0;
}

std::string example_hint(const Dimension& dimension, std::string_view number = "900") {
  return fmt::format("use for example '{} {}'", number, dimension.example);
}

UnitProblem unknown_unit(std::string_view text, std::string_view written, const std::string& unit, const Dimension& wanted) {
  for (const Dimension& other : dimensions) {
    if (find_unit(other, unit) != nullptr) {
      return {fmt::format("{} is {}, not {}", quote(text), other.noun, wanted.noun), example_hint(wanted)};
    }
  }
  const std::string first_word = unit.substr(0, unit.find_first_of(" \t"));
  if (first_word != unit && find_unit(wanted, first_word) != nullptr) {
    return {fmt::format("{} has text after its unit", quote(text)), fmt::format("remove the text after '{}'", first_word)};
  }
  std::vector<std::string_view> names;
  for (const Unit& known : wanted.units) names.push_back(known.name);
  // Another letter in so short a unit is another unit.
  constexpr std::size_t short_unit = 2;
  const bool has_other_case =
      std::any_of(names.begin(), names.end(), [&](std::string_view name) { return lower_case(name) == lower_case(unit); });
  const bool is_clear = unit.size() > short_unit || has_other_case;
  return {fmt::format("{} has the unknown unit {}", quote(text), quote(written)),
          is_clear ? suggest(unit, names) : fmt::format("known: {}", fmt::join(names, ", "))};
}

std::optional<double> parse(std::string_view untrimmed, const Dimension& dimension, UnitProblem& problem) {
  const auto refuse = [&problem](std::string message, std::string hint = {}) {
    problem = {std::move(message), std::move(hint)};
    return std::nullopt;
  };
  const std::string_view text = trim(untrimmed);
  double plain = 0.0;
  const char* const number_end = std::from_chars(text.data(), text.data() + text.size(), plain).ptr;
  const std::string_view number = text.substr(0, static_cast<std::size_t>(number_end - text.data()));
  const std::string_view written_unit = trim(text.substr(number.size()));
  // A unit starts with a letter. Anything else belongs to a number in another notation, such as 1,000.
  constexpr std::string_view digits_and_signs = "0123456789.,_+-'";
  if (number.empty() || (!written_unit.empty() && digits_and_signs.find(written_unit.front()) != std::string_view::npos)) {
    return refuse(fmt::format("{} is not {}", quote(text), dimension.noun), example_hint(dimension));
  }
  if (std::isnan(plain) || std::isinf(plain))
    return refuse(fmt::format("{} is not a finite number", quote(text)), example_hint(dimension));
  if (number.starts_with('-')) return refuse(fmt::format("{} is negative", quote(text)), example_hint(dimension));
  if (written_unit.empty()) {
    return refuse(fmt::format("{} has no unit", quote(text)), example_hint(dimension, number));
  }

  const std::string name = with_ascii_micro(written_unit);
  const Unit* unit = find_unit(dimension, name);
  if (unit == nullptr) {
    problem = unknown_unit(text, written_unit, name, dimension);
    return std::nullopt;
  }
  const double value = shifted(number, unit->decimal_shift) * unit->factor;
  if (std::isinf(value)) return refuse(fmt::format("{} is too large", quote(text)), example_hint(dimension));
  const bool means_zero = number.substr(0, number.find_first_of("eE")).find_first_of("123456789") == std::string_view::npos;
  if (value == 0.0 && !means_zero) return refuse(fmt::format("{} is too small to distinguish from zero", quote(text)));
  return value;
}

/// A number as its significant digits, and the power of ten of the first digit: 1.5e9 is "15" and 9.
struct Decimal {
  std::string digits;
  int exponent = 0;
};

/// The shortest decimal number that is parsed to the same double. `value` must be positive and finite.
Decimal shortest_decimal(double value) {
  std::array<char, 32> buffer{};
  const auto written = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value, std::chars_format::scientific);
  const std::string_view text(buffer.data(), static_cast<std::size_t>(written.ptr - buffer.data()));
  const std::size_t e = text.find('e');
  Decimal result;
  for (const char c : text.substr(0, e)) {
    if (c != '.') result.digits += c;
  }
  std::string_view exponent = text.substr(e + 1);
  if (exponent.starts_with('+')) exponent.remove_prefix(1);
  std::from_chars(exponent.data(), exponent.data() + exponent.size(), result.exponent);
  return result;
}

/// Writes a number in decimals, such as 1500 or 0.0015. Writes an exponent, as in 1.5e+20, if there would be many zeros.
std::string write(const Decimal& decimal) {
  const auto& [digits, exponent] = decimal;
  if (exponent >= 0 && exponent < 17) {
    const std::size_t whole = static_cast<std::size_t>(exponent) + 1;
    if (whole >= digits.size()) return digits + std::string(whole - digits.size(), '0');
    return fmt::format("{}.{}", digits.substr(0, whole), digits.substr(whole));
  }
  if (exponent < 0 && exponent >= -4) return fmt::format("0.{:0>{}}{}", "", -exponent - 1, digits);
  return fmt::format("{}{}{}e{}", digits.front(), digits.size() > 1 ? "." : "", digits.substr(1), exponent);
}

/// Prints a value in the unit that gives the shortest text. If several texts are equally short, prints the largest unit: 16
/// GiB rather than 17.179869184 GB, and 1.5 GB rather than 1500 MB or 1.396983861923218 GiB.
std::string print(double value, const Dimension& dimension) {
  if (!std::isfinite(value) || value == 0.0) return fmt::format("{} {}", value, dimension.base);
  const std::string_view sign = value < 0.0 ? "-" : "";
  const double magnitude = std::abs(value);
  const Decimal in_base_units = shortest_decimal(magnitude);

  const Unit& smallest = dimension.units.front();
  Decimal best{in_base_units.digits, in_base_units.exponent - smallest.decimal_shift};
  std::string_view best_unit = smallest.name;
  for (const Unit& unit : dimension.units) {
    if (!unit.printed) continue;
    Decimal number = in_base_units;
    if (unit.factor != 1.0) {
      number = shortest_decimal(magnitude / unit.factor);
      // A conversion to minutes, hours or days may round, because they are not powers of two. Units
      // that change the value are skipped.
      if (shifted(write(number), 0) * unit.factor != magnitude) continue;
    }
    number.exponent -= unit.decimal_shift;
    if (number.exponent >= 0 && number.digits.size() <= best.digits.size()) {
      best = number;
      best_unit = unit.name;
    }
  }
  return fmt::format("{}{} {}", sign, write(best), best_unit);
}

/// Prints a number with three significant digits: 0.123, 1.23, 12.3, 123.
std::string three_digits(double value) {
  if (value >= 1e6 || value < 0.1) return fmt::format("{:.3g}", value);
  const int decimals = value >= 99.95 ? 0 : value >= 9.995 ? 1 : value >= 0.9995 ? 2 : 3;
  return fmt::format("{:.{}f}", value, decimals);
}

/// Prints a number in the largest unit in which the number is at least 1; in the smallest unit if there is no such unit.
std::string scaled(double value, double step, std::span<const std::string_view> units) {
  std::size_t i = 0;
  for (; i + 1 < units.size() && value >= 999.5; ++i) value /= step;
  return fmt::format("{} {}", three_digits(value), units[i]);
}

/// Prints a sign, and values that are not finite. `write_magnitude` prints the absolute value of finite values.
template <class F>
std::string humanized(double value, F write_magnitude) {
  if (std::isnan(value)) return "unknown";
  if (std::isinf(value)) return value > 0.0 ? "infinite" : "-infinite";
  return (value < 0.0 ? "-" : "") + write_magnitude(std::abs(value));
}

std::string human_duration(double seconds) {
  // Each limit is where rounding would reach the next unit. For example, 59.95 s would become 60.0
  // s, so it is printed as 1 min 00 s.
  if (seconds == 0.0) return "0 s";
  if (seconds < 59.95) {
    constexpr std::array<std::string_view, 4> units{"ns", "us", "ms", "s"};
    return scaled(seconds * 1e9, 1e3, units);
  }
  if (seconds < 3599.5) {
    const auto whole = std::llround(seconds);
    return fmt::format("{} min {:02} s", whole / 60, whole % 60);
  }
  if (seconds < 86370.0) {
    const auto minutes = std::llround(seconds / 60.0);
    return fmt::format("{} h {:02} min", minutes / 60, minutes % 60);
  }
  const double days = seconds / 86400.0;
  return days >= 999.5 && days < 1e15 ? with_thousands(std::llround(days)) + " d" : three_digits(days) + " d";
}

}  // namespace

template <class Q>
std::optional<Q> parse_quantity(std::string_view text, UnitProblem& problem) {
  const auto value = parse(text, dimension_of(Q()), problem);
  if (!value) return std::nullopt;
  return Q(*value);
}

template std::optional<Bytes> parse_quantity<Bytes>(std::string_view, UnitProblem&);
template std::optional<Seconds> parse_quantity<Seconds>(std::string_view, UnitProblem&);
template std::optional<Bandwidth> parse_quantity<Bandwidth>(std::string_view, UnitProblem&);
template std::optional<FlopRate> parse_quantity<FlopRate>(std::string_view, UnitProblem&);

std::string print_quantity(Bytes value) { return print(value.value(), dimension_of(value)); }
std::string print_quantity(Seconds value) { return print(value.value(), dimension_of(value)); }
std::string print_quantity(Bandwidth value) { return print(value.value(), dimension_of(value)); }
std::string print_quantity(FlopRate value) { return print(value.value(), dimension_of(value)); }

template <class Q>
std::optional<UnitProblem> implausible(std::string_view text, Q value, const Plausible<Q>& range) {
  if (value == Q() || (value >= range.least && value <= range.most)) return std::nullopt;
  const bool small = value < range.least;
  return UnitProblem{fmt::format("{} is too {} for {}: at {} {}", quote(text), small ? "small" : "large", range.noun,
                                 small ? "least" : "most", print_quantity(small ? range.least : range.most)),
                     "check its unit"};
}

template std::optional<UnitProblem> implausible<Bytes>(std::string_view, Bytes, const Plausible<Bytes>&);
template std::optional<UnitProblem> implausible<Seconds>(std::string_view, Seconds, const Plausible<Seconds>&);
template std::optional<UnitProblem> implausible<Bandwidth>(std::string_view, Bandwidth, const Plausible<Bandwidth>&);
template std::optional<UnitProblem> implausible<FlopRate>(std::string_view, FlopRate, const Plausible<FlopRate>&);

std::string humanize(Bytes value) {
  return humanized(value.value(), [](double bytes) {
    if (bytes < 1024.0 && bytes == std::floor(bytes)) return fmt::format("{} B", bytes);
    constexpr std::array<std::string_view, 8> units{"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB", "ZiB"};
    return scaled(bytes, 1024.0, units);
  });
}
std::string humanize(Seconds value) { return humanized(value.value(), human_duration); }
std::string humanize(Bandwidth value) {
  return humanized(value.value(), [](double rate) {
    constexpr std::array<std::string_view, 8> units{"B/s", "kB/s", "MB/s", "GB/s", "TB/s", "PB/s", "EB/s", "ZB/s"};
    return scaled(rate, 1e3, units);
  });
}
std::string humanize(FlopRate value) {
  return humanized(value.value(), [](double rate) {
    constexpr std::array<std::string_view, 8> units{"FLOP/s",  "kFLOP/s", "MFLOP/s", "GFLOP/s",
                                                    "TFLOP/s", "PFLOP/s", "EFLOP/s", "ZFLOP/s"};
    return scaled(rate, 1e3, units);
  });
}
std::string humanize(Flops value) {
  return humanized(value.value(), [](double count) {
    constexpr std::array<std::string_view, 8> units{"FLOP", "kFLOP", "MFLOP", "GFLOP", "TFLOP", "PFLOP", "EFLOP", "ZFLOP"};
    return scaled(count, 1e3, units);
  });
}

std::string with_thousands(std::int64_t value) {
  std::string digits = fmt::format("{}", value);
  const std::size_t first = value < 0 ? 1 : 0;
  for (std::size_t at = digits.size(); at > first + 3;) {
    at -= 3;
    digits.insert(at, ",");
  }
  return digits;
}

}  // namespace ddl
