#include "model_zoo/network/problem.hpp"

#include <set>
#include <string>

#include "core/error.hpp"
#include "model_zoo/files/load_model.hpp"
#include "model_zoo/network/model.hpp"
#include "model_zoo/network/update_list.hpp"
#include "tests/catch.hpp"
#include "tests/unit/model_zoo/one_layer.hpp"

namespace problem_tests {

using namespace ddl;

namespace {

constexpr std::array passes{Pass::forward, Pass::backward_data, Pass::backward_weight};

template <class Call>
std::string why(const Call& call) {
  try {
    call();
  } catch (const Error& error) {
    return std::string(error.what()) + "\n" + error.hint();
  }
  return "no error";
}

std::string error_of(const std::string& line) {
  return why([&] { static_cast<void>(parse_problem(line, "line")); });
}

}  // namespace

TEST_CASE("the kernels of an operation together have its work") {
  for (const std::string& name : model_names()) {
    const Model model = load_model(name);
    for (const Layer& layer : model.layers) {
      for (const Pass pass : {Pass::forward, Pass::backward_data, Pass::backward_weight}) {
        const Work whole = layer.operation->work(pass, layer.input_shapes, layer.output_shape);
        Work sum;
        for (const Work& each : layer.operation->kernels(pass, layer.input_shapes, layer.output_shape)) {
          if (each.is_separate) continue;
          sum.flops += each.flops;
          sum.activation_items += each.activation_items;
          sum.weight_items += each.weight_items;
        }
        if (sum.flops == Approx(whole.flops) && sum.activation_items == Approx(whole.activation_items) &&
            sum.weight_items == Approx(whole.weight_items)) {
          continue;
        }
        FAIL_CHECK(name << ' ' << layer.name << ' ' << to_string(pass) << ": " << sum.flops << " of " << whole.flops
                        << " FLOP, " << sum.activation_items << " of " << whole.activation_items << " items");
      }
    }
  }
}

TEST_CASE("a problem is printed as one line, from which it is read back") {
  const std::string line =
      "convolution filters=64 kernel=3x3 stride=2 padding=1 bias=no in=32x56x56 samples=8 precision=bf16 pass=backward-data";
  const Problem problem = parse_problem(line, "line");
  CHECK(print_problem(problem) == line);
  CHECK(problem.samples == 8);
  CHECK(problem.precision == Precision::bf16);
  CHECK(problem.pass == Pass::backward_data);
  CHECK(problem.output == TensorShape{.channels = 64, .extent = {28, 28, 1}, .rank = 2});
  CHECK(print_problem(parse_problem("pool in=8x6 kind=max kernel=2", "line")) ==
        "pool kind=max kernel=2 stride=2 in=8x6 samples=1 precision=fp32 pass=forward");
  CHECK(print_problem(parse_problem("add in=8x4t,8x4t", "line")) ==
        "add in=8x4t,8x4t samples=1 precision=fp32 pass=forward");
}

TEST_CASE("every layer of every bundled model is a problem, with the same work alone as in its model") {
  for (const std::string& name : model_names()) {
    const Model model = load_model(name);
    std::set<int> seen;
    for (const Layer& layer : model.layers) {
      // Layers of a class differ only in their names.
      if (!seen.insert(layer.shape_class).second) continue;
      const Operation::Local local = layer.operation->local(layer.input_shapes, layer.output_shape);
      const auto& operation = local.operation ? local.operation : layer.operation;
      for (const Pass pass : passes) {
        const Problem problem{operation, local.inputs, layer.output_shape, 4, Precision::fp16, pass};
        const std::string line = print_problem(problem);
        INFO(name << " " << layer.name << ": " << line);
        const Problem read = parse_problem(line, "line");
        CHECK(print_problem(read) == line);
        CHECK(read.output == layer.output_shape);
        const Work whole = layer.operation->work(pass, layer.input_shapes, layer.output_shape);
        const Work alone = read.operation->work(pass, read.inputs, read.output);
        CHECK(alone.flops == whole.flops);
        CHECK(alone.activation_items == whole.activation_items);
      }
    }
  }
}

TEST_CASE("a rank's slice of a layer is a separate problem") {
  const Layer layer = layer_of("{channels: 8, size: 32x32}", "  - convolution: {filters: 16, kernel: 3, padding: 1}\n");
  TensorShape input = layer.input_shapes.front();
  TensorShape output = layer.output_shape;
  const auto line = [&] {
    const Operation::Local local = layer.operation->local(std::array{input}, output);
    REQUIRE(local.operation);
    CHECK(local.operation->infer(local.inputs) == output);
    return print_problem({local.operation, local.inputs, output, 1, Precision::fp32, Pass::forward});
  };
  SECTION("slice of filters") {
    output.channels = 4;
    CHECK(line() == "convolution filters=4 kernel=3x3 padding=1 in=8x32x32 samples=1 precision=fp32 pass=forward");
  }
  SECTION("slice of channels") {
    input.channels = 2;
    CHECK(line() == "convolution filters=16 kernel=3x3 padding=1 in=2x32x32 samples=1 precision=fp32 pass=forward");
  }
  SECTION("a padded tile costs as much as a tile with the rows of its neighbors") {
    input.extent = {16, 32, 1};
    output.extent = {16, 32, 1};
    CHECK(line() == "convolution filters=16 kernel=3x3 padding=1 in=8x16x32 samples=1 precision=fp32 pass=forward");
  }
  SECTION("a tile that would have fewer output positions alone includes the rows of its neighbors") {
    input.extent = {11, 32, 1};
    output.extent = {10, 32, 1};
    CHECK(line() == "convolution filters=16 kernel=3x3 padding=0x1 in=8x12x32 samples=1 precision=fp32 pass=forward");
  }
}

TEST_CASE("groups are not split") {
  const Layer layer =
      layer_of("{channels: 32, size: 8x8}", "  - convolution: {filters: 64, kernel: 3, groups: 8, padding: 1}\n");
  TensorShape input = layer.input_shapes.front();
  TensorShape output = layer.output_shape;
  input.channels = 8;
  output.channels = 16;
  const Operation::Local local = layer.operation->local(std::array{input}, output);
  CHECK(local.operation->attributes() == "filters=16 kernel=3x3 padding=1 groups=2");
}

TEST_CASE("an invalid problem is refused with the position of the wrong word") {
  CHECK_THAT(error_of(""), ContainsSubstring("the problem is empty"));
  CHECK_THAT(error_of("conv2d in=3x8x8"), ContainsSubstring("line:1:1: unknown operation 'conv2d'"));
  CHECK_THAT(error_of("pool kind=max kernel=2"), ContainsSubstring("pool needs 'in'"));
  CHECK_THAT(error_of("pool kind=max kernel=2 in=0x8"), ContainsSubstring("line:1:24: '0x8' is not a shape"));
  CHECK_THAT(error_of("pool kind=max kernel=2 in=8x8x8x8x8"), ContainsSubstring("is not a shape"));
  CHECK_THAT(error_of("pool kind=max kernal=2 in=8x8"), ContainsSubstring("line:1:15: unknown attribute 'kernal' of pool") &&
                                                            ContainsSubstring("did you mean 'kernel'?"));
  CHECK_THAT(error_of("pool kind=max kernel=2 kernel=3 in=8x8"), ContainsSubstring("line:1:24: 'kernel' is given twice"));
  CHECK_THAT(error_of("pool kind=max kernel= in=8x8"),
             ContainsSubstring("'kernel' has no value") || ContainsSubstring("'kernel=' has no value"));
  CHECK_THAT(error_of("pool kind=max kernel=9 in=8x8"), ContainsSubstring("does not fit"));
  CHECK_THAT(error_of("add in=8x8,7x8"), ContainsSubstring("line:1:1:"));
  CHECK_THAT(error_of("add in=8x8,8x8 samples=0"), ContainsSubstring("line:1:16: '0' is not a number of samples"));
  CHECK_THAT(error_of("add in=8x8,8x8 precision=fp4"), ContainsSubstring("unknown precision 'fp4'"));
  CHECK_THAT(error_of("add in=8x8,8x8 pass=update"), ContainsSubstring("unknown pass 'update'"));
  CHECK_THAT(error_of("add in=9000000000000x9000000000000,1"), ContainsSubstring("line:1:5:"));
  CHECK_THAT(error_of("pool kind={ kernel=2 in=8x8"), ContainsSubstring("line:1:6:"));
  CHECK_THAT(error_of("add in=8x8,8x8\nadd"), ContainsSubstring("a problem is one line"));
}

TEST_CASE("an optimizer's step is a problem") {
  const std::string line = "update optimizer=adam parameters=36864 precision=bf16";
  CHECK(is_update_problem(line));
  CHECK_FALSE(is_update_problem("updates in=3"));
  CHECK_FALSE(is_update_problem(""));
  CHECK(print_problem(parse_update_problem(line, "line")) == line);
  const auto refused = [](const std::string& text) {
    try {
      static_cast<void>(parse_update_problem(text, "line"));
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string("no error");
  };
  CHECK_THAT(refused("update optimizer=lion parameters=1"), ContainsSubstring("line:1:8: unknown optimizer 'lion'"));
  CHECK_THAT(refused("update optimizer=sgd"), ContainsSubstring("update needs 'parameters'"));
  CHECK_THAT(refused("update optimizer=sgd parameters=-1"), ContainsSubstring("line:1:22:"));
  CHECK_THAT(refused("update optimizer=sgd parameters=1 in=4"), ContainsSubstring("unknown attribute 'in'"));
}

TEST_CASE("an optimizer's step on a list of tensors is one problem") {
  const std::string line = "update optimizer=adam parameters=25557032 tensors=161 implementation=foreach precision=fp32";
  const UpdateProblem problem = parse_update_problem(line, "line");
  CHECK(problem.tensors == 161);
  CHECK(problem.implementation == UpdateImplementation::foreach);
  CHECK(print_problem(problem) == line);
  // Older profiles have neither of them.
  const UpdateProblem layer = parse_update_problem("update optimizer=sgd parameters=3", "line");
  CHECK(layer.implementation == UpdateImplementation::layer);
  CHECK(layer.tensors == 1);
  CHECK(print_problem(parse_update_problem("update optimizer=sgd parameters=3 implementation=layer", "line")) ==
        print_problem(layer));
  const auto refused = [](const std::string& text) {
    return why([&] { static_cast<void>(parse_update_problem(text, "line")); });
  };
  CHECK_THAT(
      refused("update optimizer=sgd parameters=3 implementation=forech"),
      ContainsSubstring("line:1:35: unknown implementation 'forech'") && ContainsSubstring("did you mean 'foreach'?"));
  CHECK_THAT(refused("update optimizer=sgd parameters=3 tensors=2"),
             ContainsSubstring("line:1:35: 'tensors' applies only to lists"));
  CHECK_THAT(refused("update optimizer=sgd parameters=3 tensors=4 implementation=fused"),
             ContainsSubstring("line:1:35: '4' is not a number of tensors"));
}

TEST_CASE("operators of an optimizer's step move as many items as PyTorch's operators") {
  // add_(w, g): reads w and g, writes w.
  CHECK(update_words(Optimizer::sgd, UpdateImplementation::foreach) == 3);
  // mul_(b), add_(b, g), add_(w, b).
  CHECK(update_words(Optimizer::momentum, UpdateImplementation::foreach) == 2 + 3 + 3);
  // lerp_(m, g), mul_(v), addcmul_(v, g, g), sqrt(v), div_(r), add_(r), addcdiv_(w, m, r).
  CHECK(update_words(Optimizer::adam, UpdateImplementation::foreach) == 3 + 2 + 3 + 2 + 2 + 2 + 4);
  CHECK(update_words(Optimizer::adam, UpdateImplementation::single) == 18);
  for (const Optimizer optimizer : enum_values<Optimizer>) {
    CHECK(update_words(optimizer, UpdateImplementation::fused) == update_words(optimizer, UpdateImplementation::layer));
    CHECK(update_words(optimizer, UpdateImplementation::foreach) >= update_words(optimizer, UpdateImplementation::fused));
  }
}

TEST_CASE("a model's update is one problem of all its tensors") {
  // model.parameters() of torchvision's resnet50 has 161 tensors: 53 convolution kernels, 53
  // scales, 53 shifts, and the two tensors of the classifier.
  CHECK(
      print_problem(update_of_all(load_model("resnet50"), Optimizer::adamw, Precision::fp32, UpdateImplementation::fused)) ==
      "update optimizer=adam parameters=25557032 tensors=161 implementation=fused precision=fp32");
}

TEST_CASE("a cast is a problem, but not a layer of a model") {
  const std::string line = "cast to=bf16 in=200704 samples=32 precision=fp32 pass=forward";
  const Problem problem = parse_problem(line, "line");
  CHECK(print_problem(problem) == line);
  // Forward reads 4 bytes and writes 2. The cast of the gradient reads 2 and writes 4.
  CHECK(problem.operation->work(Pass::forward, problem.inputs, problem.output).activation_items * 4 == 6.0 * 200704);
  CHECK(problem.operation->work(Pass::backward_data, problem.inputs, problem.output).activation_items * 4 == 6.0 * 200704);
  CHECK_FALSE(problem.operation->work(Pass::backward_weight, problem.inputs, problem.output).is_any());
  const Problem wider = parse_problem("cast to=fp32 in=10 precision=fp16", "line");
  CHECK(wider.operation->work(Pass::forward, wider.inputs, wider.output).activation_items * 2 == 60);
  CHECK_THAT(error_of("cast to=fp32 in=4"),
             ContainsSubstring("a cast from fp32 to fp32 must convert between two and four bytes"));
  CHECK_THAT(error_of("cast to=fp16 in=4 precision=bf16"), ContainsSubstring("must convert between two and four bytes"));
  CHECK_THAT(error_of("cast to=fp8 in=4"), ContainsSubstring("line:1:6:"));
  CHECK_THAT(why([] {
               static_cast<void>(parse_model("format: 1\nmodel: m\ninput: {features: 4}\nlayers:\n  - cast: bf16\n", "m"));
             }),
             ContainsSubstring("cast"));
}

TEST_CASE("the first touch of fresh memory is a problem") {
  const std::string line = "fresh_memory bytes=67108864";
  CHECK(is_fresh_memory_problem(line));
  CHECK_FALSE(is_fresh_memory_problem("fresh_memory_of bytes=1"));
  CHECK_FALSE(is_update_problem(line));
  CHECK(print_problem(parse_fresh_memory_problem(line, "line")) == line);
  CHECK(print_problem(FreshMemoryProblem{}) == line);
  const auto refused = [](const std::string& text) {
    try {
      static_cast<void>(parse_fresh_memory_problem(text, "line"));
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string("no error");
  };
  CHECK_THAT(refused("fresh_memory"), ContainsSubstring("line:1:1: fresh_memory needs 'bytes'"));
  CHECK_THAT(refused("fresh_memory bytes=0"), ContainsSubstring("line:1:14: '0' is not a number of bytes"));
  CHECK_THAT(refused("fresh_memory bytes=1073741825"), ContainsSubstring("line:1:14:"));
  CHECK_THAT(refused("fresh_memory bytes=1 in=4"), ContainsSubstring("line:1:22: unknown attribute 'in' of fresh_memory"));
}

}  // namespace problem_tests
