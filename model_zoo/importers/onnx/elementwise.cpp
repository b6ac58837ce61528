#include "model_zoo/importers/onnx/elementwise.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numbers>

#include "model_zoo/importers/onnx/graph.hpp"

namespace ddl::onnx_import {
namespace {

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
double clip(double x, double low, double high) { return std::min(std::max(x, low), high); }

/// Returns whether two numbers are equal up to the rounding of constants stored in single precision.
bool near(double a, double b) { return std::abs(a - b) <= 1e-5 * (1 + std::abs(b)); }

template <class F>
bool is(const std::vector<double>& values, F&& function) {
  const std::vector<double>& points = sample_points();
  for (std::size_t i = 0; i < points.size(); ++i) {
    if (!near(values[i], function(points[i]))) return false;  // NaN also returns false
  }
  return true;
}

template <class F>
Function mapped(const Function& function, F&& step) {
  std::vector<double> values = values_of(function);
  for (double& value : values) value = step(value);
  return std::make_shared<const std::vector<double>>(std::move(values));
}

struct Known {
  std::string_view name;
  double (*function)(double);
};
// gelu is from Hendrycks and Gimpel, "Gaussian error linear units", 2016: the exact form and both
// approximations of section 2.
constexpr std::array<Known, 10> known_activations{{
    {"relu", [](double x) { return std::max(x, 0.0); }},
    {"relu6", [](double x) { return clip(x, 0, 6); }},
    {"tanh", [](double x) { return std::tanh(x); }},
    {"sigmoid", [](double x) { return sigmoid(x); }},
    {"gelu", [](double x) { return x / 2 * (1 + std::erf(x / std::numbers::sqrt2)); }},
    {"gelu", [](double x) { return x / 2 * (1 + std::tanh(std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x))); }},
    {"gelu", [](double x) { return x * sigmoid(1.702 * x); }},
    {"silu", [](double x) { return x * sigmoid(x); }},
    {"hardswish", [](double x) { return x * clip(x + 3, 0, 6) / 6; }},
    {"hardsigmoid", [](double x) { return clip(x + 3, 0, 6) / 6; }},
}};

/// Returns the value of the function at one of the sample points.
double at(const std::vector<double>& values, double point) {
  const std::vector<double>& points = sample_points();
  return values[static_cast<std::size_t>(std::find(points.begin(), points.end(), point) - points.begin())];
}

}  // namespace

const std::vector<double>& sample_points() {
  static const std::vector<double> points{-9.7,  -6.2, -4.4, -3.1, -2.9, -2.3, -1.75, -1.0, -0.87, -0.51, -0.3, -0.11, 0.0,
                                          0.073, 0.24, 0.49, 0.77, 1.0,  1.61, 2.4,   2.95, 3.05,  4.1,   5.9,  6.1,   8.7};
  return points;
}

const std::vector<double>& values_of(const Function& function) { return function ? *function : sample_points(); }

std::optional<Function> applied(const onnx::NodeProto& node, const Function& function, std::optional<double> low,
                                std::optional<double> high) {
  const std::string& kind = node.op_type();
  const auto made = [&function](auto&& step) { return mapped(function, step); };
  if (kind == "Relu") return made([](double x) { return std::max(x, 0.0); });
  if (kind == "Sigmoid") return made(sigmoid);
  if (kind == "Tanh") return made([](double x) { return std::tanh(x); });
  if (kind == "Erf") return made([](double x) { return std::erf(x); });
  if (kind == "Exp") return made([](double x) { return std::exp(x); });
  if (kind == "Log") return made([](double x) { return std::log(x); });
  if (kind == "Sqrt") return made([](double x) { return std::sqrt(x); });
  if (kind == "Neg") return made([](double x) { return -x; });
  if (kind == "Abs") return made([](double x) { return std::abs(x); });
  if (kind == "Reciprocal") return made([](double x) { return 1 / x; });
  if (kind == "Softplus") return made([](double x) { return std::log1p(std::exp(x)); });
  if (kind == "Softsign") return made([](double x) { return x / (1 + std::abs(x)); });
  if (kind == "Swish") {
    const double alpha = real_attribute(node, "alpha", 1);
    return made([alpha](double x) { return x * sigmoid(alpha * x); });
  }
  if (kind == "Gelu") {
    if (text_attribute(node, "approximate", "none") == "tanh") return made(known_activations[5].function);
    return made(known_activations[4].function);
  }
  if (kind == "HardSwish") return made([](double x) { return x * clip(x + 3, 0, 6) / 6; });
  if (kind == "Clip") {
    constexpr double infinity = std::numeric_limits<double>::infinity();
    return made([&](double x) { return std::min(std::max(x, low.value_or(-infinity)), high.value_or(infinity)); });
  }
  // Attributes that are missing have the defaults of ONNX's operators.
  if (kind == "LeakyRelu") {
    const double alpha = real_attribute(node, "alpha", 0.01);
    return made([alpha](double x) { return x < 0 ? alpha * x : x; });
  }
  if (kind == "Elu") {
    const double alpha = real_attribute(node, "alpha", 1);
    return made([alpha](double x) { return x < 0 ? alpha * std::expm1(x) : x; });
  }
  if (kind == "HardSigmoid") {
    const double alpha = real_attribute(node, "alpha", 0.2);
    const double beta = real_attribute(node, "beta", 0.5);
    return made([alpha, beta](double x) { return clip(alpha * x + beta, 0, 1); });
  }
  return std::nullopt;
}

std::optional<Function> joined(std::string_view operation, const Function& a, const Function& b) {
  const std::vector<double>& right = values_of(b);
  std::vector<double> values = values_of(a);
  for (std::size_t i = 0; i < values.size(); ++i) {
    double& x = values[i];
    const double y = right[i];
    if (operation == "Add") {
      x += y;
    } else if (operation == "Sub") {
      x -= y;
    } else if (operation == "Mul") {
      x *= y;
    } else if (operation == "Div") {
      x /= y;
    } else if (operation == "Pow") {
      x = std::pow(x, y);
    } else if (operation == "Max") {
      x = std::max(x, y);
    } else if (operation == "Min") {
      x = std::min(x, y);
    } else {
      return std::nullopt;
    }
  }
  return std::make_shared<const std::vector<double>>(std::move(values));
}

Function constant_function(double value) {
  return std::make_shared<const std::vector<double>>(sample_points().size(), value);
}

bool is_linear(const Function& function) {
  if (!function) return true;
  const double shift = at(*function, 0);
  const double scale = at(*function, 1) - shift;
  return scale != 0 && is(*function, [=](double x) { return scale * x + shift; });
}

bool is_square(const Function& function) {
  if (!function) return false;
  const double scale = at(*function, 1);
  return scale > 0 && is(*function, [=](double x) { return scale * x * x; });
}

std::optional<std::string> activation_of(const Function& function) {
  if (!function) return std::nullopt;
  for (const Known& known : known_activations) {
    if (is(*function, known.function)) return std::string(known.name);
  }
  const double slope = -at(*function, -1);
  if (slope > 0 && slope < 1 && is(*function, [=](double x) { return x < 0 ? slope * x : x; })) return "leaky_relu";
  const double alpha = at(*function, -1) / std::expm1(-1);
  if (alpha > 0 && is(*function, [=](double x) { return x < 0 ? alpha * std::expm1(x) : x; })) return "elu";
  if (is(*function, [](double x) { return std::log1p(std::exp(x)); })) return "softplus";
  // Model files have one name for hard sigmoids of any slope.
  const double middle = at(*function, 0);
  const double rise = at(*function, 0.24) - middle;
  const auto ramp = [=](double x) { return clip(middle + rise / 0.24 * x, 0, 1); };
  if (middle > 0 && middle < 1 && rise > 0 && is(*function, ramp)) return "hardsigmoid";
  return std::nullopt;
}

}  // namespace ddl::onnx_import
