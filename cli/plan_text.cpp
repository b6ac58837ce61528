#include "cli/plan_text.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <span>
#include <vector>

#include <fmt/format.h>

#include "core/error.hpp"
#include "core/source_text.hpp"
#include "core/suggest.hpp"

namespace ddl {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::int64_t largest_degree = 1 << 20;

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    const std::size_t at = text.find(separator);
    parts.push_back(text.substr(0, at));
    if (at == std::string_view::npos) return parts;
    text.remove_prefix(at + 1);
  }
}

int parse_degree(std::string_view text, std::string_view whole) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || value < 1 || value > largest_degree) {
    throw Error(fmt::format("{} in {} is not a degree", quote(text), quote(whole)),
                fmt::format("a degree is a whole number from 1 to {}", largest_degree));
  }
  return static_cast<int>(value);
}

void set_degree(Plan& plan, Axis axis, int value) {
  switch (axis) {
    case Axis::data: plan.data = value; break;
    case Axis::layer: plan.layer = value; break;
    case Axis::filter: plan.filter = value; break;
    case Axis::channel: plan.channel = value; break;
    case Axis::tensor: plan.tensor = value; break;
    case Axis::spatial: plan.spatial[0] = value; break;
  }
}

Axis axis_named(std::string_view name) {
  const std::optional<Axis> axis = parse_axis(name);
  if (axis) return *axis;
  std::vector<std::string_view> known;
  for (const Axis each : all_axes) known.push_back(to_string(each));
  throw Error(fmt::format("no strategy is called {}", quote(name)), suggest(name, known));
}

/// Whether all degrees together stay within what is counted anywhere as a number of devices.
bool is_countable(const Plan& plan) {
  std::int64_t product = 1;
  for (const int each : {plan.data, plan.spatial[0], plan.spatial[1], plan.spatial[2], plan.layer, plan.filter, plan.channel,
                         plan.tensor}) {
    product *= each;  // of two numbers up to 2^20
    if (product > largest_degree) return false;
  }
  return true;
}

std::string too_many_devices() { return fmt::format("the product of the degrees is above {}", largest_degree); }

/// The plan's fields, checked one by one; what is wrong is said with the key.
class PlanReader {
 public:
  PlanReader(const Json& object, std::string origin) : object_(object), origin_(std::move(origin)) {}

  Plan read() {
    if (!object_.is_object()) fail("a plan is an object with 'degrees' and 'global_batch'");
    refuse_unknown_keys();
    Plan plan;
    read_degrees(plan);
    check_strategy(plan);
    plan.global_batch = integer(object_, "global_batch", 1, std::int64_t{1} << 40);
    if (object_.contains("micro_batches")) plan.micro_batches = integer(object_, "micro_batches", 1, std::int64_t{1} << 40);
    if (object_.contains("zero_stage")) plan.zero_stage = static_cast<int>(integer(object_, "zero_stage", 0, 3));
    choice("schedule", plan.schedule, parse_schedule, "gpipe or 1f1b");
    choice("recompute", plan.recompute, parse_recompute, "none or full");
    choice("optimizer", plan.optimizer, parse_optimizer, "sgd, momentum or adam");
    choice("precision", plan.precision, parse_precision, "fp32, tf32, fp16 or bf16");
    if (object_.contains("placement")) {
      const Json& placement = object_.at("placement");
      std::string names;
      if (!placement.is_array()) fail("'placement' is a list of strategies, innermost first");
      for (const Json& name : placement) {
        if (!name.is_string()) fail("'placement' is a list of strategies, innermost first");
        names += (names.empty() ? "" : ",") + name.get<std::string>();
      }
      if (!names.empty()) plan.placement = read_placement(names);
    }
    return plan;
  }

 private:
  [[noreturn]] void fail(const std::string& message,
                         const std::string& hint = "a plan's object is what 'recommend --format json' writes in 'plans'") const {
    throw Error(fmt::format("{}: {}", origin_, message), hint);
  }

  std::array<Axis, axis_count> read_placement(const std::string& names) const {
    try {
      return parse_placement(names);
    } catch (const Error& error) {
      fail(error.what(), error.hint());
    }
  }

  void refuse_unknown_keys() const {
    static constexpr std::array<std::string_view, 18> known{
        "degrees", "global_batch", "micro_batches", "schedule", "placement", "zero_stage", "recompute", "optimizer", "precision",
        // What a report says of the plan besides.
        "rank", "strategy", "feasible", "time", "efficiency", "cost", "findings", "memory", "reasons"};
    for (const auto& [key, value] : object_.items()) {
      if (std::find(known.begin(), known.end(), key) == known.end()) {
        fail(fmt::format("a plan has no {}", quote(key)), suggest(key, std::span<const std::string_view>(known)));
      }
    }
  }

  /// A strategy's name beside the degrees says nothing new, so it must not say anything else.
  void check_strategy(const Plan& plan) const {
    if (!object_.contains("strategy")) return;
    const std::string name = family_name(family_of(plan));
    const Json& said = object_.at("strategy");
    if (!said.is_string() || parse_family(said.get<std::string>()) != family_of(plan)) {
      fail(fmt::format("'strategy' is {}, the degrees are of '{}'", said.is_string() ? quote(said.get<std::string>()) : "no text", name),
           "leave it out, or let it be what the degrees are");
    }
  }

  std::int64_t integer(const Json& object, const char* key, std::int64_t low, std::int64_t high) const {
    if (!object.contains(key)) fail(fmt::format("'{}' is missing", key));
    const Json& value = object.at(key);
    // An unsigned number above the signed range must not come back negative.
    if (!value.is_number_integer() || (value.is_number_unsigned() && value.get<std::uint64_t>() > static_cast<std::uint64_t>(high)) ||
        value.get<std::int64_t>() < low || value.get<std::int64_t>() > high) {
      fail(fmt::format("'{}' is not a whole number from {} to {}", key, low, high));
    }
    return value.get<std::int64_t>();
  }

  template <class Enum>
  void choice(const char* key, Enum& into, std::optional<Enum> (*parse)(std::string_view), const char* known) const {
    if (!object_.contains(key)) return;
    const Json& value = object_.at(key);
    const std::optional<Enum> parsed = value.is_string() ? parse(value.get<std::string>()) : std::nullopt;
    if (!parsed) fail(fmt::format("'{}' is not {}", key, known));
    into = *parsed;
  }

  void read_degrees(Plan& plan) const {
    if (!object_.contains("degrees") || !object_.at("degrees").is_object()) fail("'degrees' is missing");
    const Json& degrees = object_.at("degrees");
    for (const auto& [name, value] : degrees.items()) {
      const std::optional<Axis> axis = parse_axis(name);
      if (!axis) fail(fmt::format("no strategy is called {}", quote(name)));
      if (*axis != Axis::spatial) {
        set_degree(plan, *axis, static_cast<int>(integer(degrees, name.c_str(), 1, largest_degree)));
        continue;
      }
      if (!value.is_array() || value.empty() || value.size() > 3) fail("'spatial' is a list of one to three degrees");
      for (std::size_t d = 0; d < value.size(); ++d) {
        if (!value[d].is_number_integer() || value[d].get<std::int64_t>() < 1 || value[d].get<std::int64_t>() > largest_degree) {
          fail("'spatial' is a list of one to three degrees");
        }
        plan.spatial[d] = value[d].get<int>();
      }
    }
    if (!is_countable(plan)) fail(too_many_devices());
  }

  const Json& object_;
  std::string origin_;
};

}  // namespace

void parse_degrees(std::string_view text, Plan& plan) {
  Family seen = 0;
  for (const std::string_view part : split(text, ',')) {
    const std::size_t equals = part.find('=');
    if (equals == std::string_view::npos) {
      throw Error(fmt::format("{} in {} is not of the form strategy=degree", quote(part), quote(text)),
                  "write for example --degrees data=64,spatial=2x2");
    }
    const Axis axis = axis_named(part.substr(0, equals));
    if ((seen & family_bit(axis)) != 0) throw Error(fmt::format("'{}' is given twice in {}", to_string(axis), quote(text)), "give it once");
    seen |= family_bit(axis);
    const std::string_view value = part.substr(equals + 1);
    if (axis != Axis::spatial) {
      set_degree(plan, axis, parse_degree(value, text));
      continue;
    }
    const std::vector<std::string_view> extents = split(value, 'x');
    if (extents.size() > 3) throw Error(fmt::format("{} has more than three extents", quote(value)), "write for example spatial=2x2");
    for (std::size_t d = 0; d < extents.size(); ++d) plan.spatial[d] = parse_degree(extents[d], text);
  }
  if (!is_countable(plan)) throw Error(fmt::format("{} is too much: {}", quote(text), too_many_devices()), "give smaller degrees");
}

std::array<Axis, axis_count> parse_placement(std::string_view text) {
  std::array<Axis, axis_count> placement{};
  std::size_t count = 0;
  const auto taken = [&](Axis axis) {
    return std::find(placement.begin(), placement.begin() + static_cast<std::ptrdiff_t>(count), axis) !=
           placement.begin() + static_cast<std::ptrdiff_t>(count);
  };
  for (const std::string_view name : split(text, ',')) {
    const Axis axis = axis_named(name);
    if (taken(axis)) throw Error(fmt::format("{} is given twice in the placement {}", quote(name), quote(text)), "give it once");
    placement[count++] = axis;
  }
  for (const Axis axis : all_axes) {
    if (!taken(axis)) placement[count++] = axis;
  }
  return placement;
}

Json plan_to_json(const Plan& plan) {
  Json json;
  json["strategy"] = family_name(family_of(plan));
  json["degrees"] = {{"data", plan.data},     {"spatial", {plan.spatial[0], plan.spatial[1], plan.spatial[2]}},
                     {"layer", plan.layer},   {"filter", plan.filter},
                     {"channel", plan.channel}, {"tensor", plan.tensor}};
  json["global_batch"] = plan.global_batch;
  json["micro_batches"] = plan.micro_batches;
  json["schedule"] = to_string(plan.schedule);
  json["placement"] = Json::array();
  for (const Axis axis : plan.placement) json["placement"].push_back(to_string(axis));
  json["zero_stage"] = plan.zero_stage;
  json["recompute"] = to_string(plan.recompute);
  json["optimizer"] = to_string(plan.optimizer);
  json["precision"] = to_string(plan.precision);
  return json;
}

Plan plan_from_json(const std::string& text, const std::string& origin) {
  Json json;
  try {
    json = Json::parse(text);
  } catch (const Json::parse_error& error) {
    const std::size_t at = std::min<std::size_t>(error.byte == 0 ? 0 : error.byte - 1, text.size());
    const std::size_t line_start = at == 0 ? 0 : text.rfind('\n', at - 1) + 1;
    const std::size_t line_end = std::min(text.find('\n', at), text.size());
    const auto line = static_cast<int>(std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(at), '\n')) + 1;
    throw Error(placed_message(origin, line, static_cast<int>(at - line_start) + 1, "not valid JSON",
                               std::string_view(text).substr(line_start, line_end - line_start)),
                "a plan's object is what 'recommend --format json' writes in 'plans'");
  }
  const bool report = json.is_object() && json.contains("best");
  if (report && json.at("best").is_null()) {
    throw Error(fmt::format("{}: this report found no plan that fits", origin), "take one of its rejected 'plans' out of it");
  }
  return PlanReader(report ? json.at("best") : json, origin).read();
}

std::string choices_text(const Plan& plan) {
  std::string text;
  const auto add = [&](const std::string& part) { text += (text.empty() ? "" : ", ") + part; };
  if (plan.micro_batches > 1) add(fmt::format("{} micro-batches", plan.micro_batches));
  if (plan.layer > 1) text += fmt::format("{}{}", text.empty() ? "" : " ", to_string(plan.schedule));
  if (plan.zero_stage > 0) add(fmt::format("ZeRO-{}", plan.zero_stage));
  if (plan.recompute == Recompute::full) add("recompute");
  return text;
}

}  // namespace ddl
