#include "tests/contract/reference.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <stdexcept>

#include "profiler/backends/window_geometry.hpp"

namespace ddl {
namespace {

using Values = std::vector<double>;
using Point = std::array<std::int64_t, 3>;

std::size_t index(std::int64_t i) { return static_cast<std::size_t>(i); }

/// Returns the index of a channel and position in a sample's tensor. Channels are first in images and last in sequences.
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

/// Computes the input position of one element of the window. Returns false if the position is outside of the input.
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
  AttributeValues attributes;
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
    // Every input element contributes to a window of the output. The layout of weights is [groups × channels, filters,
    // kernel].
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
  const std::int64_t experts = c.attributes.integer("experts", 1);
  std::int64_t expert = 0;
  for (std::int64_t r = 0; r < rows; ++r) {
    // Rows are grouped by expert, in groups of sizes as equal as possible.
    while (r >= (expert + 1) * rows / experts) ++expert;
    for (std::int64_t f = 0; f < c.out.channels; ++f) {
      double sum = c.attributes.flag("bias", true) ? c.get(TensorRole::bias)[index(expert * c.out.channels + f)] : 0.0;
      for (std::int64_t k = 0; k < c.in.channels; ++k) {
        sum += c.get(TensorRole::input)[index(r * c.in.channels + k)] *
               c.get(TensorRole::weight)[index((expert * c.out.channels + f) * c.in.channels + k)];
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
          // As in frameworks, the window reaches from ⌊i·in/out⌋ to ⌈(i+1)·in/out⌉.
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
  const std::string_view kind = c.attributes.text("kind");
  const bool has_scale = c.attributes.flag("scale", true);
  const bool has_shift = c.attributes.flag("bias", kind != "rms");
  const std::int64_t channels = c.out.channels;
  const std::int64_t members = kind == "group" ? channels / c.attributes.integer("groups", 1) : 1;
  Values output(index(c.problem.samples * c.out.items()));
  // Each group contains the elements that share a mean: the elements of a channel over the batch and all
  // positions, of a position over its channels, or of a sample's channel or group of channels.
  std::map<std::pair<std::int64_t, std::int64_t>, std::vector<std::size_t>> groups;
  std::vector<std::int64_t> channel_of(output.size());
  for (std::int64_t n = 0; n < c.problem.samples; ++n) {
    for (std::int64_t f = 0; f < channels; ++f) {
      each_position(c.out.extent, [&](const Point& p) {
        const std::size_t item = at(c.out, n, f, p);
        channel_of[item] = f;
        groups[kind == "batch"                    ? std::pair{f, std::int64_t{0}}
               : kind == "layer" || kind == "rms" ? std::pair{n, flat(p, c.out.extent)}
                                                  : std::pair{n, f / members}]
            .push_back(item);
      });
    }
  }
  const Values& input = c.get(TensorRole::input);
  for (const auto& [key, items] : groups) {
    double mean = 0;
    for (const std::size_t i : items) mean += input[i];
    mean = kind == "rms" ? 0 : mean / static_cast<double>(items.size());
    double variance = 0;
    for (const std::size_t i : items) variance += (input[i] - mean) * (input[i] - mean);
    variance /= static_cast<double>(items.size());
    for (const std::size_t i : items) {
      const std::size_t f = index(channel_of[i]);
      // The tensor contains the scales of all channels, followed by the shifts.
      const double scale = has_scale ? c.get(TensorRole::bias)[f] : 1.0;
      const double shift = has_shift ? c.get(TensorRole::bias)[index(has_scale ? channels : 0) + f] : 0.0;
      output[i] = (input[i] - mean) / std::sqrt(variance + epsilon) * scale + shift;
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
    if (kind == "hardsigmoid") return std::clamp(x + 3, 0.0, 6.0) / 6;
    if (kind == "softplus") return std::log(1 + std::exp(x));
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

/// Returns the factor of an element in dropout. A mask says whether the element is kept; some masks also contain the factor.
double scale_of(const Call& c, double rate, int mask, std::size_t item) {
  return c.get(TensorRole::kept, mask)[item] != 0 ? 1 / (1 - rate) : 0.0;
}

/// Returns the bias added to the score of a query and a key: a multiple of their distance, or the
/// trained bias of its bucket.
double attention_bias(const Call& c, std::int64_t head, std::int64_t query, std::int64_t key) {
  const std::int64_t heads = c.attributes.integer("heads", 1);
  const bool causal = c.attributes.flag("causal", false);
  const auto distance = static_cast<double>(std::abs(query - key));
  if (c.attributes.flag("alibi", false)) {
    return -distance * std::pow(2.0, -8.0 * static_cast<double>(head + 1) / static_cast<double>(heads));
  }
  const std::int64_t all = c.attributes.integer("buckets", 0);
  if (all == 0) return 0;
  // Half of the buckets are for later keys, unless attention is causal. Half of the buckets of each
  // side have one distance each. All further distances, up to 128, are divided logarithmically.
  const std::int64_t buckets = causal ? all : all / 2;
  const std::int64_t exact = buckets / 2;
  std::int64_t bucket = std::abs(query - key);
  if (bucket >= exact) {
    const double share = std::log(distance / static_cast<double>(exact)) / std::log(128.0 / static_cast<double>(exact));
    bucket = std::min(buckets - 1, exact + static_cast<std::int64_t>(share * static_cast<double>(buckets - exact)));
  }
  if (!causal && key > query) bucket += buckets;
  return c.get(TensorRole::bias)[index(bucket * heads + head)];
}

Values attention(const Call& c) {
  const std::int64_t heads = c.attributes.integer("heads", 1);
  const std::int64_t kv_heads = c.attributes.integer("kv_heads", heads);
  const std::int64_t size = c.out.channels / heads;
  const std::int64_t queries = c.out.extent[0];
  const std::int64_t keys = c.problem.inputs.back().extent[0];
  const bool causal = c.attributes.flag("causal", false);
  const std::int64_t window = c.attributes.integer("window", keys);
  const double rate = c.attributes.number("dropout", 0);
  Values output(index(c.problem.samples * c.out.items()), 0.0);
  const auto query = [&](std::int64_t n, std::int64_t t, std::int64_t h, std::int64_t d) {
    return c.get(TensorRole::input)[index((n * queries + t) * c.in.channels + h * size + d)];
  };
  // Keys, then values, follow the queries in one tensor, or are in a separate tensor.
  const bool crossed = c.problem.inputs.size() == 2;
  const auto other = [&](std::int64_t n, std::int64_t u, std::int64_t part, std::int64_t h, std::int64_t d) {
    const std::int64_t head = (crossed ? 0 : heads) + part * kv_heads + h / (heads / kv_heads);
    return c.get(TensorRole::input,
                 crossed ? 1 : 0)[index((n * keys + u) * c.problem.inputs.back().channels + head * size + d)];
  };
  for (std::int64_t n = 0; n < c.problem.samples; ++n) {
    for (std::int64_t h = 0; h < heads; ++h) {
      for (std::int64_t t = 0; t < queries; ++t) {
        const std::int64_t end = causal ? t + 1 : keys;
        const std::int64_t first = causal ? std::max<std::int64_t>(0, end - window) : 0;
        Values scores(index(end - first), 0.0);
        for (std::int64_t u = first; u < end; ++u) {
          double& score = scores[index(u - first)];
          for (std::int64_t d = 0; d < size; ++d) score += query(n, t, h, d) * other(n, u, 0, h, d);
          score = score / std::sqrt(static_cast<double>(size)) + attention_bias(c, h, t, u);
        }
        scores = softmax_rows(scores, end - first);
        for (std::int64_t u = first; u < end; ++u) {
          const double kept = rate > 0 ? scale_of(c, rate, 1, index(((n * heads + h) * queries + t) * keys + u)) : 1.0;
          for (std::int64_t d = 0; d < size; ++d) {
            output[index((n * queries + t) * heads * size + h * size + d)] +=
                scores[index(u - first)] * kept * other(n, u, 1, h, d);
          }
        }
      }
    }
  }
  return output;
}

Values window_attention(const Call& c) {
  const std::int64_t heads = c.attributes.integer("heads", 1);
  const std::int64_t size = c.out.channels / heads;
  Point window = c.attributes.sizes("window", 1);
  Point shift{};
  std::int64_t sides = 1;
  for (std::size_t d = 0; d < 3; ++d) {
    if (d >= static_cast<std::size_t>(c.out.rank)) window[d] = 1;
    if (window[d] < c.out.extent[d]) shift[d] = c.attributes.integer("shift", 0);
    sides *= window[d];
  }
  // Returns the coordinate after the image is rolled, and whether it wrapped around an edge.
  const auto rolled = [&](const Point& p, std::size_t d) { return (p[d] - shift[d] + c.out.extent[d]) % c.out.extent[d]; };
  Values output(index(c.problem.samples * c.out.items()), 0.0);
  for (std::int64_t n = 0; n < c.problem.samples; ++n) {
    for (std::int64_t h = 0; h < heads; ++h) {
      const auto item = [&](std::int64_t part, std::int64_t d, const Point& p) {
        return c.get(TensorRole::input)[at(c.in, n, (part * heads + h) * size + d, p)];
      };
      each_position(c.out.extent, [&](const Point& query) {
        std::vector<Point> seen;
        Values scores;
        each_position(c.out.extent, [&](const Point& key) {
          std::int64_t row = 0;
          for (std::size_t d = 0; d < 3; ++d) {
            // Both positions must be in the same window, and on the same side of the edge.
            if (rolled(query, d) / window[d] != rolled(key, d) / window[d]) return;
            if ((query[d] < shift[d]) != (key[d] < shift[d])) return;
            row = row * (2 * window[d] - 1) + rolled(query, d) - rolled(key, d) + window[d] - 1;
          }
          double score = 0;
          for (std::int64_t d = 0; d < size; ++d) score += item(0, d, query) * item(1, d, key);
          scores.push_back(score / std::sqrt(static_cast<double>(size)) + c.get(TensorRole::bias)[index(row * heads + h)]);
          seen.push_back(key);
        });
        scores = softmax_rows(scores, static_cast<std::int64_t>(scores.size()));
        for (std::size_t i = 0; i < seen.size(); ++i) {
          for (std::int64_t d = 0; d < size; ++d)
            output[at(c.out, n, h * size + d, query)] += scores[i] * item(2, d, seen[i]);
        }
      });
    }
  }
  return output;
}

Values additive_attention(const Call& c) {
  const TensorShape& other = c.problem.inputs[1];
  const std::int64_t features = c.attributes.integer("features", 1);
  const bool normalized = c.attributes.flag("normalized", false);
  const Values& biases = c.get(TensorRole::bias);  // the vector v, the bias of the sums, and the length of v
  double length = 0;
  for (std::int64_t f = 0; f < features; ++f) length += biases[index(f)] * biases[index(f)];
  const auto projected = [&](int input, std::int64_t row, std::int64_t f) {
    const std::int64_t channels = c.problem.inputs[static_cast<std::size_t>(input)].channels;
    double sum = 0;
    for (std::int64_t k = 0; k < channels; ++k) {
      sum += c.get(TensorRole::input, input)[index(row * channels + k)] *
             c.get(TensorRole::weight, input)[index(f * channels + k)];
    }
    return sum;
  };
  Values output;
  for (std::int64_t row = 0; row < c.problem.samples * c.in.extent[0]; ++row) {
    const std::int64_t first = row / c.in.extent[0] * other.extent[0];
    Values scores;
    for (std::int64_t key = first; key < first + other.extent[0]; ++key) {
      double score = 0;
      for (std::int64_t f = 0; f < features; ++f) {
        const double v = biases[index(f)] * (normalized ? biases[index(2 * features)] / std::sqrt(length) : 1.0);
        const double bias = normalized ? biases[index(features + f)] : 0.0;
        score += v * std::tanh(projected(0, row, f) + projected(1, key, f) + bias);
      }
      scores.push_back(score);
    }
    scores = softmax_rows(scores, other.extent[0]);
    for (std::int64_t k = 0; k < other.channels; ++k) {
      double sum = 0;
      for (std::int64_t i = 0; i < other.extent[0]; ++i) {
        sum += scores[index(i)] * c.get(TensorRole::input, 1)[index((first + i) * other.channels + k)];
      }
      output.push_back(sum);
    }
  }
  return output;
}

Values rotary_embedding(const Call& c) {
  const std::int64_t heads = c.attributes.integer("heads", 1);
  const std::int64_t kv_heads = c.attributes.integer("kv_heads", heads);
  const std::int64_t size = c.out.channels / (heads + 2 * kv_heads);
  const std::int64_t turned = c.attributes.integer("turned", size);
  Values output = c.get(TensorRole::input);
  for (std::int64_t row = 0; row < c.problem.samples * c.out.extent[0]; ++row) {
    for (std::int64_t head = 0; head < heads + kv_heads; ++head) {
      for (std::int64_t pair = 0; pair < turned / 2; ++pair) {
        const double angle = static_cast<double>(row % c.out.extent[0]) *
                             std::pow(10000.0, -2.0 * static_cast<double>(pair) / static_cast<double>(turned));
        double& x = output[index(row * c.out.channels + head * size + pair)];
        double& y = output[index(row * c.out.channels + head * size + turned / 2 + pair)];
        const double before = x;
        x = before * std::cos(angle) - y * std::sin(angle);
        y = before * std::sin(angle) + y * std::cos(angle);
      }
    }
  }
  return output;
}

Values lstm(const Call& c) {
  const std::int64_t features = c.attributes.integer("features", 1);
  const std::int64_t tokens = c.out.extent[0];
  Values output(index(c.problem.samples * c.out.items()));
  for (std::int64_t direction = 0; direction < c.out.channels / features; ++direction) {
    for (std::int64_t n = 0; n < c.problem.samples; ++n) {
      Values state(index(features), 0.0);
      Values cell(index(features), 0.0);
      for (std::int64_t step = 0; step < tokens; ++step) {
        const std::int64_t t = direction == 0 ? step : tokens - 1 - step;
        // The input, forget, cell and output gates of all units.
        Values gates;
        for (std::int64_t row = direction * 4 * features; row < (direction + 1) * 4 * features; ++row) {
          double sum = c.get(TensorRole::bias)[index(row)];
          for (std::int64_t k = 0; k < c.in.channels; ++k) {
            sum += c.get(TensorRole::weight, 0)[index(row * c.in.channels + k)] *
                   c.get(TensorRole::input)[index((n * tokens + t) * c.in.channels + k)];
          }
          for (std::int64_t k = 0; k < features; ++k) {
            sum += c.get(TensorRole::weight, 1)[index(row * features + k)] * state[index(k)];
          }
          gates.push_back(sum);
        }
        const auto sigmoid = [](double x) { return 1 / (1 + std::exp(-x)); };
        for (std::int64_t f = 0; f < features; ++f) {
          cell[index(f)] = sigmoid(gates[index(features + f)]) * cell[index(f)] +
                           sigmoid(gates[index(f)]) * std::tanh(gates[index(2 * features + f)]);
          state[index(f)] = sigmoid(gates[index(3 * features + f)]) * std::tanh(cell[index(f)]);
          output[index((n * tokens + t) * c.out.channels + direction * features + f)] = state[index(f)];
        }
      }
    }
  }
  return output;
}

/// Returns whether an expert is among the best `active` experts of a row of scores.
bool is_taken(const Values& scores, std::int64_t row, std::int64_t experts, std::int64_t active, std::int64_t expert) {
  std::int64_t better = 0;
  for (std::int64_t e = 0; e < experts; ++e) {
    if (scores[index(row * experts + e)] > scores[index(row * experts + expert)]) ++better;
  }
  return better < active;
}

Values router(const Call& c) {
  const std::int64_t experts = c.out.channels;
  const std::int64_t rows = c.problem.samples * c.out.extent[0];
  Values scores(index(rows * experts), 0.0);
  for (std::int64_t i = 0; i < rows * experts; ++i) {
    for (std::int64_t k = 0; k < c.in.channels; ++k) {
      scores[index(i)] += c.get(TensorRole::input)[index(i / experts * c.in.channels + k)] *
                          c.get(TensorRole::weight)[index(i % experts * c.in.channels + k)];
    }
  }
  const Values weights = softmax_rows(scores, experts);
  Values output(weights.size(), 0.0);
  for (std::int64_t i = 0; i < rows * experts; ++i) {
    const bool taken = is_taken(weights, i / experts, experts, c.attributes.integer("active", 1), i % experts);
    output[index(i)] = taken ? weights[index(i)] : 0.0;
  }
  return output;
}

Values dispatch(const Call& c) {
  const std::int64_t experts = c.problem.inputs[1].channels;
  Values output;
  for (std::int64_t expert = 0; expert < experts; ++expert) {
    for (std::int64_t row = 0; row < c.problem.samples * c.in.extent[0]; ++row) {
      if (!is_taken(c.get(TensorRole::input, 1), row, experts, c.attributes.integer("active", 1), expert)) continue;
      for (std::int64_t k = 0; k < c.in.channels; ++k) {
        output.push_back(c.get(TensorRole::input)[index(row * c.in.channels + k)]);
      }
    }
  }
  return output;
}

Values combine(const Call& c) {
  const std::int64_t experts = c.problem.inputs[1].channels;
  const std::int64_t active = c.in.extent[0] / c.out.extent[0];
  const Values& weights = c.get(TensorRole::input, 1);
  Values output(index(c.problem.samples * c.out.items()), 0.0);
  std::int64_t copy = 0;
  for (std::int64_t expert = 0; expert < experts; ++expert) {
    for (std::int64_t row = 0; row < c.problem.samples * c.out.extent[0]; ++row) {
      if (!is_taken(weights, row, experts, active, expert)) continue;
      for (std::int64_t k = 0; k < c.out.channels; ++k) {
        output[index(row * c.out.channels + k)] +=
            weights[index(row * experts + expert)] * c.get(TensorRole::input)[index(copy * c.out.channels + k)];
      }
      ++copy;
    }
  }
  return output;
}

Values interaction(const Call& c) {
  const auto count = static_cast<int>(c.problem.inputs.size());
  Values output;
  for (std::int64_t n = 0; n < c.problem.samples; ++n) {
    const auto item = [&](int input, std::int64_t k) {
      return c.get(TensorRole::input, input)[index(n * c.in.channels + k)];
    };
    for (std::int64_t k = 0; k < c.in.channels; ++k) output.push_back(item(0, k));
    for (int i = 0; i < count; ++i) {
      for (int j = 0; j < i; ++j) {
        double sum = 0;
        for (std::int64_t k = 0; k < c.in.channels; ++k) sum += item(i, k) * item(j, k);
        output.push_back(sum);
      }
    }
  }
  return output;
}

/// Copies each element of the output from a channel and position of the input.
Values gathered(const Call& c, const std::function<std::pair<std::int64_t, Point>(std::int64_t, const Point&)>& from) {
  Values output(index(c.problem.samples * c.out.items()));
  for (std::int64_t n = 0; n < c.problem.samples; ++n) {
    for (std::int64_t f = 0; f < c.out.channels; ++f) {
      each_position(c.out.extent, [&](const Point& p) {
        const auto [channel, position] = from(f, p);
        output[at(c.out, n, f, p)] = c.get(TensorRole::input)[at(c.in, n, channel, position)];
      });
    }
  }
  return output;
}

Values slice(const Call& c) {
  const std::int64_t first = c.attributes.integer("first", 0);
  return gathered(c, [&](std::int64_t f, const Point& p) { return std::pair{first + f, p}; });
}

Values crop(const Call& c) {
  return gathered(c, [&](std::int64_t f, Point p) {
    for (std::size_t d = 0; d < 3; ++d) p[d] += (c.in.extent[d] - c.out.extent[d]) / 2;
    return std::pair{f, p};
  });
}

Values channel_shuffle(const Call& c) {
  // Channels of a group are distributed over all groups, one after the other.
  const std::int64_t groups = c.attributes.integer("groups", 1);
  const std::int64_t members = c.in.channels / groups;
  return gathered(c, [&](std::int64_t f, const Point& p) { return std::pair{f % groups * members + f / groups, p}; });
}

Values space_to_depth(const Call& c) {
  return gathered(c, [&](std::int64_t f, Point p) {
    std::int64_t step = f / c.in.channels;
    for (std::size_t d = 3; d-- > 0;) {
      const std::int64_t block = c.in.extent[d] / c.out.extent[d];
      p[d] = p[d] * block + step % block;
      step /= block;
    }
    return std::pair{f % c.in.channels, p};
  });
}

Values resize(const Call& c) {
  const bool linear = c.attributes.text("kind") == "linear";
  Values output(index(c.problem.samples * c.out.items()), 0.0);
  for (std::int64_t n = 0; n < c.problem.samples; ++n) {
    for (std::int64_t f = 0; f < c.out.channels; ++f) {
      each_position(c.out.extent, [&](const Point& p) {
        // The center of the output position in the input selects the nearest position, or the two
        // positions around it, weighted by distance.
        Point low{}, high{};
        std::array<double, 3> share{};
        for (std::size_t d = 0; d < 3; ++d) {
          const double middle = (static_cast<double>(p[d]) + 0.5) * static_cast<double>(c.in.extent[d]) /
                                    static_cast<double>(c.out.extent[d]) -
                                0.5;
          const auto below = static_cast<std::int64_t>(std::floor(linear ? middle : middle + 0.5));
          low[d] = std::clamp<std::int64_t>(below, 0, c.in.extent[d] - 1);
          high[d] = std::clamp<std::int64_t>(below + 1, 0, c.in.extent[d] - 1);
          share[d] = linear ? middle - static_cast<double>(below) : 0.0;
        }
        each_position({2, 2, 2}, [&](const Point& corner) {
          double weight = 1;
          Point from{};
          for (std::size_t d = 0; d < 3; ++d) {
            from[d] = corner[d] == 0 ? low[d] : high[d];
            weight *= corner[d] == 0 ? 1 - share[d] : share[d];
          }
          output[at(c.out, n, f, p)] += weight * c.get(TensorRole::input)[at(c.in, n, f, from)];
        });
      });
    }
  }
  return output;
}

Values scale(const Call& c) {
  const bool trained = c.attributes.text("factor") == "trained";
  Values output(index(c.problem.samples * c.out.items()));
  for (std::int64_t n = 0; n < c.problem.samples; ++n) {
    for (std::int64_t f = 0; f < c.out.channels; ++f) {
      each_position(c.out.extent, [&](const Point& p) {
        const double factor = trained ? c.get(TensorRole::bias)[index(f)] : c.attributes.number("factor", 1);
        const double shift = c.attributes.flag("bias", false) ? c.get(TensorRole::bias)[index(c.out.channels + f)] : 0.0;
        output[at(c.out, n, f, p)] = c.get(TensorRole::input)[at(c.in, n, f, p)] * factor + shift;
      });
    }
  }
  return output;
}

// The gradient of a cast is the gradient of its output.
Values cast(const Call& c) { return c.get(TensorRole::input); }

Values softmax(const Call& c) {
  Values output(index(c.problem.samples * c.out.items()));
  for (std::int64_t n = 0; n < c.problem.samples; ++n) {
    each_position(c.out.extent, [&](const Point& p) {
      Values row;
      for (std::int64_t f = 0; f < c.out.channels; ++f) row.push_back(c.get(TensorRole::input)[at(c.in, n, f, p)]);
      row = softmax_rows(row, c.out.channels);
      for (std::int64_t f = 0; f < c.out.channels; ++f) output[at(c.out, n, f, p)] = row[index(f)];
    });
  }
  return output;
}

Values loss(const Call& c) {
  double total = 0;
  for (std::size_t part = 0; part < c.problem.inputs.size(); ++part) {
    const TensorShape& shape = c.problem.inputs[part];
    const Values& input = c.get(TensorRole::input, static_cast<int>(part));
    double sum = 0;
    if (c.attributes.text("kind") != "cross_entropy") {
      for (const double value : input) sum += value * value;
      total += sum / static_cast<double>(input.size());
      continue;
    }
    // Rows are samples, tokens or positions. The target of row i is class i modulo the number of classes.
    std::int64_t row = 0;
    for (std::int64_t n = 0; n < c.problem.samples; ++n) {
      each_position(shape.extent, [&](const Point& p) {
        Values scores;
        for (std::int64_t f = 0; f < shape.channels; ++f) scores.push_back(input[at(shape, n, f, p)]);
        sum -= std::log(softmax_rows(scores, shape.channels)[index(row++ % shape.channels)]);
      });
    }
    total += sum / static_cast<double>(row);
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
  for (int input = 1; input < static_cast<int>(c.problem.inputs.size()); ++input) {
    const Values& factors = c.get(TensorRole::input, input);
    const std::size_t each = output.size() / factors.size();
    for (std::size_t i = 0; i < output.size(); ++i) output[i] *= factors[i / each];
  }
  return output;
}

Values dropout(const Call& c) {
  Values output = c.get(TensorRole::input);
  // Dropout applies to elements, or to whole samples.
  const std::size_t each = c.attributes.text("of") == "samples" ? index(c.out.items()) : 1;
  for (std::size_t i = 0; i < output.size(); ++i) output[i] *= scale_of(c, c.attributes.number("rate", 0), 0, i / each);
  return output;
}

}  // namespace

Values reference_forward(const Problem& problem, const ReferenceTensors& tensors) {
  static const std::map<std::string_view, Values (*)(const Call&)> functions{
      {"activation", activation},
      {"add", add},
      {"additive_attention", additive_attention},
      {"attention", attention},
      {"cast", cast},
      {"channel_shuffle", channel_shuffle},
      {"class_token", class_token},
      {"combine", combine},
      {"concat", concat},
      {"convolution", convolution},
      {"crop", crop},
      {"dispatch", dispatch},
      {"dropout", dropout},
      {"embedding", embedding},
      {"fully_connected", fully_connected},
      {"interaction", interaction},
      {"loss", loss},
      {"lstm", lstm},
      {"multiply", multiply},
      {"norm", norm},
      {"pool", pool},
      {"position_embedding", position_embedding},
      {"resize", resize},
      {"rotary_embedding", rotary_embedding},
      {"router", router},
      {"scale", scale},
      {"select", select},
      {"slice", slice},
      {"softmax", softmax},
      {"space_to_depth", space_to_depth},
      {"transposed_convolution", transposed_convolution},
      {"window_attention", window_attention},
  };
  return functions.at(problem.operation->type())(
      {problem, tensors, problem.operation->attribute_values(), problem.inputs.front(), problem.output});
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
