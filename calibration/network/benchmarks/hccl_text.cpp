#include <utility>

#include <fmt/format.h>

#include "calibration/network/benchmarks/nccl_tests.hpp"
#include "calibration/network/benchmarks/readers.hpp"

namespace ddl {
namespace {

constexpr std::string_view hccl_sizes = "data_size(Bytes):";

/// The collectives whose size is that of the buffer of one rank, as for NCCL.
bool has_size_of_rank(Collective operation) {
  return operation == Collective::allreduce || operation == Collective::broadcast || operation == Collective::reduce;
}

/// The words of a row without the bars between cells.
std::vector<BenchmarkWord> hccl_cells(const BenchmarkLine& line) {
  std::vector<BenchmarkWord> cells = line.words();
  std::erase_if(cells, [](const BenchmarkWord& word) { return word.text == "|"; });
  return cells;
}

NcclRow hccl_row(const BenchmarkText& text, const BenchmarkLine& line, const std::vector<BenchmarkWord>& cells) {
  constexpr std::size_t columns = 4;  // columns of the header; the last one has the result of the check
  if (cells.size() < columns - 1) text.refuse_other_cells(line, cells.size(), columns);
  NcclTime time{.microseconds = text.number(cells[1], "time in microseconds")};
  time.wrong = cells.size() >= columns && cells[columns - 1].text == "failed";
  NcclRow row{.size = text.number(cells[0], "number of bytes"), .line = line.number};
  row.times.push_back(time);
  return row;
}

/// Sets the operation, ranks and nodes by the command before a table. If there are several, `asked` decides. Throws Error if
/// that does not.
void set_command(NcclRun& run, const LaunchedPrograms& commands, const std::optional<Collective>& asked,
                 const PlacedError& error) {
  std::vector<std::pair<Collective, const ExchangeFacts*>> found;
  for (const auto& [program, facts] : commands) {
    if (const auto operation = hccl_operation(program)) found.emplace_back(*operation, &facts);
  }
  if (found.size() > 1 && asked) std::erase_if(found, [&](const auto& each) { return each.first != *asked; });
  if (found.size() > 1) {
    throw error("several programs of HCCL test are started before this table",
                "set the operation with --operation, or after the file name: FILE,operation=allreduce");
  }
  if (found.empty()) return;
  run.operation = found.front().first;
  run.rank_count = found.front().second->ranks;
  run.node_count = found.front().second->nodes;
}

}  // namespace

std::optional<Collective> hccl_operation(std::string_view program) {
  constexpr std::string_view ending = "_test";
  if (!program.ends_with(ending)) return std::nullopt;
  return parse_operation(program.substr(0, program.size() - ending.size()));
}

bool is_hccl_header(const BenchmarkLine& line) { return line.text.find(hccl_sizes) != std::string_view::npos; }

std::vector<ExchangeSeries> read_hccl_text(const BenchmarkText& text, const AskedFacts& asked,
                                           std::vector<std::string>& warnings) {
  std::vector<ExchangeSeries> series;
  const BenchmarkLine* header = nullptr;
  NcclRun run;
  const PlacedError error = [&](const std::string& message, const std::string& hint) {
    return text.error(header->offset, message, hint);
  };
  const auto end_table = [&] {
    if (header == nullptr) return;
    if (run.rows.empty()) throw error("no rows follow this header", "the run was aborted: use a complete output");
    series.push_back(series_of(run, text.origin(), asked, error, warnings));
    if (!has_size_of_rank(series.back().operation))
      throw error(fmt::format("sizes of HCCL test's {} are not known to be those of one rank or of all",
                              to_string(series.back().operation)),
                  "use the output of all_reduce_test, broadcast_test or reduce_test");
  };
  const auto asked_operation = asked.of_file.operation ? asked.of_file.operation : asked.otherwise.operation;
  std::size_t after_header = 0;
  for (std::size_t i = 0; i < text.lines().size(); ++i) {
    const BenchmarkLine& line = text.lines()[i];
    const std::vector<BenchmarkWord> cells = hccl_cells(line);
    if (is_hccl_header(line)) {
      end_table();
      header = &line;
      run = {};
      run.tool = "HCCL test";
      set_command(run, launched_programs(text.part(after_header, i)), asked_operation, error);
      after_header = i + 1;
    } else if (header != nullptr && !cells.empty() && is_digits(cells[0].text)) {
      run.rows.push_back(hccl_row(text, line, cells));
    }
  }
  end_table();
  return series;
}

}  // namespace ddl
