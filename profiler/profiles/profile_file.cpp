#include "profiler/profiles/profile_file.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <optional>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include "core/csv.hpp"
#include "core/error.hpp"
#include "core/file_format.hpp"
#include "core/source_text.hpp"
#include "core/yaml_node.hpp"
#include "profiler/backends/backend_options.hpp"
#include "profiler/measurement/sequence.hpp"

namespace ddl {
namespace {

constexpr std::array<std::string_view, 18> columns{
    "problem",         "layers",    "samples",   "median_s",  "deviation_s",
    "low_s",           "high_s",    "settled",   "trend",     "reference_kernel_s",
    "workspace_bytes", "algorithm", "reason",    "samples_s", "clock_hz",
    "power_w",         "slowed_by", "host_bound"};
/// Columns that have another name in older versions: the old name, and the present name.
constexpr std::array<std::pair<std::string_view, std::string_view>, 2> former_columns{
    {{"drifted", "trend"}, {"look_s", "reference_kernel_s"}}};
/// Columns that older profiles do not have.
constexpr std::array<std::string_view, 4> newer_columns{"clock_hz", "power_w", "slowed_by", "host_bound"};
/// This column exists only in a shard.
constexpr std::string_view place_column = "place";
constexpr std::string_view separator = "---\n";

/// Returns a text as a YAML scalar on one line.
std::string yaml_text(std::string_view text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') quoted += '\\';
    // Control characters are replaced by spaces, because the parser refuses them, and names do not need them.
    quoted += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
  }
  return quoted + '"';
}

std::string one_line(std::string text) {
  std::replace_if(
      text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < 0x20; }, ' ');
  if (text.size() <= CsvTable::max_cell) return text;
  // Does not cut within a UTF-8 character.
  std::size_t end = CsvTable::max_cell;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) --end;
  text.resize(end);
  return text;
}

/// Larger values of bytes, hertz or watts are typos.
constexpr double largest_amount = 1e18;

/// Cells of one row.
class RowReader {
 public:
  RowReader(const CsvTable& table, std::size_t row) : table_(table), row_(row) {}

  [[nodiscard]] bool has(std::string_view name) const { return table_.find_column(name).has_value(); }
  [[nodiscard]] const std::string& text(std::string_view name) const { return table_.cell(row_, table_.column(name)); }
  [[nodiscard]] double number(std::string_view name) const {
    const std::size_t column = table_.column(name);
    const double value = table_.number(row_, column).value_or(0);
    if (value < 0) fail(name, fmt::format("{} is negative", quote(text(name))));
    return value;
  }
  /// A value in bytes, hertz or watts.
  [[nodiscard]] double amount(std::string_view name) const {
    const double value = number(name);
    if (value > largest_amount) fail(name, fmt::format("{} is too large: at most {:g}", quote(text(name)), largest_amount));
    return value;
  }
  [[nodiscard]] double seconds(std::string_view name) const { return checked_time(name, text(name), number(name)); }
  [[nodiscard]] int count(std::string_view name) const {
    constexpr double most = 1e9;
    const double value = number(name);
    if (value != std::floor(value) || value > most) fail(name, fmt::format("{} is not a count", quote(text(name))));
    return static_cast<int>(value);
  }
  [[nodiscard]] bool flag(std::string_view name) const {
    const std::string& value = text(name);
    if (value != "yes" && value != "no" && !value.empty()) fail(name, "not yes or no");
    return value == "yes";
  }
  /// Times separated by spaces.
  [[nodiscard]] std::vector<double> times(std::string_view name) const {
    const std::string& value = text(name);
    std::vector<double> found;
    for (std::size_t at = 0; at < value.size();) {
      const std::size_t end = std::min(value.find(' ', at), value.size());
      double number = 0;
      const auto [stop, problem] = std::from_chars(value.data() + at, value.data() + end, number);
      const std::string_view word = std::string_view(value).substr(at, end - at);
      if (problem != std::errc() || stop != value.data() + end || !(number >= 0)) {
        fail(name, fmt::format("{} is not a time", quote(word)), "times in seconds, separated by spaces");
      }
      found.push_back(checked_time(name, word, number));
      at = end + 1;
    }
    return found;
  }
  [[noreturn]] void fail(std::string_view name, const std::string& message, const std::string& hint = {}) const {
    table_.fail(row_, table_.column(name), message, hint);
  }

 private:
  [[nodiscard]] double checked_time(std::string_view name, std::string_view word, double seconds) const {
    if (seconds > longest_time) fail(name, fmt::format("{} is not a time", quote(word)), "seconds, up to 1e15");
    return seconds < shortest_time ? 0.0 : seconds;
  }

  const CsvTable& table_;
  std::size_t row_;
};

/// Returns a problem's line in the form of print_problem, for any order of its attributes.
std::string canonical(const RowReader& cells, const std::string& line) {
  try {
    if (is_sequence_problem(line)) return print_problem(parse_sequence_problem(line, "the problem"));
    if (is_fresh_memory_problem(line)) return print_problem(parse_fresh_memory_problem(line, "the problem"));
    return is_update_problem(line) ? print_problem(parse_update_problem(line, "the problem"))
                                   : print_problem(parse_problem(line, "the problem"));
  } catch (const Error& error) {
    const std::string_view message = error.what();
    cells.fail("problem", std::string(message.substr(0, message.find('\n'))));
  }
}

ProfileRow read_row(const RowReader& cells, bool of_shard) {
  ProfileRow row;
  if (of_shard) row.place = cells.count(place_column);
  row.layers = cells.count("layers");
  Measurement& measured = row.measurement;
  measured.problem = cells.text("problem");
  if (measured.problem.empty()) cells.fail("problem", "a row needs its problem");
  measured.problem = canonical(cells, measured.problem);
  measured.workspace = Bytes(cells.amount("workspace_bytes"));
  measured.algorithm = cells.text("algorithm");
  measured.reason = cells.text("reason");
  Samples& samples = measured.samples;
  samples.count = cells.count("samples");
  samples.median = Seconds(cells.seconds("median_s"));
  samples.deviation = Seconds(cells.seconds("deviation_s"));
  samples.low = Seconds(cells.seconds("low_s"));
  samples.high = Seconds(cells.seconds("high_s"));
  samples.settled = cells.flag("settled");
  samples.has_trend = cells.flag("trend");
  samples.seconds = cells.times("samples_s");
  row.reference_kernel = Seconds(cells.seconds("reference_kernel_s"));
  if (cells.has("clock_hz")) row.state.clock_hz = cells.amount("clock_hz");
  if (cells.has("power_w")) row.state.power_w = cells.amount("power_w");
  if (cells.has("slowed_by")) row.state.slowed_by = cells.text("slowed_by");
  if (cells.has("host_bound")) measured.host_bound = cells.flag("host_bound");
  if (samples.low > samples.median) cells.fail("low_s", "the interval does not contain the median");
  if (samples.high < samples.median) cells.fail("high_s", "the interval does not contain the median");
  if (!samples.seconds.empty() && static_cast<int>(samples.seconds.size()) != samples.count) {
    cells.fail("samples", fmt::format("{} samples, but {} times", samples.count, samples.seconds.size()));
  }
  return row;
}

ProfileShard read_shard(const YamlNode& node) {
  constexpr std::int64_t largest = 1'000'000'000;
  node.only_keys({"index", "count", "problems", "plan"});
  ProfileShard shard{.count = static_cast<int>(node.at("count").integer(1, largest)),
                     .problems = node.at("problems").integer(0, largest),
                     .plan = node.at("plan").name()};
  shard.index = static_cast<int>(node.at("index").integer(0, shard.count - 1));
  return shard;
}

}  // namespace

Profile at_full_speed(Profile profile) {
  std::vector<double> looks;
  for (const ProfileRow& row : profile.rows) {
    if (row.reference_kernel.value() > 0) looks.push_back(row.reference_kernel.value());
  }
  if (looks.empty()) return profile;
  const auto tenth = looks.begin() + static_cast<std::ptrdiff_t>(looks.size() / 10);
  std::nth_element(looks.begin(), tenth, looks.end());
  const double full = *tenth;
  for (ProfileRow& row : profile.rows) {
    if (row.reference_kernel.value() <= full) continue;
    const double factor = full / row.reference_kernel.value();
    Samples& samples = row.measurement.samples;
    samples.median *= factor;
    samples.deviation *= factor;
    samples.low *= factor;
    samples.high *= factor;
    for (double& second : samples.seconds) second *= factor;
  }
  return profile;
}

void move_layout(ProfileHead& head) {
  const auto found =
      std::find_if(head.details.begin(), head.details.end(), [](const auto& detail) { return detail.first == "layout"; });
  if (found == head.details.end()) return;
  if (head.layout.empty()) head.layout = std::move(found->second);
  head.details.erase(found);
}

std::string print_profile_head(const ProfileHead& head) {
  std::string text = "format: 1\n";
  const auto say = [&text](std::string_view key, const std::string& value) {
    if (!value.empty()) text += fmt::format("{}: {}\n", key, yaml_text(value));
  };
  say("model", head.model);
  say("backend", head.backend);
  say("device", head.device);
  say("caches", head.caches);
  say("layout", head.layout);
  say("date", head.date);
  say("host", head.host);
  say("command", head.command);
  say("source", head.source);
  if (head.shard) {
    text += fmt::format("shard:\n  index: {}\n  count: {}\n  problems: {}\n  plan: {}\n", head.shard->index,
                        head.shard->count, head.shard->problems, yaml_text(head.shard->plan));
  }
  if (!head.details.empty()) text += "details:\n";
  for (const auto& [key, value] : head.details) {
    if (!value.empty()) text += fmt::format("  {}: {}\n", yaml_text(key), yaml_text(value));
  }
  text += separator;
  for (const std::string_view column : columns) text += fmt::format("{}{}", column == columns.front() ? "" : ",", column);
  if (head.shard) text += fmt::format(",{}", place_column);
  return text + '\n';
}

std::string print_profile_row(const ProfileHead& head, const ProfileRow& row) {
  const Measurement& measured = row.measurement;
  const Samples& samples = measured.samples;
  std::string times;
  for (const double time : samples.seconds) times += fmt::format("{}{}", times.empty() ? "" : " ", time);
  const auto flag = [](bool value) { return value ? "yes" : "no"; };
  return fmt::format("{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{}{}\n", csv_cell(measured.problem), row.layers,
                     samples.count, samples.median.value(), samples.deviation.value(), samples.low.value(),
                     samples.high.value(), flag(samples.settled), flag(samples.has_trend), row.reference_kernel.value(),
                     measured.workspace.value(), csv_cell(one_line(measured.algorithm)), csv_cell(one_line(measured.reason)),
                     times, row.state.clock_hz, row.state.power_w, csv_cell(one_line(row.state.slowed_by)),
                     flag(measured.host_bound), head.shard ? fmt::format(",{}", row.place) : "");
}

std::string print_profile(const Profile& profile) {
  std::string text = print_profile_head(profile.head);
  for (const ProfileRow& row : profile.rows) text += print_profile_row(profile.head, row);
  return text;
}

std::string_view whole_lines(std::string_view text) {
  const std::size_t last = text.rfind('\n');
  return last == std::string_view::npos ? std::string_view() : text.substr(0, last + 1);
}

Profile parse_profile(const std::string& given, const std::string& origin) {
  const std::string text(whole_lines(given));
  const std::size_t cut = text.starts_with(separator) ? 0 : text.find("\n---\n");
  if (cut == std::string::npos) {
    throw SourceText(given, origin)
        .error(given.size(), "a profile needs a line '---' between its header and its rows",
               "profiles are written by: ddl-oracle profile MODEL");
  }
  Profile profile;
  const YamlNode root = YamlNode::parse(text.substr(0, cut + 1), origin);
  check_format(root);
  root.only_keys(
      {"format", "model", "backend", "device", "caches", "layout", "date", "host", "command", "source", "shard", "details"});
  const auto say = [&root](std::string_view key) {
    const std::optional<YamlNode> node = root.find(key);
    return node ? node->text() : std::string();
  };
  profile.head = {.model = say("model"),
                  .backend = root.at("backend").text(),
                  .device = root.at("device").text(),
                  .caches = say("caches"),
                  .layout = say("layout"),
                  .date = say("date"),
                  .host = say("host"),
                  .command = say("command"),
                  .source = say("source")};
  if (const std::optional<YamlNode> caches = root.find("caches")) {
    if (!parse_enum<CacheState>(profile.head.caches)) caches->fail("write warm, cold or step");
  }
  if (const std::optional<YamlNode> details = root.find("details")) {
    for (const auto& [key, value] : details->entries()) profile.head.details.emplace_back(key.text(), value.text());
  }
  if (const std::optional<YamlNode> shard = root.find("shard")) profile.head.shard = read_shard(*shard);
  move_layout(profile.head);
  if (!profile.head.layout.empty() && !parse_enum<ImageLayout>(profile.head.layout)) {
    root.find("layout").value_or(root).fail(fmt::format("{} is not a layout of images", quote(profile.head.layout)),
                                            "channels-last or channels-first");
  }
  // Blank lines are skipped, but counted in the positions of errors.
  const std::size_t table_start = cut == 0 ? separator.size() : cut + 1 + separator.size();
  std::string table_text(
      static_cast<std::size_t>(std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(table_start), '\n')),
      '\n');
  CsvTable table = CsvTable::parse(table_text.append(text, table_start), origin);
  std::vector<std::string_view> known(columns.begin(), columns.end());
  if (profile.head.shard) known.push_back(place_column);
  for (const auto& [former, now] : former_columns) table.rename_column(former, now);
  table.only_columns(known);
  for (const std::string_view column : columns) {
    const bool is_newer = std::find(newer_columns.begin(), newer_columns.end(), column) != newer_columns.end();
    if (!is_newer) static_cast<void>(table.column(column));
  }
  if (profile.head.shard) static_cast<void>(table.column(place_column));
  std::unordered_map<std::string, std::size_t> places;
  for (std::size_t i = 0; i < table.rows(); ++i) {
    ProfileRow row = read_row(RowReader(table, i), profile.head.shard.has_value());
    const auto [place, is_new] = places.emplace(row.measurement.problem, profile.rows.size());
    if (is_new) {
      profile.rows.push_back(std::move(row));
    } else {
      profile.rows[place->second] = std::move(row);
    }
  }
  if (text.size() < given.size()) profile.cut_line = static_cast<int>(std::count(text.begin(), text.end(), '\n')) + 1;
  return profile;
}

Profile load_profile(const std::string& path) { return parse_profile(read_file(path, CsvTable::max_bytes), path); }

}  // namespace ddl
