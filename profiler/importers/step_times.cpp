#include "profiler/importers/step_times.hpp"

#include <utility>

#include <fmt/format.h>

#include "core/json_source.hpp"
#include "core/source_text.hpp"
#include "profiler/measurement/sequence.hpp"

namespace ddl {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view step_times_hint = "written by: step_time.py MODEL.json --json";

/// A file of step times. Errors point to values in the file.
class StepTimes {
 public:
  StepTimes(std::string text, const std::string& origin) : source_(std::move(text), origin, std::string(step_times_hint)) {
    if (!source_.root().is_object()) fail("", "the file has no step times");
  }

  [[nodiscard]] const Json& at(std::string_view key) const {
    const auto found = source_.root().find(key);
    if (found == source_.root().end()) fail("", fmt::format("the file has no '{}'", key));
    return *found;
  }
  [[nodiscard]] std::string text(std::string_view key) const {
    const Json& value = at(key);
    if (!value.is_string() || value.get_ref<const std::string&>().empty()) fail(key, fmt::format("'{}' is not text", key));
    return value.get<std::string>();
  }
  [[nodiscard]] std::int64_t count(std::string_view key, std::int64_t least = 1) const {
    const Json& value = at(key);
    constexpr std::int64_t most = std::int64_t{1} << 53U;
    const bool is_whole = value.is_number_integer() && value.get<double>() < static_cast<double>(most);
    if (!is_whole || value.get<std::int64_t>() < least) fail(key, fmt::format("'{}' is not a count", key));
    return value.get<std::int64_t>();
  }
  [[nodiscard]] bool flag(std::string_view key) const {
    if (!at(key).is_boolean()) fail(key, fmt::format("'{}' is neither true nor false", key));
    return at(key).get<bool>();
  }
  /// Reads a flag that older files lack; a missing flag is false.
  [[nodiscard]] bool flag_or_no(std::string_view key) const { return source_.root().contains(key) && flag(key); }
  [[nodiscard]] std::string text_or(std::string_view key, std::string_view otherwise) const {
    return source_.root().contains(key) ? text(key) : std::string(otherwise);
  }
  /// Reads the times of one part of the step, in seconds.
  [[nodiscard]] std::vector<double> seconds(std::string_view part) const {
    const Json& summary = at(part);
    const auto samples = summary.is_object() ? summary.find("samples_s") : summary.end();
    if (!summary.is_object() || samples == summary.end()) fail(part, fmt::format("'{}' has no 'samples_s'", part));
    const std::string path = fmt::format("{}/samples_s", part);
    if (!samples->is_array() || samples->empty()) fail(path, "no list of times");
    if (samples->size() > static_cast<std::size_t>(SamplingRule{}.most)) {
      fail(path, fmt::format("more than {} steps", SamplingRule{}.most));
    }
    std::vector<double> seconds;
    for (const Json& each : *samples) {
      if (!each.is_number() || !(each.get<double>() > 0)) fail(path, fmt::format("{} is not a time", each.dump()));
      seconds.push_back(each.get<double>());
    }
    return seconds;
  }
  [[noreturn]] void fail(std::string_view path, const std::string& message, std::string_view more = step_times_hint) const {
    throw source_.error(path, message, std::string(more));
  }

 private:
  JsonSource source_;
};

}  // namespace

bool is_step_times(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos || text[first] != '{') return false;
  return text.find("\"step\"") != std::string_view::npos && text.find("\"traceEvents\"") == std::string_view::npos;
}

ProfileImport import_step_times(std::string text, const std::string& origin, const Model& model,
                                const ProfileImportOptions& options) {
  const StepTimes file(std::move(text), origin);
  if (file.count("schema") != 1)
    file.fail("schema", "written by another version of step_time.py: this program reads version 1");
  if (const std::string name = file.text("model"); name != model.name) {
    file.fail("model", fmt::format("these are steps of {}, not of {}", quote(name), quote(model.name)),
              fmt::format("--model {}", name));
  }
  if (file.count("parameters", 0) != model.parameters()) {
    file.fail("parameters", fmt::format("{} has {} parameters", model.name, model.parameters()),
              "the measured model is a different one of the same name");
  }
  const auto known = [&](std::string_view key, auto parsed, const auto& asked) {
    if (!parsed) file.fail(key, fmt::format("unknown {} {}", key, quote(file.text(key))));
    if (asked && *asked != *parsed) {
      file.fail(key, fmt::format("these steps ran with {}", file.text(key)), fmt::format("leave --{} out", key));
    }
    return *parsed;
  };
  SequenceProblem step{.model = model.name, .samples = file.count("batch")};
  if (options.samples && *options.samples != step.samples) {
    file.fail("batch", fmt::format("these steps ran on {} samples", step.samples), "leave --batch out");
  }
  step.precision = known("precision", parse_enum<Precision>(file.text("precision")), options.precision);
  step.optimizer = known("optimizer", parse_enum<Optimizer>(file.text("optimizer")), options.optimizer);
  step.by = "pytorch-" + file.text("torch");
  step.keeps_memory = file.flag("keeps_memory");
  step.graph = file.flag_or_no("graph");
  if (file.flag_or_no("sparse_tables")) {
    file.fail("sparse_tables", "these steps had sparse gradients of embeddings, but the model has dense ones",
              "leave --sparse-tables out");
  }

  ProfileImport result;
  result.samples = step.samples;
  result.precision = step.precision;
  const std::string device = options.device.empty() ? file.text("device") : options.device;
  result.profile.head = {.model = model.name,
                         .backend = "pytorch",
                         .device = device,
                         .details = {{"library", "PyTorch " + file.text("torch")},
                                     {"threads", fmt::format("{}", file.count("threads"))},
                                     {"channels_last", file.flag("channels_last") ? "yes" : "no"},
                                     {"optimizer implementation", file.text_or("optimizer_implementation", "")},
                                     {"graph", step.graph ? "yes" : ""}}};
  for (const StepPart part : {StepPart::forward, StepPart::backward, StepPart::update}) {
    step.part = part;
    ProfileRow row;
    row.measurement.problem = print_problem(step);
    row.measurement.samples = summarize(file.seconds(to_string(part)), SamplingRule{});
    row.measurement.algorithm = "whole steps";
    result.profile.rows.push_back(std::move(row));
  }
  return result;
}

}  // namespace ddl
