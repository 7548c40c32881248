#include "keys/drone/drone.h"

#include <algorithm>
#include <condition_variable>
#include <csignal>
#include <cstdint>
#include <deque>
#include <fmt/format.h>
#include <functional>
#include <memory>
#include <mutex>
#include <poll.h>
#include <string>
#include <thread>

#include "base/clock.h"
#include "client/http_connection.h"
#include "client/server_address.h"
#include "keys/drone/addresses.h"
#include "keys/drone/backend_processes.h"
#include "keys/drone/drone_core.h"
#include "keys/drone/drone_state.h"
#include "keys/drone/messages.h"
#include "supervise/signals.h"

namespace holdfast::keys::drone {

namespace {

constexpr Duration max_connect = 1s;
constexpr Duration max_answer = 3s;
/// The longest sleep. Bounded, so that the drone wakes soon after the machine was suspended.
constexpr Duration max_turn = 1s;
/// While this process is killing something.
constexpr Duration restless_turn = 20ms;
constexpr Duration look_for_connections_every = 1s;
constexpr Duration call_timeout = 5s;
constexpr std::size_t probers = 8;

/// True if the backend accepts a connection (tcp), or answers a GET with 2xx or 3xx (http). Blocks for a few seconds at
/// most.
bool answers(const std::string& host, std::uint16_t port, const Readiness& ready) {
    const auto server = client::parse_server("http://" + address_of(host, port));
    if (!server) return false;
    client::HttpConnection connection{*server};
    if (!connection.connect(max_connect)) return false;
    if (ready.how == Readiness::How::tcp) return true;
    const auto answer = connection.send({.method = "GET", .target = ready.path}, max_answer);
    return answer && answer->status >= 200 && answer->status < 400;
}

/// A thread with its own connection that makes one call at a time. Each kind of call has its own Caller, so a call that
/// hangs does not delay the other kinds.
class Caller {
 public:
    /// Receives the answer and the index of the server that gave it; called on this object's thread.
    using Done = std::function<void(const Result<client::HttpResponse>& answer, std::size_t server)>;

    /// REQUIRES: the servers were checked with parse_servers().
    explicit Caller(const std::string& servers);
    ~Caller() { stop(); }
    Caller(const Caller&) = delete;
    Caller& operator=(const Caller&) = delete;

    void call(client::HttpRequest request, Duration timeout, Done done);

    /// Aborts the call in progress and drops the queued ones.
    void stop();

 private:
    struct Call {
        client::HttpRequest request;
        Duration timeout{};
        Done done;
    };

    void run();
    std::size_t place() const;

    const std::vector<std::string> servers_;
    client::HttpConnection connection_;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<Call> calls_;
    bool stopping_ = false;
    std::thread thread_;
};

Caller::Caller(const std::string& servers)
    : servers_(client::split_servers(servers)), connection_(servers), thread_([this] { run(); }) {}

void Caller::call(client::HttpRequest request, Duration timeout, Done done) {
    const std::lock_guard lock{mutex_};
    if (stopping_) return;
    calls_.push_back({std::move(request), timeout, std::move(done)});
    changed_.notify_one();
}

void Caller::stop() {
    {
        const std::lock_guard lock{mutex_};
        stopping_ = true;
        calls_.clear();
    }
    connection_.stop();
    changed_.notify_one();
    if (thread_.joinable()) thread_.join();
}

void Caller::run() {
    std::unique_lock lock{mutex_};
    for (;;) {
        changed_.wait(lock, [this] { return stopping_ || !calls_.empty(); });
        if (stopping_) return;
        const Call call = std::move(calls_.front());
        calls_.pop_front();
        lock.unlock();
        call.done(connection_.send(call.request, call.timeout), place());
        lock.lock();
    }
}

std::size_t Caller::place() const {
    const auto found = std::find(servers_.begin(), servers_.end(), connection_.server());
    return found == servers_.end() ? 0 : static_cast<std::size_t>(found - servers_.begin());
}

class Drone {
 public:
    struct Parts {
        const DroneOptions& options;
        const DroneListener& listener;
        const DroneState& state;
        const OwnAddress& address;
        supervise::SignalInbox& signals;
    };

    explicit Drone(Parts parts)
        : parts_(parts),
          servers_(client::split_servers(parts_.options.controllers)),
          core_({.controllers = servers_.size(),
                 .self = {.drone = parts_.state.id,
                          .life = parts_.state.life,
                          .earlier_lives = parts_.state.earlier_lives,
                          .pool = parts_.options.pool,
                          .capacity = parts_.options.capacity,
                          .address = parts_.address.handed_out}},
                holder_clock_now()),
          logs_({.directory = parts_.state.logs}),
          processes_({.tasks = tasks_,
                      .logs = logs_,
                      .records = parts_.state.records,
                      .cgroup = parts_.state.cgroup,
                      .drone = parts_.state.id,
                      .host = parts_.address.bind,
                      .mask = parts_.signals.mask_before()}),
          probers_(probers),
          renewals_(parts_.options.controllers) {
        for (const std::string& server : servers_) {
            heartbeats_.push_back(std::make_unique<Caller>(server));
            orders_.push_back(std::make_unique<Caller>(server));
        }
    }

    Result<void> run() {
        for (;;) {
            hear();
            const HolderInstant now = holder_clock_now();
            for (const Effect& effect : core_.step(now))
                std::visit([this](const auto& what) { carry_out(what); }, effect);
            if (core_.finished(now)) break;
            wait();
        }
        if (core_.usurped()) return Error{Code::stale_drone, "another drone runs with the id " + parts_.state.id};
        return {};
    }

 private:
    void hear() {
        while (const auto signal = parts_.signals.take())
            if (*signal != SIGPIPE) stop(*signal);
        for (const auto& task : tasks_.take())
            task();
        const HolderInstant now = holder_clock_now();
        for (const auto& event : processes_.attend(now))
            std::visit([&](const auto& what) { on(event.backend, what, now); }, event.what);
        look_for_connections(now);
    }

    void stop(int signal) {
        const Severity how = core_.stopping() ? Severity::hard : Severity::soft;
        parts_.listener.info(fmt::format("signal {}: {} {} backend(s)", signal,
                                         how == Severity::hard ? "killing" : "stopping", core_.running()));
        core_.stop(how, holder_clock_now());
    }

    void on(const std::string& backend, const BackendProcesses::Starting& starting, HolderInstant) {
        core_.on_starting(backend, starting.port);
    }
    void on(const std::string& backend, const BackendProcesses::Running&, HolderInstant now) {
        core_.on_running(backend, now);
    }
    void on(const std::string& backend, const BackendProcesses::NotStarted& failed, HolderInstant) {
        core_.on_not_started(backend, failed.message);
    }
    void on(const std::string& backend, const Ending& ending, HolderInstant) { core_.on_ended(backend, ending); }

    void look_for_connections(HolderInstant now) {
        if (now < connections_at_) return;
        connections_at_ = now + look_for_connections_every;
        if (const auto watched = core_.watched_ports(); !watched.empty())
            core_.on_connections(busy_ports(watched), now);
    }

    void carry_out(const SendHeartbeat& what) {
        const auto done = [this, ask = what.ask](const Result<client::HttpResponse>& answer, std::size_t) {
            tasks_.put([this, ask, read = answer ? read_heartbeat(*answer) : Result<HeartbeatAnswer>(answer.error())] {
                core_.on_heartbeat(ask, read, holder_clock_now());
            });
        };
        heartbeats_[what.ask.controller]->call(heartbeat_request(what.ask.message), call_timeout, done);
    }
    void carry_out(const SendOrders& what) {
        const auto done = [this, ask = what.ask](const Result<client::HttpResponse>& answer, std::size_t) {
            tasks_.put([this, ask, read = answer ? read_orders(*answer) : Result<OrdersAnswer>(answer.error())] {
                core_.on_orders(ask, read, holder_clock_now());
            });
        };
        const Duration timeout = what.ask.message.wait + call_timeout;
        orders_[what.ask.controller]->call(orders_request(what.ask.message), timeout, done);
    }
    void carry_out(const SendRenewal& what) {
        const auto done = [this, ask = what.ask](const Result<client::HttpResponse>& answer, std::size_t server) {
            auto read = answer ? read_renewal(ask, *answer) : Result<std::vector<client::RenewReply>>(answer.error());
            tasks_.put([this, ask, renewal = RenewAnswer{server, std::move(read)}] {
                core_.on_renewal(ask, renewal, holder_clock_now());
            });
        };
        renewals_.call(renew_request(parts_.state.id, what.ask), what.ask.timeout, done);
    }
    void carry_out(const Launch& what) { processes_.launch(what); }
    void carry_out(const MoveDeadlines& what) { processes_.move_deadlines(what.backend, what.deadlines); }
    void carry_out(const StopBackend& what) { processes_.stop(what.backend, what.kill_at); }
    void carry_out(const Probe& what) {
        const auto post = [this, id = what.backend](bool answered) {
            tasks_.put([this, id, answered] { core_.on_probe(id, answered, holder_clock_now()); });
        };
        const bool begun = probers_.submit(
            [post, host = parts_.address.handed_out, what] { post(answers(host, what.port, what.ready)); });
        if (!begun) post(false);
    }
    void carry_out(const Note& what) { (what.warning ? parts_.listener.warn : parts_.listener.info)(what.text); }

    void wait() {
        const HolderInstant now = holder_clock_now();
        HolderInstant until = std::min(now + max_turn, core_.next_due());
        if (processes_.is_restless()) until = std::min(until, now + restless_turn);
        if (until <= now) return;
        std::vector<pollfd> watched{{parts_.signals.fd(), POLLIN, 0}, {tasks_.fd(), POLLIN, 0}};
        for (const int fd : processes_.fds())
            watched.push_back({fd, POLLIN, 0});
        ::poll(watched.data(), watched.size(), static_cast<int>(to_ms_up(until - now)));
    }

    const Parts parts_;
    const std::vector<std::string> servers_;
    Tasks tasks_;
    DroneCore core_;
    LogPump logs_;
    BackendProcesses processes_;
    HolderInstant connections_at_{};
    // The members below have threads that put tasks, so they are destroyed first.
    client::Workers probers_;
    Caller renewals_;
    std::vector<std::unique_ptr<Caller>> heartbeats_;
    std::vector<std::unique_ptr<Caller>> orders_;
};

}  // namespace

Result<void> run_drone(const DroneOptions& options, const DroneListener& listener) {
    const auto address = own_address(options.address, client::split_servers(options.controllers));
    if (!address) return address.error();
    supervise::SignalInbox signals{{SIGTERM, SIGINT, SIGHUP, SIGPIPE}};
    const auto state = open_drone_state(options, listener);
    if (!state) return state.error();
    Drone drone{{options, listener, **state, *address, signals}};
    listener.info(
        fmt::format("drone {} in pool {}, state in {}", (*state)->id, options.pool, (*state)->directory.path()));
    if (address->warning) listener.warn(*address->warning);
    listener.ready();
    return drone.run();
}

}  // namespace holdfast::keys::drone
