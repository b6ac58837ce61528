#include "profiler/importers/layer_table.hpp"

#include <algorithm>

#include "tests/catch.hpp"
#include "tests/error_of.hpp"
#include "tests/unit/model_zoo/one_layer.hpp"

using namespace ddl;

namespace {

const Model model = model_of("{channels: 4, size: 8x8}",
                             "  - convolution: {filters: 4, kernel: 3, padding: 1, bias: no}\n"
                             "    name: first\n"
                             "  - activation: relu\n"
                             "  - convolution: {filters: 4, kernel: 3, padding: 1, bias: no}\n"
                             "    name: second\n"
                             "  - norm: batch\n");

ProfileImport imported(const std::string& text) {
  return import_layer_table(text, "t.csv", model,
                            {.samples = 2, .precision = Precision::bf16, .optimizer = Optimizer::adam, .device = "d"});
}
std::string error(const std::string& text) {
  return error_of([&] { static_cast<void>(imported(text)); });
}
/// Returns the measurement whose problem begins with `begin` and ends with `end`.
const Measurement& found(const ProfileImport& import, const std::string& begin, const std::string& end) {
  const auto row = std::find_if(import.profile.rows.begin(), import.profile.rows.end(), [&](const ProfileRow& each) {
    return each.measurement.problem.starts_with(begin) && each.measurement.problem.ends_with(end);
  });
  REQUIRE(row != import.profile.rows.end());
  return row->measurement;
}

const std::string layout =
    "\nhint: columns are layer, forward, backward, backward_data, backward_weight and update, with units, such as 'forward "
    "ms'";

}  // namespace

TEST_CASE("a table of layer times becomes the problems of the layers") {
  const ProfileImport import = imported(
      "layer,forward ms,backward (us),update\n"
      "first,2,1000,3 us\n"
      "second,4,6000,5 us\n"
      "norm1,1,,\n");
  // Both convolutions are one problem. Its time is the mean of 2 and 4 ms.
  const Measurement& forward = found(import, "convolution", "samples=2 precision=bf16 pass=forward");
  CHECK(forward.samples.median.value() == Approx(0.003));
  CHECK(forward.samples.count == 1);
  // The first convolution reads the sample, so all of its backward time belongs to its weights. The
  // two halves of the second convolution's backward have equal FLOPs.
  CHECK(found(import, "convolution", "pass=backward-data").samples.median.value() == Approx(0.003));
  CHECK(found(import, "convolution", "pass=backward-data").algorithm == "50 % of backward by FLOPs");
  CHECK(found(import, "convolution", "pass=backward-weight").samples.median.value() == Approx((0.001 + 0.003) / 2));
  CHECK(found(import, "update optimizer=adam parameters=144", "precision=bf16").samples.median.value() == Approx(4e-6));
  CHECK(found(import, "norm", "pass=forward").samples.median.value() == Approx(0.001));
  CHECK(import.missing.size() == 4);  // both passes of the activation, backward and update of the norm
  CHECK(import.profile.head.backend == "table");
}

TEST_CASE("layers with weights may be numbered, and several rows for a layer are several measurements") {
  const ProfileImport import = imported(
      "layer,backward_data_ms,backward_weight [ms]\n"
      "2,5,7\n"
      "2,6,8\n"
      "2,10,9\n"
      "3,0.5,\n");
  const Measurement& data = found(import, "convolution", "pass=backward-data");
  CHECK(data.samples.seconds == std::vector<double>{0.005, 0.006, 0.01});
  CHECK(data.samples.median.value() == Approx(0.006));
  CHECK(found(import, "convolution", "pass=backward-weight").samples.median.value() == Approx(0.008));
  CHECK(found(import, "norm", "pass=backward-data").samples.median.value() == Approx(0.0005));
}

TEST_CASE("a time of zero is not a measurement") { CHECK(imported("layer,forward ms\nfirst,0\n").profile.rows.empty()); }

TEST_CASE("mistakes in a table are refused with their position") {
  CHECK(error("forward ms\n1\n") ==
        "t.csv:1:1: the column 'layer' is missing\n  forward ms\n  ^\nhint: add the column to this line, and its values");
  CHECK(error("layer,forwards ms\nfirst,1\n") ==
        "t.csv:1:7: unknown column 'forwards ms'\n  layer,forwards ms\n        ^" + layout);
  CHECK(error("layer\nfirst\n") == "t.csv:1:1: no column has times\n  layer\n  ^" + layout);
  CHECK(error("layer,forward ms\n") == "t.csv:1:1: the table has no rows\n  layer,forward ms\n  ^" + layout);
  CHECK(error("layer,forward ms,forward us\nfirst,1,1\n") ==
        "t.csv:1:18: two columns of forward\n  layer,forward ms,forward us\n                   ^");
  CHECK(error("layer,forward MB\nfirst,1\n").starts_with("t.csv:1:7: "));
  CHECK(error("layer,forward ms\nfrist,1\n") ==
        "t.csv:2:1: m has no layer 'frist'\n  frist,1\n  ^\nhint: did you mean 'first'?");
  CHECK(error("layer,forward ms\n4,1\n") ==
        "t.csv:2:1: m has 3 layers with weights\n  4,1\n  ^\nhint: layers with weights are numbered from 1");
  CHECK(error("layer,forward ms\n0,1\n").starts_with("t.csv:2:1: '0' is not a positive whole number"));
  CHECK(error("layer,forward\nfirst,1\n") ==
        "t.csv:2:7: '1' has no unit\n  first,1\n        ^\nhint: write 1.2 ms, or in the header: forward ms");
  CHECK(error("layer,forward ms\nfirst,-1\n").starts_with("t.csv:2:7: "));
  CHECK(error("layer,forward ms\nfirst,1e999\n").starts_with("t.csv:2:7: "));
  CHECK(error("layer,forward d\nfirst,400\n").starts_with("t.csv:2:7: '400' is more than a year"));
  CHECK(error("layer,forward ms\nfirst,nan\n").starts_with("t.csv:2:7: "));
  CHECK(error("layer,backward ms,backward_data ms\nfirst,1,1\n") ==
        "t.csv:2:1: this layer has a time for backward and also for a part of it\n  first,1,1\n  ^\nhint: leave the column "
        "'backward' empty, or the columns of its parts");
  std::string many = "layer,forward ms\n";
  for (int i = 0; i < 201; ++i) many += "first,1\n";
  CHECK(error(many).starts_with("t.csv:202:1: more than 200 rows of one layer"));
}

TEST_CASE("a table of operators is distinguished from a table of layers") {
  const std::string operators = "operator,shapes,calls,self_cpu_us,self_device_us\naten::relu,[[2,3]],1,2,0\n";
  CHECK(error_of([&] { static_cast<void>(import_layer_table(operators, "t.csv", model, {})); }) ==
        "t.csv: a table of operators, without layers\nhint: import a trace: step_time.py MODEL.json --layers "
        "trace.json");
}

TEST_CASE("a table of layer times needs the options for samples and device") {
  const auto error_with = [](const ProfileImportOptions& options) {
    return error_of([&] { static_cast<void>(import_layer_table("layer,forward ms\nfirst,1\n", "t.csv", model, options)); });
  };
  CHECK(error_with({.samples = {}, .precision = {}, .optimizer = {}, .device = "d"}) ==
        "a table of layer times does not state the number of samples\nhint: add --batch N");
  CHECK(error_with({.samples = 1, .precision = {}, .optimizer = {}, .device = ""}) ==
        "a table of layer times does not state the device\nhint: add --device NAME");
}
