#include "cli/commands/serve/answers.hpp"

#include <array>
#include <exception>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <sys/stat.h>

#include "cli/commands/commands.hpp"
#include "cli/options/command_line.hpp"
#include "cli/report/figures.hpp"
#include "cli/report/formats/format.hpp"
#include "cli/report/formats/html.hpp"
#include "cli/report/interrupt.hpp"
#include "cli/report/progress.hpp"
#include "cli/report/shell_words.hpp"
#include "core/error.hpp"
#include "core/source_text.hpp"

namespace ddl {
namespace {

constexpr std::size_t most_kept_bytes = std::size_t{64} << 20U;
/// Lifetime of a cached answer. It is short, because the user's profiles and coefficients may change while the server runs.
constexpr std::chrono::seconds kept_for{60};

constexpr std::string_view html_type = "text/html; charset=utf-8";

/// A file format in which the page offers an answer for download.
struct ReportFile {
  std::string_view path, format, type;
};
constexpr std::array report_files{
    ReportFile{"/report.html", "html", html_type}, ReportFile{"/report.md", "markdown", "text/markdown; charset=utf-8"},
    ReportFile{"/report.json", "json", "application/json"}, ReportFile{"/report.csv", "csv", "text/csv; charset=utf-8"}};

const ReportFile* report_file_of(std::string_view path) {
  for (const ReportFile& each : report_files) {
    if (each.path == path) return &each;
  }
  return nullptr;
}

bool is_question(std::string_view path) {
  return path == "/" || path == "/answer" || path == "/progress" || path == "/compare" || report_file_of(path) != nullptr;
}

/// Returns the two questions of a comparison, as the user wrote them: without the part of a link before the query.
std::pair<std::string, std::string> compared_links(const HttpRequest& request) {
  std::pair<std::string, std::string> links;
  for (const auto& [key, value] : decoded_query(request.query)) {
    if (key != "a" && key != "b")
      throw Error(fmt::format("{} is not a parameter of a comparison", quote(key)),
                  "the parameters are a and b, the links of two answers");
    const std::size_t mark = value.find('?');
    (key == "a" ? links.first : links.second) = mark == std::string::npos ? value : value.substr(mark + 1);
  }
  return links;
}

/// Returns the figures of a report that a comparison shows: the cards of its answer, with their first and their short
/// details. Empty for reports without cards.
std::vector<std::pair<std::string, std::string>> compared_figures(const Report& report) {
  constexpr std::size_t longest = 48;
  std::vector<std::pair<std::string, std::string>> figures;
  if (!report.page) return figures;
  const Document page = report.page();
  for (const Block& block : page.blocks) {
    const auto* const chart = std::get_if<Chart>(&block);
    const auto* const cards = chart == nullptr ? nullptr : std::get_if<Cards>(&chart->drawing);
    if (cards == nullptr) continue;
    for (const Card& card : cards->cards) {
      std::string text = card.about.empty() ? card.figure : card.figure + " " + card.about;
      if (!card.badge.empty()) text += ", " + card.badge;
      // The first detail belongs to the figure, whatever its length.
      for (const std::string& each : card.details) {
        if (&each == &card.details.front() || display_width(each) <= longest) text += (text.empty() ? "" : ", ") + each;
      }
      figures.emplace_back(card.label, std::move(text));
    }
    break;
  }
  return figures;
}

/// Runs `recommend` for a question. Calls `take` with the report while the objects that the report refers to are alive.
template <class Take>
auto recommended(const PageQuestion& question, const Take& take) {
  CommandLine command_line("", "ddl-oracle");
  Request request;
  add_recommend(command_line.program(), request);
  AskedWords asked = words_of(question);
  std::vector<std::string> typed = asked.words;
  typed.insert(typed.begin(), "ddl-oracle");
  static_cast<void>(command_line.parse(std::move(asked.words)));
  Report report = request.run();
  report.command = shell_words(typed);
  report.warnings.insert(report.warnings.begin(), asked.notes.begin(), asked.notes.end());
  return take(report);
}

bool is_partial(const Report& report) { return report.status == ExitStatus::interrupted || Interrupt::asked(); }

/// The notes above an answer: its warnings, and whether the search was stopped.
std::vector<std::string> notes_of(const Report& report, double seconds) {
  std::vector<std::string> notes = report.warnings;
  for (const Error& error : report.errors) notes.emplace_back(error.what());
  if (is_partial(report)) notes.push_back(fmt::format("the search was stopped after {:g} s", seconds));
  return notes;
}

/// Runs `ask`. If `ask` throws an error, returns the result of `fail`, which reports the error.
template <class Ask, class Fail>
auto answer_or(const Ask& ask, const Fail& fail) {
  try {
    return ask();
  } catch (const Error& error) {
    return fail(error.what(), error.hint());
  } catch (const std::bad_alloc&) {
    return fail("out of memory", "the question is too large for the memory of this machine");
  } catch (const std::exception& error) {
    return fail(std::string("internal error: ") + error.what(), "please report it with the link");
  }
}

}  // namespace

Answers::Answers(OfferedFiles files, KnownHosts hosts, double seconds, std::size_t at_once)
    : files_(std::move(files)), hosts_(std::move(hosts)), seconds_(seconds), turns_(at_once) {}

std::string Answers::key_of(const PageQuestion& question) const {
  std::string key = question.query();
  for (const auto& files : {files_.models, files_.machines}) {
    for (const std::string& file : files) {
      struct stat status {};
      const bool is_there = ::stat(file.c_str(), &status) == 0;
      key += is_there ? fmt::format(" {}.{}.{}", status.st_mtim.tv_sec, status.st_mtim.tv_nsec, status.st_size) : " -";
    }
  }
  return key;
}

std::shared_ptr<const PageAnswer> Answers::kept(const std::string& key) {
  const std::lock_guard lock(mutex_);
  for (auto each = kept_.begin(); each != kept_.end(); ++each) {
    if (each->key != key) continue;
    if (Clock::now() - each->since > kept_for) {
      kept_bytes_ -= each->answer->main.size();
      kept_.erase(each);
      return nullptr;
    }
    kept_.splice(kept_.begin(), kept_, each);
    return kept_.front().answer;
  }
  return nullptr;
}

void Answers::keep(const std::string& key, std::shared_ptr<const PageAnswer> answer) {
  const std::lock_guard lock(mutex_);
  kept_bytes_ += answer->main.size();
  kept_.push_front({key, std::move(answer), Clock::now()});
  while (kept_bytes_ > most_kept_bytes || kept_.size() > 256) {
    kept_bytes_ -= kept_.back().answer->main.size();
    kept_.pop_back();
  }
}

HttpAnswer Answers::shown(const HttpRequest& request, const PageQuestion& question, const PageAnswer& answer) {
  ++answered_;
  return guarded(
      {200, std::string(html_type), request.path == "/answer" ? answer.main : page_text(question, answer, files_), {}});
}

std::optional<HttpAnswer> Answers::at_once(const HttpRequest& request) {
  if (std::optional<HttpAnswer> refusal = refusal_of(request, hosts_)) return guarded(std::move(*refusal));
  if (request.path == "/style.css")
    return guarded({200, "text/css; charset=utf-8", std::string(html_style) + std::string(page_style), {}});
  if (request.path == "/script.js")
    return guarded(
        {200, "text/javascript; charset=utf-8", fmt::format("{}{}{}", html_script, progress_script, page_script), {}});
  if (request.path == "/favicon.ico") return guarded({204, "", "", {}});
  if (!is_question(request.path))
    return guarded({404, "text/plain; charset=utf-8", "there is no such page; the only page is /\n", {}});
  if (request.path == "/compare") {
    try {
      const auto [a, b] = compared_links(request);
      if (a.empty() || b.empty()) return guarded({200, std::string(html_type), comparison_form("", a, b), {}});
      return std::nullopt;
    } catch (const Error& error) {
      const std::string problem = fmt::format("{}: {}", error.what(), error.hint());
      return guarded({200, std::string(html_type), comparison_form(problem, "", ""), {}});
    }
  }
  try {
    const PageQuestion question = question_of(request.query, files_);
    if (request.path == "/progress") return progress(question);
    if (report_file_of(request.path) != nullptr) return std::nullopt;
    const std::shared_ptr<const PageAnswer> known = kept(key_of(question));
    if (known == nullptr) return std::nullopt;
    return shown(request, question, *known);
  } catch (const Error& error) {
    if (report_file_of(request.path) != nullptr)
      return guarded(
          {422, "text/plain; charset=utf-8", fmt::format("error: {}\nhint: {}\n", error.what(), error.hint()), {}});
    const PageQuestion none = question_of("model=", files_);
    return shown(request, none, problem_of(none, error.what(), error.hint()));
  }
}

HttpAnswer Answers::progress(const PageQuestion& question) {
  const std::lock_guard lock(mutex_);
  const auto found = searching_.find(question.query());
  return guarded({200, "application/json", found == searching_.end() ? "{}" : found->second, {}});
}

HttpAnswer Answers::compared(const HttpRequest& request) const {
  const auto [a, b] = compared_links(request);
  const auto answer_to = [&](const std::string& link, std::string_view prefix) {
    ComparedAnswer answer{question_of(link, files_), {}};
    recommended(answer.question, [&](const Report& report) {
      HtmlContent content = html_first_screen(report, prefix);
      answer.answer = with_notes({std::move(content.title), std::move(content.main)}, notes_of(report, seconds_));
      answer.figures = compared_figures(report);
      return true;
    });
    return answer;
  };
  std::string which = "A";
  return answer_or(
      [&] {
        const ComparedAnswer of_a = answer_to(a, "a-");
        which = "B";
        return guarded({200, std::string(html_type), comparison_text(of_a, answer_to(b, "b-")), {}});
      },
      [&](const std::string& what, const std::string& hint) {
        const std::string problem = fmt::format("No answer for {}: {}{}{}", which, what, hint.empty() ? "" : "; ", hint);
        return guarded({200, std::string(html_type), comparison_form(problem, a, b), {}});
      });
}

HttpAnswer Answers::later(const HttpRequest& request, const std::atomic<bool>& given_up) {
  Turns::Turn turn(turns_, given_up);
  if (given_up) return guarded({503, "text/plain; charset=utf-8", "the request was abandoned\n", {}});
  const double begin = thread_seconds();
  const TimeLimit limit(seconds_, &given_up, [&] { turn.give_way(thread_seconds() - begin); });
  if (request.path == "/compare") {
    ++answered_;
    return compared(request);
  }
  const PageQuestion question = question_of(request.query, files_);
  if (const ReportFile* const file = report_file_of(request.path)) {
    return answer_or(
        [&] {
          HttpAnswer answer{200, std::string(file->type), {}, {}};
          answer.body = recommended(
              question, [&](const Report& report) { return format_named(file->format).write(report, Style(false)); });
          answer.headers.emplace_back("Content-Disposition",
                                      fmt::format("attachment; filename=\"{}\"", file->path.substr(1)));
          ++answered_;
          return guarded(std::move(answer));
        },
        [&](const std::string& what, const std::string& hint) {
          return guarded({422, "text/plain; charset=utf-8", fmt::format("error: {}\nhint: {}\n", what, hint), {}});
        });
  }
  const std::string key = key_of(question), link = question.query();
  bool whole = true;
  const ProgressListener listener([&](std::size_t done, std::size_t items, const std::string& what) {
    const nlohmann::ordered_json json{{"done", done}, {"of", items}, {"what", what}};
    const std::lock_guard lock(mutex_);
    searching_[link] = json.dump();
  });
  const auto answer = std::make_shared<const PageAnswer>(answer_or(
      [&] {
        return recommended(question, [&](const Report& report) {
          whole = !is_partial(report);
          HtmlContent content = html_content(report);
          return with_notes({std::move(content.title), std::move(content.main)}, notes_of(report, seconds_));
        });
      },
      [&](const std::string& what, const std::string& hint) { return problem_of(question, what, hint); }));
  {
    const std::lock_guard lock(mutex_);
    searching_.erase(link);
  }
  if (whole) keep(key, answer);
  return shown(request, question, *answer);
}

}  // namespace ddl
