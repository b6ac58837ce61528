#include "cli/documents/profile.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/formats/table.hpp"
#include "core/units.hpp"

namespace ddl {
namespace {

using Json = nlohmann::ordered_json;
using Align = Table::Align;

struct RowCounts {
  std::size_t measured = 0, idle = 0, unsettled = 0, drifted = 0, host_bound = 0;
  std::vector<const Measurement*> refused;
};

RowCounts counts_of(const ProfileResult& result) {
  RowCounts counts;
  for (const std::size_t row : result.asked) {
    const Measurement& measured = result.profile.rows[row].measurement;
    if (!measured.reason.empty()) {
      counts.refused.push_back(&measured);
    } else if (measured.algorithm.empty()) {
      ++counts.idle;
    } else {
      ++counts.measured;
      counts.unsettled += measured.samples.settled ? 0U : 1U;
      counts.drifted += measured.samples.drifted ? 1U : 0U;
      counts.host_bound += measured.host_bound ? 1U : 0U;
    }
  }
  return counts;
}

std::string rows_text(const ProfileResult& result) {
  Table table(
      {{"median"}, {"interval of 95 %"}, {"samples"}, {"workspace"}, {"algorithm", Align::left}, {"problem", Align::left}});
  for (const std::size_t row : result.asked) {
    const Measurement& measured = result.profile.rows[row].measurement;
    const Samples& samples = measured.samples;
    if (!measured.reason.empty()) {
      table.add({"-", "-", "-", "-", measured.reason, measured.problem});
    } else if (measured.algorithm.empty()) {
      table.add({"0 s", "-", "-", "-", "nothing to do", measured.problem});
    } else {
      table.add({humanize(samples.median), fmt::format("{} to {}", humanize(samples.low), humanize(samples.high)),
                 fmt::format("{}{}", samples.count, samples.settled ? "" : " unsettled"), humanize(measured.workspace),
                 measured.algorithm, measured.problem});
    }
  }
  return table.text("");
}

std::string text_of(const ProfileResult& result, const Style& style) {
  const RowCounts counts = counts_of(result);
  const ProfileHead& head = result.profile.head;
  std::string text = fmt::format("{}, {}\n", style.bold(head.device), head.backend);
  if (head.model.empty()) text += rows_text(result);
  text += fmt::format("{} of {} problems", result.items - result.left, result.items);
  if (head.shard) text += fmt::format(" of shard {}/{}", head.shard->index, head.shard->count);
  text += result.merged_shards > 0 ? fmt::format(" from {}", count_text(result.merged_shards, "shard"))
                                   : fmt::format(" in {}", humanize(Seconds(result.seconds)));
  if (result.known > 0) text += fmt::format(", {} of them from before", result.known);
  if (counts.idle > 0) text += fmt::format("; {} have nothing to do", counts.idle);
  if (counts.unsettled > 0) text += fmt::format("; {} did not settle", counts.unsettled);
  text += fmt::format("; {} refused\n", counts.refused.size());
  constexpr std::size_t shown = 5;
  for (std::size_t i = 0; i < std::min(shown, counts.refused.size()) && !head.model.empty(); ++i) {
    text += wrap_text(fmt::format("  refused: {}: {}", counts.refused[i]->problem, counts.refused[i]->reason), 118, "    ") +
            "\n";
  }
  if (counts.refused.size() > shown && !head.model.empty())
    text += fmt::format("  and {} more\n", counts.refused.size() - shown);
  if (const Steadiness& steadiness = result.steadiness; steadiness.highest_clock_hz > 0) {
    text +=
        fmt::format("clocks from {:.0f} to {:.0f} MHz", steadiness.lowest_clock_hz / 1e6, steadiness.highest_clock_hz / 1e6);
    for (const auto& [reason, share] : steadiness.slowed_by) {
      text += fmt::format("; {} around {:.0f} % of the rows", reason, 100 * share);
    }
    text += "\n";
  }
  if (!result.closures.empty()) {
    Table table({{"samples"}, {"parts"}, {"whole step"}, {"closure"}, {"kernels"}});
    for (const Closure& closure : result.closures) {
      table.add({std::to_string(closure.samples), humanize(closure.parts), humanize(closure.whole),
                 fmt::format("{:+.1f} %", 100 * closure.error()), with_thousands(closure.kernels)});
    }
    text += "\n" + table.text("");
  }
  if (!result.splits.empty()) {
    Table table(
        {{"split", Align::left}, {"samples"}, {"split layers"}, {"whole"}, {"a part"}, {"measured"}, {"over linear"}});
    for (const SplitScaling& split : result.splits) {
      table.add({fmt::format("{} {}", split.axis, split.degree), std::to_string(split.samples), std::to_string(split.layers),
                 humanize(split.whole), humanize(split.whole / static_cast<double>(split.parts)), humanize(split.split),
                 fmt::format("{:.2f}", split.over_linear())});
    }
    text += "\n" + table.text("");
  }
  if (!result.output.empty()) text += fmt::format("\nwritten to {}\n", result.output);
  return text;
}

std::vector<std::string> warnings_of(const ProfileResult& result) {
  std::vector<std::string> warnings = result.warnings;
  const RowCounts counts = counts_of(result);
  const Steadiness& steadiness = result.steadiness;
  if (steadiness.slow_share > 0) {
    warnings.push_back(
        fmt::format("the device was not steady: one and the same kernel took up to {:.0f} % longer than at full speed, and "
                    "more than 10 % "
                    "longer around {:.0f} % of the rows; end what else runs, and measure again",
                    100 * (steadiness.slowest - 1), 100 * steadiness.slow_share));
  }
  if (counts.host_bound > 0) {
    warnings.push_back(
        fmt::format("the device waited for the host while {} measured, which took too long to start the "
                    "kernels: these times are too long; end what else runs on the host",
                    counts.host_bound == 1 ? "1 row was" : fmt::format("{} rows were", counts.host_bound)));
  }
  if (result.left > 0) {
    warnings.push_back(fmt::format("{}{} left to measure: the same command with --resume goes on",
                                   result.stopped ? "stopped: " : "",
                                   count_text(static_cast<std::int64_t>(result.left), "problem")));
  }
  return warnings;
}

Json json_of(const ProfileResult& result) {
  const RowCounts counts = counts_of(result);
  const ProfileHead& head = result.profile.head;
  Json json;
  json["schema"] = 1;
  json["backend"] = head.backend;
  json["device"] = head.device;
  json["model"] = head.model.empty() ? Json(nullptr) : Json(head.model);
  json["shard"] = head.shard ? Json(fmt::format("{}/{}", head.shard->index, head.shard->count)) : Json(nullptr);
  json["profile"] = result.output.empty() ? Json(nullptr) : Json(result.output);
  json["problems"] = result.items;
  json["measured"] = counts.measured;
  json["idle"] = counts.idle;
  json["unsettled"] = counts.unsettled;
  json["drifted"] = counts.drifted;
  json["host_bound"] = counts.host_bound;
  json["left"] = result.left;
  json["seconds"] = result.seconds;
  json["slowest_over_full_speed"] = result.steadiness.slowest;
  json["slow_share"] = result.steadiness.slow_share;
  json["lowest_clock_hz"] = result.steadiness.lowest_clock_hz;
  json["highest_clock_hz"] = result.steadiness.highest_clock_hz;
  json["slowed_by"] = Json::array();
  for (const auto& [reason, share] : result.steadiness.slowed_by) {
    json["slowed_by"].push_back({{"reason", reason}, {"share", share}});
  }
  json["refused"] = Json::array();
  for (const Measurement* measured : counts.refused) {
    json["refused"].push_back({{"problem", measured->problem}, {"reason", measured->reason}});
  }
  json["closure"] = Json::array();
  for (const Closure& closure : result.closures) {
    json["closure"].push_back({{"samples", closure.samples},
                               {"parts_s", closure.parts.value()},
                               {"whole_s", closure.whole.value()},
                               {"error", closure.error()},
                               {"kernels", closure.kernels}});
  }
  json["splits"] = Json::array();
  for (const SplitScaling& split : result.splits) {
    json["splits"].push_back({{"axis", split.axis},
                              {"degree", split.degree},
                              {"parts", split.parts},
                              {"samples", split.samples},
                              {"layers", split.layers},
                              {"whole_s", split.whole.value()},
                              {"split_s", split.split.value()},
                              {"over_linear", split.over_linear()}});
  }
  if (head.model.empty()) {
    json["rows"] = Json::array();
    for (const std::size_t row : result.asked) {
      const Measurement& measured = result.profile.rows[row].measurement;
      json["rows"].push_back({{"problem", measured.problem},
                              {"median_s", measured.samples.median.value()},
                              {"low_s", measured.samples.low.value()},
                              {"high_s", measured.samples.high.value()},
                              {"samples", measured.samples.count},
                              {"settled", measured.samples.settled},
                              {"workspace_bytes", measured.workspace.value()},
                              {"algorithm", measured.algorithm},
                              {"reason", measured.reason}});
    }
  }
  return json;
}

}  // namespace

Report profile_report(const std::shared_ptr<const ProfileResult>& result) {
  Report report;
  report.text = [result](const Style& style) { return text_of(*result, style); };
  report.json = [result] { return json_of(*result); };
  report.csv = [result] {
    const std::string text = print_profile(result->profile);
    return text.substr(text.find("---\n") + 4);
  };
  report.warnings = warnings_of(*result);
  if (result->left > 0) report.status = ExitStatus::could_not_answer;
  return report;
}

}  // namespace ddl
