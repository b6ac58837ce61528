#include "cli/commands/serve/page.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "cli/commands/serve/http.hpp"
#include "cli/report/formats/html_chart.hpp"
#include "core/find.hpp"

namespace ddl {
namespace {

std::string option_text(const std::string& value, const std::string& text, bool selected) {
  return fmt::format("<option value=\"{}\"{}>{}</option>", html_text(value), selected ? " selected" : "", html_text(text));
}

/// Returns the text of the empty choice, which leaves an option at its default.
std::string_view unsaid_text(const Control& control) { return control.key == "machine" ? "dgx-a100 (default)" : "default"; }

std::string select_text(const Control& control, const std::string& value, const OfferedFiles& files) {
  std::string text = fmt::format("<select id=\"q-{0}\" name=\"{0}\">", control.key);
  text += option_text("", std::string(unsaid_text(control)), value.empty());
  std::vector<std::string> offers = offers_of(control, files);
  // A link may contain a value that the list does not offer: an alias, or several names separated by commas.
  if (!value.empty() && !contains(offers, value)) offers.insert(offers.begin(), value);
  for (const std::string& offer : offers) text += option_text(offer, offer, offer == value);
  return text + "</select>";
}

std::string input_text(const Control& control, const std::string& value, const OfferedFiles& files) {
  const bool names = control.kind == Control::Kind::name;
  std::string text = fmt::format(
      "<input id=\"q-{0}\" name=\"{0}\" value=\"{1}\" placeholder=\"{2}\" autocomplete=\"off\" spellcheck=\"false\"{3}>",
      control.key, html_text(value), html_text(control.hint),
      names                                    ? fmt::format(" list=\"offers-{}\"", control.key)
      : control.kind == Control::Kind::figures ? std::string(" inputmode=\"numeric\"")
                                               : std::string());
  if (!names) return text;
  text += fmt::format("<datalist id=\"offers-{}\">", control.key);
  for (const std::string& offer : offers_of(control, files))
    text += fmt::format("<option value=\"{}\"></option>", html_text(offer));
  return text + "</datalist>";
}

std::string control_text(const Control& control, const PageQuestion& question, const OfferedFiles& files) {
  const std::string value = question.value_of(control.key);
  return fmt::format(
      "<div class=\"control {0}\"><label for=\"q-{0}\">{1}</label>{2}</div>\n", control.key, html_text(control.label),
      control.kind == Control::Kind::choice ? select_text(control, value, files) : input_text(control, value, files));
}

std::string form_text(const PageQuestion& question, const OfferedFiles& files) {
  std::string usual, rare;
  bool has_rare = false;
  for (const Control& each : controls()) {
    (each.is_rare ? rare : usual) += control_text(each, question, files);
    has_rare = has_rare || (each.is_rare && !question.value_of(each.key).empty());
  }
  return fmt::format(
      "<form id=\"question\" action=\"/\" method=\"get\" aria-label=\"Question\">\n<div class=\"controls\">\n{}<div "
      "class=\"control\"><button type=\"submit\">Answer</button></div>\n</div>\n<details class=\"rare\"{}><summary>Goals, "
      "memory and the search</summary>\n<div class=\"controls\">\n{}</div></details>\n</form>\n",
      usual, has_rare ? " open" : "", rare);
}

std::string saves_text(const PageQuestion& question) {
  const std::string query = html_text(question.query());
  std::string text = "<nav class=\"saves\" aria-label=\"Save this answer\">Save as";
  for (const auto& [name, ending] : std::initializer_list<std::pair<const char*, const char*>>{
           {"HTML", "html"}, {"Markdown", "md"}, {"JSON", "json"}, {"CSV", "csv"}})
    text += fmt::format(" <a href=\"/report.{0}?{1}\" data-report=\"{0}\" download>{2}</a>", ending, query, name);
  return text +
         fmt::format(
             " · <a href=\"/?{0}\" id=\"link\">Link to this answer</a> · <a href=\"/compare?a={1}\" id=\"keep\">Compare "
             "with another</a></nav>\n",
             query, html_text(encoded_query_value(question.query())));
}

/// Questions that every server can answer.
std::string starting_points() {
  std::string text = "<p>Questions to start from:</p>\n<ul>\n";
  for (const auto& [query, name] : std::initializer_list<std::pair<const char*, const char*>>{
           {"model=llama3-8b&machine=dgx-h100&gpus=64", "Llama 3 8B on 64 H100"},
           {"model=llama3-70b&machine=dgx-h100&gpus=64..1024&tokens=1T&deadline=30d",
            "how many H100 train Llama 3 70B on 1T tokens in 30 days"},
           {"model=resnet50&machine=dgx-a100&gpus=16", "ResNet-50 on 16 A100"}})
    text += fmt::format("<li><a href=\"/?{}\">{}</a></li>\n", html_text(query), html_text(name));
  return text + "</ul>\n";
}

std::string frame_text(std::string_view title, std::string_view content) {
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>{}</title>\n"
      "<link rel=\"stylesheet\" href=\"/style.css\">\n</head>\n<body class=\"served\">\n"
      "<header><h1>ddl-oracle</h1></header>\n{}<script src=\"/script.js\"></script>\n</body>\n</html>\n",
      html_text(title), content);
}

/// Returns the rows of the values that the two questions set to different values.
std::string differences_text(const PageQuestion& a, const PageQuestion& b) {
  std::string rows;
  for (const Control& each : controls()) {
    const std::string of_a = a.value_of(each.key), of_b = b.value_of(each.key);
    if (of_a == of_b) continue;
    rows += fmt::format("<tr><th scope=\"row\">{}</th><td>{}</td><td>{}</td></tr>\n", html_text(each.label),
                        of_a.empty() ? "default" : html_text(of_a), of_b.empty() ? "default" : html_text(of_b));
  }
  return rows;
}

}  // namespace

PageAnswer problem_of(const PageQuestion& question, std::string_view what, std::string_view hint) {
  PageAnswer answer{std::string(what),
                    "<div role=\"alert\">\n<p class=\"answer\"><b>No answer:</b> " + html_text(what) + "</p>\n"};
  if (!hint.empty()) answer.main += "<p>" + html_text(hint) + "</p>\n";
  if (const auto proposals = mended(question, what, hint); !proposals.empty()) {
    answer.main += "<p>Ask with";
    for (const auto& [proposal, asked] : proposals)
      answer.main +=
          fmt::format(" <a class=\"proposal\" href=\"/?{}\">{}</a>", html_text(asked.query()), html_text(proposal));
    answer.main += "</p>\n";
  }
  answer.main += "</div>\n" + starting_points();
  return answer;
}

PageAnswer with_notes(PageAnswer answer, const std::vector<std::string>& notes) {
  if (notes.empty()) return answer;
  std::string list = "<ul class=\"notes\" aria-label=\"Warnings\">\n";
  for (const std::string& note : notes) list += "<li>" + html_text(note) + "</li>\n";
  answer.main = list + "</ul>\n" + answer.main;
  return answer;
}

std::string page_text(const PageQuestion& question, const PageAnswer& answer, const OfferedFiles& files) {
  return frame_text(answer.title,
                    fmt::format("{}<div class=\"below\"><p id=\"told\" class=\"note\" role=\"status\"></p>{}</div>\n"
                                "<main id=\"answer\">\n{}</main>\n",
                                form_text(question, files), saves_text(question), answer.main));
}

std::string comparison_text(const ComparedAnswer& a, const ComparedAnswer& b) {
  std::string rows = differences_text(a.question, b.question);
  for (const auto& [name, of_a] : a.figures) {
    const auto of_b = std::ranges::find_if(b.figures, [own = name](const auto& each) { return each.first == own; });
    if (of_b == b.figures.end()) continue;
    rows += fmt::format("<tr><th scope=\"row\">{}</th><td>{}</td><td>{}</td></tr>\n", html_text(name), html_text(of_a),
                        html_text(of_b->second));
  }
  std::string columns;
  for (const auto& [name, each] : {std::pair("A", &a), std::pair("B", &b)}) {
    columns += fmt::format(
        "<section class=\"half\" aria-label=\"Answer {0}\">\n<p class=\"half-name\"><b>{0}</b> <a href=\"/?{1}\">whole "
        "answer</a></p>\n{2}</section>\n",
        name, html_text(each->question.query()), each->answer.main);
  }
  return frame_text(
      "A and B compared",
      fmt::format("<main>\n<h2>Two answers compared</h2>\n<div class=\"scroll\" tabindex=\"0\" role=\"region\" "
                  "aria-label=\"Differences\"><table class=\"compared\">\n<thead><tr><th scope=\"col\"></th><th "
                  "scope=\"col\">A</th><th scope=\"col\">B</th></tr></thead>\n<tbody>\n{}</tbody></table></div>\n<div "
                  "class=\"halves\">\n{}</div>\n</main>\n",
                  rows, columns));
}

std::string comparison_form(std::string_view problem, std::string_view a, std::string_view b) {
  std::string text = "<main>\n<h2>Compare two answers</h2>\n";
  if (!problem.empty()) text += "<p role=\"alert\">" + html_text(problem) + "</p>\n";
  text += "<form id=\"comparison\" action=\"/compare\" method=\"get\" aria-label=\"Comparison\">\n";
  for (const auto& [key, name, value] :
       {std::tuple("a", "Link to the first answer", a), {"b", "Link to the second answer", b}}) {
    text += fmt::format(
        "<div class=\"control\"><label for=\"q-{0}\">{1}</label><input id=\"q-{0}\" name=\"{0}\" value=\"{2}\" "
        "placeholder=\"model=llama3-8b&amp;machine=dgx-h100&amp;gpus=64\" autocomplete=\"off\" "
        "spellcheck=\"false\"></div>\n",
        key, name, html_text(value));
  }
  return frame_text(
      "Compare two answers",
      text +
          "<div class=\"control\"><button type=\"submit\">Compare</button></div>\n</form>\n"
          "<p class=\"note\">A link is the address of an answer, or the part of the address after the question "
          "mark.</p>\n</main>\n");
}

}  // namespace ddl
