#include "calibration/kernels/kernel_table.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <iterator>
#include <optional>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/csv.hpp"
#include "core/error.hpp"
#include "core/source_text.hpp"
#include "estimator/kernels/kernel_form.hpp"
#include "model_zoo/network/problem.hpp"
#include "profiler/profiles/profile_file.hpp"

namespace ddl {
namespace {

constexpr double microsecond = 1e-6;
/// Larger sizes are probably typing errors. The product of four smaller sizes is finite.
constexpr double size_bound = 1e12;

/// Parses a precision. `fp16-tc-fp32acc` is fp16 with sums in fp32. Empty for a format that is not supported here.
std::optional<Precision> precision_of(std::string_view dtype) {
  if (dtype == "fp16-tc-fp32acc") return Precision::fp16;
  return parse_enum<Precision>(dtype);
}

/// A table that is read row by row.
class Rows {
 public:
  Rows(const CsvTable& table, std::span<const RowFilter> filters) : table_(table) {
    for (const auto& [column, values] : filters) filters_.emplace_back(table.column(column), values);
  }

  [[nodiscard]] bool takes(std::size_t row) const {
    return std::all_of(filters_.begin(), filters_.end(), [&](const auto& filter) {
      const auto& values = filter.second;
      return std::find(values.begin(), values.end(), table_.cell(row, filter.first)) != values.end();
    });
  }
  void go_to(std::size_t row) { row_ = row; }
  [[nodiscard]] const std::string& text(std::string_view column) const { return table_.cell(row_, table_.column(column)); }
  [[nodiscard]] double number(std::string_view column, double least) const {
    const std::size_t at = table_.column(column);
    const std::optional<double> value = table_.number(row_, at);
    if (!value || *value < least || *value > size_bound) {
      table_.fail(row_, at, fmt::format("must be a number from {:g} to {:g}", least, size_bound));
    }
    return *value;
  }
  [[nodiscard]] Seconds time(std::string_view column, double unit) const {
    const std::size_t at = table_.column(column);
    const double seconds = table_.number(row_, at).value_or(0) * unit;
    if (!(seconds > shortest_time) || seconds > longest_time) table_.fail(row_, at, "must be a time greater than zero");
    return Seconds(seconds);
  }
  /// The cell of a column that the table may lack; empty if it lacks the column.
  [[nodiscard]] std::string_view optional_text(std::string_view column) const {
    const auto at = table_.find_column(column);
    return at ? std::string_view(table_.cell(row_, *at)) : std::string_view();
  }
  [[noreturn]] void fail(std::string_view column, const std::string& message, const std::string& hint = {}) const {
    table_.fail(row_, table_.column(column), message, hint);
  }
  [[nodiscard]] std::string place() const { return fmt::format("line {}", table_.line(row_)); }

 private:
  const CsvTable& table_;
  std::vector<std::pair<std::size_t, std::vector<std::string>>> filters_;
  std::size_t row_ = 0;
};

Work product(double count, double m, double n, double k) {
  return {.flops = 2 * count * m * n * k,
          .activation_items = count * (m * k + k * n + m * n),
          .m = m,
          .n = n,
          .k = k,
          .batched = Work::Batched::count,
          .count = count};
}
/// A product for each expert.
Work experts_product(double count, double m, double n, double k) {
  Work work = product(count, m, n, k);
  work.batched = Work::Batched::m;
  work.kind = KernelKind::grouped_product;
  return work;
}

using Kernels = std::vector<std::pair<Work, Pass>>;

/// Operands of a product by their layouts, as training libraries measure them one after the other, without a pause:
/// `fwd(TN)`, `dgrad(NN)`, `wgrad(NT)`, and `grouped_fwd`, `grouped_bwd_grad_act` and `grouped_bwd_grad_w` of experts.
bool is_training_product(std::string_view operation) {
  return operation.starts_with("fwd(") || operation.starts_with("dgrad(") || operation.starts_with("wgrad(") ||
         operation.starts_with("grouped_");
}

/// Adds the reads and writes of a sum that a product adds its result to: `+acc` in the precision of the result, or
/// `+acc->fp32`.
Work with_sum(Work work, std::string_view operation, const Rows& row) {
  const double results = work.count * work.m * work.n, wide = item_bytes(Precision::fp32);
  const double item = item_bytes(precision_of(row.text("dtype")).value_or(Precision::bf16));
  if (operation.ends_with("+acc")) work.activation_items += results;
  if (operation.ends_with("+acc->fp32")) work.activation_items += results * (2 * wide / item - 1);
  return work;
}

/// Prefix of the names of sources whose products in fp8 first quantise their input in kernels of their own. Extrapolated to
/// zero columns, products of 8,192 rows and terms take 2.8 ps per element on H100, 2.5 on H200 and 1.4 on B200. This is the
/// time of 8 to 10 bytes at the bandwidth of elementwise kernels. With 6 bytes, products that were left out of fits are
/// predicted best (3 bytes, and 9, are worse): one kernel reads 2 bytes of an element, and one reads 2 and writes 1.
constexpr std::string_view quantises = "aic-trtllm";
constexpr double quantised_items = 3;  ///< items of 2 bytes

Kernels read_product(const Rows& row) {
  const std::string& operation = row.text("layout_or_op");
  const double count = row.number("batch", 1), m = row.number("m", 1), n = row.number("n", 1), k = row.number("k", 1);
  // The sizes of all products of experts are those of forward: m rows for each expert.
  if (operation.starts_with("grouped_bwd_grad_act")) return {{experts_product(count, m, k, n), Pass::backward_data}};
  if (operation.starts_with("grouped_bwd_grad_w"))
    return {{with_sum(experts_product(count, n, k, m), operation, row), Pass::backward_weight}};
  if (operation.starts_with("grouped_")) return {{experts_product(count, m, n, k), Pass::forward}};
  if (operation.find("_bwd(dgrad+wgrad)") != std::string::npos) {
    return {{product(count, m, k, n), Pass::backward_data}, {product(count, k, n, m), Pass::backward_weight}};
  }
  if (operation.starts_with("dgrad")) return {{product(count, m, n, k), Pass::backward_data}};
  if (operation.starts_with("wgrad")) return {{with_sum(product(count, m, n, k), operation, row), Pass::backward_weight}};
  Kernels kernels{{product(count, m, n, k), Pass::forward}};
  if (row.text("dtype") == "fp8" && row.optional_text("source").starts_with(quantises)) {
    const double items = count * m * k;
    kernels.emplace_back(Work{.activation_items = quantised_items * items, .kind = KernelKind::elementwise}, Pass::forward);
  }
  return kernels;
}

Kernels read_convolution(const Rows& row) {
  const double samples = row.number("N", 1), channels = row.number("C", 1), filters = row.number("K", 1);
  const double height = row.number("H", 1), width = row.number("W", 1), rows = row.number("R", 1),
               columns = row.number("S", 1);
  const double step_down = row.number("stride_h", 1), step_right = row.number("stride_w", 1);
  const double groups = row.number("groups", 1);
  const double out_height = std::floor((height + 2 * row.number("pad_h", 0) - rows) / step_down) + 1;
  const double out_width = std::floor((width + 2 * row.number("pad_w", 0) - columns) / step_right) + 1;
  if (out_height < 1 || out_width < 1) row.fail("H", "the window is larger than the image");
  const double outputs = samples * out_height * out_width;
  const double summed = channels / groups * rows * columns;
  Work work{.flops = 2 * outputs * filters * summed,
            .activation_items = samples * channels * height * width + outputs * filters,
            .weight_items = filters * summed,
            .kind = KernelKind::convolution};
  if (groups > 1) {
    work.groups = groups, work.group_inputs = channels / groups, work.group_outputs = filters / groups;
    const bool is_depthwise = groups == channels && groups == filters;
    work.kind = is_depthwise ? KernelKind::depthwise_convolution : KernelKind::grouped_convolution;
  }
  const std::string& pass = row.text("pass");
  if (groups == 1 && rows == 3 && columns == 3 && step_down == 1 && step_right == 1) {
    const bool is_data = pass == "bwd_data";
    work.square3_rows = is_data ? height : out_height, work.square3_columns = is_data ? width : out_width;
  }
  if (pass == "fwd") {
    work.m = outputs, work.n = filters, work.k = summed;
    return {{work, Pass::forward}};
  }
  if (pass == "bwd_data") {
    work.m = samples * height * width, work.n = channels, work.k = filters / groups * rows * columns;
    return {{work, Pass::backward_data}};
  }
  if (pass != "bwd_weight")
    row.fail("pass", fmt::format("unknown pass {}", quote(pass)), "known: fwd, bwd_data, bwd_weight");
  work.m = filters, work.n = summed, work.k = outputs;
  work.sums_positions = true;
  return {{work, Pass::backward_weight}};
}

/// Prefix of the names of sources (NVIDIA's aiconfigurator) in which causal attention also copies keys and values into the
/// pages of a cache for inference. The writes of the copy are counted. Its reads are not, because they hit the second-level
/// cache. This is inferred: with both reads and writes, or with neither, errors for A100, H100, H200 and B200 together are
/// larger. (For A100 alone, errors are smaller with both.)
constexpr std::string_view fills_cache = "aic-";

Kernels read_attention(const Rows& row) {
  const double tokens = row.number("seq", 1), size = row.number("head_dim", 1), heads = row.number("heads", 1);
  const double batch = row.number("batch", 1), kv_heads = row.number("kv_heads", 1);
  const bool causal = row.number("causal", 0) != 0;
  const double keys = causal ? (tokens + 1) / 2 : tokens;
  const double scores = batch * heads * tokens * keys;
  const double items = batch * tokens * size * (2 * heads + 2 * kv_heads);
  const Work forward{.flops = scores * (4 * size + 5),
                     .activation_items = items,
                     .m = tokens,
                     .n = keys,
                     .k = size,
                     .count = batch * heads,
                     .kind = KernelKind::fused_attention};
  Work backward = forward;
  backward.flops *= 2.5;
  backward.flops += 2.5 * scores;
  backward.activation_items *= 2;
  const std::string& pass = row.text("pass");
  if (pass == "fwd") {
    Kernels kernels{{forward, Pass::forward}};
    if (causal && row.optional_text("source").starts_with(fills_cache)) {
      const double copied = batch * tokens * size * 2 * kv_heads;
      kernels.emplace_back(Work{.activation_items = copied, .kind = KernelKind::elementwise}, Pass::forward);
    }
    return kernels;
  }
  if (pass == "bwd") return {{backward, Pass::backward_data}};
  if (pass != "fwd+bwd") row.fail("pass", fmt::format("unknown pass {}", quote(pass)), "known: fwd, bwd, fwd+bwd");
  return {{forward, Pass::forward}, {backward, Pass::backward_data}};
}

/// A memory-bound operation: the number of reads and writes per element of its shape, and its FLOPs per element.
struct TrafficRow {
  std::string_view name;
  KernelKind kind;
  Pass pass;
  double items, flops;
  double more_items = 0;  ///< reads and writes of a second kernel, in backward-weight
};
constexpr std::array<TrafficRow, 22> traffic_rows{{
    {"add", KernelKind::elementwise, Pass::forward, 3, 1},
    {"mul", KernelKind::elementwise, Pass::forward, 3, 1},
    {"addu", KernelKind::elementwise, Pass::forward, 2, 1},
    {"mulu", KernelKind::elementwise, Pass::forward, 2, 1},
    {"relu", KernelKind::elementwise, Pass::forward, 2, 1},
    {"gelu", KernelKind::elementwise, Pass::forward, 2, 8},
    {"tanh", KernelKind::elementwise, Pass::forward, 2, 8},
    {"softmax_fwd", KernelKind::softmax, Pass::forward, 2, 5},
    {"ln_fwd", KernelKind::layer_norm, Pass::forward, 2, 7},
    {"rms_or_layer_norm_fwd", KernelKind::layer_norm, Pass::forward, 2, 7},
    {"embedding_fwd", KernelKind::lookup, Pass::forward, 2, 0},
    {"add_fwd(in model)", KernelKind::elementwise, Pass::forward, 3, 1},
    {"gelu_or_act_fwd(in model)", KernelKind::elementwise, Pass::forward, 2, 8},
    {"gelu_or_act_bwd(in model)", KernelKind::elementwise, Pass::backward_data, 3, 9},
    {"softmax_fwd(in model)", KernelKind::softmax, Pass::forward, 2, 5},
    {"softmax_bwd(in model)", KernelKind::softmax, Pass::backward_data, 3, 4},
    {"layer_norm_fwd(in model)", KernelKind::layer_norm, Pass::forward, 2, 7},
    {"layer_norm_bwd(in model)", KernelKind::layer_norm, Pass::backward_data, 3, 11, 2},
    {"dropout_fwd(in model)", KernelKind::dropout, Pass::forward, 2.5, 2},
    {"dropout_bwd(in model)", KernelKind::dropout, Pass::backward_data, 2.5, 2},
    {"embedding_fwd(in model)", KernelKind::lookup, Pass::forward, 2, 0},
    {"embedding_bwd(in model)", KernelKind::lookup, Pass::backward_weight, 3, 1},
}};

/// The number of elements of a shape such as `4096x2560`: the product of all sizes (`all`), and the last size (`row`).
struct ShapeItems {
  double all = 1, row = 1;
};
ShapeItems items_of(const Rows& row) {
  const std::string& shape = row.text("shape");
  ShapeItems items;
  const char* at = shape.data();
  const char* const end = at + shape.size();
  while (at < end) {
    double side = 0;
    const auto [next, problem] = std::from_chars(at, end, side);
    if (problem != std::errc{} || !(side >= 1) || (next < end && *next != 'x')) {
      row.fail("shape", fmt::format("{} is not a shape", quote(shape)), "as in 4096x1024");
    }
    items = {items.all * side, side};
    at = next < end ? next + 1 : next;
  }
  if (shape.empty() || shape.back() == 'x' || items.all > size_bound)
    row.fail("shape", fmt::format("{} is not a shape", quote(shape)), "as in 4096x1024");
  return items;
}

Kernels read_traffic(const Rows& row) {
  const std::string& name = row.text("op");
  const auto* const found =
      std::find_if(traffic_rows.begin(), traffic_rows.end(), [&](const TrafficRow& each) { return each.name == name; });
  if (found == traffic_rows.end()) return {};
  const auto [items, last] = items_of(row);
  Work work{.flops = found->flops * items, .activation_items = found->items * items, .kind = found->kind};
  if (found->kind == KernelKind::softmax) work.n = last;
  Kernels kernels{{work, found->pass}};
  if (found->more_items > 0) {
    kernels.emplace_back(Work{.flops = 3 * items, .activation_items = found->more_items * items, .kind = found->kind},
                         Pass::backward_weight);
  }
  return kernels;
}

void add_problem(const std::string& line, const std::string& origin, KernelSample& sample) {
  const Problem problem = parse_problem(line, origin);
  sample.precision = problem.precision;
  for (Work& work : problem.operation->kernels(problem.pass, problem.inputs, problem.output)) {
    if (work.is_separate) continue;
    // The shape is computed for all samples together, because a KernelSample has no number of samples.
    const KernelShape shape = shape_of(work, static_cast<double>(problem.samples), 1);
    work.flops = shape.flops;
    work.activation_items *= static_cast<double>(problem.samples);
    work.m = shape.m, work.n = shape.n, work.k = shape.k, work.count = shape.count;
    work.batched = shape.experts > 0 ? Work::Batched::m : Work::Batched::count;
    sample.kernels.emplace_back(work, problem.pass);
  }
}

/// Whether a row times a kernel that runs repeatedly: products in layouts of training, and the attention of Transformer
/// Engine.
bool is_repeated(const Rows& row) {
  return is_training_product(row.optional_text("layout_or_op")) || row.optional_text("kernel").starts_with("te");
}

/// A table format, recognized by its columns.
struct TableFormat {
  std::string_view column;  ///< a column that only this format has
  Kernels (*read)(const Rows& row);
};
constexpr std::array<TableFormat, 4> formats{{
    {"layout_or_op", read_product},
    {"stride_h", read_convolution},
    {"kv_heads", read_attention},
    {"shape", read_traffic},
}};

KernelTable read_table(const CsvTable& table, const std::string& path, std::span<const RowFilter> filters) {
  Rows rows(table, filters);
  KernelTable read;
  const bool lines = table.find_column("problem").has_value();
  const auto* const format = std::find_if(
      formats.begin(), formats.end(), [&](const TableFormat& each) { return table.find_column(each.column).has_value(); });
  if (!lines && format == formats.end()) {
    throw Error(fmt::format("{}: unknown columns", path), "a table of problems needs the columns problem and time_s");
  }
  for (std::size_t row = 0; row < table.rows(); ++row) {
    if (!rows.takes(row)) continue;
    rows.go_to(row);
    KernelSample sample;
    if (lines) {
      const std::string& text = rows.text("problem");
      constexpr std::string_view joint = " + ";
      for (std::size_t at = 0; at <= text.size();) {
        const std::size_t end = std::min(text.find(joint, at), text.size());
        const std::string line = text.substr(at, end - at);
        at = end + joint.size();
        if (is_update_problem(line) || is_fresh_memory_problem(line)) continue;
        add_problem(line, fmt::format("{}:{}", path, table.line(row)), sample);
      }
      sample.time = rows.time("time_s", 1);
    } else {
      const std::optional<Precision> precision = precision_of(rows.text("dtype"));
      sample.time = rows.time("time_us", microsecond);
      if (precision) {
        sample.precision = *precision;
        if (is_repeated(rows)) sample.conditions = Conditions::repeated;
        sample.kernels = format->read(rows);
      }
    }
    if (sample.kernels.empty()) {
      ++read.ignored;
    } else {
      read.samples.push_back(std::move(sample));
    }
  }
  return read;
}

KernelTable read_profile(const std::string& path) {
  const Profile profile = load_profile(path);
  KernelTable read;
  for (const ProfileRow& row : profile.rows) {
    const std::string& line = row.measurement.problem;
    if (!(row.measurement.samples.median > Seconds{})) continue;
    try {
      KernelSample sample;
      add_problem(line, path, sample);
      sample.time = row.measurement.samples.median;
      read.samples.push_back(std::move(sample));
    } catch (const Error&) {
      // This row is a whole step, or an update, not a kernel of an operation.
      ++read.ignored;
    }
  }
  return read;
}

}  // namespace

KernelTable read_kernel_table(const std::string& path, std::span<const RowFilter> filters) {
  const std::string text = read_file(path);
  if (text.starts_with("format:") || text.find("\n---\n") != std::string::npos) return read_profile(path);
  return read_table(CsvTable::parse(text, path), path, filters);
}

KernelTable read_kernel_tables(std::span<const std::string> paths, std::span<const RowFilter> filters) {
  KernelTable all;
  for (const std::string& path : paths) {
    KernelTable one = read_kernel_table(path, filters);
    all.ignored += one.ignored;
    std::move(one.samples.begin(), one.samples.end(), std::back_inserter(all.samples));
  }
  return all;
}

}  // namespace ddl
