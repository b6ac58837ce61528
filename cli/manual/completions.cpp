#include <array>

#include "cli/manual/manual.hpp"

namespace ddl {
namespace {

constexpr std::array<Completion, 3> all_completions{
    {{"bash", bash_completion}, {"zsh", zsh_completion}, {"fish", fish_completion}}};

}  // namespace

bool offers_files(const OptionDescription& option) {
  return option.is_file || (option.words.empty() && option.value == "TEXT");
}

std::span<const Completion> completions() { return all_completions; }

}  // namespace ddl
