#include "cli/options/option_value.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/error.hpp"
#include "core/find.hpp"
#include "core/lower_case.hpp"
#include "core/source_text.hpp"
#include "core/suggest.hpp"
#include "core/words.hpp"

namespace ddl {
namespace {

/// Says which numbers an option takes, if `text` is a number beyond them; else empty.
template <class Number>
std::string range_hint(std::string_view option, std::string_view text, Number low, Number high) {
  const bool is_negative = text.starts_with('-');
  const std::string_view digits = text.substr(is_negative ? 1 : 0);
  const auto value = number_in<Number>(text);
  // A number of many digits is too large to be read.
  const bool is_whole = !digits.empty() && digits.find_first_not_of("0123456789") == std::string_view::npos;
  if (!is_whole && !value) return {};
  const bool is_low = value ? *value < low : is_negative;
  if (!is_low && value && !(*value > high)) return {};
  return is_low ? fmt::format("use {} {} or more", option, low) : fmt::format("use {} {} or less", option, high);
}

template <class Number>
Option add(const Command& command, const std::string& name, std::optional<Number>& into, Number low, Number high,
           const std::string& description, std::string_view kind, Number example) {
  // If an option has several names, messages contain the first name.
  const auto read = [name = name.substr(0, name.find(',')), &into, low, high, kind, example](const std::string& text) {
    const auto value = number_in<Number>(text);
    // This form of the condition is false for NaN, so NaN is refused.
    if (!value || !(*value >= low && *value <= high)) {
      std::string hint = number_hint(name, text);
      if (hint.empty()) hint = range_hint(name, text, low, high);
      throw Error(fmt::format("{} is {}, which is not a {} from {} to {}", name, quote(text), kind, low, high),
                  hint.empty() ? fmt::format("use digits, as in {} {}", name, std::clamp(example, low, high)) : hint);
    }
    into = Number{*value};
  };
  const Option option = command.add_option_function(name, read, description, "NUMBER");
  if (into) option.default_str(fmt::format("{}", *into));
  return option;
}

struct ChoiceHint {
  std::string_view text;   ///< a value that the user wrote
  std::string_view known;  ///< a value that identifies the options to which the hint applies
  std::string_view hint;
};
constexpr std::string_view trainers_hint = "such trainers run plans of fsdp, ddp and deepspeed: use one of these";
/// Values of frameworks and datasheets that an option does not accept, and hints about the values to use instead.
constexpr auto choice_hints = std::to_array<ChoiceHint>(
    {{"float16", "fp8", "use fp16"},
     {"half", "fp8", "use fp16 or bf16"},
     {"bfloat16", "fp8", "use bf16"},
     {"float32", "fp8", "use fp32"},
     {"float", "fp8", "use fp32"},
     {"float8", "fp8", "use fp8"},
     {"mixed", "fp8", "use bf16 or fp16: --mixed-precision full keeps the weights in fp32, as autocast does"},
     {"amp", "fp8", "use bf16 or fp16: --mixed-precision full keeps the weights in fp32, as autocast does"},
     {"fp4", "fp8", "use nvfp4 or mxfp4"},
     {"fp6", "fp8", "use mxfp6"},
     {"int4", "fp8", "training in int4 is not predicted; --lora 16 --base nf4 keeps frozen weights in 4 bits"},
     {"accelerate", "ddp", trainers_hint},
     {"huggingface", "ddp", trainers_hint},
     {"lightning", "ddp", trainers_hint},
     {"transformers", "ddp", trainers_hint},
     {"yes", "selective", "use full, or selective for attention only"},
     {"true", "selective", "use full, or selective for attention only"}});

}  // namespace

void unknown_choice(const std::string& option, const std::string& text, const std::vector<std::string_view>& known) {
  const auto found = std::ranges::find_if(
      choice_hints, [&](const ChoiceHint& each) { return each.text == text && contains(known, each.known); });
  const bool is_list = text.find(',') != std::string::npos;
  throw Error(fmt::format("{} does not support {}", option, quote(text)),
              found != choice_hints.end() ? std::string(found->hint)
              : is_list                   ? fmt::format("use one of {}", fmt::join(known, ", "))
                                          : suggest(text, known));
}

std::string number_hint(std::string_view option, std::string_view text) {
  const std::size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
  const std::string_view rest = text.substr(digits);
  if (digits == 0 || rest.empty()) return {};
  const bool is_times = rest.size() > 1 && (rest.front() == 'x' || rest.front() == '*');
  if (option == "--gpus" && is_times && std::string_view("0123456789").find(rest[1]) == std::string_view::npos)
    return fmt::format("use --gpus {} --machine {}", text.substr(0, digits), lower_case(rest.substr(1)));
  const bool is_size = std::string_view("kKmM").find(rest.front()) != std::string_view::npos;
  if ((option == "--global-batch" || option == "--batch-per-gpu") && is_size)
    return "a batch is in samples: divide its tokens by the tokens per sample (--seq)";
  return {};
}

std::vector<std::string> comma_separated(std::string_view text) {
  std::vector<std::string> words;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find(',', at), text.size());
    words.emplace_back(text.substr(at, end - at));
    at = end + 1;
  }
  return words;
}

Option add_whole_number(const Command& command, const std::string& name, std::optional<std::int64_t>& into, std::int64_t low,
                        std::int64_t high, const std::string& description) {
  return add(command, name, into, low, high, description, "whole number", std::int64_t{64});
}

Option add_tokens(const Command& command, const std::string& name, std::optional<std::int64_t>& into, std::int64_t high,
                  const std::string& description) {
  const auto read = [name = name.substr(0, name.find(',')), &into, high](const std::string& text) {
    const bool in_k = text.ends_with('k') || text.ends_with('K');
    const std::int64_t value = number_in(std::string_view(text).substr(0, text.size() - (in_k ? 1 : 0))).value_or(0);
    const std::int64_t factor = in_k ? 1024 : 1;
    if (value < 1 || value > high / factor) {
      throw Error(fmt::format("{} is {}, which is not a whole number from 1 to {}", name, quote(text), high),
                  fmt::format("use digits, as in {0} 4096, or in units of 1,024 tokens, as in {0} 4k", name));
    }
    into = value * factor;
  };
  return command.add_option_function(name, read, description, "NUMBER");
}

Option add_number(const Command& command, const std::string& name, std::optional<double>& into, double low, double high,
                  const std::string& description) {
  return add(command, name, into, low, high, description, "number", 0.5);
}

std::vector<std::int64_t> parse_number_list(const std::string& option, std::string_view text, std::int64_t low,
                                            std::int64_t high) {
  const auto refuse = [&](std::string_view part) {
    if (part.empty())
      throw Error(fmt::format("{} {} lacks a number", option, quote(text)),
                  fmt::format("use for example {0} 8,16,24 or {0} 8..64", option));
    std::string hint = number_hint(option, part);
    if (hint.empty()) hint = range_hint(option, part, low, high);
    throw Error(fmt::format("{} is {}, which is not a whole number from {} to {}", option, quote(part), low, high),
                hint.empty() ? fmt::format("use digits, as in {0} 64, {0} 8,16,24 or {0} 8..64", option) : hint);
  };
  const auto number = [&](std::string_view part) {
    const auto value = number_in(part);
    if (!value || *value < low || *value > high) refuse(part);
    return *value;
  };
  std::vector<std::int64_t> numbers;
  const auto add = [&](std::int64_t value) {
    if (contains(numbers, value)) throw Error(fmt::format("{} {} has {} twice", option, quote(text), value), "name it once");
    if (numbers.size() == most_list_values)
      throw Error(fmt::format("{} {} has more than {} numbers", option, quote(text), most_list_values), "use fewer");
    numbers.push_back(value);
  };
  for (const std::string& part : comma_separated(text)) {
    const std::size_t dots = part.find("..");
    if (dots == std::string::npos) {
      add(number(part));
      continue;
    }
    const std::int64_t first = number(std::string_view(part).substr(0, dots));
    const std::int64_t last = number(std::string_view(part).substr(dots + 2));
    if (last < first)
      throw Error(fmt::format("{} {} ends before it begins", option, quote(part)), "write the smaller number first");
    for (std::int64_t value = first; value <= last; value *= 2) {
      add(value);
      if (value > last / 2) break;
    }
  }
  return numbers;
}

Option add_number_list(const Command& command, const std::string& name, std::vector<std::int64_t>& into, std::int64_t low,
                       std::int64_t high, const std::string& description) {
  const std::string shown = name.substr(0, name.find(','));
  return command.add_option_function(
      name, [shown, &into, low, high](const std::string& text) { into = parse_number_list(shown, text, low, high); },
      description, "NUMBER[,..]");
}

}  // namespace ddl
