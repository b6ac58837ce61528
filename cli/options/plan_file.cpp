#include "cli/options/plan_file.hpp"

#include <algorithm>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "calibration/inputs/plan_degrees.hpp"
#include "cli/report/fields.hpp"
#include "core/error.hpp"
#include "core/find.hpp"
#include "core/json_source.hpp"
#include "core/source_text.hpp"
#include "core/suggest.hpp"
#include "estimator/choices/plan_choice.hpp"
#include "estimator/strategies/embedding_tables.hpp"

namespace ddl {
namespace {

constexpr std::int64_t largest_batch = std::int64_t{1} << 40;
constexpr const char* segments_example = R"(use for example [{"first": 14, "degrees": {"filter": 64}}])";
constexpr const char* plan_hint = "a plan is an object of 'plans' in the output of 'recommend --format json'";

/// Reads and checks the fields of a plan one by one. An error contains the key and its position.
class PlanReader {
 public:
  explicit PlanReader(const JsonSource& source) : source_(source) {
    // A report of `recommend` has its plan in 'best'. A report of `explain` has its plan in 'plan', next to 'layers'.
    const Json& root = source.root();
    if (root.is_object() && root.contains("best")) {
      path_ = "best";
    } else if (root.is_object() && root.contains("plan") && root.contains("layers")) {
      path_ = "plan";
    }
    object_ = path_.empty() ? &root : &root.at(path_);
    if (!path_.empty() && object_->is_null())
      fail("", "this report found no plan that fits", "use one of its rejected 'plans' instead");
  }

  PlanFile read() const {
    if (!object_->is_object()) fail("", "a plan is an object with 'degrees' and 'global_batch'");
    refuse_unknown_keys();
    PlanFile file;
    Plan& plan = file.plan;
    read_degrees(*object_, "", plan);
    check_strategy(plan);
    if (object_->contains("segments")) read_segments(plan);
    plan.global_batch = integer("global_batch", 1, largest_batch);
    if (object_->contains("micro_batches")) plan.micro_batches = integer("micro_batches", 1, largest_batch);
    if (object_->contains("table_segments")) read_table_segments(plan);
    for (const PlanChoiceRow& row : plan_choices()) {
      if (!object_->contains(row.key)) continue;
      const auto parse = [&](std::string_view text) { return row.parse(text); };
      const auto number = [&](int first) { return static_cast<int>(integer(row.key, first, first + row.last)) - first; };
      row.set(plan, row.first_number ? number(*row.first_number) : *choice(row.key, parse, row.names()));
    }
    if (object_->contains("recompute_segments")) read_recompute_segments(plan);
    if (object_->contains("zero_segments")) read_zero_segments(plan);
    file.optimizer = choice("optimizer", parse_enum<Optimizer>, enum_names<Optimizer>);
    file.precision = choice("precision", parse_enum<Precision>, enum_names<Precision>);
    plan.optimizer = file.optimizer.value_or(plan.optimizer);
    plan.precision = file.precision.value_or(plan.precision);
    if (object_->contains("placement")) read_placement(plan);
    for (const auto& [key, value] : object_->items()) file.given.insert(key);
    if (!path_.empty()) {
      read_inputs(file);
    }
    return file;
  }

 private:
  [[nodiscard]] std::string path_to(std::string_view key) const {
    return key.empty() || path_.empty() ? path_ + std::string(key) : path_ + "/" + std::string(key);
  }
  [[noreturn]] void fail(std::string_view key, const std::string& message, const std::string& hint = plan_hint) const {
    throw source_.error(path_to(key), message, hint);
  }

  /// Reads the inputs of the report, as far as the report contains them.
  void read_inputs(PlanFile& file) const {
    const Json& root = source_.root();
    if (!root.contains("inputs")) return;
    const Json& inputs = root.at("inputs");
    if (!inputs.is_object()) throw source_.error("inputs", "'inputs' is not an object", plan_hint);
    const auto text = [&](const std::string& key) -> std::optional<std::string> {
      if (!inputs.contains(key) || inputs.at(key).is_null()) return std::nullopt;
      if (!inputs.at(key).is_string()) throw source_.error("inputs/" + key, fmt::format("'{}' is not text", key), plan_hint);
      return inputs.at(key).get<std::string>();
    };
    file.model = text("model");
    file.machine = text("machine");
    file.job = text("job");
    file.currency = text("currency").value_or("");
    const auto flag = [&](const std::string& key) -> std::optional<bool> {
      if (!inputs.contains(key) || inputs.at(key).is_null()) return std::nullopt;
      if (!inputs.at(key).is_boolean())
        throw source_.error("inputs/" + key, fmt::format("'{}' is neither true nor false", key), plan_hint);
      return inputs.at(key).get<bool>();
    };
    file.ideal = flag("ideal").value_or(false);
    file.rents_nodes = flag("rents_nodes");
    if (!inputs.contains("price_per_gpu_hour") || inputs.at("price_per_gpu_hour").is_null()) return;
    const Json& price = inputs.at("price_per_gpu_hour");
    if (!price.is_number() || price.get<double>() < 0)
      throw source_.error("inputs/price_per_gpu_hour", "'price_per_gpu_hour' is not a price", plan_hint);
    file.price = price.get<double>();
  }

  void read_placement(Plan& plan) const {
    const Json& placement = object_->at("placement");
    std::string names;
    const auto is_text = [](const Json& name) { return name.is_string(); };
    if (!placement.is_array() || !std::ranges::all_of(placement, is_text)) {
      fail("placement", "'placement' must be a list of strategies, innermost first",
           "use for example [\"filter\", \"data\"]");
    }
    for (const Json& name : placement) names += (names.empty() ? "" : ",") + name.get<std::string>();
    if (placement.empty()) return;
    try {
      plan.placement = parse_placement(names);
    } catch (const Error& error) {
      fail("placement", error.what(), error.hint());
    }
  }

  void refuse_unknown_keys() const {
    std::vector<std::string_view> known{"degrees", "global_batch", "micro_batches", "placement", "optimizer", "precision",
                                        "segments", "table_segments", "recompute_segments", "zero_segments",
                                        // Keys of a plan in a report that are predictions, not choices.
                                        "rank", "plan", "strategy", "feasible", "verdict", "time", "efficiency", "cost",
                                        "training_cost", "throughput", "findings", "memory", "interval", "reasons",
                                        "reason_codes", "mean_staleness", "staging_s", "goodput", "energy",
                                        "kernel_time_share"};
    for (const PlanChoiceRow& row : plan_choices()) known.push_back(row.key);
    for (const auto& [key, value] : object_->items()) {
      if (!contains(known, key)) {
        throw source_.error_at_key(path_to(key), fmt::format("a plan has no {}", quote(key)), suggest(key, known));
      }
    }
  }

  /// Checks that the name of the strategy, if given, matches the degrees, because the degrees determine the strategy.
  void check_strategy(const Plan& plan) const {
    if (!object_->contains("strategy")) return;
    const std::string name = family_name(plan.mesh.family());
    const Json& said = object_->at("strategy");
    if (!said.is_string() || parse_family(said.get<std::string>()) != plan.mesh.family()) {
      fail("strategy",
           fmt::format("'strategy' is {}, but the degrees belong to '{}'",
                       said.is_string() ? quote(said.get<std::string>()) : "not text", name),
           "leave 'strategy' out, or make it match the degrees");
    }
  }

  /// Returns the value as a whole number; empty if it is not a whole number in the range.
  static std::optional<std::int64_t> whole_number(const Json& value, std::int64_t low, std::int64_t high) {
    if (!value.is_number_integer()) return std::nullopt;
    // An unsigned number above the signed range must not wrap to a negative number.
    if (value.is_number_unsigned() && value.get<std::uint64_t>() > static_cast<std::uint64_t>(high)) return std::nullopt;
    const auto number = value.get<std::int64_t>();
    return number < low || number > high ? std::nullopt : std::optional(number);
  }

  [[nodiscard]] std::int64_t integer(std::string_view key, std::int64_t low, std::int64_t high) const {
    if (!object_->contains(key)) fail("", fmt::format("'{}' is missing", key));
    const std::optional<std::int64_t> value = whole_number(object_->at(std::string(key)), low, high);
    if (!value)
      fail(key, fmt::format("'{}' is not a whole number from {} to {}", key, low, high), "use digits, without quotes");
    return *value;
  }

  template <class Parse>
  [[nodiscard]] auto choice(std::string_view key, const Parse& parse, std::span<const std::string_view> known) const
      -> decltype(parse(key)) {
    if (!object_->contains(key)) return std::nullopt;
    const Json& value = object_->at(std::string(key));
    if (!value.is_string()) fail(key, fmt::format("'{}' is not text", key), suggest("", known));
    const auto text = value.get<std::string>();
    const auto parsed = parse(text);
    if (!parsed) fail(key, fmt::format("'{}' is not a valid {}", text, key), suggest(text, known));
    return parsed;
  }

  /// Reads the layouts of the layers after the first ones.
  void read_segments(Plan& plan) const {
    const Json& segments = object_->at("segments");
    if (!segments.is_array()) fail("segments", "'segments' is not a list", segments_example);
    constexpr std::int64_t most_layers = 1 << 30;
    for (std::size_t i = 0; i < segments.size(); ++i) {
      const std::string path = fmt::format("segments/{}", i);
      const Json& each = segments[i];
      if (!each.is_object() || !each.contains("first"))
        fail(path, "a segment is an object with 'first' and 'degrees'", segments_example);
      const std::int64_t after = plan.segments.empty() ? 0 : plan.segments.back().first;
      const std::optional<std::int64_t> first = whole_number(each.at("first"), after + 1, most_layers);
      if (!first)
        fail(path + "/first", fmt::format("'first' is not a whole number above {}", after),
             "segments are in the order of their layers, which are counted from 0");
      Plan own;
      read_degrees(each, path + "/", own);
      if (own.mesh.devices() != plan.mesh.devices())
        fail(path, fmt::format("the segment has {} ranks, but the plan has {}", own.mesh.devices(), plan.mesh.devices()),
             "all layers use the same devices");
      plan.segments.push_back({static_cast<int>(*first), own.mesh});
    }
    join_segments(plan);
  }

  /// Reads the placements of the tables after the first ones.
  void read_table_segments(Plan& plan) const {
    const Json& segments = object_->at("table_segments");
    constexpr const char* example = R"(use for example [{"first": 1, "tables": "rows"}])";
    constexpr std::int64_t most_tables = 1 << 20;
    if (!segments.is_array()) fail("table_segments", "'table_segments' is not a list", example);
    for (const Json& each : segments) {
      const std::int64_t after = plan.table_segments.empty() ? 0 : plan.table_segments.back().first;
      const bool has_keys = each.is_object() && each.contains("first") && each.contains("tables");
      const auto first = has_keys ? whole_number(each.at("first"), after + 1, most_tables) : std::nullopt;
      const auto tables = has_keys && each.at("tables").is_string()
                              ? parse_enum<Tables>(each.at("tables").get<std::string>())
                              : std::nullopt;
      if (!first || !tables)
        fail("table_segments", fmt::format("a segment needs 'first' above {} and 'tables'", after), example);
      plan.table_segments.push_back({static_cast<int>(*first), *tables});
    }
  }

  void read_recompute_segments(Plan& plan) const {
    const Json& segments = object_->at("recompute_segments");
    constexpr const char* example = R"(use for example [{"first": 12, "recompute": "none"}], with "recompute": "full")";
    constexpr std::int64_t most_layers = 1 << 30;
    if (!segments.is_array()) fail("recompute_segments", "'recompute_segments' is not a list", example);
    for (const Json& each : segments) {
      const std::int64_t least = plan.recompute_segments.empty() ? 0 : plan.recompute_segments.back().first + 1;
      const bool has_keys = each.is_object() && each.contains("first") && each.contains("recompute");
      const auto first = has_keys ? whole_number(each.at("first"), least, most_layers) : std::nullopt;
      const auto recompute = has_keys && each.at("recompute").is_string()
                                 ? parse_enum<Recompute>(each.at("recompute").get<std::string>())
                                 : std::nullopt;
      if (!first || !recompute || *recompute == Recompute::selective)
        fail("recompute_segments",
             fmt::format("a segment needs 'first' of at least {}, and 'recompute' full or none", least), example);
      plan.recompute_segments.push_back({static_cast<int>(*first), *recompute == Recompute::full});
    }
    if (plan.recompute == Recompute::none && !plan.recompute_segments.empty())
      fail("recompute_segments", "'recompute_segments' need \"recompute\": \"full\"", example);
    if (plan.recompute == Recompute::full) join_recompute_segments(plan);
  }

  void read_zero_segments(Plan& plan) const {
    const Json& segments = object_->at("zero_segments");
    constexpr const char* example = R"(use for example [{"first": 12, "zero": 2}])";
    constexpr std::int64_t most_layers = 1 << 30;
    if (!segments.is_array()) fail("zero_segments", "'zero_segments' is not a list", example);
    for (const Json& each : segments) {
      const std::int64_t after = plan.zero_segments.empty() ? 0 : plan.zero_segments.back().first;
      const bool has_keys = each.is_object() && each.contains("first") && each.contains("zero");
      const auto first = has_keys ? whole_number(each.at("first"), after + 1, most_layers) : std::nullopt;
      const auto stage = has_keys ? whole_number(each.at("zero"), 0, 3) : std::nullopt;
      if (!first || !stage)
        fail("zero_segments", fmt::format("a segment needs 'first' above {}, and 'zero' from 0 to 3", after), example);
      plan.zero_segments.push_back({static_cast<int>(*first), static_cast<int>(*stage)});
    }
    join_zero_segments(plan);
  }

  /// Reads 'degrees' of an object. `path`: the beginning of the keys of the object.
  void read_degrees(const Json& object, const std::string& path, Plan& plan) const {
    if (!object.contains("degrees")) fail(path.substr(0, path.rfind('/')), "'degrees' is missing");
    const Json& degrees = object.at("degrees");
    const std::string example = R"(use for example {"data": 64, "spatial": [2, 2]})";
    if (!degrees.is_object()) fail(path + "degrees", "'degrees' is not an object", example);
    Family seen = 0;
    for (const auto& [name, value] : degrees.items()) {
      const std::string key = path + "degrees/" + name;
      const std::optional<Axis> axis = parse_axis(name);
      if (!axis)
        throw source_.error_at_key(path_to(key), fmt::format("unknown strategy {}", quote(name)),
                                   suggest(name, axis_names()));
      if ((seen & family_bit(*axis)) != 0)
        fail(key, fmt::format("'{}' is given twice", to_string(*axis)), "keep only one of them");
      seen |= family_bit(*axis);
      plan.zero_stage = std::max(plan.zero_stage, zero_stage_in(name).value_or(0));
      if (*axis != Axis::spatial) {
        const std::optional<std::int64_t> degree = whole_number(value, 1, largest_degree);
        if (!degree)
          fail(key, fmt::format("'{}' is not a whole number from 1 to {}", name, largest_degree),
               "use digits, without quotes");
        plan.mesh.set(*axis, static_cast<int>(*degree));
        continue;
      }
      if (!value.is_array() || value.empty() || value.size() > Tiles{}.size()) {
        fail(key, "'spatial' must be a list of one to three degrees", example);
      }
      Tiles tiles = plan.mesh.tiles();
      for (std::size_t d = 0; d < value.size(); ++d) {
        const std::optional<std::int64_t> degree = whole_number(value[d], 1, largest_degree);
        if (!degree)
          fail(key, fmt::format("'spatial' has an entry that is not a whole number from 1 to {}", largest_degree), example);
        tiles[d] = static_cast<int>(*degree);
      }
      plan.mesh.set_tiles(tiles);
    }
    if (const std::string why = too_many_devices(plan.mesh); !why.empty())
      fail(path + "degrees", why, "use smaller degrees");
  }

  const JsonSource& source_;
  std::string path_;
  const Json* object_ = nullptr;
};

}  // namespace

namespace {

Json segment_to_json(const LayerSegment& segment) {
  Json degrees = Json::object();
  for (const Axis axis : spoken_axes) {
    if (segment.mesh[axis] > 1)
      degrees[to_string(axis)] = axis == Axis::spatial ? Json(segment.mesh.tiles()) : Json(segment.mesh[axis]);
  }
  return {{"first", segment.first}, {"degrees", std::move(degrees)}};
}

}  // namespace

Fields<Plan> plan_fields() {
  Fields<Plan> fields;
  fields.add("strategy", [](const Plan& plan) { return family_name(plan.mesh.family()); });
  for (const Axis axis : spoken_axes) {
    const auto degree = [axis](const Plan& plan) {
      return axis == Axis::spatial ? Json(plan.mesh.tiles()) : Json(plan.mesh[axis]);
    };
    fields.add(std::string(to_string(axis)), degree, "degrees");
  }
  fields.add("global_batch", [](const Plan& plan) { return plan.global_batch; });
  fields.add("micro_batches", [](const Plan& plan) { return plan.micro_batches; });
  fields.add("placement", [](const Plan& plan) {
    std::vector<std::string_view> names;
    for (const Axis axis : plan.placement) names.push_back(to_string(axis));
    return names;
  });
  for (const PlanChoiceRow& row : plan_choices()) {
    fields.add(std::string(row.key), [&row](const Plan& plan) {
      const int value = row.get(plan);
      return row.first_number ? Json(*row.first_number + value) : Json(row.name(value));
    });
  }
  fields.add("optimizer", [](const Plan& plan) { return to_string(plan.optimizer); });
  fields.add("precision", [](const Plan& plan) { return to_string(plan.precision); });
  fields.add_json("segments", [](const Plan& plan) {
    return plan.segments.empty() ? no_key() : json_list(plan.segments, segment_to_json);
  });
  fields.add_csv("segments", [](const Plan& plan) {
    std::string text = segments_word(plan);
    for (const std::string& more : {recompute_segments_text(plan), zero_segments_text(plan), table_segments_text(plan)})
      text += (text.empty() || more.empty() ? "" : " ") + more;
    return text;
  });
  fields.add_json("table_segments", [](const Plan& plan) {
    return plan.table_segments.empty() ? no_key() : json_list(plan.table_segments, [](const TableSegment& each) {
      return Json{{"first", each.first}, {"tables", to_string(each.tables)}};
    });
  });
  fields.add_json("recompute_segments", [](const Plan& plan) {
    return plan.recompute_segments.empty() ? no_key() : json_list(plan.recompute_segments, [](const RecomputeSegment& each) {
      return Json{{"first", each.first}, {"recompute", to_string(each.again ? Recompute::full : Recompute::none)}};
    });
  });
  fields.add_json("zero_segments", [](const Plan& plan) {
    return plan.zero_segments.empty() ? no_key() : json_list(plan.zero_segments, [](const ZeroSegment& each) {
      return Json{{"first", each.first}, {"zero", each.stage}};
    });
  });
  return fields;
}

PlanFile read_plan(const std::string& text, const std::string& origin) {
  const JsonSource source(text, origin, plan_hint);
  return PlanReader(source).read();
}

}  // namespace ddl
