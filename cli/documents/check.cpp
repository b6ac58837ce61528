#include "cli/documents/check.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "cli/documents/charts.hpp"
#include "cli/documents/check_against.hpp"
#include "cli/documents/check_cards.hpp"
#include "cli/documents/estimate.hpp"
#include "cli/documents/memory.hpp"
#include "cli/documents/memory_figures.hpp"
#include "cli/documents/out_of_core.hpp"
#include "cli/documents/ranking.hpp"
#include "cli/documents/throughput.hpp"
#include "cli/options/plan_file.hpp"
#include "cli/report/fields.hpp"
#include "cli/report/figures.hpp"
#include "core/enum_array.hpp"
#include "core/source_text.hpp"
#include "core/units.hpp"
#include "estimator/choices/plan_choice.hpp"

namespace ddl {
namespace {

/// Returns the memory that a job needs: `needs 12.3 GiB, at most 14.0 GiB, of 79.3 GiB`.
std::string need_text(const JobCheck& check) {
  const MemoryBreakdown& memory = check.checked.estimate.memory;
  const Plan& plan = check.checked.estimate.plan;
  std::string text = fmt::format("needs {}, at most {}, of {}", humanize(memory.total()), humanize(memory.upper_bound()),
                                 humanize(check.device_memory));
  if (check.margin > Bytes{}) text += fmt::format(" less {}", humanize(check.margin));
  if (plan.mesh[Axis::pipeline] > 1)
    text += fmt::format(", on stage {} of {}", check.checked.estimate.critical.memory + 1, plan.mesh[Axis::pipeline]);
  if (memory.total() > check.available()) text += fmt::format(": {} too much", humanize(memory.total() - check.available()));
  return text;
}

/// Returns the largest memory item of a job: `23.7 GiB for activations`.
std::string largest_item_text(const JobCheck& check) {
  const MemoryBreakdown& memory = check.checked.estimate.memory;
  return fmt::format("{} for {}", humanize(memory.of(memory.largest())), to_string(memory.largest()));
}

FittingSize fitting_batch(const JobCheck& check) {
  const Plan& plan = check.checked.estimate.plan;
  const LargestBatch& largest = check.largest;
  const Device& device = check.study->machine().device;
  FittingSize size{"largest batch"};
  const auto each = [&](std::int64_t batch) {
    return fmt::format(" ({:.6g} per {})", static_cast<double>(batch) / static_cast<double>(plan.mesh.devices()),
                       device_noun(device));
  };
  size.figure = "none";
  size.rest = ": one sample per replica and micro-batch does not fit";
  if (!largest.at_risk) return size;
  size.figure = with_thousands(largest.fits ? *largest.fits : *largest.at_risk);
  size.rest = each(largest.fits ? *largest.fits : *largest.at_risk);
  if (!largest.fits) {
    size.rest += ", at risk";
    return size;
  }
  // The number of micro-batches is shown, because the largest batch may grow with the number of micro-batches.
  if (plan.micro_batches > 1) size.rest += fmt::format(" in {} micro-batches", with_thousands(plan.micro_batches));
  if (*largest.at_risk > *largest.fits)
    size.rest += fmt::format("; at risk up to {}{}", with_thousands(*largest.at_risk), each(*largest.at_risk));
  return size;
}

/// Returns the longest sequences that fit; nothing for a model without a sequence length.
std::optional<FittingSize> fitting_sequence(const JobCheck& check) {
  if (!check.longest) return std::nullopt;
  const std::string batch = fmt::format(", with global batch {}", with_thousands(check.checked.estimate.plan.global_batch));
  const LongestSequence& longest = *check.longest;
  FittingSize size{"longest sequence", "none fits", batch};
  if (longest.at_risk == 0) return size;
  size.figure = with_thousands(longest.fits == 0 ? longest.at_risk : longest.fits);
  size.rest = " tokens";
  if (longest.fits == 0) {
    size.rest += ", at risk";
  } else if (longest.at_risk > longest.fits) {
    size.rest += fmt::format(", at risk up to {}", with_thousands(longest.at_risk));
  }
  size.rest += batch;
  return size;
}

FittingSize fitting_gpus(const JobCheck& check) {
  const Plan& plan = check.checked.estimate.plan;
  const std::string batch = check.batch_per_gpu ? fmt::format("{} samples each", plan.global_batch / plan.mesh.devices())
                                                : fmt::format("global batch {}", with_thousands(plan.global_batch));
  FittingSize size{fmt::format("fewest {}s", device_noun(check.study->machine().device))};
  if (!check.fewest) {
    const Family family = plan.mesh.family() == 0 ? family_bit(Axis::data) : plan.mesh.family();
    size.figure = "none";
    size.rest = fmt::format(": {} does not fit on up to {}, with {}", family_name(family),
                            count_text(check.study->machine().devices(), device_noun(check.study->machine().device)), batch);
    return size;
  }
  const Plan& fewest = check.fewest->estimate.plan;
  const std::string degrees = fewest.mesh.devices() == 1 ? std::string() : fmt::format(" ({})", degrees_word(fewest.mesh));
  size.figure = with_thousands(fewest.mesh.devices());
  size.rest = fmt::format("{}, with {}{}", degrees, batch, check.fewest->verdict == Verdict::fits ? "" : ", at risk");
  return size;
}

/// Returns the degrees in the syntax of --degrees: `data=8,tensor=4`.
std::string degrees_option(const Mesh& mesh) {
  std::string text = degrees_text(mesh);
  std::ranges::replace(text, ' ', ',');
  return text;
}

/// Returns a changed choice in the given syntax: `micro_batches: 4`, or `--micro-batches 4`.
std::string remedy_text(const Plan& from, const Remedy& remedy, WordsOfChange words_of = WordsOfChange::job_file) {
  const Plan& plan = remedy.checked.estimate.plan;
  const bool options = words_of == WordsOfChange::options;
  std::string text;
  const auto add = [&](const std::string& part) { text += (text.empty() ? "" : options ? " " : ", ") + part; };
  const auto add_choice = [&](std::string_view name, const auto& value) {
    add(options ? fmt::format("--{} {}", name, value) : fmt::format("{}: {}", name, value));
  };
  if (degrees_text(plan.mesh) != degrees_text(from.mesh))
    add(options ? "--degrees " + degrees_option(plan.mesh) : degrees_text(plan.mesh));
  if (plan.micro_batches != from.micro_batches) add_choice(options ? "micro-batches" : "micro_batches", plan.micro_batches);
  for (const PlanChoiceRow& row : plan_choices()) {
    const int value = row.get(plan);
    if (row.matters(plan.mesh) && value != row.get(from)) add_choice(row.option, row.name(value));
  }
  // A remedy may change only the placement, while the degrees stay equal.
  Plan usual = plan;
  usual.placement = degrees_text(plan.mesh) == degrees_text(from.mesh) ? from.placement : Plan{}.placement;
  if (placement_text(plan) != placement_text(usual))
    add_choice("placement", options ? placement_text(plan) : "[" + placement_text(plan) + "]");
  return text;
}

/// Returns the time of a step, and the throughput.
std::string step_text(const JobCheck& check) {
  const Job& job = check.study->job();
  const Estimate& estimate = check.checked.estimate;
  const auto throughput = throughput_of(job, sample_flops(job), estimate);
  return fmt::format("step: {}{}", humanize(estimate.time.step_time()),
                     throughput ? ", " + throughput_in_short(*throughput) : "");
}

Table remedies_table(const Study& study, const MemoryCheck& checked_plan, const std::vector<Remedy>& remedies,
                     WordsOfChange words_of) {
  const SampleFlops flops = sample_flops(study.job());
  Table table({essential(prose("change")), essential(figures("memory")), essential(figures("at most")), figures("step"),
               figures("MFU"), essential(words("verdict"))});
  const auto add = [&](const std::string& change, const MemoryCheck& checked) {
    const Estimate& estimate = checked.estimate;
    table.add({change, humanize(estimate.memory.total()), humanize(estimate.memory.upper_bound()),
               humanize(estimate.time.step_time()), mfu_text(throughput_of(study.job(), flops, estimate)),
               std::string(to_string(checked.verdict))});
  };
  add("none", checked_plan);
  for (const Remedy& remedy : remedies) add(remedy_text(checked_plan.estimate.plan, remedy, words_of), remedy.checked);
  return table;
}

void add_check(Document& document, const JobCheck& check, bool drawn = false) {
  const Study& study = *check.study;
  const MemoryBreakdown& memory = check.checked.estimate.memory;
  const Plan& plan = check.checked.estimate.plan;
  const std::string words = plan_words(plan);
  document.line(std::string(to_string(check.checked.verdict)),
                fmt::format(" {}: {}", visible(check.file), need_text(check)));
  document.paragraph(fmt::format("{} on {} of {}, global batch {}, {} with {}; {}{}", study.model().name,
                                 count_text(plan.mesh.devices(), device_noun(study.machine().device)), study.machine().name,
                                 with_thousands(plan.global_batch), to_string(plan.precision), to_string(plan.optimizer),
                                 plan_word(plan), words.empty() ? "" : ": " + words),
                     2, 2);
  std::vector<FittingSize> sizes{fitting_batch(check)};
  if (std::optional<FittingSize> longest = fitting_sequence(check)) sizes.push_back(*std::move(longest));
  sizes.push_back(fitting_gpus(check));
  if (drawn) document.add(Chart{"", "", check_cards(check, sizes)});
  Table items = items_table(memory);
  const auto of_available = [&](Bytes bytes) { return share_text(bytes / check.available()) + " of available"; };
  items.add({"all", humanize(memory.total()), "", of_available(memory.total())});
  items.add({std::string(held_name), humanize(memory.held()), "", of_available(memory.held())});
  items.add({"at most", humanize(memory.upper_bound()), "", of_available(memory.upper_bound())});
  items.legend = assumed_text(memory);
  document.apart(std::move(items));
  if (!study.machine().device.is_processor)
    add_shown_figures(document, {shown_figures(memory, study.machine().device.memory)});
  if (drawn) document.add(memory_bar(memory, check.available()));
  document.section();
  if (!drawn) {
    document.line(step_text(check), 2);
    for (const FittingSize& each : sizes) document.line(fmt::format("{}: {}", each.label, each.text()), 2);
  }
  if (check.stopped) document.line("not all sizes and changes were tried: --time-limit gives the search more time", 2);
  if (drawn) document.add(time_bars({check.checked.estimate}));
  if (check.checked.verdict == Verdict::fits) return;
  if (check.remedies.empty() && !check.out_of_core) {
    if (check.stopped) return;
    document.section();
    document.line(fmt::format("No other plan fits this batch on {}.",
                              count_text(plan.mesh.devices(), device_noun(study.machine().device))),
                  2);
    return;
  }
  add_changes(document, study, check.checked, check.remedies, check.out_of_core, WordsOfChange::job_file);
}

Json memory_check_to_json(const MemoryCheck& checked, const Study& study) {
  Json json;
  json["verdict"] = to_string(checked.verdict);
  json["gpus"] = checked.estimate.plan.mesh.devices();
  json["plan"] = estimate_to_json(checked.estimate, 0, study);
  return json;
}

std::string_view name_of(const Remedy& remedy) {
  switch (remedy.kind) {
    case Remedy::Kind::micro_batches:
      return "micro_batches";
    case Remedy::Kind::choice:
      return remedy.choice ? row_of(*remedy.choice).option : "choice";
    case Remedy::Kind::together:
      return "together";
    case Remedy::Kind::strategy:
      return "strategy";
  }
  return "";
}

Json items_to_json(const MemoryBreakdown& memory) {
  return json_list(enum_values<MemoryItem>, [&](MemoryItem item) -> Json {
    return {{"item", to_string(item)}, {"bytes", memory.of(item).value()}, {"is", to_string(origin_of(memory, item))}};
  });
}

Json check_to_json(const JobCheck& check) {
  Json json;
  json["file"] = check.file;
  json["verdict"] = nullptr;
  json["exit"] = static_cast<int>(check.status());
  if (check.problem) {
    json["problem"] = {{"message", check.problem->message},
                       {"hint", check.problem->hint},
                       {"line", check.problem->line},
                       {"column", check.problem->column}};
    return json;
  }
  const Study& study = *check.study;
  json["problem"] = nullptr;
  json.update(memory_check_to_json(check.checked, study));
  json["stage"] = check.checked.estimate.critical.memory + 1;
  json["items"] = items_to_json(check.checked.estimate.memory);
  json["memory_by_stage"] = figures_to_json(figures_by_stage(Estimator(study.job()), check.checked.estimate.plan));
  json["device_memory_bytes"] = check.device_memory.value();
  json["margin_bytes"] = check.margin.value();
  json["available_bytes"] = check.available().value();
  json["largest_batch"] = {{"fits", or_null(check.largest.fits)}, {"at_risk", or_null(check.largest.at_risk)}};
  json["longest_sequence"] =
      check.longest ? Json{{"fits", check.longest->fits}, {"at_risk", check.longest->at_risk}} : Json(nullptr);
  json["batch_kept"] = check.batch_per_gpu ? "per_gpu" : "global";
  json["fewest_gpus"] = check.fewest ? memory_check_to_json(*check.fewest, study) : Json(nullptr);
  json["changes"] = json_list(check.remedies, [&](const Remedy& remedy) {
    Json change{{"kind", name_of(remedy)}, {"change", remedy_text(check.checked.estimate.plan, remedy)}};
    change.update(memory_check_to_json(remedy.checked, study));
    return change;
  });
  json["out_of_core"] =
      check.out_of_core ? out_of_core_to_json(*check.out_of_core, check.checked.estimate, study) : Json(nullptr);
  json["interrupted"] = check.stopped;
  json["inputs"] = inputs_to_json(study);
  return json;
}

/// Returns a table of the memory of all jobs, with one row per job.
Table jobs_table(const std::vector<JobCheck>& checks) {
  Table table({essential(words("job")), essential(words("verdict")), essential(figures("needs")),
               essential(figures("at most")), figures("of"), words("most of it"), figures("step"), figures("largest batch"),
               figures("fewest devices")});
  for (const JobCheck& check : checks) {
    if (check.problem) {
      table.add({check.file, "not checked", "", "", "", "", "", "", ""});
      continue;
    }
    const Estimate& estimate = check.checked.estimate;
    const MemoryBreakdown& memory = estimate.memory;
    const Seconds step = estimate.time.step_time();
    const auto& fits = check.largest.fits;
    table.add({check.file, std::string(to_string(check.checked.verdict)), humanize(memory.total()),
               humanize(memory.upper_bound()), humanize(check.available()), std::string(to_string(memory.largest())),
               step > Seconds{} ? humanize(step) : "-", fits ? with_thousands(*fits) : "none",
               check.fewest ? with_thousands(check.fewest->estimate.plan.mesh.devices()) : "none"});
  }
  return table;
}

FileVerdict verdict_of(const JobCheck& check) {
  using Level = FileVerdict::Level;
  FileVerdict verdict{.file = check.file, .line = check.line, .column = check.column};
  if (const auto& problem = check.problem) {
    verdict.line = problem->line;
    verdict.column = problem->column;
    verdict.level = Level::not_judged;
    verdict.title = "not checked";
    verdict.summary = problem->message.substr(0, problem->message.find('\n'));
    verdict.message = problem->message + (problem->hint.empty() ? "" : "\nhint: " + problem->hint);
    return verdict;
  }
  const Verdict fits = check.checked.verdict;
  verdict.level = fits == Verdict::fits ? Level::passed : fits == Verdict::at_risk ? Level::at_risk : Level::failed;
  verdict.title = to_string(fits);
  verdict.summary = need_text(check);
  verdict.is_allowed = verdict.level == Level::at_risk && check.allows_risk;
  if (check.grew_too_much()) {
    verdict.level = Level::failed;
    verdict.is_allowed = false;
    if (fits != Verdict::does_not_fit) verdict.title = "GREW-TOO-MUCH";
    verdict.summary = fmt::format("{}; {}", growth_text(check), verdict.summary);
  }
  verdict.message =
      fmt::format("{}; {}\nlargest batch: {}\nfewest {}s: {}", verdict.summary, largest_item_text(check),
                  fitting_batch(check).text(), device_noun(check.study->machine().device), fitting_gpus(check).text());
  for (const Remedy& remedy : check.remedies)
    verdict.message +=
        fmt::format("\n{}: {}", to_string(remedy.checked.verdict), remedy_text(check.checked.estimate.plan, remedy));
  add_check(verdict.document, check);
  if (check.growth) add_against(verdict.document, check, *check.growth->earlier);
  return verdict;
}

}  // namespace

void add_changes(Document& document, const Study& study, const MemoryCheck& checked, const std::vector<Remedy>& remedies,
                 const std::optional<OutOfCore>& out_of_core, WordsOfChange words_of) {
  document.section("Changes that fit", ", fastest first; those at risk come last");
  if (!remedies.empty()) document.add(remedies_table(study, checked, remedies, words_of));
  if (out_of_core) document.paragraph(out_of_core_in_short(*out_of_core, checked.estimate), 2, 2);
}

std::optional<WhatFits> what_fits(const Estimator& estimator, const Estimate& estimate, const Study& study) {
  std::optional<MemoryCheck> checked = check_memory(estimator, estimate.plan);
  if (!checked || checked->verdict != Verdict::does_not_fit) return std::nullopt;
  WhatFits changes{*std::move(checked), {}, {}};
  changes.remedies = remedies(estimator, changes.checked, study.software().admits);
  changes.out_of_core = fitting_out_of_core(estimator, changes.checked);
  if (changes.remedies.empty() && !changes.out_of_core) return std::nullopt;
  return changes;
}

void add_what_fits(Document& document, const WhatFits& changes, const Study& study) {
  add_changes(document, study, changes.checked, changes.remedies, changes.out_of_core, WordsOfChange::options);
}

std::optional<Card> fitting_card(const std::optional<WhatFits>& changes) {
  if (!changes) return std::nullopt;
  const auto fits = [](const Remedy& each) { return each.checked.verdict == Verdict::fits; };
  const auto first = std::ranges::find_if(changes->remedies, fits);
  if (first == changes->remedies.end()) return std::nullopt;
  const Estimate& estimate = first->checked.estimate;
  Card card{"Would fit", plan_word(estimate.plan)};
  card.details.push_back(
      fmt::format("{} per step, {}", humanize(estimate.time.step_time()), humanize(estimate.memory.total())));
  return card;
}

ExitStatus JobCheck::status() const {
  if (problem) return ExitStatus::could_not_answer;
  if (checked.verdict == Verdict::does_not_fit) return ExitStatus::nothing_fits;
  if (grew_too_much()) return ExitStatus::beyond_tolerance;
  return checked.verdict == Verdict::at_risk && !allows_risk ? ExitStatus::at_risk : ExitStatus::ok;
}

bool JobCheck::grew_too_much() const {
  return growth && growth->most && !problem && increase_against(*this, *growth->earlier) > *growth->most;
}

ExitStatus worst_status(const std::vector<JobCheck>& checks) {
  for (const ExitStatus status : {ExitStatus::could_not_answer, ExitStatus::nothing_fits, ExitStatus::at_risk}) {
    if (std::ranges::any_of(checks, [&](const JobCheck& each) { return each.status() == status; })) return status;
  }
  return ExitStatus::ok;
}

Document checks_document(const std::vector<JobCheck>& checks, bool drawn) {
  Document document;
  EnumArray<Verdict, std::int64_t> counts{};
  for (const JobCheck& check : checks) {
    if (check.problem) continue;
    ++counts[check.checked.verdict];
    document.section(drawn && checks.size() > 1 ? check.file : std::string());
    add_check(document, check, drawn);
    if (check.growth) add_against(document, check, *check.growth->earlier);
    if (drawn)
      add_plan_figures(document, Estimator(check.study->job()), check.checked.estimate.plan, *check.study,
                       {.memory_items = false});
  }
  if (checks.size() == 1) return document;
  std::string summary;
  const auto add = [&](std::int64_t count, std::string_view what) {
    if (count > 0) summary += fmt::format("{}{} {}", summary.empty() ? "" : ", ", count, what);
  };
  for (const Verdict verdict : {Verdict::does_not_fit, Verdict::at_risk, Verdict::fits})
    add(counts[verdict], to_string(verdict));
  add(std::ranges::count_if(checks, [](const JobCheck& each) { return each.problem.has_value(); }), "not checked");
  document.section("All jobs");
  document.line(fmt::format("{}: {}", count_text(static_cast<std::int64_t>(checks.size()), "job"), summary));
  document.add(jobs_table(checks));
  return document;
}

std::vector<FileVerdict> verdicts_of(const std::vector<JobCheck>& checks) {
  std::vector<FileVerdict> verdicts;
  for (const JobCheck& check : checks) verdicts.push_back(verdict_of(check));
  return verdicts;
}

Json checks_rows(const std::vector<JobCheck>& checks) {
  return json_list(checks, [&](const JobCheck& check) {
    const bool judged = !check.problem;
    const auto if_judged = [&](const auto& value) { return judged ? Json(value()) : Json(nullptr); };
    const Estimate& estimate = check.checked.estimate;
    const MemoryBreakdown& memory = estimate.memory;
    Json row;
    row["file"] = check.file;
    row["verdict"] = if_judged([&] { return std::string(to_string(check.checked.verdict)); });
    row["model"] = if_judged([&] { return check.study->model().name; });
    row["machine"] = if_judged([&] { return check.study->machine().name; });
    row["strategy"] = if_judged([&] { return family_name(estimate.plan.mesh.family()); });
    row["gpus"] = if_judged([&] { return estimate.plan.mesh.devices(); });
    row["global_batch"] = if_judged([&] { return estimate.plan.global_batch; });
    for (const MemoryItem item : enum_values<MemoryItem>)
      row[fmt::format("{}_bytes", to_string(item))] = if_judged([&] { return memory.of(item).value(); });
    row["total_bytes"] = if_judged([&] { return memory.total().value(); });
    row["upper_bound_bytes"] = if_judged([&] { return memory.upper_bound().value(); });
    row["available_bytes"] = if_judged([&] { return check.available().value(); });
    row["iteration_s"] = if_judged([&] { return estimate.time.step_time().value(); });
    row["largest_batch"] = judged ? or_null(check.largest.fits) : Json(nullptr);
    row["fewest_gpus"] = judged && check.fewest ? Json(check.fewest->estimate.plan.mesh.devices()) : Json(nullptr);
    if (checks.front().growth) {
      const auto increase = [&] { return increase_against(check, *check.growth->earlier).value(); };
      row["increase_bytes"] = if_judged(increase);
      row["grew_too_much"] = if_judged([&] { return check.grew_too_much(); });
    }
    row["problem"] = judged ? Json(nullptr) : Json(check.problem->message);
    return row;
  });
}

Json checks_to_json(const std::vector<JobCheck>& checks) {
  Json json = json_head();
  json["exit"] = static_cast<int>(worst_status(checks));
  json["jobs"] = json_list(checks, check_to_json);
  if (!checks.empty() && checks.front().growth) {
    json["against"] = json_list(checks, [](const JobCheck& each) -> Json {
      return each.problem ? Json(nullptr) : against_to_json(each, *each.growth->earlier);
    });
  }
  return json;
}

}  // namespace ddl
