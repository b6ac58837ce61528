#include "cli/commands/save_directory.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <span>
#include <string_view>
#include <system_error>
#include <vector>

#include <fmt/format.h>
#include <unistd.h>

#include "cli/documents/startable.hpp"
#include "cli/options/job_file.hpp"
#include "cli/report/figures.hpp"
#include "cli/tools/launcher.hpp"
#include "core/error.hpp"
#include "core/input_files.hpp"
#include "core/source_text.hpp"
#include "core/write_folder.hpp"

namespace ddl {
namespace {

namespace fs = std::filesystem;

/// The files that --save-dir writes into its folder.
constexpr std::array<std::string_view, 5> saved_names{"plan.json", "job.yaml", "candidates.csv", "report.html", "launch"};
/// Names of the files in the folder `launch`: files that the runtimes need, and files that Python adds.
constexpr std::array<std::string_view, 13> launch_names{
    "deepspeed.json", "job.sbatch", "measure.py", "megatron.sh",   "model.py",        "nemo.yaml",  "parallel.py",
    "plan.py",        "run.sh",     "train.py",   "torchtitan.sh", "torchtitan.toml", "__pycache__"};

/// Returns a word, in quotes if a shell needs them.
std::string shell_word(const std::string& text) {
  const auto plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("._-/@=+,:%").find(c) != std::string_view::npos;
  };
  if (!text.empty() && std::all_of(text.begin(), text.end(), plain)) return text;
  std::string word = "'";
  for (const char c : text) word += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return visible(word + "'");
}

/// A runtime with its launch files for the plan, or the reason why the runtime cannot launch the plan.
struct Started {
  std::string_view name;
  LaunchOutcome outcome;
};

/// Calls the named launcher and Slurm, or all launchers if no launcher is named. Adds the files of each launcher that can
/// launch the plan to `files`.
std::vector<Started> started_by(std::string_view named, const Study& study, const Estimate& estimate,
                                std::vector<FolderFile>& files) {
  std::vector<Started> all;
  std::vector<Launch> written;
  for (const Launcher& launcher : launchers()) {
    if (!named.empty() && launcher.name != named && launcher.name != submitter) continue;
    all.push_back({launcher.name, launch_outcome(launcher, study, estimate, written)});
    if (const auto* launch = std::get_if<Launch>(&all.back().outcome)) {
      files.insert(files.end(), launch->files.begin(), launch->files.end());
      written.push_back(*launch);
    }
  }
  return all;
}

/// Throws Error if the folder contains anything that --save-dir did not write.
void refuse_others(const fs::path& folder, const std::string& shown, std::span<const std::string_view> names) {
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    if (std::find(names.begin(), names.end(), name) == names.end()) {
      throw Error(
          fmt::format("--overwrite would remove {} from {}, which --save-dir did not write", quote(name), quote(shown)),
          "move it elsewhere, or name another folder");
    }
    if (entry.is_regular_file() && is_input_file(entry.path().string())) {
      throw Error(fmt::format("--save-dir {} would overwrite the input {}", quote(shown), quote(name)),
                  "name another folder");
    }
  }
}

}  // namespace

void check_save_directory(const SaveDirectory& directory) {
  const std::string& path = directory.path;
  std::error_code unknown;
  const fs::path folder = path;
  if (!fs::exists(folder, unknown)) {
    fs::path parent = folder.has_filename() ? folder.parent_path() : folder.parent_path().parent_path();
    if (parent.empty()) parent = ".";
    if (!fs::is_directory(parent, unknown)) {
      throw Error(fmt::format("--save-dir {}: there is no folder {}", quote_path(path), quote_path(parent.string())),
                  "create it first");
    }
    if (::access(parent.c_str(), W_OK) != 0) {
      throw Error(
          fmt::format("--save-dir {}: the folder {} cannot be written into", quote_path(path), quote_path(parent.string())));
    }
    return;
  }
  if (!fs::is_directory(folder, unknown)) {
    throw Error(fmt::format("--save-dir {} is not a folder", quote_path(path)), "name a new folder");
  }
  if (fs::equivalent(folder, ".", unknown)) {
    throw Error(fmt::format("--save-dir {} is the current folder", quote_path(path)), "name a new folder in it");
  }
  try {
    if (fs::is_empty(folder)) return;
    if (!directory.overwrite) {
      throw Error(fmt::format("--save-dir {} exists already and is not empty", quote_path(path)),
                  "give another name, or replace it with --overwrite");
    }
    refuse_others(folder, path, saved_names);
    if (fs::is_directory(folder / "launch")) refuse_others(folder / "launch", (folder / "launch").string(), launch_names);
  } catch (const fs::filesystem_error& problem) {
    throw Error(fmt::format("--save-dir {}: {}", quote_path(path), problem.code().message()));
  }
}

Document save_directory(const SaveDirectory& directory, const Study& study, const Estimate& estimate,
                        const SavedAnswer& answer) {
  const std::string job = print_job(job_of(study, estimate.plan, directory.path));
  static_cast<void>(parse_job(job, (fs::path(directory.path) / "job.yaml").string()));  // fails if a path is invalid UTF-8
  std::vector<FolderFile> files{
      {"plan.json", answer.plan}, {"job.yaml", job}, {"candidates.csv", answer.candidates}, {"report.html", answer.page}};
  const std::vector<Started> started = started_by(directory.launcher, study, estimate, files);
  check_save_directory(directory);  // the folder may have changed during the search
  write_folder(directory.path, files);

  const auto path_of = [&](const char* name) { return shell_word((fs::path(directory.path) / name).string()); };
  Document document;
  document.section("Saved", fmt::format(" in {}", shell_word(directory.path)));
  Table table({words("file"), words("contents")});
  // Commands are not wrapped at the page's width, so that users can copy them.
  std::vector<std::pair<std::string, std::string>> commands;
  table.add({"plan.json", "the answer"});
  commands.emplace_back("plan.json", fmt::format("ddl-oracle explain --plan {}", path_of("plan.json")));
  table.add({"job.yaml", "the top-ranked plan as a job"});
  commands.emplace_back("job.yaml", fmt::format("ddl-oracle check {}", path_of("job.yaml")));
  table.add({"candidates.csv", "all ranked plans, and impossible plans"});
  table.add({"report.html", "the answer as a page with drawings"});
  for (const Started& each : started) {
    if (const auto* launch = std::get_if<Launch>(&each.outcome)) {
      table.add({fmt::format("launch/ {}", each.name), "launch command"});
      commands.emplace_back(each.name, fmt::format("cd {} && {}", shell_word(directory.path), launch->start));
    }
  }
  document.add(std::move(table));
  document.section("Commands", " to use these files");
  std::size_t longest = 0;
  for (const auto& [name, command] : commands) longest = std::max(longest, display_width(name));
  std::string lines;
  for (const auto& [name, command] : commands)
    lines += fmt::format("  {}{}  {}\n", name, std::string(longest - display_width(name), ' '), command);
  document.add(Verbatim{lines});
  for (const Started& each : started) {
    if (const auto* launch = std::get_if<Launch>(&each.outcome)) {
      for (const std::string& note : launch->notes) document.paragraph(fmt::format("{}: {}", each.name, note));
    }
  }
  bool is_first = true;
  for (const Started& each : started) {
    const auto* cannot = std::get_if<CannotLaunch>(&each.outcome);
    if (cannot == nullptr) continue;
    if (is_first) document.section("Not written");
    is_first = false;
    document.paragraph(fmt::format("{}: {}", each.name, cannot->reason));
  }
  return document;
}

}  // namespace ddl
