#include "cli/options/split_options.hpp"

#include <algorithm>
#include <iterator>
#include <optional>
#include <string_view>

#include <fmt/format.h>

#include "cli/options/option_value.hpp"
#include "core/error.hpp"
#include "core/find.hpp"
#include "core/source_text.hpp"
#include "core/suggest.hpp"
#include "core/words.hpp"

namespace ddl {
namespace {

constexpr std::string_view batch_name = "batch";
constexpr std::int64_t most = 1'000'000;

/// Returns the axes that divide the weights or the samples of a layer, and so change the problems to measure.
std::vector<Axis> splitting_axes() {
  std::vector<Axis> axes;
  std::copy_if(spoken_axes.begin(), spoken_axes.end(), std::back_inserter(axes),
               [](Axis axis) { return row_of(axis).divides_weights; });
  axes.push_back(Axis::spatial);
  return axes;
}

void add_degrees(SplitRequest& request, Axis axis, const std::vector<std::int64_t>& degrees, const ModelFacts& facts) {
  for (const std::int64_t wide : degrees) {
    const auto degree = static_cast<int>(wide);
    if (degree == 1) continue;  // degree 1 is the unsplit model, which is always measured
    if (axis != Axis::spatial) {
      request.meshes.push_back(Mesh{{axis, degree}});
      continue;
    }
    for (const Tiles& tiles : tilings(facts, degree)) request.meshes.emplace_back(tiles);
  }
}

/// Divides the words of --splits into one word per axis: `filter=2,4,spatial=2` names two axes, as in --degrees.
std::vector<std::string> words_of_axes(const std::vector<std::string>& words) {
  std::vector<std::string> axes;
  for (const std::string& word : words) {
    bool begins = true;
    for (const std::string& part : comma_separated(word)) {
      if (begins || part.find('=') != std::string::npos) {
        axes.push_back(part);
      } else {
        axes.back() += "," + part;
      }
      begins = false;
    }
  }
  return axes;
}

}  // namespace

std::vector<std::int64_t> parse_counts(const std::string& option, const std::string& text) {
  std::vector<std::int64_t> counts;
  for (const std::string& word : comma_separated(text)) {
    const std::int64_t count = number_in(word).value_or(0);
    if (count < 1 || count > most) {
      throw Error(fmt::format("{}: {} is not a whole number from 1 to {}", option, quote(word), most),
                  "several are separated by commas: 1,4,16");
    }
    if (!contains(counts, count)) counts.push_back(count);
  }
  return counts;
}

SplitRequest parse_splits(const std::vector<std::string>& words, int devices, const ModelFacts& facts) {
  SplitRequest request;
  if (words.size() == 1 && words.front() == "none") return request;
  const std::vector<Axis> axes = splitting_axes();
  if (words.empty()) {
    std::vector<std::int64_t> degrees;
    for (std::int64_t degree = 2; degree <= devices; degree *= 2) degrees.push_back(degree);
    for (const Axis axis : axes) add_degrees(request, axis, degrees, facts);
    return request;
  }
  for (const std::string& word : words_of_axes(words)) {
    const std::size_t equals = word.find('=');
    const std::string name = word.substr(0, equals);
    const std::optional<Axis> axis = parse_axis(name);
    if (name != batch_name && (!axis || !contains(axes, *axis))) {
      std::vector<std::string_view> names;
      for (const Axis each : axes) names.push_back(to_string(each));
      names.push_back(batch_name);
      throw Error(fmt::format("--splits: unknown axis {}", quote(name)), suggest(name, names));
    }
    if (equals == std::string::npos) throw Error(fmt::format("--splits: {} has no degrees", name), name + "=2,4,8");
    const std::vector<std::int64_t> degrees = parse_counts("--splits " + name, word.substr(equals + 1));
    if (axis) {
      add_degrees(request, *axis, degrees, facts);
      continue;
    }
    for (const std::int64_t parts : degrees) {
      if (parts > 1) request.batch.push_back(static_cast<int>(parts));
    }
  }
  return request;
}

}  // namespace ddl
