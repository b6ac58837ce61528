#include "tests/contract/reference.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <stdexcept>

#include "profiler/attribute_text.hpp"

namespace ddl {
namespace {

using Values = std::vector<double>;
using Point = std::array<std::int64_t, 3>;

std::size_t index(std::int64_t i) { return static_cast<std::size_t>(i); }

/// Item of a sample's tensor at a channel and position, images having their channels first and sequences last.
std::size_t at(const TensorShape& shape, std::int64_t sample, std::int64_t channel, const Point& position) {
  const std::int64_t place = (position[0] * shape.extent[1] + position[1]) * shape.extent[2] + position[2];
  const std::int64_t inside = shape.sequence ? place * shape.channels + channel : channel * shape.positions() + place;
  return index(sample * shape.items() + inside);
}

void each_position(const std::array<std::int64_t, 3>& extent, const std::function<void(const Point&)>& visit) {
  for (std::int64_t d = 0; d < extent[0]; ++d) {
    for (std::int64_t h = 0; h < extent[1]; ++h) {
      for (std::int64_t w = 0; w < extent[2]; ++w) visit({d, h, w});
    }
  }
}

/// Where one element of the window lands, or nothing outside.
bool landing(const Point& place, const Point& step, const WindowGeometry& window, const TensorShape& shape,
             Point& position) {
  for (std::size_t d = 0; d < 3; ++d) {
    position[d] = place[d] * window.stride[d] - window.before[d] + step[d] * window.dilation[d];
    if (position[d] < 0 || position[d] >= shape.extent[d]) return false;
  }
  return true;
}

std::int64_t flat(const Point& step, const std::array<std::int64_t, 3>& kernel) {
  return (step[0] * kernel[1] + step[1]) * kernel[2] + step[2];
}

struct Call {
  const Problem& problem;
  const ReferenceTensors& tensors;
  AttributeText attributes;
  const TensorShape& in;
  const TensorShape& out;

  [[nodiscard]] const Values& get(TensorRole role, int number = 0) const { return tensors.at({role, number}); }
};

Values convolution(const Call& c) {
  const WindowGeometry window = window_geometry(*c.problem.operation, c.in, c.out);
  const std::int64_t groups = c.attributes.integer("groups", 1);
  const std::int64_t from = c.in.channels / groups;
  const std::int64_t to = c.out.channels / groups;
  const std::int64_t volume = window.kernel[0] * window.kernel[1] * window.kernel[2];
  Values output(index(c.problem.samples * c.out.items()), 0.0);
  for (std::int64_t n = 0; n < c.problem.samples; ++n) {
    for (std::int64_t f = 0; f < c.out.channels; ++f) {
      each_position(c.out.extent, [&](const Point& place) {
        double sum = c.attributes.flag("bias", true) ? c.get(TensorRole::bias)[index(f)] : 0.0;
        for (std::int64_t k = 0; k < from; ++k) {
          each_position(window.kernel, [&](const Point& step) {
            Point position{};
            if (!landing(place, step, window, c.in, position)) return;
            sum += c.get(TensorRole::input)[at(c.in, n, f / to * from + k, position)] *
                   c.get(TensorRole::weight)[index((f * from + k) * volume + flat(step, window.kernel))];
          });
        }
        output[at(c.out, n, f, place)] = sum;
      });
    }
  }
  return output;
}

Values transposed_convolution(const Call& c) {
  const WindowGeometry window = window_geometry(*c.problem.operation, c.out, c.in);
  const std::int64_t groups = c.attributes.integer("groups", 1);
  const std::int64_t from = c.in.channels / groups;
  const std::int64_t to = c.out.channels / groups;
  const std::int64_t volume = window.kernel[0] * window.kernel[1] * window.kernel[2];
  Values output(index(c.problem.samples * c.out.items()), 0.0);
  for (std::int64_t n = 0; n < c.problem.samples; ++n) {
    if (c.attributes.flag("bias", true)) {
      for (std::int64_t f = 0; f < c.out.channels; ++f) {
        each_position(c.out.extent,
                      [&](const Point& place) { output[at(c.out, n, f, place)] = c.get(TensorRole::bias)[index(f)]; });
      }
    }
    // Every input item is spread over a window of the output. Weights lie as [groups × channels, filters, kernel].
    for (std::int64_t k = 0; k < c.in.channels; ++k) {
      for (std::int64_t f = 0; f < to; ++f) {
        each_position(c.in.extent, [&](const Point& place) {
          each_position(window.kernel, [&](const Point& step) {
            Point position{};
            if (!landing(place, step, window, c.out, position)) return;
            output[at(c.out, n, k / from * to + f, position)] +=
                c.get(TensorRole::input)[at(c.in, n, k, place)] *
                c.get(TensorRole::weight)[index((k * to + f) * volume + flat(step, window.kernel))];
          });
        });
      }
    }
  }
  return output;
}

Values fully_connected(const Call& c) {
  const std::int64_t rows = c.problem.samples * c.in.positions();
  Values output(index(rows * c.out.channels));
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::int64_t f = 0; f < c.out.channels; ++f) {
      double sum = c.attributes.flag("bias", true) ? c.get(TensorRole::bias)[index(f)] : 0.0;
      for (std::int64_t k = 0; k < c.in.channels; ++k) {
        sum +=
            c.get(TensorRole::input)[index(r * c.in.channels + k)] * c.get(TensorRole::weight)[index(f * c.in.channels + k)];
      }
      output[index(r * c.out.channels + f)] = sum;
    }
  }
  return output;
}

Values pool(const Call& c) {
  const bool is_max = c.attributes.text("kind") == "max";
  const bool adaptive = c.attributes.has("adaptive");
  const bool counts_rim = c.attributes.text("padding") != "same";
  const WindowGeometry window = adaptive ? WindowGeometry{} : window_geometry(*c.problem.operation, c.in, c.out);
  Values output(index(c.problem.samples * c.out.items()));
  for (std::int64_t n = 0; n < c.problem.samples; ++n) {
    for (std::int64_t f = 0; f < c.out.channels; ++f) {
      each_position(c.out.extent, [&](const Point& place) {
        double largest = -std::numeric_limits<double>::infinity();
        double sum = 0;
        double count = 0;
        std::array<std::int64_t, 3> extent = window.kernel;
        Point start{};
        for (std::size_t d = 0; adaptive && d < 3; ++d) {
          // From ⌊i·in/out⌋ to ⌈(i+1)·in/out⌉, as frameworks define it.
          start[d] = place[d] * c.in.extent[d] / c.out.extent[d];
          extent[d] = ((place[d] + 1) * c.in.extent[d] + c.out.extent[d] - 1) / c.out.extent[d] - start[d];
        }
        each_position(extent, [&](const Point& step) {
          Point position{start[0] + step[0], start[1] + step[1], start[2] + step[2]};
          if (!adaptive && !landing(place, step, window, c.in, position)) {
            if (counts_rim) count += 1;
            return;
          }
          const double value = c.get(TensorRole::input)[at(c.in, n, f, position)];
          largest = std::max(largest, value);
          sum += value;
          count += 1;
        });
        output[at(c.out, n, f, place)] = is_max ? largest : sum / count;
      });
    }
  }
  return output;
}

Values norm(const Call& c) {
  constexpr double epsilon = 1e-5;
  const bool batch = c.attributes.text("kind") == "batch";
  const std::int64_t channels = c.out.channels;
  Values output(index(c.problem.samples * c.out.items()));
  // Items that share a mean: a channel's over the batch and all positions, or a position's over its channels.
  std::map<std::pair<std::int64_t, std::int64_t>, std::vector<std::size_t>> groups;
  std::vector<std::int64_t> channel_of(output.size());
  for (std::int64_t n = 0; n < c.problem.samples; ++n) {
    for (std::int64_t f = 0; f < channels; ++f) {
      each_position(c.out.extent, [&](const Point& p) {
        const std::size_t item = at(c.out, n, f, p);
        channel_of[item] = f;
        groups[batch ? std::pair{f, std::int64_t{0}} : std::pair{n, flat(p, c.out.extent)}].push_back(item);
      });
    }
  }
  const Values& input = c.get(TensorRole::input);
  const Values& trained = c.get(TensorRole::bias);
  for (const auto& [key, members] : groups) {
    double mean = 0;
    for (const std::size_t i : members) mean += input[i];
    mean /= static_cast<double>(members.size());
    double variance = 0;
    for (const std::size_t i : members) variance += (input[i] - mean) * (input[i] - mean);
    variance /= static_cast<double>(members.size());
    for (const std::size_t i : members) {
      const std::size_t f = index(channel_of[i]);
      output[i] = (input[i] - mean) / std::sqrt(variance + epsilon) * trained[f] + trained[index(channels) + f];
    }
  }
  return output;
}

Values activation(const Call& c) {
  const std::string_view kind = c.attributes.text("kind");
  const auto function = [&](double x) -> double {
    const double sigmoid = 1 / (1 + std::exp(-x));
    if (kind == "relu") return std::max(x, 0.0);
    if (kind == "relu6") return std::clamp(x, 0.0, 6.0);
    if (kind == "leaky_relu") return x > 0 ? x : 0.01 * x;
    if (kind == "tanh") return std::tanh(x);
    if (kind == "sigmoid") return sigmoid;
    if (kind == "gelu") return 0.5 * x * (1 + std::erf(x / std::sqrt(2.0)));
    if (kind == "silu") return x * sigmoid;
    if (kind == "hardswish") return x * std::clamp(x + 3, 0.0, 6.0) / 6;
    if (kind == "elu") return x > 0 ? x : std::exp(x) - 1;
    throw std::logic_error("no reference of this function");
  };
  Values output = c.get(TensorRole::input);
  std::transform(output.begin(), output.end(), output.begin(), function);
  return output;
}

Values softmax_rows(const Values& input, std::int64_t columns) {
  Values output(input.size());
  for (std::size_t row = 0; row < input.size(); row += index(columns)) {
    double sum = 0;
    for (std::size_t i = row; i < row + index(columns); ++i) sum += std::exp(input[i]);
    for (std::size_t i = row; i < row + index(columns); ++i) output[i] = std::exp(input[i]) / sum;
  }
  return output;
}

/// What dropout multiplies an item by. Masks say whether it stays; some have the factor in them.
double scale_of(const Call& c, double rate, int mask, std::size_t item) {
  return c.get(TensorRole::kept, mask)[item] != 0 ? 1 / (1 - rate) : 0.0;
}

Values attention(const Call& c) {
  const std::int64_t heads = c.attributes.integer("heads", 1);
  const std::int64_t size = c.out.channels / heads;
  const std::int64_t tokens = c.out.extent[0];
  const bool causal = c.attributes.flag("causal", false);
  const double rate = c.attributes.number("dropout", 0);
  const Values& input = c.get(TensorRole::input);
  Values output(index(c.problem.samples * c.out.items()), 0.0);
  const auto item = [&](std::int64_t n, std::int64_t t, std::int64_t part, std::int64_t h, std::int64_t d) {
    return input[index(((n * tokens + t) * 3 + part) * heads * size + h * size + d)];
  };
  for (std::int64_t n = 0; n < c.problem.samples; ++n) {
    for (std::int64_t h = 0; h < heads; ++h) {
      for (std::int64_t t = 0; t < tokens; ++t) {
        const std::int64_t seen = causal ? t + 1 : tokens;
        Values scores(index(seen), 0.0);
        for (std::int64_t u = 0; u < seen; ++u) {
          for (std::int64_t d = 0; d < size; ++d) scores[index(u)] += item(n, t, 0, h, d) * item(n, u, 1, h, d);
          scores[index(u)] /= std::sqrt(static_cast<double>(size));
        }
        scores = softmax_rows(scores, seen);
        for (std::int64_t u = 0; u < seen; ++u) {
          const double kept = rate > 0 ? scale_of(c, rate, 1, index(((n * heads + h) * tokens + t) * tokens + u)) : 1.0;
          for (std::int64_t d = 0; d < size; ++d) {
            output[index((n * tokens + t) * heads * size + h * size + d)] += scores[index(u)] * kept * item(n, u, 2, h, d);
          }
        }
      }
    }
  }
  return output;
}

Values loss(const Call& c) {
  double total = 0;
  for (std::size_t part = 0; part < c.problem.inputs.size(); ++part) {
    const Values& input = c.get(TensorRole::input, static_cast<int>(part));
    double sum = 0;
    if (c.attributes.text("kind") != "cross_entropy") {
      for (const double value : input) sum += value * value;
      total += sum / static_cast<double>(input.size());
      continue;
    }
    const std::int64_t classes = c.problem.inputs[part].channels;
    const Values shares = softmax_rows(input, classes);
    const std::int64_t rows = static_cast<std::int64_t>(input.size()) / classes;
    for (std::int64_t row = 0; row < rows; ++row) sum -= std::log(shares[index(row * classes + row % classes)]);
    total += sum / static_cast<double>(rows);
  }
  return {total};
}

Values class_token(const Call& c) {
  Values output;
  for (std::int64_t n = 0; n < c.problem.samples; ++n) {
    for (const double value : c.get(TensorRole::bias)) output.push_back(value);
    for (std::int64_t i = 0; i < c.in.items(); ++i) output.push_back(c.get(TensorRole::input)[index(n * c.in.items() + i)]);
  }
  return output;
}

Values concat(const Call& c) {
  Values output(index(c.problem.samples * c.out.items()));
  for (std::int64_t n = 0; n < c.problem.samples; ++n) {
    std::int64_t first = 0;
    for (std::size_t i = 0; i < c.problem.inputs.size(); ++i) {
      const TensorShape& shape = c.problem.inputs[i];
      for (std::int64_t f = 0; f < shape.channels; ++f) {
        each_position(shape.extent, [&](const Point& p) {
          output[at(c.out, n, first + f, p)] = c.get(TensorRole::input, static_cast<int>(i))[at(shape, n, f, p)];
        });
      }
      first += shape.channels;
    }
  }
  return output;
}

Values embedding(const Call& c) {
  Values output;
  for (const double token : c.get(TensorRole::input)) {
    const auto row = c.get(TensorRole::weight).begin() + static_cast<std::ptrdiff_t>(token) * c.out.channels;
    output.insert(output.end(), row, row + c.out.channels);
  }
  return output;
}

Values select(const Call& c) {
  const std::int64_t token = c.attributes.text("token") == "last" ? c.in.extent[0] - 1 : 0;
  Values output;
  for (std::int64_t n = 0; n < c.problem.samples; ++n) {
    for (std::int64_t f = 0; f < c.in.channels; ++f) {
      output.push_back(c.get(TensorRole::input)[at(c.in, n, f, {token, 0, 0})]);
    }
  }
  return output;
}

Values position_embedding(const Call& c) {
  Values output = c.get(TensorRole::input);
  for (std::size_t i = 0; i < output.size(); ++i) output[i] += c.get(TensorRole::weight)[i % index(c.out.items())];
  return output;
}

Values add(const Call& c) {
  Values output = c.get(TensorRole::input);
  for (int other = 1; other < static_cast<int>(c.problem.inputs.size()); ++other) {
    for (std::size_t i = 0; i < output.size(); ++i) output[i] += c.get(TensorRole::input, other)[i];
  }
  return output;
}

Values multiply(const Call& c) {
  Values output = c.get(TensorRole::input);
  const Values& factors = c.get(TensorRole::input, 1);
  const std::size_t each = output.size() / factors.size();
  for (std::size_t i = 0; i < output.size(); ++i) output[i] *= factors[i / each];
  return output;
}

Values dropout(const Call& c) {
  Values output = c.get(TensorRole::input);
  for (std::size_t i = 0; i < output.size(); ++i) output[i] *= scale_of(c, c.attributes.number("rate", 0), 0, i);
  return output;
}

Values softmax(const Call& c) { return softmax_rows(c.get(TensorRole::input), c.in.channels); }

}  // namespace

Values reference_forward(const Problem& problem, const ReferenceTensors& tensors) {
  static const std::map<std::string_view, Values (*)(const Call&)> functions{
      {"activation", activation},
      {"add", add},
      {"attention", attention},
      {"class_token", class_token},
      {"concat", concat},
      {"convolution", convolution},
      {"dropout", dropout},
      {"embedding", embedding},
      {"fully_connected", fully_connected},
      {"loss", loss},
      {"multiply", multiply},
      {"norm", norm},
      {"pool", pool},
      {"position_embedding", position_embedding},
      {"select", select},
      {"softmax", softmax},
      {"transposed_convolution", transposed_convolution},
  };
  return functions.at(problem.operation->type())(
      {problem, tensors, AttributeText(*problem.operation), problem.inputs.front(), problem.output});
}

Values reference_gradient(const Problem& problem, const ReferenceTensors& tensors, std::pair<TensorRole, int> of,
                          const Values& output_gradient) {
  constexpr double step = 1e-5;
  ReferenceTensors moved = tensors;
  Values& variable = moved.at(of);
  const auto objective = [&] {
    const Values output = reference_forward(problem, moved);
    double sum = 0;
    for (std::size_t i = 0; i < output.size(); ++i) sum += output[i] * output_gradient[i];
    return sum;
  };
  Values gradient(variable.size());
  for (std::size_t i = 0; i < variable.size(); ++i) {
    const double value = variable[i];
    variable[i] = value + step;
    const double above = objective();
    variable[i] = value - step;
    gradient[i] = (above - objective()) / (2 * step);
    variable[i] = value;
  }
  return gradient;
}

}  // namespace ddl
