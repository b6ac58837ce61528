// Fuzzes a configuration of Hugging Face's transformers.

#include "model_zoo/files/load_model.hpp"
#include "model_zoo/importers/hugging_face/hugging_face.hpp"
#include "model_zoo/network/model.hpp"
#include "tests/fuzz/fuzzer.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text = ddl::text_of(data, size);
  const auto strict = ddl::result_of([&] { return ddl::import_hugging_face(text, "config.json"); });
  const auto lenient =
      ddl::result_of([&] { return ddl::import_hugging_face(text, "config.json", {.allow_unknown = true, .name = "m"}); });
  ddl::require(lenient || !strict, "what is read strictly is not read leniently");
  if (!lenient) return 0;
  ddl::require(ddl::succeeds([&] { static_cast<void>(ddl::parse_model(lenient->model_file, "m.yaml")); }),
               "an imported model cannot be read");
  for (const std::string& warning : lenient->warnings) {
    ddl::require(!warning.empty() && warning.find('\n') == std::string::npos, "a warning is not one line");
  }
  return 0;
}
