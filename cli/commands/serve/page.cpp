#include "cli/commands/serve/page.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "cli/report/formats/html_chart.hpp"

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
  if (!value.empty() && std::find(offers.begin(), offers.end(), value) == offers.end()) offers.insert(offers.begin(), value);
  for (const std::string& offer : offers) text += option_text(offer, offer, offer == value);
  return text + "</select>";
}

std::string input_text(const Control& control, const std::string& value, const OfferedFiles& files) {
  const bool names = control.kind == Control::Kind::name;
  std::string text = fmt::format(
      "<input id=\"q-{0}\" name=\"{0}\" value=\"{1}\" placeholder=\"{2}\" autocomplete=\"off\" spellcheck=\"false\"{3}>",
      control.key, html_text(value), html_text(control.hint),
      names ? fmt::format(" list=\"offers-{}\"", control.key) : std::string(" inputmode=\"numeric\""));
  if (!names) return text;
  text += fmt::format("<datalist id=\"offers-{}\">", control.key);
  for (const std::string& offer : offers_of(control, files))
    text += fmt::format("<option value=\"{}\"></option>", html_text(offer));
  return text + "</datalist>";
}

std::string form_text(const PageQuestion& question, const OfferedFiles& files) {
  std::string text =
      "<form id=\"question\" action=\"/\" method=\"get\" aria-label=\"Question\">\n<div class=\"controls\">\n";
  for (const Control& each : controls()) {
    const std::string value = question.value_of(each.key);
    text += fmt::format(
        "<div class=\"control {0}\"><label for=\"q-{0}\">{1}</label>{2}</div>\n", each.key, html_text(each.label),
        each.kind == Control::Kind::choice ? select_text(each, value, files) : input_text(each, value, files));
  }
  return text + "<div class=\"control\"><button type=\"submit\">Answer</button></div>\n</div>\n</form>\n";
}

std::string saves_text(const PageQuestion& question) {
  std::string text = "<nav class=\"saves\" aria-label=\"Save this answer\">Save as";
  for (const auto& [name, ending] : std::initializer_list<std::pair<const char*, const char*>>{
           {"HTML", "html"}, {"Markdown", "md"}, {"JSON", "json"}, {"CSV", "csv"}})
    text += fmt::format(" <a href=\"/report.{0}?{1}\" data-report=\"{0}\" download>{2}</a>", ending,
                        html_text(question.query()), name);
  return text + "</nav>\n";
}

}  // namespace

PageAnswer problem_of(std::string_view what, std::string_view hint) {
  PageAnswer answer{std::string(what),
                    "<div role=\"alert\">\n<p class=\"answer\"><b>No answer:</b> " + html_text(what) + "</p>\n"};
  if (!hint.empty()) answer.main += "<p>" + html_text(hint) + "</p>\n";
  answer.main += "</div>\n";
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
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>{}</title>\n"
      "<link rel=\"stylesheet\" href=\"/style.css\">\n</head>\n<body class=\"served\">\n"
      "<header><h1>ddl-oracle</h1></header>\n{}<div class=\"below\"><p id=\"told\" class=\"note\" "
      "role=\"status\"></p>{}</div>\n"
      "<main id=\"answer\">\n{}</main>\n<script src=\"/script.js\"></script>\n</body>\n</html>\n",
      html_text(answer.title), form_text(question, files), saves_text(question), answer.main);
}

}  // namespace ddl
