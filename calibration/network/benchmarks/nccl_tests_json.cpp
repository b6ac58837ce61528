#include <algorithm>
#include <cstdint>
#include <utility>

#include <fmt/format.h>

#include "calibration/network/benchmarks/benchmark_text.hpp"
#include "calibration/network/benchmarks/nccl_tests.hpp"
#include "calibration/network/benchmarks/readers.hpp"
#include "core/json_source.hpp"

namespace ddl {
namespace {

using Json = nlohmann::ordered_json;

/// Newest supported `version` of the files.
constexpr int newest_version = 2;

class NcclJsonReader {
 public:
  NcclJsonReader(std::string text, const std::string& origin)
      : source_(std::move(text), origin, "an aborted run of nccl-tests leaves incomplete JSON: run it again"),
        origin_(origin) {}

  std::vector<ExchangeSeries> read(const AskedFacts& asked, std::vector<std::string>& warnings) {
    const Json& root = source_.root();
    if (!root.is_object() || !root.contains("results") || !root.contains("config")) {
      throw source_.error("", "this JSON is not from nccl-tests: it has no 'config' and 'results'",
                          "use the output of nccl-tests -J, of NCCL Inspector, or a trace of torch.profiler");
    }
    if (const auto version = root.find("version");
        version == root.end() || !version->is_number_integer() || *version < 1 || *version > newest_version) {
      warnings.push_back(fmt::format("has a version of the JSON of nccl-tests other than 1 to {}", newest_version));
    }
    read_head(root);
    const Json& results = root.at("results");
    if (!results.is_array()) throw broken("results", "expected a list of results");
    for (std::size_t i = 0; i < results.size(); ++i) read_row(results[i], i);
    const PlacedError error = [this](const std::string& message, const std::string& hint) {
      return source_.error_at_key("results", message, hint);
    };
    if (run_.rows.empty()) throw error("no results", "the run was aborted: run it again");
    return {series_of(run_, origin_, asked, error, warnings)};
  }

 private:
  [[nodiscard]] Error broken(std::string_view path, const std::string& message) const {
    return source_.error(path, message, "use the original file of nccl-tests -J");
  }

  [[nodiscard]] double number(const Json& object, const char* key, const std::string& where) const {
    const auto found = object.find(key);
    if (found == object.end() || !found->is_number() ||
        !(found->get<double>() >= 0 && found->get<double>() <= benchmark_number_limit)) {
      throw broken("results", fmt::format("{} has no '{}' that is a number of at least 0", where, key));
    }
    return found->get<double>();
  }

  static std::string text_in(const Json& object, const char* key) {
    const auto found = object.find(key);
    return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
  }

  static int whole_in(const Json& object, const char* key, int otherwise) {
    const auto found = object.find(key);
    if (found == object.end() || !found->is_number_integer()) return otherwise;
    const double value = found->get<double>();
    return value >= 0 && value <= most_exchange_ranks ? static_cast<int>(value) : otherwise;
  }

  void read_head(const Json& root) {
    if (const auto args = root.find("args"); args != root.end() && args->is_array() && !args->empty()) {
      const Json& first = args->front();
      if (const auto program = first.is_string() ? nccl_program(first.get<std::string>()) : std::nullopt) {
        run_.program = *program;
      }
    }
    run_.tool = "nccl-tests (JSON)";
    const Json& config = root.at("config");
    if (!config.is_object()) throw broken("config", "expected an object");
    // One device is listed per process, even if the process uses several devices.
    const std::int64_t per_process =
        std::int64_t{std::max(1, whole_in(config, "nthreads", 1))} * std::max(1, whole_in(config, "ngpus", 1));
    run_.ranks_per_line = per_process <= most_exchange_ranks ? static_cast<int>(per_process) : 1;
    const auto devices = config.find("devices");
    if (devices == config.end() || !devices->is_array()) return;
    for (const Json& device : *devices) {
      if (!device.is_object()) throw broken("config/devices", "expected a list of devices");
      const int rank = whole_in(device, "rank", -1);
      if (rank < 0) throw broken("config/devices", "a device has no 'rank'");
      run_.ranks.push_back(
          {rank, whole_in(device, "group", 0), text_in(device, "hostname"), text_in(device, "device_info")});
    }
  }

  void read_row(const Json& result, std::size_t index) {
    const std::string where = fmt::format("result {}", index + 1);
    if (!result.is_object()) throw broken("results", where + " is not an object");
    NcclRow row{.size = number(result, "size", where),
                .count = number(result, "count", where),
                .type_bytes = nccl_type_bytes(text_in(result, "type")),
                .line = index + 1};
    for (const bool in_place : {false, true}) {
      const char* const key = in_place ? "in_place" : "out_of_place";
      const auto found = result.find(key);
      if (found == result.end() || found->is_null()) continue;
      const std::string part = fmt::format("{} of {}", key, where);
      if (!found->is_object()) throw broken("results", part + " is not an object");
      if (found->contains("cpu_time")) {
        throw source_.error("results", "these are CPU times, not times of the collective", "run nccl-tests without -C");
      }
      NcclTime time{.microseconds = number(*found, "time", part), .in_place = in_place};
      time.algorithm_bandwidth = number(*found, "alg_bw", part);
      time.bus_bandwidth = number(*found, "bus_bw", part);
      time.algorithm_rounding = time.bus_rounding = 0.5e-6;  // six digits after the decimal point
      if (const auto wrong = found->find("nwrong"); wrong != found->end() && wrong->is_number()) {
        time.wrong = wrong->get<double>() > 0;
      }
      const auto every = result.find(fmt::format("{}_per_iter", key));
      if (every != result.end() && every->is_object()) time.deviation = number(*every, "stdev_us", part);
      row.times.push_back(time);
    }
    run_.rows.push_back(std::move(row));
  }

  JsonSource source_;
  std::string origin_;
  NcclRun run_;
};

}  // namespace

std::vector<ExchangeSeries> read_nccl_tests_json(std::string text, const std::string& origin, const AskedFacts& asked,
                                                 std::vector<std::string>& warnings) {
  return NcclJsonReader(std::move(text), origin).read(asked, warnings);
}

}  // namespace ddl
