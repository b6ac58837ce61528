#include "calibration/inputs/fabric_file.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "calibration/inputs/coefficients_reader.hpp"
#include "calibration/inputs/machine_reader.hpp"
#include "calibration/network/fits/exchange_prediction.hpp"
#include "core/csv.hpp"
#include "core/source_text.hpp"
#include "core/statistics.hpp"
#include "estimator/exchanges/collectives/communication_library.hpp"
#include "tests/catch.hpp"
#include "tests/error_of.hpp"

namespace fabric_file_tests {

using namespace ddl;

namespace {

/// Datasheet values of links inside a node and between nodes, for machines without measurements:
/// the payload of NVLink as in most machine files, and of adapters.
constexpr double nvlink_share = 0.81;
constexpr double usual_share = 0.895;
constexpr Seconds inside_step = Seconds(3.4e-6);

struct Row {
  std::string fabric, cluster, operation;
  double ranks = 0, nodes = 0;
  Bandwidth nvlink{}, node{};  ///< bandwidths of the datasheet
  double share = 0;            ///< fraction of the datasheet's bandwidth that adapters reach; 0 if unknown
  Bytes message{};
  Seconds time{};
};

std::vector<Row> measured_rows() {
  const CsvTable table = CsvTable::load(DATA_FOLDER "comm/typical.csv");
  std::vector<Row> rows;
  for (std::size_t i = 0; i < table.rows(); ++i) {
    const auto text = [&](const char* column) { return table.cell(i, table.column(column)); };
    const auto number = [&](const char* column) { return table.number(i, table.column(column)).value_or(0); };
    rows.push_back({.fabric = text("fabric"),
                    .cluster = text("cluster"),
                    .operation = text("operation"),
                    .ranks = number("ranks"),
                    .nodes = number("nodes"),
                    .nvlink = Bandwidth(number("nvlink_GBps") * 1e9),
                    .node = Bandwidth(number("nodes_GBps") * 1e9),
                    .share = number("share"),
                    .message = Bytes(number("message_bytes")),
                    .time = Seconds(number("time_us") * 1e-6)});
  }
  return rows;
}

/// Returns the time of an exchange that runs alone.
Seconds priced(const Row& row, const LibraryConstants& constants, Seconds step, double share) {
  const double in_node = row.ranks / row.nodes;
  const auto per_byte = [](Bandwidth rate) { return SecondsPerByte(1 / rate.value()); };
  LibraryGroup group{.ranks = row.ranks, .nodes = row.nodes, .between = step, .inside = inside_step};
  group.out_of_node = per_byte(row.node * (row.share > 0 ? row.share : share));
  group.in_node = per_byte(row.nvlink * nvlink_share);
  group.ring = in_node > 1 ? max(group.out_of_node, group.in_node) : group.out_of_node;
  group.exchanged = in_node * group.out_of_node;
  if (row.operation == "all-to-all") return library_all_to_all_time(row.message, group, constants);
  if (row.operation == "allgather") return library_ring_time(1, row.message, group, constants);
  return min(library_ring_time(2, row.message, group, constants), library_tree_time(row.message, group, constants));
}

bool is_asked(const Row& row) { return row.message >= Bytes(1e6) && row.message <= 1_GiB; }

Fabric fabric_called(const std::string& name) { return bundled_fabric(YamlNode::parse(name, "name")); }

}  // namespace

TEST_CASE("bundled fabrics predict the measurements of published clusters") {
  std::map<std::string, std::vector<double>> errors;
  std::map<std::string, int> held;
  std::map<std::string, std::set<std::string>> clusters;
  for (const Row& row : measured_rows()) {
    clusters[row.fabric].insert(row.cluster);
    if (!is_asked(row)) continue;
    const Fabric fabric = fabric_called(row.fabric);
    const double error = std::abs(std::log(priced(row, fabric.constants, fabric.step, usual_share) / row.time));
    errors[row.fabric].push_back(error);
    held[row.fabric] += error < std::log(fabric.constants.doubt) ? 1 : 0;
  }
  REQUIRE(errors.size() + 2 == fabric_names().size());  // those inside nodes have no clusters
  for (const auto& [name, all] : errors) {
    INFO(name);
    CHECK(fabric_called(name).constants.clusters == static_cast<int>(clusters[name].size()));
    CHECK(median(all) < (name == "infiniband" ? 0.12 : 0.26));
    CHECK(held[name] / static_cast<double>(all.size()) > 0.92);
  }
}

TEST_CASE("each generation's links to a switch are predicted by the constants of its fabric") {
  for (const auto& [name, fabric] :
       {std::pair("dgx-h100", "nvswitch"), {"dgx-h200", "nvswitch"}, {"dgx-b200", "nvswitch-blackwell"}}) {
    INFO(name);
    const Machine machine = load_machine(name);
    CHECK(machine.levels[0].library->fabric == fabric);
    const ExchangePredictor predictor(machine, {});
    std::vector<double> errors;
    const Coefficients coefficients = bundled_coefficients(name).value();
    for (const MeasuredCurve& curve : coefficients.exchanges.curves()) {
      for (const MeasuredCurve::Point& point : curve.points) {
        const PredictedExchange predicted = predictor.predict(curve.operation, point.message, curve.ranks, 1);
        CHECK(predicted.basis == ExchangeBasis::other_clusters);
        errors.push_back(std::abs(std::log(predicted.time / point.time)));
      }
    }
    REQUIRE(errors.size() > 200);
    std::sort(errors.begin(), errors.end());
    // The fits themselves leave 0.06 and 0.17.
    CHECK(errors[errors.size() / 2] < 0.09);
    CHECK(errors[errors.size() * 9 / 10] < 0.2);
    CHECK(errors[errors.size() * 9 / 10] < std::log(machine.levels[0].library->doubt));
  }
}

TEST_CASE("a rack of 72 GPUs is one domain of NVLinks, with an interval") {
  // nccl-tests of CoreWeave, README at commit cb86553: Allreduce among 72 GB200 of one rack, 512 MiB and 1 GiB.
  const ExchangePredictor predictor(load_machine("gb200-nvl72"), {});
  for (const auto& [size, microseconds] : {std::pair(512_MiB, 1806.7), {1024_MiB, 3108.8}}) {
    const PredictedExchange predicted = predictor.predict(Collective::allreduce, size, 72, 1);
    CHECK(predicted.time.value() * 1e6 == Approx(microseconds).epsilon(0.15));
    REQUIRE(predicted.low.has_value());
    CHECK(predicted.low->value() * 1e6 < microseconds);
    CHECK(predicted.high->value() * 1e6 > microseconds);
  }
}

TEST_CASE("a level of a machine file states its fabric, and α follows") {
  const SourcedMachine sheet = load_sourced_machine("polaris");
  const LinkLevel& level = sheet.machine.levels[1];
  REQUIRE(level.library);
  CHECK(level.library->fabric == "ethernet");
  CHECK(level.latency == fabric_called("ethernet").step);
  const auto latency = std::find_if(sheet.numbers.begin(), sheet.numbers.end(),
                                    [](const SourcedNumber& number) { return number.key == "levels.system.latency"; });
  REQUIRE(latency != sheet.numbers.end());
  CHECK(latency->source == "fitted: ethernet, from 10 published clusters");
  // An explicit value overrides a fabric.
  CHECK(load_machine("dgx-a100").levels[1].latency == 14.0_us);
  CHECK(load_machine("dgx-a100").levels[1].library->fabric == "infiniband");
  CHECK_FALSE(load_machine("abci").levels[1].library);
}

TEST_CASE("a fabric must be on a level that it connects") {
  const auto error = [](const std::string& level, const std::string& fabric) {
    std::string text = read_file(DATA_FOLDER "../../calibration/machines/dgx-b200.yaml");
    const std::size_t at = text.find("fabric: {value: " + level);
    REQUIRE(at != std::string::npos);
    text.replace(at, 16 + level.size(), "fabric: {value: " + fabric);
    return error_of([&] { static_cast<void>(parse_machine(text, "b200.yaml")); });
  };
  CHECK(error("nvswitch-blackwell", "infiniband").find("infiniband connects nodes") != std::string::npos);
  CHECK(error("infiniband", "nvswitch").find("nvswitch connects devices inside a node") != std::string::npos);
}

TEST_CASE("a fabric file with impossible values is refused") {
  const std::string right = read_file(DATA_FOLDER "../../calibration/fabrics/ethernet.yaml");
  CHECK(parse_fabric(YamlNode::parse(right, "right.yaml")).constants.fabric == "ethernet");
  const auto error = [&](const std::string& old, const std::string& wrong) {
    std::string text = right;
    const std::size_t at = text.find(old);
    REQUIRE(at != std::string::npos);
    text.replace(at, old.size(), wrong);
    return error_of([&] { static_cast<void>(parse_fabric(YamlNode::parse(text, "wrong.yaml"))); });
  };
  CHECK(error("all_to_all: 0.456", "all_to_all: 0").find("must be greater than zero") != std::string::npos);
  CHECK(error("tree_fill: 3.5", "tree_full: 3.5").find("did you mean 'tree_fill'?") != std::string::npos);
  CHECK(error("step: 35.8 us", "step: 35.8").find("unit") != std::string::npos);
  CHECK(error("doubt: 2.44", "doubt: 0.5").find("0.5") != std::string::npos);
  CHECK(error_of([] { static_cast<void>(fabric_called("infinband")); }).find("unknown fabric 'infinband'") !=
        std::string::npos);
}

namespace {

/// A fitted parameter as a logarithm: the initial guess, and the maximum distance from the guess.
struct Parameter {
  const char* name;
  double guess, reach;
};
constexpr std::array<Parameter, 13> parameters{{{"call, us", 15, 0.7},
                                                {"tree_level", 0.8, 0.3},
                                                {"tree_inside", 0.6, 0.3},
                                                {"message", 0.6, 0.7},
                                                {"infiniband ring_fill", 0.3, 0.7},
                                                {"infiniband tree_fill", 1, 0.7},
                                                {"infiniband all_to_all", 0.9, 0.2},
                                                {"infiniband step, us", 14, 0.1},
                                                {"ethernet step, us", 30, 1},
                                                {"ethernet tree_fill", 2, 0.7},
                                                {"ethernet ring_fill", 0.4, 0.7},
                                                {"ethernet all_to_all", 0.5, 0.5},
                                                {"ethernet share", 0.87, 0.1}}};
using Values = std::array<double, parameters.size()>;

Seconds priced(const Row& row, const Values& v) {
  const bool ethernet = row.fabric == "ethernet";
  LibraryConstants constants{.call = Seconds(v[0] * 1e-6), .tree_level = v[1], .tree_inside = v[2], .message = v[3]};
  constants.grouped = ethernet ? 1 : 8;
  constants.ring_fill = ethernet ? v[10] : v[4];
  constants.tree_fill = ethernet ? v[9] : v[5];
  constants.all_to_all = ethernet ? v[11] : v[6];
  return priced(row, constants, Seconds((ethernet ? v[8] : v[7]) * 1e-6), v[12]);
}

/// Approximately minimizes the absolute errors of logarithms. Each cluster and operation has equal
/// weight, namely that of a dozen times.
Values fitted(const std::vector<Row>& rows) {
  std::map<std::string, double> times;
  for (const Row& row : rows) times[row.cluster + row.operation] += 1;
  Values values{};
  for (std::size_t i = 0; i < parameters.size(); ++i) values[i] = parameters[i].guess;
  const auto cost = [&](const Values& at) {
    double sum = 0;
    const auto rounded = [](double squared) { return 2 * 0.09 * (std::sqrt(1 + squared / 0.09) - 1); };
    for (const Row& row : rows) {
      const double error = std::log(priced(row, at) / row.time);
      sum += rounded(12 / times[row.cluster + row.operation] * error * error);
    }
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      const double off = std::log(at[i] / parameters[i].guess) / parameters[i].reach;
      sum += rounded(0.25 * off * off);
    }
    return sum;
  };
  double best = cost(values);
  for (double step = 0.2; step > 1e-3; step /= 2) {
    for (bool better = true; better;) {
      better = false;
      for (double& value : values) {
        for (const double factor : {std::exp(step), std::exp(-step)}) {
          const double before = value;
          value *= factor;
          const double now = cost(values);
          if (now < best - 1e-6) {
            best = now;
            better = true;
          } else {
            value = before;
          }
        }
      }
    }
  }
  return values;
}

}  // namespace

TEST_CASE("left-out clusters are predicted from the others", "[.figures]") {
  const std::vector<Row> rows = measured_rows();
  const Values all = fitted(rows);
  for (std::size_t i = 0; i < parameters.size(); ++i) fmt::print("{}: {:.3g}\n", parameters[i].name, all[i]);
  std::map<std::string, std::vector<double>> of_fabric;
  std::set<std::string> clusters;
  for (const Row& row : rows) clusters.insert(row.cluster);
  for (const std::string& out : clusters) {
    std::vector<Row> others;
    for (const Row& row : rows) {
      if (row.cluster != out) others.push_back(row);
    }
    const Values values = fitted(others);
    std::map<std::string, std::vector<double>> of_operation;
    for (const Row& row : rows) {
      if (row.cluster != out || !is_asked(row)) continue;
      const double error = std::log(priced(row, values) / row.time);
      of_operation[row.operation].push_back(error);
      of_fabric[row.fabric].push_back(std::abs(error));
    }
    for (auto& [operation, errors] : of_operation) {
      std::vector<double> sizes = errors;
      for (double& size : sizes) size = std::abs(std::expm1(size));
      fmt::print("{}, {}: {:.0f} % of {} times, ratio {:.2f}\n", out, operation, median(sizes) * 100, sizes.size(),
                 std::exp(median(errors)));
    }
  }
  for (auto& [fabric, errors] : of_fabric) {
    std::sort(errors.begin(), errors.end());
    const auto at = [&](double share) {
      return std::exp(errors[static_cast<std::size_t>(share * static_cast<double>(errors.size() - 1))]);
    };
    fmt::print("{}: within a factor of {:.2f} (median), {:.2f} (90 %), {:.2f} (95 %)\n", fabric, at(0.5), at(0.9), at(0.95));
  }
}

}  // namespace fabric_file_tests
