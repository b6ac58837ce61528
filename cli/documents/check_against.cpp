#include "cli/documents/check_against.hpp"

#include <string>
#include <string_view>

#include <fmt/format.h>

#include "cli/report/fields.hpp"
#include "core/source_text.hpp"
#include "core/units.hpp"

namespace ddl {
namespace {

const MemoryBreakdown& memory_of(const JobCheck& job) { return job.checked.estimate.memory; }

/// Returns a difference with its sign; `-` if it is less than the rounding of memory.
std::string change_text(Bytes before, Bytes after) {
  constexpr Bytes rounding(1024 * 1024);
  const Bytes change = after - before;
  if (change < rounding && change > -rounding) return "-";
  return change > Bytes{} ? "+" + humanize(change) : "-" + humanize(-change);
}

}  // namespace

Bytes increase_against(const JobCheck& job, const JobCheck& earlier) {
  return memory_of(job).total() - memory_of(earlier).total();
}

std::string growth_text(const JobCheck& job) {
  const JobCheck& earlier = *job.growth->earlier;
  return fmt::format("needs {} more than {}: at most {} are allowed", humanize(increase_against(job, earlier)),
                     visible(earlier.file), humanize(*job.growth->most));
}

void add_against(Document& document, const JobCheck& job, const JobCheck& earlier) {
  const MemoryBreakdown &now = memory_of(job), &before = memory_of(earlier);
  document.section("Against " + visible(earlier.file));
  const bool fell = now.total() < before.total();
  MemoryItem most = MemoryItem::weights;
  const auto change = [&](MemoryItem item) { return (now.of(item) - before.of(item)) * (fell ? -1.0 : 1.0); };
  for (const MemoryItem item : enum_values<MemoryItem>) {
    if (change(item) > change(most)) most = item;
  }
  const bool changed = change(most) > Bytes{};
  document.line(fmt::format("memory {} → {}{}", humanize(before.total()), humanize(now.total()),
                            changed ? fmt::format("; most of the {}: {} {} → {}", fell ? "decrease" : "increase",
                                                  to_string(most), humanize(before.of(most)), humanize(now.of(most)))
                                    : std::string()),
                2);
  Table table(
      {essential(words("item")), essential(figures("before")), essential(figures("now")), essential(figures("change"))});
  const auto add = [&](std::string_view name, Bytes then, Bytes after) {
    if (then > Bytes{} || after > Bytes{})
      table.add({std::string(name), humanize(then), humanize(after), change_text(then, after)});
  };
  for (const MemoryItem item : enum_values<MemoryItem>) add(to_string(item), before.of(item), now.of(item));
  add("all", before.total(), now.total());
  add("at most", before.upper_bound(), now.upper_bound());
  const Seconds then = earlier.checked.estimate.time.step_time(), after = job.checked.estimate.time.step_time();
  if (then > Seconds{} && after > Seconds{})
    table.add({"step", humanize(then), humanize(after), fmt::format("{:+.1f} %", 100 * (after / then - 1))});
  document.add(std::move(table));
  if (job.grew_too_much()) document.line(fmt::format("{} {}", visible(job.file), growth_text(job)));
}

Json against_to_json(const JobCheck& job, const JobCheck& earlier) {
  Json items = Json::object();
  for (const MemoryItem item : enum_values<MemoryItem>) {
    items[std::string(to_string(item))] = {{"before_bytes", memory_of(earlier).of(item).value()},
                                           {"now_bytes", memory_of(job).of(item).value()}};
  }
  Json json;
  json["file"] = earlier.file;
  json["before_bytes"] = memory_of(earlier).total().value();
  json["now_bytes"] = memory_of(job).total().value();
  json["increase_bytes"] = increase_against(job, earlier).value();
  json["allowed_bytes"] = or_null(job.growth->most);
  json["grew_too_much"] = job.grew_too_much();
  json["items"] = std::move(items);
  json["before_step_s"] = earlier.checked.estimate.time.step_time().value();
  json["now_step_s"] = job.checked.estimate.time.step_time().value();
  return json;
}

}  // namespace ddl
