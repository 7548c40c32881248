#include "server/server.h"

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <cstdio>
#include <optional>
#include <prometheus/registry.h>

#include "authority/authority.h"
#include "base/clock.h"
#include "base/random.h"
#include "base/text.h"
#include "doors/http/http_door.h"
#include "doors/resp/resp_door.h"
#include "server/driver.h"
#include "server/greeting.h"
#include "server/listen_address.h"
#include "server/log.h"
#include "server/open_files.h"
#include "server/service_manager.h"
#include "server/signals.h"
#include "store/memory/memory_store.h"
#include "store/state/durable_state.h"
#include "store/state/state_db.h"
#include "store/state/state_dir.h"

namespace holdfast {
namespace {

namespace asio = boost::asio;

constexpr std::string_view resp_off = "off";

HttpDoorOptions door_options(const ServeOptions& options) {
    HttpDoorOptions door;
    door.address = options.http;
    door.max_connections = options.max_connections;
    door.idle_timeout = options.idle_timeout;
    door.read_timeout = options.read_timeout;
    door.version = HOLDFAST_VERSION;
    return door;
}

RespDoorOptions resp_options(const ServeOptions& options) {
    RespDoorOptions door;
    door.address = options.resp;
    door.max_connections = options.max_connections;
    door.idle_timeout = options.resp_idle_timeout;
    door.version = HOLDFAST_VERSION;
    return door;
}

/// One life of a server, from the state it found to the state it leaves.
///
/// The order of the members is the order of who uses whom. Nothing runs on the loop after run() has returned.
class Life {
 public:
    Life(const ServeOptions& options, Log& log, StateDb& db, Instant now)
        : options_(options),
          log_(log),
          db_(db),
          signals_(loop_, [this] { stop(); }),
          durable_({.db = db_,
                    .post = [this](Callback<> function) { post(std::move(function)); },
                    .on_failure = [this](const Error& error) { on_write_failed(error); }}),
          authority_({.durable = durable_,
                      .policy = db_.found().policy,
                      .tokens_issued = db_.found().token_ceiling,
                      .wall_ms = wall_clock_ms(),
                      .started_at = now,
                      .recovering_until = db_.found().recovering_until,
                      .agents = db_.found().agents,
                      .seed = random_seed()}),
          store_(authority_.listener(), HashKey{random_seed(), random_seed()}),
          started_at_(now) {
        store_.advance(now);
        authority_.use(store_);
        authority_.advance(now);
    }

    /// Serves until a signal. Returns the exit code.
    int run() {
        const auto longest_ttl = db_.begin(
            [this](std::string_view resource, const core::Record& record) { store_.restore(resource, record); });
        if (!longest_ttl) return failed(longest_ttl.error());
        tell_what_was_found();
        const bool served = serve(*longest_ttl);
        const bool saved = save();
        return served && saved ? 0 : 1;
    }

 private:
    /// False if it could not.
    bool serve(Duration longest_ttl) {
        const auto keep_running = asio::make_work_guard(loop_);
        durable_.start({longest_ttl, db_.found().policy.ttl_max});
        // The first tokens are reserved before anybody can ask for one (G3).
        durable_.drain();
        loop_.poll();
        if (write_failed_) return false;
        driver_.emplace(Driver::Parts{loop_, store_, authority_, durable_});
        door_.emplace(loop_, authority_, registry_, door_options(options_), [this] { driver_->tick(); });
        const auto address = door_->listen();
        if (!address) return failed(address.error()) == 0;
        const auto resp = open_resp_door();
        if (!resp) return failed(resp.error()) == 0;
        greet(*address, *resp);
        loop_.run();
        return true;
    }

    /// Returns its address, or nothing if it is switched off.
    Result<std::string> open_resp_door() {
        if (options_.resp == resp_off) return std::string{};
        RespDoorTurn turn{[this] { driver_->turn_begins(); }, [this] { driver_->turn_ends(); }};
        resp_door_.emplace(loop_, authority_, resp_options(options_), std::move(turn));
        return resp_door_->listen();
    }

    void stop() {
        log_.info("stopping");
        tell_service_manager("STOPPING=1");
        if (!door_) return loop_.stop();
        driver_->tick();
        authority_.stop();
        const auto one_less = [this] {
            if (--doors_open_ == 0) loop_.stop();
        };
        doors_open_ = resp_door_ ? 2 : 1;
        door_->stop(one_less);
        if (resp_door_) resp_door_->stop(one_less);
    }

    /// S1: whatever is alive now is written down. Nobody can be granted or renewed anything any more.
    bool save() {
        if (driver_) driver_->stop();
        durable_.stop();
        loop_.restart();
        loop_.poll();  // answers that were on their way
        const auto saved = db_.stop_cleanly(read_boot_clock(), db_.found().recovering_until,
                                            [this](const StateDb::TakeUp& write) { store_.for_each_record(write); });
        if (!saved) return failed(saved.error()) == 0;
        log_.info("stopped; kept " + std::to_string(store_.active_leases()) + " leases for the next start");
        return true;
    }

    /// Called by the durable state, from its own thread.
    void post(Callback<> function) {
        asio::post(loop_, [this, function = std::move(function)]() mutable {
            function();
            if (driver_) driver_->tick();
        });
    }

    void tell_what_was_found() {
        const Found& found = db_.found();
        if (found.last_stop == LastStop::clean)
            log_.info("took up " + std::to_string(store_.active_leases()) + " leases from a clean stop");
        if (found.recovering_until > started_at_)
            log_.warn(
                "recovering: leases granted before an unclean stop may still be held, so nothing is granted for " +
                format_duration(found.recovering_until - started_at_));
    }

    void greet(const std::string& address, const std::string& resp) {
        const std::string text = to_string(Greeting{.version = HOLDFAST_VERSION,
                                                    .address = address,
                                                    .resp = resp,
                                                    .program = path_of_this_program(),
                                                    .hints = options_.try_hints});
        std::fputs(text.c_str(), stdout);
        std::fflush(stdout);
        log_.info("serving on http://" + address + (resp.empty() ? "" : " and redis://" + resp));
        tell_service_manager("READY=1");
    }

    /// A disk that fails is asked again with every request; the log need not say so each time.
    void on_write_failed(const Error& error) {
        write_failed_ = true;
        const Instant now = store_clock_now();
        if (now < quiet_until_) return;
        quiet_until_ = now + 10s;
        log_.error(error.message);
    }

    int failed(const Error& error) {
        log_.error(error.message);
        return 1;
    }

    const ServeOptions& options_;
    Log& log_;
    StateDb& db_;
    asio::io_context loop_{1};
    Signals signals_;
    DurableState durable_;
    core::Authority authority_;
    core::MemoryStore store_;
    prometheus::Registry registry_;
    std::optional<Driver> driver_;
    std::optional<HttpDoor> door_;
    std::optional<RespDoor> resp_door_;
    int doors_open_ = 0;
    Instant started_at_;
    Instant quiet_until_{};
    bool write_failed_ = false;
};

/// Before there is a log, and for people: without a date in front.
int refuse(const ServeOptions& options, const Error& error) {
    auto log = Log::open({.level = "error", .json = true});
    if (options.log_json && log) log->error(error.message);
    if (!options.log_json) std::fprintf(stderr, "holdfast: %s\n", error.message.c_str());
    return 1;
}

}  // namespace

int run_server(const ServeOptions& given) {
    ServeOptions options = given;
    auto log = Log::open({.level = options.log_level, .json = options.log_json});
    if (!log) return refuse(options, log.error());
    if (const auto allowed = check_listen_address(options.http, options.insecure); !allowed)
        return refuse(options, allowed.error());
    if (options.resp.empty()) options.resp = resp_address_beside(options.http);
    if (options.resp != resp_off)
        if (const auto allowed = check_listen_address(options.resp, options.insecure); !allowed)
            return refuse(options, allowed.error());
    const auto path = options.state_dir.empty() ? default_state_dir() : Result<std::string>(options.state_dir);
    if (!path) return refuse(options, path.error());
    const auto directory = StateDir::open(*path);
    if (!directory) return refuse(options, directory.error());
    const ClockReading clock = read_boot_clock();
    const auto db = StateDb::open(directory->file("state.db"), clock);
    if (!db) return refuse(options, db.error());
    const std::size_t doors = options.resp == resp_off ? 1 : 2;
    make_room_for_connections(doors * options.max_connections);
    log->info("holdfast " HOLDFAST_VERSION ", state in " + directory->path());
    Life life(options, *log, **db, clock.now);
    return life.run();
}

}  // namespace holdfast
