#include "cli/options/train_tokens.hpp"

#include <string>

#include "cli/documents/throughput.hpp"
#include "tests/catch.hpp"
#include "tests/error_of.hpp"

namespace train_tokens_tests {

using namespace ddl;

TEST_CASE("a number of tokens is parsed with k, M, B and T, and is printed so that parsing returns the same number") {
  struct Case {
    std::string text, printed;
    double tokens;
  };
  for (const Case& c :
       {Case{"300B", "300B", 3e11}, Case{"1T", "1T", 1e12}, Case{"15T", "15T", 15e12}, Case{"1.5 T", "1.5T", 1.5e12},
        Case{"250000", "250k", 250'000}, Case{"12k", "12k", 12'000}, Case{"12K", "12k", 12'000}, Case{"7M", "7M", 7e6},
        Case{"1e12", "1T", 1e12}, Case{"1", "1", 1}, Case{"1000000T", "1000000T", 1e18}}) {
    INFO(c.text);
    UnitProblem problem;
    const std::optional<double> tokens = parse_token_count(c.text, problem);
    REQUIRE(tokens);
    CHECK(*tokens == c.tokens);
    CHECK(print_token_count(*tokens) == c.printed);
    CHECK(parse_token_count(print_token_count(*tokens), problem) == tokens);
  }
}

TEST_CASE("an invalid number of tokens is refused with a hint") {
  for (const std::string text :
       {"", "T", "1X", "1TT", "1 T T", "1TB", "0", "-1T", "0.5", "1000001T", "inf", "nan", "1e300", "nanT", "1t", "1,000"}) {
    INFO(text);
    UnitProblem problem;
    CHECK_FALSE(parse_token_count(text, problem).has_value());
    CHECK_FALSE(problem.message.empty());
    CHECK_FALSE(problem.hint.empty());
  }
}

TEST_CASE("epochs of a sequence model that is trained in part need a named data set") {
  StudySpec spec;
  spec.machine = "dgx-a100";
  spec.model = "gpt2";
  Training training;
  training.epochs = 3;
  CHECK_NOTHROW(refuse_unknown_epoch(training, Study(spec)));
  spec.model = "gpt2@lora=8";
  const Study adapters(spec);
  CHECK(error_of([&] { refuse_unknown_epoch(training, adapters); }) ==
        "--epochs: the number of samples is unknown: gpt2@lora=8 is fine-tuned, and no data set is named\n"
        "hint: name the data set, or a file with its number of samples: --dataset mine.yaml");
  CHECK_NOTHROW(refuse_unknown_epoch({}, adapters));
  spec.dataset = "openwebtext";
  CHECK_NOTHROW(refuse_unknown_epoch(training, Study(spec)));
}

TEST_CASE("throughput is printed without MFU if the peak is unknown") {
  Plan plan;
  plan.mesh.set(Axis::data, 4);
  const Device gpu;
  Throughput throughput{.samples = 4, .tokens = 8192, .model = FlopRate(1.5e14), .hardware = FlopRate(2e14)};
  CHECK(throughput_in_short(throughput) == "8,192 tokens/s");
  CHECK(throughput_text(throughput, plan, gpu) == "2,048 tokens/s per GPU, model 150 TFLOP/s, hardware 200 TFLOP/s");
  CHECK(mfu_text(throughput) == "-");
  throughput.model_share = 0.48;
  throughput.hardware_share = 0.64;
  throughput.tokens.reset();
  CHECK(throughput_in_short(throughput) == "4 samples/s, MFU 48 %");
  CHECK(throughput_text(throughput, plan, gpu) ==
        "1 samples/s per GPU, model 150 TFLOP/s (MFU 48 %), hardware 200 TFLOP/s (HFU 64 %)");
  CHECK(mfu_text(throughput) == "48 %");
  CHECK(mfu_text(std::nullopt) == "-");
}

}  // namespace train_tokens_tests
