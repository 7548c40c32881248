#include "server/server_run.h"

#include <algorithm>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/signal_set.hpp>
#include <cstdio>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <functional>
#include <memory>
#include <prometheus/registry.h>
#include <signal.h>
#include <string>
#include <sys/resource.h>
#include <unistd.h>

#include "authority/authority.h"
#include "base/clock.h"
#include "base/random.h"
#include "base/text.h"
#include "discovery/directory/directory.h"
#include "discovery/relay/relay_door.h"
#include "doors/http/http_door.h"
#include "doors/http/readiness.h"
#include "doors/resp/resp_door.h"
#include "keys/controller/controller.h"
#include "server/driver.h"
#include "server/memory_watch.h"
#include "server/service_manager.h"
#include "server/start_checks.h"

namespace holdfast::server {

namespace {

namespace asio = boost::asio;

bool is_ignored(int signal) {
    struct sigaction now {};
    return ::sigaction(signal, nullptr, &now) == 0 && now.sa_handler == SIG_IGN;
}

/// The signals that end a server: SIGTERM, SIGINT, and SIGHUP unless the program was started to ignore it (nohup).
///
/// The first one is handled on the loop. It restores the default actions, so that a second one ends the process at
/// once, even while it waits for a disk.
class Signals {
 public:
    Signals(asio::io_context& loop, std::function<void()> on_first) : set_(loop, SIGTERM, SIGINT) {
        if (!is_ignored(SIGHUP)) set_.add(SIGHUP);
        ::signal(SIGPIPE, SIG_IGN);
        set_.async_wait([this, on_first = std::move(on_first)](const boost::system::error_code& failed, int) {
            if (failed) return;
            set_.clear();
            on_first();
        });
    }

 private:
    asio::signal_set set_;
};

/// What a server prints on stdout once it serves. The first line is for programs that wait for it. The optional hints
/// are commands to paste into another terminal in the same directory.
struct Greeting {
    std::string version{};
    std::string address;    ///< as bound, HOST:PORT
    std::string resp;       ///< likewise, for the Redis protocol; empty: none
    std::string relay;      ///< likewise, for the relay; empty: none
    std::string program{};  ///< command that runs this binary
    bool hints = false;
};
std::string to_string(const Greeting& greeting) {
    const std::string url = "http://" + greeting.address;
    std::string text = "holdfast " + greeting.version + " serving on " + url + "\n";
    if (!greeting.resp.empty()) text += "holdfast speaks the Redis protocol on redis://" + greeting.resp + "\n";
    if (!greeting.relay.empty()) text += "holdfast relays to services on " + greeting.relay + "\n";
    if (!greeting.hints) return text;
    const bool found_by_default = greeting.address == "127.0.0.1:7400";
    const std::string call = (found_by_default ? "" : "HOLDFAST_SERVER=" + url + " ") + greeting.program;
    text += "\nTry, in another terminal:\n";
    text += "  " + call + " run demo -- sleep 30    # do something under a lease\n";
    text += "  " + call + " list                    # who holds what, and for how long\n";
    text += "  " + call + " watch                   # what happens, as it happens\n";
    return text;
}

/// Path of the running binary, relative if it is below the current directory.
std::string path_of_this_program() {
    namespace fs = std::filesystem;
    std::error_code failed;
    const fs::path program = fs::read_symlink("/proc/self/exe", failed);
    if (failed) return "holdfast";
    const fs::path here = fs::current_path(failed);
    if (failed) return program.string();
    const fs::path relative = program.lexically_relative(here);
    if (relative.empty() || *relative.begin() == "..") return program.string();
    return relative.has_parent_path() ? relative.string() : "./" + relative.string();
}

/// Adds the memory and the fds of this process.
void add_process_numbers(doors::http::MetricNumbers& numbers) {
    std::ifstream statm("/proc/self/statm");
    double pages = 0, resident = 0;
    if (statm >> pages >> resident)
        numbers.push_back({"holdfast_memory_resident_bytes", "Memory of this process that is in RAM",
                           resident * static_cast<double>(::sysconf(_SC_PAGESIZE))});
    std::error_code failed;
    double open = 0;
    for (auto fd = std::filesystem::directory_iterator("/proc/self/fd", failed);
         !failed && fd != std::filesystem::directory_iterator(); fd.increment(failed))
        ++open;
    if (open > 0)
        numbers.push_back({"holdfast_open_fds", "File descriptors that are open", open - 1});  // minus the iterator's
    rlimit limit{};
    if (::getrlimit(RLIMIT_NOFILE, &limit) == 0)
        numbers.push_back(
            {"holdfast_max_fds", "File descriptors that may be open", static_cast<double>(limit.rlim_cur)});
}

doors::http::HttpDoorOptions door_options(const ServeOptions& options) {
    doors::http::HttpDoorOptions door;
    door.address = options.http;
    door.max_connections = options.max_connections;
    door.idle_timeout = options.idle_timeout;
    door.read_timeout = options.read_timeout;
    door.version = HOLDFAST_VERSION;
    door.names = options.allowed_hosts;
    door.allow_spawn = options.allow_spawn;
    return door;
}

doors::resp::RespDoorOptions resp_options(const ServeOptions& options) {
    doors::resp::RespDoorOptions door;
    door.address = options.resp;
    door.max_connections = options.max_connections;
    door.idle_timeout = options.resp_idle_timeout;
    door.read_timeout = options.read_timeout;
    door.version = HOLDFAST_VERSION;
    return door;
}

/// The wall-clock time at `then`. Opening files has taken a while since.
std::int64_t wall_ms_at(Instant then) {
    return wall_clock_ms() - to_ms(store_clock_now() - then);
}

discovery::relay::RelayDoorOptions relay_options(const ServeOptions& options) {
    discovery::relay::RelayDoorOptions door;
    door.address = options.relay;
    door.told = options.relay_address;
    door.streams.per_service = options.relay_streams_per_service;
    door.streams.per_identity = options.relay_streams_per_identity;
    door.streams.rate_per_service = options.relay_rate_per_service;
    door.streams.rate_per_identity = options.relay_rate_per_identity;
    return door;
}

}  // namespace

/// Members are declared in dependency order; destruction relies on it. Nothing runs on the loop after run() has
/// returned.
struct ServerRun::Impl {
    explicit Impl(const Parts& given) : Impl(given, given.backend.authority_parts()) {}
    Impl(const Parts& given, authority::Authority::Parts first)
        : parts(given),
          signals(parts.loop, [this] { stop(); }),
          started_at(first.started_at),
          authority(std::move(first)),
          controller({authority, random_hex(16), random_seed()}),
          directory({.authority = authority,
                     .relay = random_seed(),
                     .wall_ms = wall_ms_at(started_at),
                     .started_at = started_at,
                     .seed = random_seed(),
                     .withdraw =
                         [this](const discovery::directory::Withdrawal& what) {
                             if (relay_door) relay_door->withdraw(what);
                         },
                     .may_retry =
                         [this](const discovery::directory::RetryNotice& notice) {
                             if (relay_door) relay_door->may_retry(notice);
                         },
                     .node = parts.backend.node_number()}) {}

    int run() {
        const auto keep_running = asio::make_work_guard(loop);
        parts.backend.prepare({.waits = [this](const Error& why) { wait(why); },
                               .ready = [this](const Result<void>& ready) { begin(ready); }});
        loop.run();
        if (driver) save();
        return has_failed ? 1 : 0;
    }

    /// The store is unreachable. The doors open anyway, so that monitoring sees it and requests are refused at once.
    void wait(const Error& why) {
        parts.log.warn("waiting for the store: " + why.message);
        open_doors();
    }

    void begin(const Result<void>& ready) {
        if (!ready) return fail(ready.error());
        store = &parts.backend.open(authority);
        authority.use(*store);
        authority.advance(std::max(authority.now(), started_at));
        auto begun = parts.backend.begin();
        if (!begun) return fail(begun.error());
        driver.emplace(Driver::Parts{loop, *store, authority, driven(std::move(*begun))});
        const auto on_node = [this](std::uint32_t node, bool reachable) { directory.node_is(node, reachable); };
        if (const auto began = parts.backend.start(*driver, on_node); !began) return fail(began.error());
        if (!door) return open_doors();
        parts.log.info("the store is there: serving");
    }

    void open_doors() {
        const auto http = open_http_door();
        if (!http) return fail(http.error());
        const auto resp = open_resp_door();
        if (!resp) return fail(resp.error());
        const auto relay = open_relay_door();
        if (!relay) return fail(relay.error());
        greet({.address = *http, .resp = *resp, .relay = *relay});
    }

    Result<std::string> open_http_door() {
        doors::http::HttpDoorOptions http = door_options(parts.options);
        http.max_buffer_bytes = buffers_of_a_door();
        if (!parts.backend.quorum_status().empty())
            http.quorum_status = [this] { return parts.backend.quorum_status(); };
        http.store_status = [this] { return parts.backend.store_status(); };
        http.store_trouble = [this] { return parts.backend.trouble(); };
        http.own_trouble = [this] { return parts.backend.own_trouble(); };
        http.not_yet = [this] { return not_yet(); };
        http.numbers = [this] {
            doors::http::MetricNumbers numbers;
            parts.backend.add_numbers(numbers);
            add_process_numbers(numbers);
            if (resp_door)
                numbers.push_back({"holdfast_redis_same_value_sets_total",
                                   "Locks refused to clients of Redis because the same value has the key",
                                   static_cast<double>(resp_door->same_value_sets()), true});
            add_memory_numbers(numbers);
            return numbers;
        };
        const doors::http::HttpDoorServices behind{authority, controller, directory};
        door.emplace(loop, behind, registry, std::move(http), door_turn());
        return door->listen();
    }

    const Error* not_yet() const { return driver ? nullptr : parts.backend.trouble(); }

    std::vector<Driven> driven(std::vector<Driven> all) {
        all.push_back({[this](Instant now) { controller.advance(now); }, [this] { return controller.next_due(); }});
        all.push_back({[this](Instant now) { directory.advance(now); }, [this] { return directory.next_due(); }});
        all.push_back({[this](Instant now) { memory.advance(now); }, [this] { return memory.next_due(); }});
        return all;
    }

    void add_memory_numbers(doors::http::MetricNumbers& numbers) {
        const auto number = [](auto value) { return static_cast<double>(value); };
        numbers.push_back({"holdfast_memory_max_bytes", "Memory that the server may have resident (--max-memory)",
                           number(memory.most())});
        numbers.push_back({"holdfast_memory_full", "Whether nothing new is taken in for want of memory",
                           authority.memory_full() ? 1.0 : 0.0});
        numbers.push_back({"holdfast_memory_refusals_total", "Requests that were refused for want of memory",
                           number(authority.refused_for_memory()), true});
        numbers.push_back(
            {"holdfast_memory_waiters_bytes", "About how much memory waiters take", number(authority.waiter_bytes())});
        if (const std::size_t leases = store == nullptr ? 0 : store->memory_bytes(); leases > 0)
            numbers.push_back({"holdfast_memory_leases_bytes",
                               "About how much memory leases take, with what is kept for the next ones",
                               number(leases)});
    }

    /// A small share, because leases come first, but never too small for one large response.
    std::size_t buffers_of_a_door() const {
        constexpr std::uint64_t least = 32 << 20;
        return std::max(memory.most() / 8, least);
    }

    void on_memory(bool full) {
        authority.set_memory_full(full);
        if (full)
            parts.log.error(
                fmt::format("memory_full: the server has reached --max-memory ({} MiB): renewals, releases and queries "
                            "are answered, but nothing new is granted",
                            memory.most() >> 20));
        else
            parts.log.info("there is memory for new leases again");
    }

    /// Returns its address, or an empty string if the door is disabled.
    Result<std::string> open_resp_door() {
        if (parts.options.resp == door_off) return std::string{};
        doors::resp::RespDoorOptions resp = resp_options(parts.options);
        resp.max_buffer_bytes = buffers_of_a_door();
        // A standalone server has no second node that such a client could name.
        if (parts.backend.node_number() != 0 || !parts.options.store.empty())
            resp.warn = [this](std::string_view warning) { parts.log.warn(warning); };
        resp.not_yet = [this] { return not_yet(); };
        resp_door.emplace(loop, authority, std::move(resp), door_turn());
        return resp_door->listen();
    }
    Result<std::string> open_relay_door() {
        if (parts.options.relay == door_off) return std::string{};
        discovery::relay::RelayDoorOptions relay = relay_options(parts.options);
        relay.max_buffer_bytes = buffers_of_a_door();
        relay.not_yet = [this] { return not_yet(); };
        relay_door.emplace(loop, directory, registry, std::move(relay), door_turn());
        auto bound = relay_door->listen();
        const bool everywhere = bound && (bound->starts_with("0.0.0.0:") || bound->starts_with("[::]:"));
        if (everywhere && parts.options.relay_address.empty())
            parts.log.warn(fmt::format(
                "consumers are told that the relay is at {}; pass --relay-address if they reach it at another address",
                *bound));
        return bound;
    }
    net::DoorTurn door_turn() {
        return {[this] {
                    if (driver) driver->turn_begins();
                },
                [this] {
                    if (driver) driver->turn_ends();
                }};
    }

    /// Closes the doors to clients first, then stops receiving from other nodes.
    void stop() {
        parts.log.info("stopping");
        tell_service_manager("STOPPING=1");
        if (!door) return loop.stop();
        if (driver) driver->tick();
        parts.backend.leave();
        authority.stop();
        controller.stop();
        const auto one_less = [this] {
            if (--doors_open == 0) parts.backend.stop([this] { loop.stop(); });
        };
        doors_open = 1 + (resp_door ? 1 : 0) + (relay_door ? 1 : 0);
        door->stop(one_less);
        if (resp_door) resp_door->stop(one_less);
        if (relay_door) relay_door->stop(one_less);
    }

    void save() {
        driver->stop();
        const auto saved = parts.backend.save();
        if (!saved) return fail(saved.error());
        parts.log.info(*saved);
    }

    void greet(Greeting greeting) {
        greeting.version = HOLDFAST_VERSION;
        greeting.program = path_of_this_program();
        greeting.hints = parts.options.try_hints;
        std::fputs(to_string(greeting).c_str(), stdout);
        std::fflush(stdout);
        parts.log.info((driver ? "serving on http://" : "listening on http://") + greeting.address +
                       (greeting.resp.empty() ? "" : " and redis://" + greeting.resp) +
                       (greeting.relay.empty() ? "" : ", relaying on " + greeting.relay));
        const std::string exposed =
            exposure({greeting.address, greeting.resp, greeting.relay, parts.options.allow_spawn});
        if (!exposed.empty()) parts.log.warn(exposed);
        tell_service_manager("READY=1");
    }

    /// Ends the server with exit code 1.
    void fail(const Error& error) {
        parts.log.error(error.message);
        has_failed = true;
        loop.stop();
    }

    const Parts parts;
    asio::io_context& loop = parts.loop;
    Signals signals;
    const Instant started_at;
    authority::Authority authority;
    store::DrivenStore* store = nullptr;  ///< null while the server waits for it
    struct Closing {
        Backend& backend;
        ~Closing() { backend.close(); }
    } closing{parts.backend};
    keys::controller::Controller controller;
    discovery::directory::Directory directory;
    MemoryWatch memory{{.most = parts.options.max_memory,
                        .kept = [this] { return authority.active_leases() + authority.waiters(); },
                        .on_full = [this](bool full) { on_memory(full); }}};
    prometheus::Registry registry;
    std::optional<Driver> driver;
    std::optional<doors::http::HttpDoor> door;
    std::optional<doors::resp::RespDoor> resp_door;
    std::optional<discovery::relay::RelayDoor> relay_door;
    int doors_open = 0;
    bool has_failed = false;
};

ServerRun::ServerRun(Parts parts) : impl_(std::make_unique<Impl>(parts)) {}

ServerRun::~ServerRun() = default;

int ServerRun::run() {
    return impl_->run();
}

}  // namespace holdfast::server
