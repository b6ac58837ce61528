#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "calibration/network/benchmarks/benchmark_text.hpp"
#include "calibration/network/benchmarks/readers.hpp"
#include "calibration/network/benchmarks/repetitions.hpp"
#include "core/json_cursor.hpp"
#include "core/source_text.hpp"

namespace ddl {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kineto_hint =
    "record with torch.profiler, ProfilerActivity.CUDA and PyTorch 2.3 or newer: "
    "profiler.export_chrome_trace(\"trace.json\")";
constexpr std::size_t most_traced_depth = 64;
/// Maximum number of other operations named in the warning.
constexpr std::size_t most_named = 4;

struct TensorType {
  std::string_view name;
  double bytes;
};
/// Number formats by their PyTorch names (c10/core/ScalarType.h).
constexpr std::array tensor_types{
    TensorType{"Float", 4}, TensorType{"Half", 2}, TensorType{"BFloat16", 2},    TensorType{"Double", 8},
    TensorType{"Long", 8},  TensorType{"Int", 4},  TensorType{"Short", 2},       TensorType{"Char", 1},
    TensorType{"Byte", 1},  TensorType{"Bool", 1}, TensorType{"Float8_e5m2", 1}, TensorType{"Float8_e4m3fn", 1},
};

/// The operation of a PyTorch function, without its variant: `_allgather_base`, `reduce_scatter_tensor_coalesced`,
/// `all_to_allv`.
std::optional<Collective> traced_operation(std::string name) {
  for (const std::string_view ending : {"_coalesced", "_tensor", "_into", "_base", "_oop", "v"}) {
    if (name.ends_with(ending)) name.resize(name.size() - ending.size());
    if (ending == "_tensor" && name.ends_with("_into")) name.resize(name.size() - std::string_view("_into").size());
  }
  const std::optional<Collective> operation = parse_operation(name);
  return operation == Collective::point_to_point ? std::nullopt : operation;
}

/// Parses `[0, 1, 2]`; empty if the list is abbreviated (`[0, 1, ...]`), or is not a list of ranks.
std::optional<std::vector<int>> listed_ranks(std::string_view text) {
  if (text.size() < 2 || text.front() != '[' || text.back() != ']') return std::nullopt;
  std::vector<int> ranks;
  for (std::size_t at = 1; at + 1 < text.size();) {
    at = std::min(text.find_first_not_of(", ", at), text.size() - 1);
    if (at + 1 == text.size()) break;
    int rank = 0;
    const auto [end, problem] = std::from_chars(text.data() + at, text.data() + text.size(), rank);
    if (problem != std::errc{} || rank < 0) return std::nullopt;
    ranks.push_back(rank);
    at = static_cast<std::size_t>(end - text.data());
    if (text[at] != ',' && text[at] != ']') return std::nullopt;
  }
  return ranks;
}

/// The values of a trace event that describe an exchange.
struct ExchangeEvent {
  std::string phase{}, category{}, operation{}, type{}, ranks{}, in_split{}, out_split{};
  double duration = -1, in = -1, out = -1, group = -1;
  std::size_t offset = 0;
};

/// The facts that identify a series of exchanges.
struct GroupKey {
  Collective operation = Collective::allreduce;
  int ranks = 2;
  std::string listed{};  ///< the group's list of ranks in the trace, if the user gave the number of nodes of the job
  friend auto operator<=>(const GroupKey&, const GroupKey&) = default;
};

struct GroupTimes {
  std::size_t offset = 0;
  std::map<double, std::vector<double>> by_size{};
};

/// Processes the parser's events and keeps the exchanges. The whole file as JSON values would take ten times its size in
/// memory.
class TraceExchangeReader final : public nlohmann::json_sax<Json> {
 public:
  TraceExchangeReader(std::string text, const std::string& origin, const AskedFacts& asked,
                      std::vector<std::string>& warnings)
      : source_(std::move(text), origin), asked_(asked), warnings_(warnings) {}

  std::vector<ExchangeSeries> read() {
    const std::string& text = source_.text();
    Json::sax_parse(JsonCursor(text.data(), &bytes_read_), JsonCursor(text.data() + text.size(), &bytes_read_), this);
    return series();
  }

  bool null() override { return true; }
  bool boolean(bool /*value*/) override { return true; }
  bool number_integer(std::int64_t value) override { return number(static_cast<double>(value)); }
  bool number_unsigned(std::uint64_t value) override { return number(static_cast<double>(value)); }
  bool number_float(double value, const std::string& /*text*/) override { return number(value); }
  bool binary(Json::binary_t& /*value*/) override { return false; }  // JSON text has no binary values
  bool string(std::string& value) override;
  bool key(std::string& key) override {
    key_.swap(key);
    return true;
  }
  bool start_object(std::size_t /*size*/) override;
  bool start_array(std::size_t /*size*/) override;
  bool end_object() override {
    if (open_.back() == In::event) keep();
    open_.pop_back();
    return true;
  }
  bool end_array() override {
    open_.pop_back();
    return true;
  }
  bool parse_error(std::size_t byte, const std::string& /*token*/, const Json::exception& error) override {
    const bool out_of_range = dynamic_cast<const Json::out_of_range*>(&error) != nullptr;
    const std::size_t place = out_of_range ? bytes_read_ : byte;
    throw source_.error(place == 0 ? 0 : place - 1, out_of_range ? "a number that is too large" : "not valid JSON",
                        std::string(kineto_hint));
  }

 private:
  /// The element that is being read.
  enum class In { root, events, event, arguments, devices, device, distributed, other };

  [[nodiscard]] In in() const { return open_.empty() ? In::other : open_.back(); }
  void open(In what) {
    if (open_.size() == most_traced_depth) {
      throw source_.error(bytes_read_ - 1, fmt::format("nested deeper than {} levels", most_traced_depth));
    }
    open_.push_back(what);
  }
  bool number(double value);
  void keep();
  [[nodiscard]] Error broken(const std::string& message) const {
    return source_.error(event_.offset, message, "use the original trace of PyTorch");
  }
  [[nodiscard]] std::vector<ExchangeSeries> series();
  [[nodiscard]] AskedFacts asked_of(const GroupKey& key) const;

  SourceText source_;
  const AskedFacts& asked_;
  std::vector<std::string>& warnings_;
  std::size_t bytes_read_ = 0;
  std::vector<In> open_;
  std::string key_;
  ExchangeEvent event_;
  std::string device_, nccl_;
  std::optional<int> world_;
  std::map<GroupKey, GroupTimes> times_;
  std::set<std::string> others_, types_;
  std::size_t uneven_ = 0, empty_ = 0, on_host_ = 0;
};

bool TraceExchangeReader::start_object(std::size_t /*size*/) {
  switch (in()) {
    case In::events:
      event_ = {.offset = bytes_read_ - 1};
      open(In::event);
      break;
    case In::event:
      open(key_ == "args" ? In::arguments : In::other);
      break;
    case In::devices:
      open(In::device);
      break;
    case In::root:
      open(key_ == "distributedInfo" ? In::distributed : In::other);
      break;
    default:
      open(open_.empty() ? In::root : In::other);
  }
  return true;
}

bool TraceExchangeReader::start_array(std::size_t /*size*/) {
  const bool holds_events = open_.empty() || (in() == In::root && key_ == "traceEvents");
  open(holds_events ? In::events : in() == In::root && key_ == "deviceProperties" ? In::devices : In::other);
  return true;
}

bool TraceExchangeReader::number(double value) {
  if (in() == In::event && key_ == "dur") event_.duration = value;
  if (in() == In::distributed && key_ == "world_size" && value >= 1 && value <= most_exchange_ranks &&
      value == std::floor(value)) {
    world_ = static_cast<int>(value);
  }
  if (in() != In::arguments) return true;
  if (key_ == "In msg nelems") event_.in = value;
  if (key_ == "Out msg nelems") event_.out = value;
  if (key_ == "Group size") event_.group = value;
  return true;
}

bool TraceExchangeReader::string(std::string& value) {
  switch (in()) {
    case In::event:
      if (key_ == "ph") event_.phase.swap(value);
      if (key_ == "cat") event_.category.swap(value);
      break;
    case In::arguments:
      if (key_ == "Collective name") event_.operation.swap(value);
      if (key_ == "dtype") event_.type.swap(value);
      if (key_ == "Process Group Ranks") event_.ranks.swap(value);
      if (key_ == "In split size") event_.in_split.swap(value);
      if (key_ == "Out split size") event_.out_split.swap(value);
      break;
    case In::device:
      if (key_ == "name" && device_.empty()) device_.swap(value);
      break;
    case In::distributed:
      if (key_ == "nccl_version") nccl_.swap(value);
      break;
    default:
      break;
  }
  return true;
}

void TraceExchangeReader::keep() {
  if (event_.phase != "X" || event_.operation.empty()) return;
  if (event_.category != "kernel" && event_.category != "Kernel") return void(++on_host_);
  // A barrier is an exchange of one element, and is left out.
  if (event_.operation == "barrier" || event_.operation == "wait") return;
  const std::optional<Collective> operation = traced_operation(event_.operation);
  if (!operation) {
    if (others_.size() < most_named) others_.insert(event_.operation);
    return;
  }
  if (!(event_.duration >= 0 && event_.duration <= benchmark_number_limit))
    throw broken("a kernel without a duration 'dur'");
  const double ranks = event_.group;
  if (!(ranks >= 1 && ranks <= most_exchange_ranks && ranks == std::floor(ranks))) {
    throw broken("this collective has no whole number 'Group size' of at least 1");
  }
  // In operations with parts, the larger of the two buffers contains all parts.
  const double elements = std::max(event_.in, event_.out);
  if (!(event_.in >= 0 && event_.out >= 0 && elements <= benchmark_number_limit)) {
    throw broken("this collective has no sizes 'In msg nelems' and 'Out msg nelems' of at least 0");
  }
  const auto* const type = std::find_if(tensor_types.begin(), tensor_types.end(),
                                        [&](const TensorType& each) { return each.name == event_.type; });
  if (type == tensor_types.end()) {
    if (types_.size() < most_named) types_.insert(event_.type);
    return;
  }
  const auto is_even = [](const std::string& split) { return split.empty() || split == "[]"; };
  if (operation == Collective::all_to_all && !(is_even(event_.in_split) && is_even(event_.out_split))) {
    return void(++uneven_);
  }
  if (ranks == 1 || elements == 0 || event_.duration == 0) return void(++empty_);
  const bool needs_nodes = asked_.of_file.nodes || asked_.otherwise.nodes;
  GroupTimes& times =
      times_
          .try_emplace({*operation, static_cast<int>(ranks), needs_nodes ? event_.ranks : ""}, GroupTimes{event_.offset, {}})
          .first->second;
  times.by_size[elements * type->bytes].push_back(event_.duration / 1e6);
}

/// The facts from the user, with the number of nodes of the group instead of the number of nodes of the job.
AskedFacts TraceExchangeReader::asked_of(const GroupKey& key) const {
  AskedFacts asked = asked_;
  for (ExchangeFacts* facts : {&asked.of_file, &asked.otherwise}) {
    if (!facts->nodes || !world_ || key.ranks == *world_) continue;
    const auto ranks = listed_ranks(key.listed);
    const int nodes = *facts->nodes;
    facts->nodes.reset();
    if (!ranks || ranks->size() != static_cast<std::size_t>(key.ranks) || *world_ % nodes != 0) continue;
    std::set<int> used;
    for (const int rank : *ranks) used.insert(rank / (*world_ / nodes));
    facts->nodes = static_cast<int>(used.size());
  }
  return asked;
}

std::vector<ExchangeSeries> TraceExchangeReader::series() {
  const auto warn = [&](std::size_t count, std::string_view what) {
    if (count > 0) warnings_.push_back(fmt::format("{} {}", count, what));
  };
  warn(uneven_, "all-to-alls with unequal split sizes are ignored");
  warn(empty_, "collectives without bytes or time, or of a single rank, are ignored");
  for (const std::string& name : others_) {
    warnings_.push_back(fmt::format("collectives of {} are ignored: no plan uses them", quote(name)));
  }
  for (const std::string& name : types_) {
    warnings_.push_back(fmt::format("collectives of the type {} are ignored: its size is unknown", quote(name)));
  }
  if (times_.empty()) {
    throw source_.error(0,
                        on_host_ > 0 && others_.empty()
                            ? "this trace has the calls of collectives, but not their time on the device"
                            : "this trace has no kernel of a collective with operation and size",
                        std::string(kineto_hint));
  }
  warnings_.emplace_back("times of a trace include waiting for other ranks and overlapped computation");
  // Groups with the same number of nodes form one series.
  struct Settled {
    ExchangeFacts facts{};
    GroupTimes times{};
  };
  std::map<std::tuple<Collective, int, int, int>, Settled> settled;
  for (auto& [key, times] : times_) {
    const PlacedError error = errors_at(source_, times.offset);
    const AskedFacts asked = asked_of(key);
    const ExchangeFacts facts = settle({.operation = key.operation, .ranks = key.ranks}, asked, error, warnings_);
    const int level = facts.level ? 1 + static_cast<int>(*facts.level) : 0;
    Settled& into =
        settled
            .try_emplace({*facts.operation, key.ranks, facts.nodes.value_or(0), level}, Settled{facts, {times.offset, {}}})
            .first->second;
    into.times.offset = std::min(into.times.offset, times.offset);
    for (auto& [bytes, seconds] : times.by_size) {
      std::vector<double>& all = into.times.by_size[bytes];
      all.insert(all.end(), seconds.begin(), seconds.end());
    }
  }
  std::vector<ExchangeSeries> found;
  for (const auto& [key, each] : settled) {
    ExchangeSeries series = series_with(
        each.facts, nccl_.empty() ? "PyTorch trace" : fmt::format("PyTorch trace, NCCL {}", nccl_), source_.origin());
    series.device = device_;
    const auto line = static_cast<std::size_t>(source_.place(each.times.offset).line);
    for (const auto& [bytes, seconds] : each.times.by_size) {
      for (const double time : few_repetitions(seconds)) {
        series.rows.push_back({.message = Bytes(bytes), .time = Seconds(time), .line = line});
      }
    }
    found.push_back(std::move(series));
  }
  return found;
}

}  // namespace

bool is_trace(std::string_view text) {
  return text.find("\"traceEvents\"") != std::string_view::npos || text.find("\"ph\"") != std::string_view::npos;
}

std::vector<ExchangeSeries> read_trace_exchanges(std::string text, const std::string& origin, const AskedFacts& asked,
                                                 std::vector<std::string>& warnings) {
  return TraceExchangeReader(std::move(text), origin, asked, warnings).read();
}

}  // namespace ddl
