#include "calibration/inputs/coefficients_reader.hpp"

#include <algorithm>
#include <limits>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "calibration/files/bundled_files.hpp"
#include "calibration/files/citations.hpp"
#include "calibration/files/day.hpp"
#include "calibration/files/launch_overhead.hpp"
#include "calibration/inputs/learned_reader.hpp"
#include "calibration/inputs/own_coefficients.hpp"
#include "calibration/inputs/setting_values.hpp"
#include "calibration/inputs/split_fit.hpp"
#include "calibration/network/fits/network_section.hpp"
#include "core/bundled_yaml.hpp"
#include "core/error.hpp"
#include "core/file_format.hpp"
#include "core/source_text.hpp"
#include "core/suggest.hpp"
#include "core/yaml_node.hpp"
#include "model_zoo/files/bundled_name.hpp"
#include "model_zoo/files/canonical_name.hpp"
#include "model_zoo/files/load_model.hpp"
#include "model_zoo/network/model.hpp"
#include "model_zoo/operations/registry.hpp"

namespace ddl {
namespace {

/// A larger φ, congestion or slowdown is probably a typing error.
constexpr double largest_factor = 1'000'000;

Precision read_precision(const YamlNode& node) {
  if (const auto precision = parse_enum<Precision>(node.text())) return *precision;
  node.fail(fmt::format("unknown precision {}", quote(node.text())), suggest(node.text(), enum_names<Precision>));
}

class CoefficientsReader {
 public:
  explicit CoefficientsReader(const YamlNode& root) : root_(root), citations_(sources_of(root)) {}

  Coefficients read() {
    coefficients_.name = root_.at("name").name();
    coefficients_.machine = root_.at("machine").name();
    // The keys `description`, `generator` and `date` are information for people. No predicted time depends on them.
    for (const std::string_view key : {"description", "generator"}) static_cast<void>(root_.at(key).text());
    static_cast<void>(read_day(root_.at("date")));
    if (const auto models = root_.find("models")) {
      for (const YamlNode& item : models->items()) read_model(item);
    }
    coefficients_.filter_undivided = read_undivided("filter_undivided", "filter_split");
    coefficients_.channel_undivided = read_undivided("channel_undivided", "channel_split");
    if (const auto contention = root_.find("contention")) {
      for (const YamlNode& item : contention->items()) read_contention(item);
    }
    if (const auto congestion = root_.find("congestion")) {
      for (const YamlNode& item : congestion->items()) read_congestion(item);
    }
    if (const auto overlap = root_.find("overlap")) read_overlap(*overlap);
    if (const auto software = root_.find("software")) read_software(*software);
    if (const auto communication = root_.find("communication")) {
      coefficients_.exchanges = MeasuredExchanges(read_measured_network(*communication));
    }
    if (const auto learned = root_.find("learned")) {
      coefficients_.learned = read_learned(*learned, citations_);
      coefficients_.learned_runs = read_learned_runs(*learned);
    }
    return std::move(coefficients_);
  }

 private:
  static YamlNode sources_of(const YamlNode& root) {
    check_format(root);
    root.only_keys({"format", "name", "machine", "description", "generator", "date", "sources", "models", "filter_undivided",
                    "filter_split", "channel_undivided", "channel_split", "contention", "congestion", "overlap", "software",
                    "communication", "learned"});
    return root.at("sources");
  }

  /// Reads the measured time of a model: `per_sample`, or `per_iteration` for a step with `batch` samples. `divided_over`:
  /// the number of devices that shared the work of each sample.
  void read_model(const YamlNode& node) {
    node.only_keys({"model", "precision", "batch", "per_sample", "per_iteration", "divided_over", "source"});
    MeasuredModel measured;
    measured.model = canonical_model_name(node.at("model").text());
    measured.precision = read_precision(node.at("precision"));
    measured.batch = static_cast<double>(node.at("batch").integer(1, std::numeric_limits<int>::max()));
    const auto per_sample = node.find("per_sample");
    const auto per_iteration = node.find("per_iteration");
    if (per_sample.has_value() == per_iteration.has_value()) {
      node.fail("expected one of 'per_sample' and 'per_iteration'", "the time of forward, backward and update");
    }
    measured.per_sample = per_sample ? per_sample->seconds() : per_iteration->seconds() / measured.batch;
    if (const auto devices = node.find("divided_over")) {
      measured.per_sample *= static_cast<double>(devices->integer(1, std::numeric_limits<int>::max()));
    }
    measured.source = citations_.of(node.at("source"));
    const auto same = std::find_if(
        coefficients_.models.begin(), coefficients_.models.end(),
        [&](const MeasuredModel& other) { return other.model == measured.model && other.precision == measured.precision; });
    if (same != coefficients_.models.end()) {
      node.fail(fmt::format("duplicate time of {} in {}", quote(measured.model), to_string(measured.precision)),
                "remove one of them");
    }
    coefficients_.models.push_back(std::move(measured));
  }

  /// Reads the fraction under `fraction_key`, or fits the fraction to the measured times under `split_key`.
  std::optional<UndividedFraction> read_undivided(std::string_view fraction_key, std::string_view split_key) {
    const auto fraction = root_.find(fraction_key);
    const auto split = root_.find(split_key);
    if (fraction && split)
      split->fail(fmt::format("'{}' and '{}' exclude each other", fraction_key, split_key), "remove one of them");
    if (fraction) return UndividedFraction{citations_.read(*fraction).value.number(0, 1)};
    if (!split) return std::nullopt;
    split->only_keys({"operation", "precision", "unsplit", "points", "source"});
    static_cast<void>(citations_.of(split->at("source")));
    std::vector<SplitPoint> points;
    for (const YamlNode& item : split->at("points").items()) points.push_back(read_point(item));
    if (points.empty()) split->at("points").fail("no points to fit", "write [[2, 185.2 ms], ...]: parts and time");
    UndividedFraction undivided{fit_undivided_fraction(split->at("unsplit").seconds(), points)};
    if (const auto operation = split->find("operation")) undivided.operation = read_operation(*operation);
    if (const auto precision = split->find("precision")) undivided.precision = read_precision(*precision);
    return undivided;
  }

  static std::string read_operation(const YamlNode& node) {
    std::string type = node.text();
    if (find_operation_kind(type) != nullptr) return type;
    std::vector<std::string_view> known;
    for (const OperationKind& kind : operation_kinds()) known.push_back(kind.key);
    node.fail(fmt::format("unknown operation {}", quote(type)), suggest(type, known));
  }

  static SplitPoint read_point(const YamlNode& node) {
    const std::vector<YamlNode> pair = node.items();
    if (pair.size() != 2)
      node.fail(fmt::format("expected parts and time, found {} items", pair.size()), "write [2, 185.2 ms]");
    return {static_cast<int>(pair[0].integer(2, std::numeric_limits<int>::max())), pair[1].seconds()};
  }
  static double above(const YamlNode& node, double least, const char* hint) {
    const double value = node.number(0, largest_factor);
    if (value < least || value == 0)
      node.fail(fmt::format("must be {} {}", least > 0 ? "at least" : "greater than", least), hint);
    return value;
  }

  /// A citation: a key of `sources`, or a text in the form `{citation: "..."}`, which programs write.
  [[nodiscard]] std::string citation_of(const YamlNode& source) const {
    if (!source.is_map()) return citations_.of(source);
    source.only_keys({"citation"});
    return source.at("citation").text();
  }

  /// Reads the contention factor φ of a level for a number of concurrent groups.
  void read_contention(const YamlNode& node) {
    node.only_keys({"level", "groups", "phi", "source"});
    MeasuredContention measured;
    measured.level = node.at("level").name();
    measured.groups = static_cast<double>(node.at("groups").integer(1, std::numeric_limits<int>::max()));
    measured.phi = above(node.at("phi"), 0, "the time per byte relative to one flow alone on one link");
    measured.source = citation_of(node.at("source"));
    for (const MeasuredContention& other : coefficients_.contention) {
      if (other.level == measured.level && other.groups == measured.groups) {
        node.fail(fmt::format("duplicate φ of {:.0f} groups on {}", measured.groups, quote(measured.level)),
                  "remove one of them");
      }
    }
    coefficients_.contention.push_back(std::move(measured));
  }

  /// Reads the factor by which other jobs slow down exchanges that cross a level.
  void read_congestion(const YamlNode& node) {
    node.only_keys({"level", "median", "spread", "source"});
    Congestion congestion;
    congestion.level = node.at("level").name();
    congestion.median = above(node.at("median"), 1, "other jobs never speed up communication");
    congestion.spread = above(node.at("spread"), 1, "the geometric standard deviation of the factor: 1 means no spread");
    congestion.source = citation_of(node.at("source"));
    for (const Congestion& other : coefficients_.congestion) {
      if (other.level == congestion.level)
        node.fail(fmt::format("duplicate congestion of {}", quote(congestion.level)), "remove one of them");
    }
    coefficients_.congestion.push_back(std::move(congestion));
  }

  /// Reads the slowdowns of kernels and of an exchange that run at the same time.
  void read_overlap(const YamlNode& node) {
    node.only_keys({"kernels", "exchange", "source"});
    constexpr const char* hint = "the overlapped time relative to the time alone: 1 means no slowdown";
    if (const auto kernels = node.find("kernels")) coefficients_.overlap.kernels = above(*kernels, 1, hint);
    if (const auto exchange = node.find("exchange")) coefficients_.overlap.exchange = above(*exchange, 1, hint);
    coefficients_.overlap.source = citation_of(node.at("source"));
  }

  void read_software(const YamlNode& node) {
    std::vector<std::string_view> keys{"name", "spatial_layers"};
    for (const std::string_view key : setting_keys([](const SettingRow& row) { return row.by_coefficients; }))
      keys.push_back(key);
    node.only_keys(keys, former_settings());
    Software& software = coefficients_.software;
    software.name = citations_.read(node.at("name")).value.text();
    // Settings that the coefficients lack come from the software file, or have their best possible value.
    for (const SettingRow& row : setting_rows()) {
      const auto entry = row.by_coefficients ? node.find(row.key, row.former) : std::nullopt;
      if (!entry) continue;
      const SourcedNode sourced = citations_.read(*entry);
      coefficients_.settings.set(row, {read_setting(row, sourced.value), SettingOrigin::coefficients, sourced.source});
    }
    Assumptions unused;
    apply_settings(coefficients_.settings, Precision::fp32, unused, software);
    if (const auto limits = node.find("spatial_layers")) {
      for (const YamlNode& item : limits->items()) read_spatial_limit(item);
    }
  }

  void read_spatial_limit(const YamlNode& node) {
    node.only_keys({"model", "layers", "source"});
    std::string model = canonical_model_name(node.at("model").text());
    const auto layers = static_cast<int>(node.at("layers").integer(1, std::numeric_limits<int>::max()));
    static_cast<void>(citations_.of(node.at("source")));
    auto& limits = coefficients_.software.spatial_layers;
    if (std::any_of(limits.begin(), limits.end(), [&](const auto& limit) { return limit.first == model; })) {
      node.fail(fmt::format("duplicate limit for {}", quote(model)), "remove one of them");
    }
    limits.emplace_back(std::move(model), layers);
  }

  YamlNode root_;
  Citations citations_;
  Coefficients coefficients_;
};

}  // namespace

std::optional<Coefficients> bundled_coefficients(const std::string& machine_name) {
  for (const EmbeddedFile& file : coefficients_files()) {
    if (file.name == machine_name) return CoefficientsReader(bundled_yaml(file)).read();
  }
  return std::nullopt;
}

Coefficients load_coefficients(const std::string& name_or_path) {
  if (is_path(name_or_path)) return CoefficientsReader(YamlNode::load(name_or_path)).read();
  std::vector<std::string> known;
  for (const EmbeddedFile& file : coefficients_files()) {
    Coefficients coefficients = CoefficientsReader(bundled_yaml(file)).read();
    for (const std::string& name : {coefficients.name, coefficients.machine}) {
      if (name_key(name) == name_key(name_or_path)) return coefficients;
      known.push_back(name);
    }
  }
  known.emplace_back("none");
  throw Error(fmt::format("unknown coefficients {}", quote(name_or_path)),
              fmt::format("known: {}; a file of your own ends in '.yaml'", fmt::join(known, ", ")));
}

std::string coefficients_text(const std::string& name_or_path, const std::string& machine) {
  if (name_or_path == "none") return {};
  if (is_path(name_or_path)) return read_file(name_or_path);
  if (name_or_path.empty() && is_path(machine)) {
    const std::optional<OwnCoefficients> own = own_coefficients(machine);
    return own ? read_file(own->path) : "";
  }
  const std::string wanted = name_key(name_or_path.empty() ? machine : name_or_path);
  for (const EmbeddedFile& file : coefficients_files()) {
    const Coefficients coefficients = CoefficientsReader(bundled_yaml(file)).read();
    if (name_key(coefficients.name) == wanted || name_key(coefficients.machine) == wanted) return std::string(file.content);
  }
  return {};
}

Coefficients parse_coefficients(std::string text, std::string origin) {
  return CoefficientsReader(YamlNode::parse(std::move(text), std::move(origin))).read();
}

}  // namespace ddl
