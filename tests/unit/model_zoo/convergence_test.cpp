#include "model_zoo/files/convergence.hpp"

#include <optional>
#include <string>

#include "core/error.hpp"
#include "model_zoo/files/load_model.hpp"
#include "model_zoo/files/published_accuracy.hpp"
#include "tests/catch.hpp"

namespace convergence_tests {

using namespace ddl;

namespace {

std::string file_of(const std::string& points, const std::string& more = "") {
  return "format: 1\nmodel: net\ntarget: 90 % accuracy\nsource: a paper\n" + more + "points:\n" + points;
}

}  // namespace

TEST_CASE("every bundled file of published trainings is read, and belongs to a bundled model") {
  for (const std::string& name : convergence_names()) {
    INFO(name);
    // Every listed name works as it is.
    const std::optional<Convergence> convergence = convergence_of(load_model(name));
    REQUIRE(convergence);
    CHECK(name.starts_with(convergence->model));
    CHECK_FALSE(convergence->source.empty());
    CHECK(convergence->noise_scale());
  }
  CHECK_FALSE(convergence_of(load_model("gpt2")));
  // Samples of another length require other numbers of samples.
  CHECK_FALSE(convergence_of(load_model("llama3-8b@tokens=4096")));
  CHECK_FALSE(convergence_of(load_model("llama3-8b@layers=2")));
  // LoRA is another training than that of all weights; the order of parameters does not matter.
  CHECK(convergence_of(load_model("llama2-70b@tokens=8192@lora_layers=qkv+projection@lora=16")));
  CHECK_FALSE(convergence_of(load_model("llama2-70b@tokens=8192")));
  CHECK_FALSE(convergence_of(load_model("llama2-70b@tokens=8192@lora_layers=qkv+projection@lora=8")));
  // DLRM's epochs begin at 1: 1.9 is nine tenths of an epoch.
  CHECK(convergence_of(load_model("dlrm"))->samples_at(55'296) == 0.9 * 4'195'197'692);
}

TEST_CASE("between two published batches, samples are interpolated on logarithmic axes, and outside they are unknown") {
  const Convergence convergence =
      parse_convergence(file_of("  - {batch: 100, samples: 1000}\n  - {batch: 400, samples: 4000}\n"), "c.yaml");
  CHECK(convergence.samples_at(100) == 1000.0);
  CHECK(convergence.samples_at(400) == 4000.0);
  CHECK(*convergence.samples_at(200) == Approx(2000));
  CHECK_FALSE(convergence.samples_at(99));
  CHECK_FALSE(convergence.samples_at(401));
}

TEST_CASE("epochs and tokens are counted in samples") {
  const Convergence epochs =
      parse_convergence(file_of("  - {batch: 1, epochs: 1.5}\n  - {batch: 2, epochs: 2}\n", "epoch: 1000\n"), "c.yaml");
  CHECK(epochs.points.front().samples == 1500);
  const Convergence tokens =
      parse_convergence(file_of("  - {batch: 1, tokens: 4096}\n  - {batch: 2, tokens: 8192}\n", "tokens: 512\n"), "c.yaml");
  CHECK(tokens.points.back().samples == 16);
}

TEST_CASE("the critical batch of points on the curve of McCandlish et al. is the critical batch of the curve") {
  // E = 1000 (1 + B / 64), so at a batch of 64 training needs twice the minimum.
  const Convergence convergence = parse_convergence(
      file_of("  - {batch: 16, samples: 1250}\n  - {batch: 64, samples: 2000}\n  - {batch: 256, samples: 5000}\n"),
      "c.yaml");
  const auto scale = convergence.noise_scale();
  REQUIRE(scale);
  CHECK(scale->least_samples == Approx(1000));
  CHECK(scale->critical_batch == Approx(64));
  CHECK(scale->worst_error < 1e-9);
  // If larger batches need no more samples, there is no noise scale.
  const Convergence flat =
      parse_convergence(file_of("  - {batch: 16, samples: 1250}\n  - {batch: 64, samples: 1000}\n"), "c.yaml");
  CHECK_FALSE(flat.noise_scale());
}

TEST_CASE("an invalid file of published trainings is refused with its position") {
  const std::string point = "  - {batch: 8, samples: 10}\n";
  for (const std::string& wrong :
       {file_of(point), file_of(point + point), file_of(point + "  - {batch: 16}\n"),
        file_of(point + "  - {batch: 16, samples: 1, epochs: 1}\n", "epoch: 5\n"),
        file_of(point + "  - {batch: 16, epochs: 1}\n"), file_of(point + "  - {batch: 16, tokens: 1}\n"),
        file_of(point + "  - {batch: 0, samples: 1}\n"), file_of(point + "  - {batch: 16, samples: -1}\n"),
        file_of(point + "  - {batch: 16, samples: .nan}\n"), file_of(point + "  - {batch: 16, sample: 1}\n"),
        file_of("  []\n"), std::string("format: 1\n")}) {
    INFO(wrong);
    CHECK_THROWS_AS(parse_convergence(wrong, "c.yaml"), Error);
  }
}

TEST_CASE("Keras' networks have a published depth and accuracy") {
  // keras-team/keras at 034466bbe50b, docs/templates/applications.md.
  for (const std::string name :
       {"inception_resnet_v2", "keras-inception-v3", "keras-resnet50", "mobilenet", "vgg16", "vgg19", "xception"}) {
    INFO(name);
    const auto accuracy = published_accuracy(load_model(name).name);
    REQUIRE(accuracy);
    CHECK(accuracy->depth >= 23);
    CHECK(accuracy->depth <= 572);
    CHECK(accuracy->top1 >= 0.665);
    CHECK(accuracy->top1 <= 0.804);
    CHECK_FALSE(accuracy->source.empty());
  }
  CHECK(published_accuracy("mobilenet")->depth == 88);
  CHECK_FALSE(published_accuracy("resnet50"));
  CHECK_FALSE(published_accuracy(load_model("vgg16@classes=10").name));
}

}  // namespace convergence_tests
