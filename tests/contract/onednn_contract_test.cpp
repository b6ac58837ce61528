#include <set>

#include "core/error.hpp"
#include "model_zoo/files/load_model.hpp"
#include "model_zoo/network/model.hpp"
#include "profiler/backends/onednn/backend.hpp"
#include "profiler/measurement/measurement.hpp"
#include "tests/catch.hpp"
#include "tests/contract/kernel_contract.hpp"
#include "tests/contract/not_computed.hpp"

using namespace ddl;

TEST_CASE("oneDNN passes the contract of all back ends") { check_behaves(*make_onednn_backend(1)); }

TEST_CASE("oneDNN computes outputs and gradients by their definitions") {
  const auto backend = make_onednn_backend(1);
  for (const std::string& line : contract_problems()) {
    CAPTURE(line);
    CHECK(check_computes(*backend, line, Precision::fp32, 2e-4) == 1);
  }
}

TEST_CASE("matrix products of a BLAS compute outputs and gradients by their definitions") {
  const auto backend = make_onednn_backend(1, DDL_NAIVE_BLAS);
  CHECK(backend->info().details.back() == std::pair<std::string, std::string>("blas", DDL_NAIVE_BLAS));
  const auto algorithm = [&](const std::string& line) { return backend->prepare(parse_problem(line, "test"))->algorithm(); };
  for (const std::string& line : contract_problems()) {
    CAPTURE(line);
    CHECK(check_computes(*backend, line, Precision::fp32, 2e-4) == 1);
  }
  for (const std::string line : {"fully_connected features=5 in=7", "convolution filters=4 kernel=1x1 in=3x5x5",
                                 "convolution filters=4 kernel=1x1 bias=no in=3x5x5"}) {
    CAPTURE(line);
    CHECK(check_computes(*backend, line, Precision::fp32, 2e-4) == 1);
  }
  for (const std::string pass : {"forward", "backward-data", "backward-weight"}) {
    // As in PyTorch, these are 1x1 convolutions without stride, with fewer than 16 samples.
    for (const std::string line :
         {"fully_connected features=5 in=7 samples=3", "convolution filters=4 kernel=1x1 in=3x5x5 samples=15"}) {
      CHECK(algorithm(line + " pass=" + pass) == "cblas_sgemm");
    }
    for (const std::string line : {"convolution filters=4 kernel=1x1 in=3x5x5 samples=16",
                                   "convolution filters=4 kernel=1x1 stride=2 in=3x5x5 samples=2",
                                   "convolution filters=4 kernel=3x3 padding=1 in=3x5x5 samples=2"}) {
      CAPTURE(line, pass);
      CHECK(algorithm(line + " pass=" + pass) != "cblas_sgemm");
    }
  }
  CHECK_THROWS_WITH(make_onednn_backend(1, "no-such-blas.so"),
                    ContainsSubstring("--blas 'no-such-blas.so' cannot be loaded"));
  CHECK_THROWS_WITH(make_onednn_backend(1, "libm.so.6"), "--blas 'libm.so.6' has no cblas_sgemm");
  CHECK_THROWS_WITH(make_onednn_backend(2, DDL_NAIVE_BLAS), ContainsSubstring("its number of threads cannot be set to 2"));
}

TEST_CASE("oneDNN only refuses operations of bundled models that no back end supports") {
  std::set<std::string> met;
  const auto backend = make_onednn_backend(1);
  std::set<std::string> refused;
  for (const std::string& name : model_names()) {
    for (const Layer& layer : load_model(name).layers) {
      const Operation::Local local = layer.operation->local(layer.input_shapes, layer.output_shape);
      for (const Pass pass : {Pass::forward, Pass::backward_data, Pass::backward_weight}) {
        const Problem problem{
            local.operation ? local.operation : layer.operation, local.inputs, layer.output_shape, 1, Precision::fp32, pass};
        if (!problem.operation->work(pass, problem.inputs, problem.output).is_any()) continue;
        const std::string why = backend->refusal(problem);
        if (not_computed.contains(why)) {
          met.insert(why);
          continue;
        }
        if (!why.empty()) refused.insert(name + ": " + std::string(problem.operation->type()) + ": " + why);
      }
    }
  }
  CHECK(refused == std::set<std::string>{});
  CHECK(met == not_computed);
}

TEST_CASE("oneDNN gives the reason for each refusal") {
  const auto backend = make_onednn_backend(1);
  const auto why = [&](const std::string& line) { return backend->refusal(parse_problem(line, "test")); };
  CHECK(why("norm kind=instance in=4x5t") == "norms over groups of a token's channels are not supported by this back end");
  CHECK(why("norm kind=rms in=3x4x4") == "root mean squares over an image's channels are not supported by this back end");
  CHECK(why("combine in=8x12t,2x3t") == "more copies of a token than experts are not supported by this back end");
}

TEST_CASE("oneDNN computes in bf16 if the processor supports it") {
  const auto backend = make_onednn_backend(1);
  const Problem problem = parse_problem("fully_connected features=5 precision=bf16 in=7", "test");
  int ran = 0;
  for (const std::string& line : contract_problems()) ran += check_computes(*backend, line, Precision::bf16, 3e-2);
  CHECK((ran > 0) == backend->refusal(problem).empty());
}

TEST_CASE("oneDNN runs fused attention with dropout as separate operators, as PyTorch does on a processor") {
  const auto backend = make_onednn_backend(1);
  CHECK(check_computes(*backend, "attention heads=2 causal=yes fused=yes dropout=0.4 in=12x4t", Precision::fp32, 2e-4) == 1);
}

TEST_CASE("oneDNN casts between fp32 and bf16 if the processor supports it") {
  const auto backend = make_onednn_backend(1);
  const Problem product = parse_problem("fully_connected features=5 precision=bf16 in=7", "test");
  CHECK(check_casts(*backend, Precision::bf16) == (backend->refusal(product).empty() ? 2 : 0));
  CHECK(backend->refusal(parse_problem("cast to=fp16 in=7", "test")) == "processors have no fp16");
}

// The test is hidden, because it needs a CPU without AVX-512, or an environment in which the library treats the CPU as one.
TEST_CASE("oneDNN refuses bf16 on a processor without AVX-512", "[.][avx2]") {
  const auto backend = make_onednn_backend(1);
  for (const std::string& line : contract_problems()) {
    Problem problem = parse_problem(line, "test");
    problem.precision = Precision::bf16;
    INFO(line);
    CHECK_FALSE(backend->refusal(problem).empty());
    CHECK_THROWS_AS(static_cast<void>(backend->prepare(problem)), Error);
  }
  const Problem product = parse_problem("fully_connected features=5 precision=bf16 in=7", "test");
  CHECK(backend->refusal(product) == "bf16 needs a processor with AVX-512");
  CHECK(check_computes(*backend, "fully_connected features=5 in=7", Precision::fp32, 2e-4) == 1);
}

TEST_CASE("oneDNN multiplies fp32 in fp32") {
  const ProductBits bits = product_bits_of(*make_onednn_backend(1), Precision::fp32);
  CHECK(bits.ran == 5);
  CHECK(bits.rounded == 0);
}

TEST_CASE("oneDNN steps optimizers") { check_updates(*make_onednn_backend(1)); }

TEST_CASE("oneDNN's tensors are in memory that is mapped page by page") {
  const auto backend = make_onednn_backend(1);
  REQUIRE(backend->maps_pages());
  CHECK(backend->first_touch(Bytes(1 << 20)).value() > 0);
  const Measurement measured = measure(*backend, "fresh_memory bytes=1048576", {.limit = Seconds(0.01)}, CacheState::step);
  CHECK(measured.reason.empty());
  CHECK(measured.samples.count >= 6);
}
