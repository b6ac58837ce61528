#include <memory>

#include "cli/commands/list_command.hpp"
#include "cli/options/study_options.hpp"
#include "cli/report/fields.hpp"
#include "core/units.hpp"
#include "model_zoo/files/dataset.hpp"

namespace ddl {
namespace {

Json dataset_json(const Dataset& dataset) {
  return {{"name", dataset.name},
          {"description", dataset.description},
          {"source", dataset.source},
          {"samples", dataset.samples},
          {"sample_shape", to_string(dataset.sample)},
          {"size_on_disk_bytes", dataset.size_on_disk.value()}};
}

Report report_of(const std::vector<Dataset>& datasets) {
  Table table({words("data set"), figures("samples"), words("sample"), figures("on disk")}, 0);
  for (const Dataset& dataset : datasets)
    table.add({dataset.name, with_thousands(dataset.samples), to_string(dataset.sample), humanize(dataset.size_on_disk)});
  return list_report("datasets", std::move(table), json_list(datasets, dataset_json));
}

Report list_datasets() {
  std::vector<Dataset> datasets;
  for (const std::string& name : dataset_names()) datasets.push_back(load_dataset(name));
  return report_of(datasets);
}

Report show_dataset(const std::string& name) {
  const Dataset dataset = load_dataset(name);
  Report report = report_of({dataset});
  Document texts;
  for (const std::string& text : {dataset.description, dataset.source.empty() ? "" : "source: " + dataset.source}) {
    if (!text.empty()) texts.paragraph(text, 0, 2);
  }
  texts.section();
  texts.append(std::move(report.document));
  report.document = std::move(texts);
  report.json = [row = dataset_json(dataset)] {
    Json json{{"schema", 1}};
    json.update(row);
    return json;
  };
  return report;
}

}  // namespace

void add_datasets(const Command& program, Request& request) {
  const Command command = program.add_subcommand("datasets", "list bundled data sets, or show one");
  command.require_subcommand();
  command.examples({{"ddl-oracle datasets list", "the bundled data sets"},
                    {"ddl-oracle datasets show imagenet", "one data set, with its sources"},
                    {"ddl-oracle datasets list --format csv", "the list as CSV, for programs"}});
  add_list(command, request, "datasets", "data sets", "--dataset", list_datasets, "imagenet");
  const Command shows = command.add_subcommand("show", "one data set and the sources of its numbers");
  auto name = std::make_shared<std::string>();
  shows.add_option("dataset", *name, "bundled data set or file").required().names_or_file(dataset_names);
  shows.examples({{"ddl-oracle datasets show imagenet", "a bundled data set"},
                  {"ddl-oracle datasets show openwebtext", "a bundled data set of texts"},
                  {"ddl-oracle datasets show imagenet --format json", "a data set as JSON, for programs"}});
  add_report_options(shows, request.report);
  request.on_choice(shows, [name] {
    return show_dataset(*name).then({"ddl-oracle", "recommend", "resnet50", "--dataset", *name, "--gpus", "8"});
  });
}

}  // namespace ddl
