#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "calibration/network/benchmarks/nccl_tests.hpp"
#include "calibration/network/benchmarks/readers.hpp"
#include "core/json_source.hpp"
#include "core/source_text.hpp"

namespace ddl {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view first_key = "numCycle";
constexpr std::string_view rccl_hint = "use the original file of rccl-tests -Z";

/// One record: the time of one size.
struct RcclRecord {
  std::string name, type;
  double ranks = 0, nodes = 0, size = 0, microseconds = 0, wrong = 0;
  bool in_place = false;
};

/// The records of one file, joined into runs of the same operation, ranks and nodes.
class RcclRuns {
 public:
  void add(const RcclRecord& record, std::size_t line, const PlacedError& error) {
    const auto operation = parse_operation(record.name);
    if (!operation) {
      throw error(fmt::format("{} is an operation that no plan uses", quote(record.name)),
                  "supported: all_reduce, all_gather, reduce_scatter, alltoall, broadcast, reduce and sendrecv");
    }
    for (const double count : {record.ranks, record.nodes}) {
      if (count < 1 || count > most_exchange_ranks || count != std::floor(count))
        throw error("the numbers of ranks and nodes must be whole numbers of at least 1", std::string(rccl_hint));
    }
    const int ranks = static_cast<int>(record.ranks), nodes = static_cast<int>(record.nodes);
    auto run = std::find_if(runs_.begin(), runs_.end(), [&](const NcclRun& each) {
      return each.operation == operation && each.rank_count == ranks && each.node_count == nodes;
    });
    if (run == runs_.end()) {
      run = runs_.insert(runs_.end(), NcclRun{});
      run->tool = "rccl-tests";
      run->operation = operation;
      run->rank_count = ranks;
      run->node_count = nodes;
    }
    NcclRow row{.size = record.size, .line = line};
    row.times.push_back({.microseconds = record.microseconds, .in_place = record.in_place, .wrong = record.wrong > 0});
    run->rows.push_back(std::move(row));
  }

  [[nodiscard]] std::vector<ExchangeSeries> series(const std::string& origin, const AskedFacts& asked,
                                                   const PlacedError& error, std::vector<std::string>& warnings) const {
    if (runs_.empty()) throw error("no results", "the run was aborted: run it again");
    std::vector<ExchangeSeries> series;
    for (const NcclRun& run : runs_) series.push_back(series_of(run, origin, asked, error, warnings));
    return series;
  }

 private:
  std::vector<NcclRun> runs_;
};

/// Converts a text with one object per line to a list. Each object stays on its line, so that errors name the right line.
std::string as_list(const std::string& text) {
  std::string list = "[";
  bool is_first = true;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string line = text.substr(at, end - at);
    const bool is_record = line.find_first_not_of(" \t\r,") != std::string::npos;
    const std::size_t last = is_record ? line.find_last_not_of(" \t\r,") + 1 : 0;
    if (is_record) list += (is_first ? " " : ",") + line.substr(0, last);
    is_first = is_first && !is_record;
    list += "\n";
    at = end + 1;
  }
  return list + "]";
}

class RcclJsonReader {
 public:
  RcclJsonReader(std::string text, const std::string& origin)
      : source_(std::move(text), origin, "an aborted run of rccl-tests leaves incomplete JSON: run it again") {}

  std::vector<ExchangeSeries> read(const std::string& origin, const AskedFacts& asked, std::vector<std::string>& warnings) {
    const Json& root = source_.root();
    if (!root.is_array()) throw source_.error("", "expected a list of results", std::string(rccl_hint));
    RcclRuns runs;
    std::size_t index = 0;
    for (const Json& item : root) {
      const std::string where = fmt::format("result {}", ++index);
      const PlacedError error = [&](const std::string& message, const std::string& hint) {
        return source_.error("", fmt::format("{}: {}", where, message), hint);
      };
      if (!item.is_object()) throw error("expected an object", std::string(rccl_hint));
      RcclRecord record;
      record.name = text_in(item, "name");
      record.type = text_in(item, "type");
      record.ranks = number_in(item, "ranks", error);
      record.nodes = number_in(item, "nodes", error);
      record.size = number_in(item, "size", error);
      record.microseconds = number_in(item, "time", error);
      record.in_place = number_in(item, "inPlace", error) > 0;
      if (const std::string wrong = text_in(item, "wrong"); !wrong.empty() && wrong != "N/A") record.wrong = wrong != "0";
      runs.add(record, index, error);
    }
    const PlacedError error = [&](const std::string& message, const std::string& hint) {
      return source_.error("", message, hint);
    };
    return runs.series(origin, asked, error, warnings);
  }

 private:
  static std::string text_in(const Json& object, const char* key) {
    const auto found = object.find(key);
    return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
  }
  static double number_in(const Json& object, const char* key, const PlacedError& error) {
    const auto found = object.find(key);
    if (found != object.end() && found->is_boolean()) return found->get<bool>() ? 1 : 0;
    if (found == object.end() || !found->is_number() ||
        !(found->get<double>() >= 0 && found->get<double>() <= benchmark_number_limit)) {
      throw error(fmt::format("'{}' is not a number of at least 0", key), std::string(rccl_hint));
    }
    return found->get<double>();
  }

  JsonSource source_;
};

}  // namespace

bool is_rccl_json(std::string_view text) {
  constexpr std::size_t beginning = 256;
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  return first != std::string_view::npos && (text[first] == '[' || text[first] == '{') &&
         text.substr(first, beginning).find(fmt::format("\"{}\"", first_key)) != std::string_view::npos;
}

bool is_rccl_csv_header(const BenchmarkLine& line) {
  const std::size_t first = line.text.find_first_not_of(" \t");
  return first != std::string_view::npos && line.text.substr(first).starts_with(first_key) &&
         line.text.find(',') != std::string_view::npos;
}

std::vector<ExchangeSeries> read_rccl_json(std::string text, const std::string& origin, const AskedFacts& asked,
                                           std::vector<std::string>& warnings) {
  const bool is_list =
      text.find_first_not_of(" \t\r\n") != std::string::npos && text[text.find_first_not_of(" \t\r\n")] == '[';
  return RcclJsonReader(is_list ? std::move(text) : as_list(text), origin).read(origin, asked, warnings);
}

std::vector<ExchangeSeries> read_rccl_csv(const BenchmarkText& text, const AskedFacts& asked,
                                          std::vector<std::string>& warnings) {
  RcclRuns runs;
  std::vector<BenchmarkWord> header;
  std::size_t header_at = 0;
  for (const BenchmarkLine& line : text.lines()) {
    if (is_rccl_csv_header(line)) {
      header = line.cells(',');
      header_at = line.offset;
      continue;
    }
    const std::vector<BenchmarkWord> cells = line.cells(',');
    if (header.empty() || cells.size() < 2 || !is_digits(cells.front().text)) continue;
    const PlacedError error = errors_at(text, line.offset);
    if (cells.size() != header.size()) {
      throw error(fmt::format("this row has {} cells, but the table has {} columns", cells.size(), header.size()),
                  "use the whole output");
    }
    const auto cell = [&](std::string_view name) {
      for (std::size_t i = 0; i < header.size(); ++i) {
        if (header[i].text == name) return cells[i];
      }
      throw text.error(header_at, fmt::format("this table has no column '{}'", name), std::string(rccl_hint));
    };
    RcclRecord record;
    record.name = std::string(cell("name").text);
    record.ranks = text.number(cell("ranks"), "number of ranks");
    record.nodes = text.number(cell("nodes"), "number of nodes");
    record.size = text.number(cell("size"), "number of bytes");
    record.microseconds = text.number(cell("time"), "time in microseconds");
    record.in_place = cell("inPlace").text == "1";
    const std::string_view wrong = cells.back().text;
    record.wrong =
        header.back().text == "#wrong" && is_digits(wrong) && wrong.find_first_not_of('0') != std::string_view::npos;
    runs.add(record, line.number, error);
  }
  const PlacedError error = errors_at(text, header_at);
  return runs.series(text.origin(), asked, error, warnings);
}

}  // namespace ddl
