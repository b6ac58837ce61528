#include "cli/documents/profile.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "cli/report/fields.hpp"
#include "cli/report/figures.hpp"
#include "core/units.hpp"

namespace ddl {
namespace {

struct RowCounts {
  std::size_t measured = 0, idle = 0, unsettled = 0, has_trend = 0, host_bound = 0;
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
      counts.has_trend += measured.samples.has_trend ? 1U : 0U;
      counts.host_bound += measured.host_bound ? 1U : 0U;
    }
  }
  return counts;
}

Table rows_table(const ProfileResult& result) {
  Table table({essential(figures("median")), figures("interval of 95 %"), figures("samples"), figures("workspace"),
               words("algorithm"), essential(prose("problem"))},
              0);
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
  return table;
}

/// Returns how many problems were measured, did not settle, or were refused, as text.
std::string counts_text(const ProfileResult& result, const RowCounts& counts) {
  std::string text = fmt::format("{} of {} problems", result.items - result.left, result.items);
  if (const auto& shard = result.profile.head.shard) text += fmt::format(" of shard {}/{}", shard->index, shard->count);
  text += result.merged_shards > 0 ? fmt::format(" from {}", count_text(result.merged_shards, "shard"))
                                   : fmt::format(" in {}", humanize(Seconds(result.seconds)));
  if (result.known > 0) text += fmt::format(", {} of them measured earlier", result.known);
  if (counts.idle > 0) text += fmt::format("; {} need no measurement", counts.idle);
  if (counts.unsettled > 0) text += fmt::format("; {} did not settle", counts.unsettled);
  return text + fmt::format("; {} refused", counts.refused.size());
}

Document document_of(const ProfileResult& result) {
  const RowCounts counts = counts_of(result);
  const ProfileHead& head = result.profile.head;
  Document document;
  document.line(head.device, ", " + head.backend);
  if (head.model.empty()) document.add(rows_table(result));
  document.line(counts_text(result, counts));
  constexpr std::size_t shown = 5;
  for (std::size_t i = 0; i < std::min(shown, counts.refused.size()) && !head.model.empty(); ++i)
    document.paragraph(fmt::format("refused: {}: {}", counts.refused[i]->problem, counts.refused[i]->reason), 0, 4);
  if (counts.refused.size() > shown && !head.model.empty())
    document.line(fmt::format("and {} more", counts.refused.size() - shown), 2);
  if (const Steadiness& steadiness = result.steadiness; steadiness.highest_clock_hz > 0) {
    std::string text =
        fmt::format("clocks from {:.0f} to {:.0f} MHz", steadiness.lowest_clock_hz / 1e6, steadiness.highest_clock_hz / 1e6);
    for (const auto& [reason, share] : steadiness.slowed_by)
      text += fmt::format("; {} around {:.0f} % of the rows", reason, 100 * share);
    document.line(text);
  }
  if (!result.sum_checks.empty()) {
    Table table({figures("samples"), figures("parts"), figures("whole step"), figures("sum check"), figures("kernels")}, 0);
    for (const SumCheck& sum_check : result.sum_checks) {
      table.add({std::to_string(sum_check.samples), humanize(sum_check.parts), humanize(sum_check.whole),
                 fmt::format("{:+.1f} %", 100 * sum_check.error()), with_thousands(sum_check.kernels)});
    }
    document.apart(std::move(table));
  }
  if (!result.splits.empty()) {
    Table table({words("split"), figures("samples"), figures("split layers"), figures("whole"), figures("share"),
                 figures("measured"), figures("over linear")},
                0);
    for (const SplitScaling& split : result.splits) {
      table.add({fmt::format("{} {}", split.axis, split.degree), std::to_string(split.samples), std::to_string(split.layers),
                 humanize(split.whole), humanize(split.whole / static_cast<double>(split.parts)), humanize(split.split),
                 fmt::format("{:.2f}", split.over_linear())});
    }
    document.apart(std::move(table));
  }
  if (!result.output.empty()) document.apart(Line{{{"written to " + result.output}}});
  return document;
}

std::vector<std::string> warnings_of(const ProfileResult& result) {
  std::vector<std::string> warnings = result.warnings;
  const RowCounts counts = counts_of(result);
  const Steadiness& steadiness = result.steadiness;
  if (steadiness.slow_share > 0) {
    warnings.push_back(
        fmt::format("the device was not steady: the same kernel took up to {:.0f} % longer than at full speed, and more "
                    "than 10 % longer around {:.0f} % of the rows; stop other programs and measure again",
                    100 * (steadiness.slowest - 1), 100 * steadiness.slow_share));
  }
  if (counts.host_bound > 0) {
    warnings.push_back(
        fmt::format("the device waited for the host while {} measured, since kernel launches took too long: these times are "
                    "too long; stop other programs on the host",
                    counts.host_bound == 1 ? "1 row was" : fmt::format("{} rows were", counts.host_bound)));
  }
  if (result.left > 0) {
    warnings.push_back(fmt::format("{}{} left to measure: continue with the same command and --resume",
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
  json["model"] = or_null(head.model);
  json["shard"] = head.shard ? Json(fmt::format("{}/{}", head.shard->index, head.shard->count)) : Json(nullptr);
  json["profile"] = or_null(result.output);
  json["problems"] = result.items;
  json["measured"] = counts.measured;
  json["idle"] = counts.idle;
  json["unsettled"] = counts.unsettled;
  json["trend"] = counts.has_trend;
  json["host_bound"] = counts.host_bound;
  json["left"] = result.left;
  json["seconds"] = result.seconds;
  json["slowest_over_full_speed"] = result.steadiness.slowest;
  json["slow_share"] = result.steadiness.slow_share;
  json["lowest_clock_hz"] = result.steadiness.lowest_clock_hz;
  json["highest_clock_hz"] = result.steadiness.highest_clock_hz;
  json["slowed_by"] = json_list(result.steadiness.slowed_by, [](const auto& slowed) -> Json {
    return {{"reason", slowed.first}, {"share", slowed.second}};
  });
  json["refused"] = json_list(counts.refused, [](const Measurement* measured) -> Json {
    return {{"problem", measured->problem}, {"reason", measured->reason}};
  });
  json["sum_check"] = json_list(result.sum_checks, [](const SumCheck& sum_check) -> Json {
    return {{"samples", sum_check.samples},
            {"parts_s", sum_check.parts.value()},
            {"whole_s", sum_check.whole.value()},
            {"error", sum_check.error()},
            {"kernels", sum_check.kernels}};
  });
  json["splits"] = json_list(result.splits, [](const SplitScaling& split) -> Json {
    return {{"axis", split.axis},
            {"degree", split.degree},
            {"parts", split.parts},
            {"samples", split.samples},
            {"layers", split.layers},
            {"whole_s", split.whole.value()},
            {"split_s", split.split.value()},
            {"over_linear", split.over_linear()}};
  });
  if (!head.model.empty()) return json;
  json["rows"] = json_list(result.asked, [&](std::size_t row) -> Json {
    const Measurement& measured = result.profile.rows[row].measurement;
    return {{"problem", measured.problem},
            {"median_s", measured.samples.median.value()},
            {"low_s", measured.samples.low.value()},
            {"high_s", measured.samples.high.value()},
            {"samples", measured.samples.count},
            {"settled", measured.samples.settled},
            {"workspace_bytes", measured.workspace.value()},
            {"algorithm", measured.algorithm},
            {"reason", measured.reason}};
  });
  return json;
}

}  // namespace

Report profile_report(const std::shared_ptr<const ProfileResult>& result) {
  Report report;
  report.document = document_of(*result);
  report.json = [result] { return json_of(*result); };
  report.rows = [result] {
    const std::string text = print_profile(result->profile);
    return Json(text.substr(text.find("---\n") + 4));
  };
  report.warnings = warnings_of(*result);
  if (result->left > 0) report.status = result->stopped ? ExitStatus::interrupted : ExitStatus::could_not_answer;
  return report;
}

}  // namespace ddl
