#include "cli/split_options.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <string_view>

#include <fmt/format.h>

#include "core/error.hpp"
#include "core/source_text.hpp"
#include "core/suggest.hpp"

namespace ddl {
namespace {

constexpr std::array<std::string_view, 5> axes{"filter", "channel", "tensor", "spatial", "batch"};
constexpr std::int64_t most = 1'000'000;

void add_degrees(SplitRequest& request, std::string_view axis, const std::vector<std::int64_t>& degrees,
                 const ModelFacts& facts) {
  for (const std::int64_t wide : degrees) {
    const auto degree = static_cast<int>(wide);
    if (degree == 1) continue;  // the whole model is always there
    if (axis == "filter") request.degrees.filter.push_back(degree);
    if (axis == "channel") request.degrees.channel.push_back(degree);
    if (axis == "tensor") request.degrees.tensor.push_back(degree);
    if (axis == "batch") request.batch.push_back(degree);
    if (axis != "spatial") continue;
    for (const std::array<int, 3>& tiles : tilings(facts, degree)) request.degrees.spatial.push_back(tiles);
  }
}

}  // namespace

std::vector<std::int64_t> parse_counts(const std::string& option, const std::string& text) {
  std::vector<std::int64_t> counts;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find(',', at), text.size());
    std::int64_t count = 0;
    const auto [stop, problem] = std::from_chars(text.data() + at, text.data() + end, count);
    if (problem != std::errc() || stop != text.data() + end || count < 1 || count > most) {
      throw Error(fmt::format("{}: {} is not a whole number from 1 to {}", option, quote(text.substr(at, end - at)), most),
                  "several are separated by commas: 1,4,16");
    }
    if (std::find(counts.begin(), counts.end(), count) == counts.end()) counts.push_back(count);
    at = end + 1;
  }
  return counts;
}

SplitRequest parse_splits(const std::vector<std::string>& words, int devices, const ModelFacts& facts) {
  SplitRequest request;
  if (words.size() == 1 && words.front() == "none") return request;
  if (words.empty()) {
    std::vector<std::int64_t> degrees;
    for (std::int64_t degree = 2; degree <= devices; degree *= 2) degrees.push_back(degree);
    for (const std::string_view axis : axes) {
      if (axis != "batch") add_degrees(request, axis, degrees, facts);
    }
    return request;
  }
  for (const std::string& word : words) {
    const std::size_t equals = word.find('=');
    const std::string axis = word.substr(0, equals);
    if (std::find(axes.begin(), axes.end(), axis) == axes.end()) {
      throw Error(fmt::format("--splits: unknown axis {}", quote(axis)),
                  suggest(axis, std::vector<std::string_view>(axes.begin(), axes.end())));
    }
    if (equals == std::string::npos) throw Error(fmt::format("--splits: {} has no degrees", axis), axis + "=2,4,8");
    add_degrees(request, axis, parse_counts("--splits " + axis, word.substr(equals + 1)), facts);
  }
  return request;
}

}  // namespace ddl
