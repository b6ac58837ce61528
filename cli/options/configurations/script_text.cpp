#include "cli/options/configurations/script_text.hpp"

#include "cli/options/configurations/cluster_job.hpp"
#include "cli/options/configurations/makefile.hpp"
#include "cli/options/configurations/markdown_page.hpp"

namespace ddl {

std::string script_of(const std::string& text, const std::string& path) {
  if (is_markdown(path)) return script_of_page(text, path);
  if (is_makefile(path)) return script_of_makefile(text);
  return script_of_job(text, path).value_or(text);
}

}  // namespace ddl
