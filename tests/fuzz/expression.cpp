// Fuzzes an expression of a model file.

#include "model_zoo/values/expression.hpp"

#include "tests/fuzz/fuzzer.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text = ddl::text_of(data, size);
  ddl::Parameters outer;
  outer.set("width", ddl::value_of(std::int64_t{64}));
  outer.set("name", ddl::value_of("basic"));
  ddl::Parameters parameters(&outer);
  parameters.set("stride", ddl::value_of("2"));
  parameters.set("bias", ddl::value_of("yes"));

  const bool possible = ddl::succeeds([&] { ddl::check_expression(text, parameters); });
  const bool has_value = ddl::succeeds([&] { static_cast<void>(ddl::evaluate(text, parameters, 256)); });
  const bool is_condition = ddl::succeeds([&] { static_cast<void>(ddl::evaluate_condition(text, parameters, 256)); });
  ddl::succeeds([&] { static_cast<void>(ddl::evaluate(text, parameters, std::nullopt)); });
  ddl::require(possible || !has_value, "an expression that can never be has a value");
  ddl::require(has_value || !is_condition, "a condition without a value");
  return 0;
}
