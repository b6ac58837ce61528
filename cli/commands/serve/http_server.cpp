#include "cli/commands/serve/http_server.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <exception>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include <arpa/inet.h>
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <event2/http.h>
#include <event2/http_struct.h>
#include <event2/keyvalq_struct.h>
#include <event2/listener.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/eventfd.h>
#include <sys/queue.h>
#include <sys/socket.h>
#include <unistd.h>

#include "cli/report/interrupt.hpp"
#include "core/error.hpp"
#include "core/find.hpp"
#include "core/source_text.hpp"

namespace ddl {
namespace {

using Clock = std::chrono::steady_clock;

template <auto free_it>
struct FreeWith {
  template <class T>
  void operator()(T* what) const {
    free_it(what);
  }
};
using Base = std::unique_ptr<event_base, FreeWith<event_base_free>>;
using Http = std::unique_ptr<evhttp, FreeWith<evhttp_free>>;
using Event = std::unique_ptr<event, FreeWith<event_free>>;
using Events = short;  // NOLINT(google-runtime-int): libevent's type of flags
using Buffer = std::unique_ptr<evbuffer, FreeWith<evbuffer_free>>;

constexpr timeval sweep_interval{0, 250'000};

/// A client's connection, with the times by which slow clients are found.
struct Connection {
  bufferevent* of = nullptr;  ///< a counted reference, so that libevent does not reuse the address
  Clock::time_point since;    ///< time of the connection's last answer, or of its start
  bool is_asking = false;     ///< whether the client waits for an answer that is being computed
};

/// A request that a thread answers, and the answer. A Job may outlive its connection, because
/// evhttp frees a request only after the request is answered.
struct Job {
  evhttp_request* from = nullptr;
  evhttp_connection* connection = nullptr;
  HttpRequest request;
  HttpAnswer answer;
  std::atomic<bool> given_up = false;  ///< whether the client has disconnected, or the server ends
  std::thread thread;
};

std::string method_of(evhttp_request* request) {
  constexpr std::array<std::pair<evhttp_cmd_type, const char*>, 9> names{{{EVHTTP_REQ_GET, "GET"},
                                                                          {EVHTTP_REQ_POST, "POST"},
                                                                          {EVHTTP_REQ_HEAD, "HEAD"},
                                                                          {EVHTTP_REQ_PUT, "PUT"},
                                                                          {EVHTTP_REQ_DELETE, "DELETE"},
                                                                          {EVHTTP_REQ_OPTIONS, "OPTIONS"},
                                                                          {EVHTTP_REQ_TRACE, "TRACE"},
                                                                          {EVHTTP_REQ_CONNECT, "CONNECT"},
                                                                          {EVHTTP_REQ_PATCH, "PATCH"}}};
  for (const auto& [type, name] : names) {
    if (evhttp_request_get_command(request) == type) return name;
  }
  return "?";
}

HttpRequest request_of(evhttp_request* from) {
  HttpRequest request;
  request.method = method_of(from);
  const char* const text = evhttp_request_get_uri(from);
  const std::string_view uri = text != nullptr ? text : "";
  const std::size_t end = std::min(uri.find('?'), uri.size());
  request.path = uri.substr(0, end);
  request.query = uri.substr(std::min(end + 1, uri.size()));
  for (const evkeyval* each = evhttp_request_get_input_headers(from)->tqh_first; each != nullptr; each = each->next.tqe_next)
    request.headers.emplace_back(each->key, each->value);
  return request;
}

/// Parses a numeric address. Empty if `host` is not a numeric address.
std::optional<std::pair<sockaddr_storage, socklen_t>> address_of(const std::string& host, int port) {
  sockaddr_storage address{};
  auto* const v4 = reinterpret_cast<sockaddr_in*>(&address);
  auto* const v6 = reinterpret_cast<sockaddr_in6*>(&address);
  const auto number = htons(static_cast<std::uint16_t>(port));
  if (inet_pton(AF_INET, host == "localhost" ? "127.0.0.1" : host.c_str(), &v4->sin_addr) == 1) {
    v4->sin_family = AF_INET;
    v4->sin_port = number;
    return std::pair{address, socklen_t{sizeof *v4}};
  }
  if (inet_pton(AF_INET6, host.c_str(), &v6->sin6_addr) != 1) return std::nullopt;
  v6->sin6_family = AF_INET6;
  v6->sin6_port = number;
  return std::pair{address, socklen_t{sizeof *v6}};
}

/// Returns a listening socket. Throws Error with the reason if that is not possible.
int listening_socket(const std::string& host, int port) {
  const auto address = address_of(host, port);
  if (!address)
    throw Error(fmt::format("--host {} is not an address", quote(host)),
                "use a numeric address: 127.0.0.1 for this machine only, 0.0.0.0 for all networks");
  int error = 0;
  const int fd = socket(address->first.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd >= 0) {
    const int yes = 1;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    if (bind(fd, reinterpret_cast<const sockaddr*>(&address->first), address->second) == 0 && listen(fd, SOMAXCONN) == 0)
      return fd;
    error = errno;
    close(fd);
  } else {
    error = errno;
  }
  const std::string where = fmt::format("cannot listen on {}, port {}: {}", host, port, std::strerror(error));
  if (error == EADDRINUSE)
    throw Error(where, fmt::format("use another port (--port {}) or a free one (--port 0)", port + 1));
  if (error == EACCES) throw Error(where, "ports below 1024 are reserved: --port 8080, or --port 0 for a free one");
  throw Error(where, "use an address of this machine: --host 127.0.0.1");
}

int port_of(int fd) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  if (getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size) != 0) return 0;
  return ntohs(address.ss_family == AF_INET ? reinterpret_cast<sockaddr_in*>(&address)->sin_port
                                            : reinterpret_cast<sockaddr_in6*>(&address)->sin6_port);
}

}  // namespace

class HttpServer::State {
 public:
  State(const std::string& host, int port, Handlers handlers, const HttpLimits& limits)
      : handlers_(std::move(handlers)), limits_(limits), base_(event_base_new()) {
    const int fd = listening_socket(host, port);
    port_ = port_of(fd);
    http_.reset(evhttp_new(base_.get()));
    listener_ = evconnlistener_new(base_.get(), nullptr, nullptr, LEV_OPT_CLOSE_ON_FREE, 0, fd);
    evhttp_bind_listener(http_.get(), listener_);
    evconnlistener_set_error_cb(listener_, [](evconnlistener* listener, void*) { evconnlistener_disable(listener); });
    evhttp_set_max_headers_size(http_.get(), static_cast<ev_ssize_t>(limits_.header_bytes));
    evhttp_set_max_body_size(http_.get(), static_cast<ev_ssize_t>(limits_.body_bytes));
    evhttp_set_timeout(http_.get(), static_cast<int>(limits_.request_seconds));
    // All methods are accepted here, because the refusal of a method lists the supported methods.
    evhttp_set_allowed_methods(http_.get(), EVHTTP_REQ_GET | EVHTTP_REQ_POST | EVHTTP_REQ_HEAD | EVHTTP_REQ_PUT |
                                                EVHTTP_REQ_DELETE | EVHTTP_REQ_OPTIONS | EVHTTP_REQ_TRACE |
                                                EVHTTP_REQ_CONNECT | EVHTTP_REQ_PATCH);
    evhttp_set_bevcb(
        http_.get(), [](event_base* /*base*/, void* self) { return static_cast<State*>(self)->begin_connection(); }, this);
    evhttp_set_gencb(
        http_.get(), [](evhttp_request* request, void* self) { static_cast<State*>(self)->take(request); }, this);
    wakeup_ = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    add(wakeup_, EV_READ | EV_PERSIST, [](evutil_socket_t, Events, void* self) { static_cast<State*>(self)->send_found(); });
    for (const int signal : {SIGINT, SIGTERM})
      add(signal, EV_SIGNAL | EV_PERSIST, [](evutil_socket_t, Events, void* self) { static_cast<State*>(self)->end(); });
    sweep_.reset(event_new(
        base_.get(), -1, EV_PERSIST, [](evutil_socket_t, Events, void* self) { static_cast<State*>(self)->sweep(); }, this));
  }

  State(const State&) = delete;
  State& operator=(const State&) = delete;

  ~State() {
    stop_jobs();
    http_.reset();  // closes the connections, and also the listener
    for (const Connection& each : connections_) bufferevent_decref(each.of);
    events_.clear();
    sweep_.reset();
    if (wakeup_ >= 0) close(wakeup_);
  }

  [[nodiscard]] int port() const { return port_; }

  void run() {
    // Writing to a disconnected client must not end the program.
    std::signal(SIGPIPE, SIG_IGN);
    event_base_dispatch(base_.get());
    events_.clear();  // restores the program's signal handling
    stop_jobs();
  }

 private:
  void add(int of, Events what, event_callback_fn call) {
    Event made(event_new(base_.get(), of, what, call, this));
    event_add(made.get(), nullptr);
    events_.push_back(std::move(made));
  }

  bufferevent* begin_connection() {
    bufferevent* const made = bufferevent_socket_new(base_.get(), -1, 0);
    if (made == nullptr) return nullptr;
    bufferevent_incref(made);
    connections_.push_back({made, Clock::now(), false});
    if (connections_.size() == 1) event_add(sweep_.get(), &sweep_interval);
    if (connections_.size() >= limits_.connections) sweep();
    return made;
  }

  Connection* connection_of(evhttp_request* request) {
    evhttp_connection* const from = evhttp_request_get_connection(request);
    const bufferevent* const of = from != nullptr ? evhttp_connection_get_bufferevent(from) : nullptr;
    return find_where(connections_, [&](const Connection& each) { return each.of == of; });
  }

  /// Forgets closed connections, and closes the connections of slow clients.
  void sweep() {
    const auto now = Clock::now();
    for (auto each = connections_.begin(); each != connections_.end();) {
      // evhttp clears the callbacks of a connection that it frees, so a connection without callbacks is closed.
      bufferevent_event_cb call = nullptr;
      void* argument = nullptr;
      bufferevent_getcb(each->of, nullptr, nullptr, &call, &argument);
      const bool is_new = now - each->since < std::chrono::milliseconds(1);
      if (call == nullptr && argument == nullptr && !is_new) {
        bufferevent_decref(each->of);
        each = connections_.erase(each);
        continue;
      }
      if (!each->is_asking && now - each->since > std::chrono::duration<double>(limits_.request_seconds)) {
        const evutil_socket_t fd = bufferevent_getfd(each->of);
        if (fd >= 0) shutdown(fd, SHUT_RDWR);
      }
      ++each;
    }
    if (connections_.size() >= limits_.connections) {
      evconnlistener_disable(listener_);
    } else {
      evconnlistener_enable(listener_);
    }
    if (connections_.empty()) event_del(sweep_.get());
  }

  void take(evhttp_request* from) {
    Connection* const connection = connection_of(from);
    if (connection != nullptr) connection->is_asking = true;
    HttpRequest request = request_of(from);
    if (const std::optional<HttpAnswer> known = handlers_.at_once(request)) return send(from, *known);
    if (jobs_.size() < limits_.pending) {
      auto job = std::make_unique<Job>();
      job->from = from;
      job->connection = evhttp_request_get_connection(from);
      job->request = std::move(request);
      if (begin(*job)) {
        evhttp_connection_set_closecb(
            job->connection, [](evhttp_connection* gone, void* self) { static_cast<State*>(self)->give_up(gone); }, this);
        jobs_.push_back(std::move(job));
        return;
      }
    }
    send(
        from,
        {503, "text/plain; charset=utf-8", "too many concurrent requests: try again in a second\n", {{"Retry-After", "1"}}});
  }

  /// Marks all requests of a disconnected client, because their answers are no longer needed.
  void give_up(evhttp_connection* gone) {
    for (const std::unique_ptr<Job>& job : jobs_) {
      if (job->connection != gone) continue;
      job->connection = nullptr;
      job->given_up = true;
    }
  }

  void send(evhttp_request* to, const HttpAnswer& answer) {
    if (Connection* const connection = connection_of(to)) {
      connection->is_asking = false;
      connection->since = Clock::now();
    }
    evkeyvalq* const headers = evhttp_request_get_output_headers(to);
    if (!answer.type.empty()) evhttp_add_header(headers, "Content-Type", answer.type.c_str());
    for (const auto& [name, value] : answer.headers) evhttp_add_header(headers, name.c_str(), value.c_str());
    const Buffer body(evbuffer_new());
    if (evhttp_request_get_command(to) == EVHTTP_REQ_HEAD) {
      evhttp_add_header(headers, "Content-Length", std::to_string(answer.body.size()).c_str());
    } else {
      evbuffer_add(body.get(), answer.body.data(), answer.body.size());
    }
    evhttp_send_reply(to, answer.status, nullptr, body.get());
  }

  /// Starts the thread of a job. Returns false if the system has no more threads.
  bool begin(Job& job) {
    // The thread blocks signals, so that the clients' thread receives the signals.
    sigset_t all{}, before{};
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    try {
      job.thread = std::thread([this, &job] { work(job); });
    } catch (const std::system_error&) {
      job.thread = std::thread();
    }
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    return job.thread.joinable();
  }

  /// Sends each answer that a thread has finished.
  void send_found() {
    std::uint64_t count = 0;
    static_cast<void>(!read(wakeup_, &count, sizeof count));
    std::vector<Job*> found;
    {
      const std::lock_guard lock(mutex_);
      found.swap(found_);
    }
    for (Job* const job : found) {
      job->thread.join();
      if (job->connection != nullptr) evhttp_connection_set_closecb(job->connection, nullptr, nullptr);
      send(job->from, job->answer);
      std::erase_if(jobs_, [job](const std::unique_ptr<Job>& each) { return each.get() == job; });
    }
  }

  void work(Job& job) {
    try {
      job.answer = handlers_.later(job.request, job.given_up);
    } catch (const std::exception& error) {
      job.answer = {500, "text/plain; charset=utf-8", std::string("error: ") + error.what() + "\n", {}};
    }
    {
      const std::lock_guard lock(mutex_);
      found_.push_back(&job);
    }
    const std::uint64_t one = 1;
    static_cast<void>(!write(wakeup_, &one, sizeof one));
  }

  void end() {
    Interrupt::ask();
    event_base_loopbreak(base_.get());
  }

  void stop_jobs() {
    for (const std::unique_ptr<Job>& job : jobs_) job->given_up = true;
    for (const std::unique_ptr<Job>& job : jobs_) job->thread.join();
    jobs_.clear();
  }

  Handlers handlers_;
  HttpLimits limits_;
  Base base_;
  Http http_;
  evconnlistener* listener_ = nullptr;  ///< the listener of evhttp
  int port_ = 0, wakeup_ = -1;
  std::vector<Event> events_;
  Event sweep_;
  std::list<Connection> connections_;
  std::vector<std::unique_ptr<Job>> jobs_;  ///< requests that are being answered; only used by the clients' thread
  std::mutex mutex_;                        ///< protects the following member
  std::vector<Job*> found_;                 ///< jobs whose answer is ready to be sent
};

HttpServer::HttpServer(const std::string& host, int port, Handlers handlers, const HttpLimits& limits)
    : state_(std::make_unique<State>(host, port, std::move(handlers), limits)) {}

HttpServer::~HttpServer() = default;

int HttpServer::port() const { return state_->port(); }

void HttpServer::run() { state_->run(); }

}  // namespace ddl
