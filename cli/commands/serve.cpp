#include <algorithm>
#include <array>
#include <iostream>
#include <memory>
#include <string>
#include <thread>

#include <fmt/format.h>
#include <unistd.h>

#include "calibration/inputs/machine_reader.hpp"
#include "cli/commands/commands.hpp"
#include "cli/commands/serve/answers.hpp"
#include "cli/commands/serve/guard.hpp"
#include "cli/commands/serve/http_server.hpp"
#include "cli/options/option_value.hpp"
#include "cli/report/figures.hpp"
#include "cli/report/interrupt.hpp"
#include "core/error.hpp"
#include "model_zoo/files/load_model.hpp"

namespace ddl {
namespace {

struct ServeOptions {
  std::string host = "127.0.0.1";
  std::optional<std::int64_t> port = 8080;
  std::optional<double> time_limit = 10;
  OfferedFiles files;
};

std::string machine_name() {
  std::array<char, 256> name{};
  return gethostname(name.data(), name.size() - 1) == 0 ? std::string(name.data()) : std::string();
}

Report serve(const ServeOptions& options) {
  // Files are loaded once before the server starts, so that an unreadable file is reported at the start.
  for (const std::string& file : options.files.models) static_cast<void>(load_model(file));
  for (const std::string& file : options.files.machines) static_cast<void>(load_machine(file));
  const std::size_t at_once = std::clamp<std::size_t>(std::thread::hardware_concurrency(), 2, 8);
  Answers answers(options.files, known_hosts(options.host, machine_name()), *options.time_limit, at_once);
  const Interrupt interrupt;
  HttpServer server(
      options.host, static_cast<int>(*options.port),
      {[&](const HttpRequest& request) { return answers.at_once(request); },
       [&](const HttpRequest& request, const std::atomic<bool>& given_up) { return answers.later(request, given_up); }});
  const bool is_ipv6 = options.host.find(':') != std::string::npos;
  std::cout << fmt::format("http://{}:{}/\n", is_ipv6 ? "[" + options.host + "]" : options.host, server.port())
            << std::flush;
  if (!std::cout) throw Error("cannot write to the standard output");
  if (isatty(STDERR_FILENO) == 1) std::cerr << "open this address in a browser; Ctrl-C ends the server\n";
  server.run();
  Report report;
  report.document.line(
      fmt::format("interrupted after {}", count_text(static_cast<std::int64_t>(answers.answered()), "answer")));
  report.status = ExitStatus::interrupted;
  return report;
}

}  // namespace

void add_serve(const Command& program, Request& request) {
  const Command command = program.add_subcommand("serve", "answer in a browser: a page with controls, on this machine");
  const auto options = std::make_shared<ServeOptions>();
  command.examples({{"ddl-oracle serve", "the page on http://127.0.0.1:8080/, for this machine only"},
                    {"ddl-oracle serve --port 0 --model ./net.yaml", "on a free port, with a model of your own"},
                    {"ddl-oracle serve --host 0.0.0.0", "reachable from other machines"}});
  command.add_option("--host", options->host, "address to listen on; other machines can connect unless it is 127.0.0.1")
      .capture_default_str();
  add_whole_number(command, "--port", options->port, 0, 65535, "port to listen on; 0 selects a free port");
  command.add_repeated("--model", options->files.models, "a model file that the page may use; repeatable").file();
  command.add_repeated("--machine", options->files.machines, "a machine file that the page may use; repeatable").file();
  add_number(command, "--time-limit", options->time_limit, 0.1, 600,
             "time limit of a search in seconds; after that, the best plan so far is shown");
  request.on_choice(command, [options] { return serve(*options); });
}

}  // namespace ddl
