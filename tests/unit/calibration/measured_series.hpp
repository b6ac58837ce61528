#pragma once

#include <map>
#include <string>

#include "calibration/network/benchmarks/measured_exchange.hpp"
#include "core/csv.hpp"
#include "core/error.hpp"

/// The functions read tables of measured exchanges in tests/data/comm.
namespace measured_series {

inline ddl::Collective collective_of(const std::string& name) {
  using ddl::Collective;
  for (const Collective operation : {Collective::allreduce, Collective::allgather, Collective::reduce_scatter,
                                     Collective::all_to_all, Collective::broadcast, Collective::point_to_point}) {
    if (to_string(operation) == name) return operation;
  }
  throw ddl::Error("no collective " + name);
}

/// Returns the series of known-link.csv, keyed by file.
inline std::map<std::string, ddl::ExchangeSeries> known_link(const std::string& path) {
  const ddl::CsvTable table = ddl::CsvTable::load(path);
  std::map<std::string, ddl::ExchangeSeries> result;
  for (std::size_t row = 0; row < table.rows(); ++row) {
    const std::string& file = table.cell(row, table.column("file"));
    ddl::ExchangeSeries& series = result[file];
    series.file = file;
    series.tool = file.substr(0, file.find("_osu_"));
    series.operation = collective_of(table.cell(row, table.column("operation")));
    series.window = *table.number(row, table.column("window"));
    if (series.operation == ddl::Collective::point_to_point) series.pattern = ddl::ExchangePattern::one_way;
    series.ranks = static_cast<int>(*table.number(row, table.column("ranks")));
    series.nodes = series.ranks;
    series.level = ddl::NetworkLevel::between_nodes;
    ddl::MeasuredExchange measured;
    measured.message = ddl::Bytes(*table.number(row, table.column("message_bytes")));
    measured.time = ddl::Seconds(*table.number(row, table.column("time_us")) * 1e-6);
    series.rows.push_back(measured);
  }
  return result;
}

/// Returns the series of alps-allreduce.csv with one version of the network's plugin, keyed by the number of nodes.
inline std::map<int, ddl::ExchangeSeries> alps(const std::string& path, const std::string& plugin) {
  const ddl::CsvTable table = ddl::CsvTable::load(path);
  std::map<int, ddl::ExchangeSeries> result;
  for (std::size_t row = 0; row < table.rows(); ++row) {
    if (table.cell(row, table.column("plugin")) != plugin) continue;
    const auto nodes = static_cast<int>(*table.number(row, table.column("nodes")));
    ddl::ExchangeSeries& series = result[nodes];
    series.nodes = nodes;
    series.ranks = static_cast<int>(*table.number(row, table.column("ranks")));
    series.level = nodes == 1 ? ddl::NetworkLevel::node : ddl::NetworkLevel::between_nodes;
    ddl::MeasuredExchange measured;
    measured.message = ddl::Bytes(*table.number(row, table.column("message_bytes")));
    measured.time = ddl::Seconds(*table.number(row, table.column("time_us")) * 1e-6);
    measured.in_place = table.cell(row, table.column("in_place")) == "yes";
    series.rows.push_back(measured);
  }
  return result;
}

}  // namespace measured_series
