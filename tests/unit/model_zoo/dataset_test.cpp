#include "model_zoo/files/dataset.hpp"

#include <string>

#include "tests/catch.hpp"
#include "tests/error_of.hpp"

namespace dataset_tests {

using namespace ddl;

namespace {

const std::string valid =
    "format: 1\ndataset: mine\ndescription: photographs\nsource: me\nsamples: 1000\nsample: {channels: 3, size: "
    "8x8}\nsize_on_disk: 1 MB\n";

std::string error_in(const std::string& text) {
  return error_of([&] { (void)parse_dataset(text, "d.yaml"); });
}

}  // namespace

TEST_CASE("the bundled data sets have the published numbers") {
  // ILSVRC 2012 has 1,281,167 images in an archive of 147,897,477,120 bytes.
  const Dataset imagenet = load_dataset("imagenet");
  CHECK(imagenet.samples == 1'281'167);
  CHECK(imagenet.sample == TensorShape{.channels = 3, .extent = {224, 224, 1}, .rank = 2});
  CHECK(imagenet.size_on_disk == Bytes(147897477120.0));
  // The mean size of its images is 469 by 387.
  CHECK(imagenet.image_pixels == 469 * 387);
  // Ridnik et al., arXiv 2104.10972: 14,197,122 images. Networks for 224 by 224 pixels train on the smaller set by default.
  CHECK(load_dataset("imagenet-21k").samples == 14'197'122);
  // CIFAR-10 has five batches of 10,000 records of 1 + 3072 bytes.
  const Dataset cifar = load_dataset("CIFAR-10");
  CHECK(cifar.samples == 50'000);
  CHECK(cifar.size_on_disk == Bytes(5 * 30'730'000.0));
  CHECK(cifar.sample_bytes() == Bytes(3073));
  // By [ParaDL], there are 1584 samples. Four cubes of 512³ integers of 2 bytes are 1 GiB.
  const Dataset cosmoflow = load_dataset("cosmoflow");
  CHECK(cosmoflow.samples == 1584);
  CHECK(cosmoflow.sample_bytes() == 1_GiB);
  // By [ParaDL], there are 7.2 million samples of 1024 tokens.
  const Dataset text = load_dataset("OpenWebText");
  CHECK(text.samples == 7'200'000);
  CHECK(text.sample == TensorShape{.channels = 1, .extent = {1024, 1, 1}, .rank = 1, .sequence = true});
  CHECK(text.sample_bytes() == Bytes(2048));
  // A sample has a label, 13 numbers and 26 categories of 4 bytes each.
  const Dataset clicks = load_dataset("Criteo 1TB");
  CHECK(clicks.samples == 4'195'197'692);
  CHECK(clicks.sample_bytes() == Bytes(4.0 * (1 + 13 + 26)));
  // A sample has two sentences of 50 tokens, with 2 bytes per token.
  CHECK(load_dataset("WMT16 en-de").sample_bytes() == Bytes(200));
}

TEST_CASE("images may be encoded, and a data set may belong to a kind of model") {
  const Dataset dataset = parse_dataset(valid + "image_pixels: 300000\ntask: detection\n", "d.yaml");
  CHECK(dataset.image_pixels == 300'000);
  CHECK(dataset.task == "detection");
  CHECK_THAT(error_in(valid + "task: detecting\n"),
             ContainsSubstring("unknown kind of model 'detecting'") && ContainsSubstring("detection"));
  CHECK_THAT(error_in("format: 1\ndataset: mine\nsamples: 10\nsample: {tokens: 8}\nsize_on_disk: 1 MB\nimage_pixels: 9\n"),
             ContainsSubstring("samples of this data set are not images"));
}

TEST_CASE("every bundled data set passes the checks") {
  CHECK(dataset_names() == std::vector<std::string>{"cifar10", "coco", "cosmoflow", "criteo-1tb", "deepcam", "imagenet",
                                                    "imagenet-21k", "kits19", "openwebtext", "wmt16-en-de"});
  for (const std::string& name : dataset_names()) {
    const Dataset dataset = load_dataset(name);
    INFO(name);
    CHECK(dataset.name == name);
    CHECK_FALSE(dataset.description.empty());
    CHECK_FALSE(dataset.source.empty());
  }
}

TEST_CASE("a data set file is read") {
  const Dataset dataset = parse_dataset(valid, "d.yaml");
  CHECK(dataset.name == "mine");
  CHECK(dataset.description == "photographs");
  CHECK(dataset.source == "me");
  CHECK(dataset.sample_bytes() == Bytes(1000));
}

TEST_CASE("errors in a data set file are refused with their position") {
  const auto with = [](const std::string& from, const std::string& to) {
    std::string text = valid;
    return text.replace(text.find(from), from.size(), to);
  };
  const auto first_line = [](const std::string& error) { return error.substr(0, error.find('\n')); };
  CHECK(first_line(error_in(with("format: 1", "format: 2"))) ==
        "d.yaml:1:9: format 2 needs a newer version of ddl-oracle: this version reads format 1");
  CHECK(first_line(error_in(with("dataset: mine\n", ""))) == "d.yaml:1:1: the key 'dataset' is missing");
  CHECK(first_line(error_in(with("samples: 1000", "samples: 0"))) == "d.yaml:5:10: '0' is too small: at least 1");
  CHECK(first_line(error_in(with("samples:", "sampels:"))) == "d.yaml:5:1: unknown key 'sampels'");
  CHECK(first_line(error_in(with("1 MB", "1000"))).starts_with("d.yaml:7:15: "));
  CHECK(first_line(error_in(with("1 MB", "0 MB"))) == "d.yaml:7:15: '0 MB' must be greater than zero");
  CHECK(first_line(error_in(with("size: 8x8", "size: 8by8"))) == "d.yaml:6:29: '8by8' is not a size");
  CHECK(first_line(error_in(with("size: 8x8", "size: 8x0"))) == "d.yaml:6:9: a sample of 3×8×0 is not possible");
  CHECK(first_line(error_in(with("{channels: 3, size: 8x8}", "{tokens: 8, size: 8}"))) ==
        "d.yaml:6:9: the shape of a sample is not clear");
  CHECK(first_line(error_in(with("{channels: 3, size: 8x8}", "{size: 8}"))) == "d.yaml:6:9: the key 'channels' is missing");
  CHECK(error_of([] { (void)load_dataset("imagnet"); }) == "unknown data set 'imagnet'\nhint: did you mean 'imagenet'?");
}

}  // namespace dataset_tests
