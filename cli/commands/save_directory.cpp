#include "cli/commands/save_directory.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
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
#include "core/gzip.hpp"
#include "core/input_files.hpp"
#include "core/source_text.hpp"
#include "core/write_folder.hpp"

namespace ddl {
namespace {

namespace fs = std::filesystem;

/// The file with the checksum of each other file that --save-dir wrote, one line each: `1c291ca3 launch/train.py`.
constexpr const char* checksums_name = ".checksums";
/// The files that Python adds to the launch files.
constexpr std::string_view python_cache = "__pycache__";

/// Returns a word, in quotes if a shell needs them.
std::string shell_word(const std::string& text) {
  const auto plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("._-/@=+,:%").find(c) != std::string_view::npos;
  };
  if (!text.empty() && std::ranges::all_of(text, plain)) return text;
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

std::string checksum_text(std::string_view content) { return fmt::format("{:08x}", checksum_of(content)); }

/// Returns the content of a file. The file does not count as an input of the command.
std::string content_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

/// Reads the checksums that --save-dir wrote, keyed by the file's name. Without the file, no checksum is known.
std::map<std::string, std::string> written_checksums(const fs::path& folder) {
  std::map<std::string, std::string> checksums;
  std::ifstream file(folder / checksums_name);
  for (std::string checksum, name; file >> checksum && std::getline(file >> std::ws, name);) checksums[name] = checksum;
  return checksums;
}

/// Throws Error if the folder contains anything that --save-dir did not write, or that has changed since then.
void refuse_others(const fs::path& folder) {
  if (!fs::is_empty(folder) && !fs::exists(folder / checksums_name)) {
    throw Error(
        fmt::format("{} has no {}, so changes of its files cannot be recognized", quote(folder.string()), checksums_name),
        "move the folder elsewhere, or name another folder");
  }
  const std::map<std::string, std::string> checksums = written_checksums(folder);
  for (fs::recursive_directory_iterator entry(folder), end; entry != end; ++entry) {
    const std::string name = entry->path().filename().string(), shown = entry->path().parent_path().string();
    const auto refuse = [&](std::string_view what) {
      throw Error(fmt::format("--overwrite would remove {}, which {}, from {}", quote(name), what, quote(shown)),
                  "move the file elsewhere, or name another folder");
    };
    const std::string inside = entry->path().lexically_relative(folder).string();
    if (entry->is_directory()) {
      if (name == python_cache) entry.disable_recursion_pending();
      if (name != python_cache && inside != "launch") refuse("--save-dir did not write");
      continue;
    }
    if (is_input_file(entry->path().string())) {
      throw Error(fmt::format("--save-dir {} would overwrite the input {}", quote(shown), quote(name)),
                  "name another folder");
    }
    const auto known = checksums.find(inside);
    if (inside == checksums_name) continue;
    if (known == checksums.end()) refuse("--save-dir did not write");
    if (checksum_text(content_of(entry->path())) != known->second) refuse("has changed since --save-dir wrote it");
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
                  "create the folder first");
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
                  "use another name, or replace it with --overwrite");
    }
    refuse_others(folder);
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
  std::string checksums;
  for (const FolderFile& file : files) checksums += fmt::format("{} {}\n", checksum_text(file.content), file.name);
  files.push_back({checksums_name, std::move(checksums)});
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
