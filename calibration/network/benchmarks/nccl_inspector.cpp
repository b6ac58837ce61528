#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
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

constexpr std::string_view inspector_hint =
    "the job ended while NCCL Inspector wrote this: remove the incomplete line, as in head -n -1";
/// Maximum nesting of one record. The trace of its events has four levels.
constexpr std::size_t most_record_depth = 16;

/// Maximum number of other operations named in the warning.
constexpr std::size_t most_others = 4;

/// A record of NCCL Inspector: one exchange, recorded by one rank.
struct InspectorRecord {
  std::string communicator{}, operation{}, timing{};
  double rank = -1, ranks = -1, nodes = -1, number = -1, bytes = -1, microseconds = -1;
  bool is_collective = false, is_message = false;
};

/// Processes the parser's events for one record and keeps the relevant values.
class RecordReader final : public nlohmann::json_sax<Json> {
 public:
  RecordReader(const SourceText& source, std::size_t begin) : source_(source), begin_(begin) {}

  InspectorRecord read(std::size_t end) {
    const char* const text = source_.text().data();
    Json::sax_parse(JsonCursor(text + begin_, &bytes_read_), JsonCursor(text + end, &bytes_read_), this);
    return std::move(record_);
  }

  bool null() override { return true; }
  bool boolean(bool /*value*/) override { return true; }
  bool number_integer(std::int64_t value) override { return number(static_cast<double>(value)); }
  bool number_unsigned(std::uint64_t value) override { return number(static_cast<double>(value)); }
  bool number_float(double value, const std::string& /*text*/) override { return number(value); }
  bool binary(Json::binary_t& /*value*/) override { return false; }  // JSON text has no binary values
  bool string(std::string& value) override {
    if (is_at("header") && key_ == "id") record_.communicator = value;
    if (is_at("coll_perf") && key_ == "coll") record_.operation = value;
    if (is_at("coll_perf") && key_ == "coll_timing_source") record_.timing = value;
    return true;
  }
  bool start_object(std::size_t /*size*/) override { return open(); }
  bool start_array(std::size_t /*size*/) override { return open(); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }
  bool key(std::string& key) override {
    if (depth_ == 1) {
      section_ = key;
      record_.is_collective = record_.is_collective || key == "coll_perf";
      record_.is_message = record_.is_message || key == "p2p_perf";
    }
    key_.swap(key);
    return true;
  }
  bool parse_error(std::size_t byte, const std::string& /*token*/, const Json::exception& error) override {
    const bool out_of_range = dynamic_cast<const Json::out_of_range*>(&error) != nullptr;
    const std::size_t place = out_of_range ? bytes_read_ : byte;
    throw source_.error(begin_ + (place == 0 ? 0 : place - 1),
                        out_of_range ? "a number that is too large" : "not valid JSON", std::string(inspector_hint));
  }

 private:
  [[nodiscard]] bool is_at(std::string_view section) const { return depth_ == 2 && section_ == section; }
  bool number(double value) {
    if (is_at("header")) {
      if (key_ == "rank") record_.rank = value;
      if (key_ == "n_ranks") record_.ranks = value;
      if (key_ == "nnodes") record_.nodes = value;
    } else if (is_at("coll_perf")) {
      if (key_ == "coll_sn") record_.number = value;
      if (key_ == "coll_msg_size_bytes") record_.bytes = value;
      if (key_ == "coll_exec_time_us") record_.microseconds = value;
    }
    return true;
  }
  bool open() {
    if (depth_ == most_record_depth) {
      throw source_.error(begin_ + bytes_read_ - 1, fmt::format("nested deeper than {} levels", most_record_depth));
    }
    ++depth_;
    return true;
  }
  bool close() {
    --depth_;
    return true;
  }

  const SourceText& source_;
  std::size_t begin_, bytes_read_ = 0, depth_ = 0;
  std::string section_, key_;
  InspectorRecord record_;
};

/// The position after the closing bracket of the object that begins at `begin`; the end of the text
/// if the bracket is missing.
std::size_t end_of_object(std::string_view text, std::size_t begin) {
  std::size_t open = 0;
  bool quoted = false;
  for (std::size_t at = begin; at < text.size(); ++at) {
    const char c = text[at];
    if (quoted) {
      if (c == '\\') ++at;
      if (c == '"') quoted = false;
    } else if (c == '"') {
      quoted = true;
    } else if (c == '{') {
      ++open;
    } else if (c == '}' && --open == 0) {
      return at + 1;
    }
  }
  return text.size();
}

/// The facts that identify a series of exchanges.
struct CommunicatorKey {
  Collective operation = Collective::allreduce;
  int ranks = 2, nodes = 0;  ///< 0: unknown
  friend auto operator<=>(const CommunicatorKey&, const CommunicatorKey&) = default;
};

/// The facts that identify an exchange. Several of its ranks may have recorded it.
struct RecordedKey {
  std::string communicator;
  double number = 0;
  friend auto operator<=>(const RecordedKey&, const RecordedKey&) = default;
};

struct RecordedExchange {
  CommunicatorKey series{};
  double bytes = 0, microseconds = 0;
  std::size_t offset = 0;
  std::set<double> ranks{};
};

class InspectorReader {
 public:
  InspectorReader(std::string text, const std::string& origin, const AskedFacts& asked, std::vector<std::string>& warnings)
      : source_(std::move(text), origin), asked_(asked), warnings_(warnings) {}

  std::vector<ExchangeSeries> read() {
    const std::string_view text = source_.text();
    for (std::size_t at = 0; (at = text.find_first_not_of(" \t\r\n", at)) != std::string_view::npos;) {
      if (text[at] != '{') throw source_.error(at, "expected a record of NCCL Inspector", std::string(inspector_hint));
      const std::size_t end = end_of_object(text, at);
      add(RecordReader(source_, at).read(end), at);
      at = end;
    }
    return series();
  }

 private:
  void add(const InspectorRecord& record, std::size_t at) {
    const auto broken = [&](std::string_view message) {
      return source_.error(at, message, "use the original JSON file of NCCL Inspector");
    };
    if (record.is_message && !record.is_collective) return void(++messages_);
    if (!record.is_collective) throw broken("this record has neither 'coll_perf' nor 'p2p_perf'");
    const auto is_count = [](double value) {
      return value >= 1 && value <= most_exchange_ranks && value == std::floor(value);
    };
    if (!is_count(record.ranks)) throw broken("this record has no whole number 'n_ranks' of at least 1");
    if (record.nodes != -1 && !(is_count(record.nodes) && record.nodes <= record.ranks)) {
      throw broken("'nnodes' of this record is not a whole number from 1 to its ranks");
    }
    for (const double figure : {record.bytes, record.microseconds}) {
      if (!(figure >= 0 && figure <= benchmark_number_limit)) {
        throw broken(
            "this record lacks 'coll_msg_size_bytes' or 'coll_exec_time_us', or they are not numbers of at least 0");
      }
    }
    const std::optional<Collective> operation = parse_operation(record.operation);
    // The size convention of an all-to-all is not documented.
    if (!operation || *operation == Collective::all_to_all || *operation == Collective::point_to_point) {
      if (others_.size() < most_others) others_.insert(record.operation);
      return;
    }
    if (record.ranks == 1) return void(++alone_);
    if (!record.timing.empty() && record.timing != "kernel_gpu") return void(++by_host_);
    if (record.bytes == 0 || record.microseconds == 0) return void(++empty_);
    RecordedExchange exchange{
        .series = {*operation, static_cast<int>(record.ranks), static_cast<int>(std::max(0.0, record.nodes))},
        .bytes = record.bytes,
        .microseconds = record.microseconds,
        .offset = at,
        .ranks = {record.rank}};
    // For allgather and reduce_scatter, NCCL records the bytes of one rank's part.
    if (operation == Collective::allgather || operation == Collective::reduce_scatter) exchange.bytes *= record.ranks;
    RecordedKey key{record.communicator, record.number};
    if (record.number < 0) key.number = -static_cast<double>(at) - 1;  // each record is an exchange of its own
    const auto [place, is_new] = exchanges_.try_emplace(std::move(key), exchange);
    if (is_new) return;
    RecordedExchange& known = place->second;
    if (known.series != exchange.series || known.bytes != exchange.bytes) {
      throw broken("this record has another operation or size than an earlier one of the same collective");
    }
    known.microseconds = std::min(known.microseconds, exchange.microseconds);
    known.ranks.insert(record.rank);
  }

  std::vector<ExchangeSeries> series() {
    const auto warn = [&](std::size_t count, std::string_view what) {
      if (count > 0) warnings_.push_back(fmt::format("{} {}", count, what));
    };
    warn(messages_, "sends and receives are ignored: their times include waiting for each other");
    warn(alone_, "collectives of a single rank are ignored");
    warn(by_host_, "host times are ignored: they are not kernel times");
    warn(empty_, "records without bytes or time are ignored");
    for (const std::string& name : others_) {
      warnings_.push_back(
          fmt::format("collectives of {} are ignored: no plan uses them, or their size is missing", quote(name)));
    }
    std::map<CommunicatorKey, std::map<double, std::vector<double>>> times;
    std::map<CommunicatorKey, std::size_t> offsets;
    bool waits = false;
    for (const auto& [key, exchange] : exchanges_) {
      times[exchange.series][exchange.bytes].push_back(exchange.microseconds / 1e6);
      const auto [place, is_new] = offsets.try_emplace(exchange.series, exchange.offset);
      if (!is_new) place->second = std::min(place->second, exchange.offset);
      waits = waits || exchange.ranks.size() < static_cast<std::size_t>(exchange.series.ranks);
    }
    if (times.empty()) {
      throw source_.error(0, "no record of this file has the time of a collective",
                          "enable NCCL Inspector on all ranks, with NCCL_INSPECTOR_REQUIRE_KERNEL_TIMING=1 (the default)");
    }
    if (waits) {
      warnings_.emplace_back(
          "this file lacks records of some ranks, so times include waiting for them; concatenate the files of all ranks: "
          "cat *.log > all");
    }
    std::vector<ExchangeSeries> found;
    for (const auto& [key, by_size] : times) {
      ExchangeFacts stated{.operation = key.operation, .ranks = key.ranks};
      if (key.nodes > 0) stated.nodes = key.nodes;
      const std::size_t offset = offsets.at(key);
      const PlacedError error = errors_at(source_, offset);
      ExchangeSeries series = series_with(settle(stated, asked_, error, warnings_), "NCCL Inspector", source_.origin());
      const std::size_t line = static_cast<std::size_t>(source_.place(offset).line);
      for (const auto& [bytes, seconds] : by_size) {
        for (const double each : few_repetitions(seconds)) {
          series.rows.push_back({.message = Bytes(bytes), .time = Seconds(each), .line = line});
        }
      }
      found.push_back(std::move(series));
    }
    return found;
  }

  SourceText source_;
  const AskedFacts& asked_;
  std::vector<std::string>& warnings_;
  std::map<RecordedKey, RecordedExchange> exchanges_;
  std::set<std::string> others_;
  std::size_t messages_ = 0, alone_ = 0, by_host_ = 0, empty_ = 0;
};

}  // namespace

bool is_nccl_inspector(std::string_view text) {
  return text.find("\"coll_perf\"") != std::string_view::npos || text.find("\"p2p_perf\"") != std::string_view::npos;
}

std::vector<ExchangeSeries> read_nccl_inspector(std::string text, const std::string& origin, const AskedFacts& asked,
                                                std::vector<std::string>& warnings) {
  return InspectorReader(std::move(text), origin, asked, warnings).read();
}

}  // namespace ddl
