#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "base/clock.h"
#include "base/json.h"
#include "base/random.h"
#include "server/backend.h"
#include "server/boot_timer.h"
#include "server/front.h"
#include "server/logger.h"
#include "server/store_memory_file.h"
#include "statefile/state_dir.h"
#include "store/cas/engine.h"
#include "store/cas/request_number.h"
#include "store/etcd/etcd_engine.h"
#include "store/postgres/postgres_engine.h"
#include "store/redis/redis_engine.h"

namespace holdfast::server {

/// An engine that delivers its replies in turns of the server: the time is set before the first of the replies that
/// arrive together, and waiters that they unblock are granted after the last.
class EngineInTurns final : public store::cas::Engine, private store::cas::EngineListener {
 public:
    struct Parts {
        std::unique_ptr<store::cas::Engine> engine;
        std::function<void()> begin;            ///< called before the first reply of a turn
        std::function<void()> end;              ///< after the last
        std::function<void(Callback<>)> later;  ///< runs a function after the pending handlers
    };
    explicit EngineInTurns(Parts parts) : parts_(std::move(parts)) {}

    void fetch(store::cas::Kind kind, std::string_view name, Callback<Result<store::cas::Reading>> reply) override {
        parts_.engine->fetch(kind, name, in_turn(std::move(reply)));
    }
    void swap(const store::cas::Swap& swap, Callback<Result<store::cas::Swapped>> reply) override {
        parts_.engine->swap(swap, in_turn(std::move(reply)));
    }
    void overlapping(std::string_view resource, std::size_t most,
                     Callback<Result<store::cas::FoundRecords>> reply) override {
        parts_.engine->overlapping(resource, most, in_turn(std::move(reply)));
    }
    void of_holder(std::string_view holder, std::size_t most,
                   Callback<Result<store::cas::FoundRecords>> reply) override {
        parts_.engine->of_holder(holder, most, in_turn(std::move(reply)));
    }
    void scan(store::cas::Kind kind, std::string_view prefix, std::string_view after, std::size_t most,
              Callback<Result<store::cas::Page>> reply) override {
        parts_.engine->scan(kind, prefix, after, most, in_turn(std::move(reply)));
    }
    void overdue(std::size_t most, Callback<Result<std::vector<std::string>>> reply) override {
        parts_.engine->overdue(most, in_turn(std::move(reply)));
    }
    double rho() const override { return parts_.engine->rho(); }
    Duration swap_lingers() const override { return parts_.engine->swap_lingers(); }
    void start(store::cas::EngineListener& listener) override {
        listener_ = &listener;
        parts_.engine->start(*this);
    }
    void stop() override { parts_.engine->stop(); }
    std::string status() const override { return parts_.engine->status(); }

 private:
    void on_reachable(const store::cas::EngineHello& hello) override {
        begin();
        listener_->on_reachable(hello);
    }
    void on_unreachable(const Error& why) override {
        begin();
        listener_->on_unreachable(why);
    }
    void on_notice(std::string_view notice) override {
        begin();
        listener_->on_notice(notice);
    }

    template <class Answer>
    Callback<Answer> in_turn(Callback<Answer> reply) {
        return [this, reply = std::move(reply)](Answer answer) mutable {
            begin();
            reply(std::move(answer));
        };
    }

    void begin() {
        if (begun_) return;
        begun_ = true;
        parts_.begin();
        parts_.later([this] {
            begun_ = false;
            parts_.end();
        });
    }

    Parts parts_;
    store::cas::EngineListener* listener_ = nullptr;
    bool begun_ = false;
};

namespace {

namespace asio = boost::asio;

constexpr Duration pulse_every = 50ms;  // until there is a driver
constexpr Duration usual_start = 1s;    // of a reachable engine; after that, `waits` is called

using MadeEngine = Result<std::unique_ptr<store::cas::Engine>>;

template <class Options, class Make>
MadeEngine made(asio::io_context& loop, const Result<Options>& options, Make make) {
    if (!options) return options.error();
    return make(loop, *options);
}

MadeEngine make_engine(asio::io_context& loop, const std::string& url) {
    if (url.starts_with("redis://"))
        return made(loop, store::redis::parse_redis_engine(url), store::redis::make_redis_engine);
    if (url.starts_with("postgres://") || url.starts_with("postgresql://"))
        return made(loop, store::postgres::parse_postgres_engine(url), store::postgres::make_postgres_engine);
    if (url.starts_with("etcd://"))
        return made(loop, store::etcd::parse_etcd_engine(url), store::etcd::make_etcd_engine);
    return Error{Code::invalid_argument, "--store takes redis://…, postgres://… or etcd://… (docs/stores.md)"};
}

/// Removes user and password.
std::string without_credentials(std::string url) {
    const std::size_t begin = url.find("://") + 3;
    const std::size_t end = std::min(url.find_first_of("/?", begin), url.size());
    const std::size_t at = url.rfind('@', end);
    if (at != std::string::npos && at >= begin) url.erase(begin, at + 1 - begin);
    return url;
}

std::string without_parameters(const std::string& url) {
    return url.substr(0, url.find('?'));
}

/// Removes `synchronous=0|1` from the parameters of a store URL and returns its value; false if it is absent.
Result<bool> take_synchronous(std::string& url) {
    constexpr std::string_view name = "synchronous=";
    bool is_synchronous = false;
    for (std::size_t begin = url.find('?'); begin != std::string::npos && begin < url.size();) {
        const std::size_t end = std::min(url.find('&', begin + 1), url.size());
        const std::string parameter = url.substr(begin + 1, end - begin - 1);
        if (!parameter.starts_with(name)) {
            begin = end;
            continue;
        }
        const std::string value = parameter.substr(name.size());
        if (value != "0" && value != "1")
            return Error{Code::invalid_argument, "--store: synchronous takes 1 or 0, not `" + value + "`"};
        is_synchronous = value == "1";
        if (url[begin] == '?' && end < url.size()) url[end] = '?';
        url.erase(begin, end - begin);
    }
    return is_synchronous;
}

/// A directory that the operator chose must be usable. If the default one is not, the front only goes without a memory.
Result<std::unique_ptr<StoreMemoryFile>> open_memory(const std::string& chosen, const std::string& store, Logger& log) {
    const auto directory = chosen.empty() ? statefile::default_state_dir() : Result<std::string>(chosen);
    const auto path = directory ? StoreMemoryFile::path_in(*directory, store) : directory;
    const auto warn = [&log](const std::string& why) {
        log.warn(why + "; a loss in the store while this server is stopped may not be noticed");
    };
    if (!path && !chosen.empty()) return path.error();
    std::unique_ptr<StoreMemoryFile> file;
    if (path)
        file = std::make_unique<StoreMemoryFile>(*path, warn);
    else
        warn(path.error().message);
    return file;
}

/// Empty if a memory exists but cannot be read: then the store was in use before.
std::optional<store::cas::FrontMemory> read_memory(const StoreMemoryFile* file, Logger& log) {
    if (file == nullptr) return store::cas::FrontMemory{};
    auto memory = file->read();
    if (memory) return std::move(*memory);
    log.warn(memory.error().message +
             "; a loss in the store while this server was stopped may not be noticed, and --new-store has no effect");
    return std::nullopt;
}

/// Members are declared in dependency order; destruction relies on it.
class EngineBackend final : public Backend {
 public:
    struct Parts {
        std::unique_ptr<store::cas::Engine> engine;
        std::unique_ptr<StoreMemoryFile> file;  ///< null: nothing is remembered from one start to the next
        store::cas::FrontMemory remembered;
        bool synchronous = false;
        bool new_store = false;
    };
    EngineBackend(asio::io_context& loop, Parts parts, Logger& log)
        : loop_(loop),
          log_(log),
          synchronous_(parts.synchronous),
          file_(std::move(parts.file)),
          engine_({.engine = std::move(parts.engine),
                   .begin = [this] { begin_turn(); },
                   .end = [this] { end_turn(); },
                   .later = [this](Callback<> function) { asio::post(loop_, std::move(function)); }}),
          front_({.engine = engine_,
                  .seed = random_seed(),
                  .last_write = store::cas::WriteId{random_seed(), random_seed()},
                  .incarnation = random_seed,
                  .wall_ms = wall_clock_ms,
                  .clock = store_clock_now,
                  .shown_wall_ms = shown_wall_ms,
                  .log = [this](const std::string& line) { log_.info(line); },
                  .warn = [this](const std::string& line) { log_.warn(line); },
                  .synchronous = parts.synchronous,
                  .new_store = parts.new_store,
                  .remembered = parts.remembered,
                  .remember =
                      [this](const store::cas::FrontMemory& memory) {
                          if (file_) file_->write(memory);
                      }}) {}

    /// Mostly empty: open() passes the engine's state to the authority.
    authority::Authority::Parts authority_parts() override {
        return {.durable = front_.agreement(),
                .policy = {},
                .tokens_issued = 0,  // the store gives tokens
                .wall_ms = wall_clock_ms(),
                .started_at = store_clock_now(),
                .seed = random_seed(),
                .teller = authority::Events::Teller::store,
                .store_gives_tokens = true};
    }

    void prepare(Preparation preparation) override {
        preparation_ = std::move(preparation);
        patient_until_ = store_clock_now() + usual_start;
        front_.advance(store_clock_now());
        // Posted, because open() makes the front's store and must not run inside a callback of the front.
        front_.prepare([this](Result<void> outcome) {
            asio::post(loop_, [this, outcome = std::move(outcome)] { prepared(outcome); });
        });
        pulse_.set(store_clock_now() + pulse_every);
    }

    store::DrivenStore& open(authority::Authority& authority) override {
        authority_ = &authority;
        authority.advance(store_clock_now());
        authority.number_requests_from(store::cas::first_request_of(front_.number()));
        authority.take_policy(front_.agreement().policy());
        for (const store::SavedAgent& agent : front_.agreement().agents())
            authority.take_agent(agent);
        authority.recover_until(front_.recovering_until(), front_.recovering_why());
        store::cas::EngineStore& store = front_.open(authority, authority.listener());
        store.advance(store_clock_now());
        return store;
    }
    Result<std::vector<Driven>> begin() override {
        return std::vector<Driven>{
            {[this](Instant now) { front_.advance(now); }, [this] { return front_.next_due(); }}};
    }
    Result<void> start(Driver& driver, OnNode) override {
        driver_ = &driver;
        return {};
    }

    void leave() override {}
    void stop(std::function<void()> done) override {
        stop_preparing();
        front_.stop();
        asio::post(loop_, std::move(done));
    }
    Result<std::string> save() override {
        driver_ = nullptr;
        return std::string("stopped; everything is in the store");
    }
    void close() override {
        stop_preparing();
        front_.stop();
        front_.close();
    }

    std::string store_status() override {
        auto status = read_json_object(engine_.status());
        if (!status) return engine_.status();
        const store::cas::FrontMemory memory = front_.memory();
        status->set("history", JsonValue::object({{"counter", memory.place.marker.count},
                                                  {"position", memory.place.position},
                                                  {"synchronous", synchronous_},
                                                  {"remembered_in", file_ ? JsonValue(file_->path()) : nullptr}}));
        return to_text(*status);
    }
    const Error* trouble() const override {
        if (front_.trouble()) return &*front_.trouble();
        return authority_ == nullptr ? &no_answer_ : nullptr;
    }

 private:
    /// Drives the front until there is a driver.
    void pulse() {
        const Instant now = store_clock_now();
        front_.advance(now);
        if (preparation_.waits && (front_.trouble() || now >= patient_until_))
            std::exchange(preparation_.waits, nullptr)(*trouble());
        pulse_.set(now + pulse_every);
    }
    void prepared(const Result<void>& outcome) {
        const auto ready = std::exchange(preparation_, {}).ready;
        stop_preparing();
        if (ready) ready(outcome);
    }
    void stop_preparing() {
        preparation_ = {};
        pulse_.stop();
    }

    void begin_turn() {
        if (driver_ != nullptr)
            driver_->turn_begins();
        else
            front_.advance(store_clock_now());
    }
    void end_turn() {
        if (driver_ == nullptr) return;
        authority_->advance(authority_->now());
        driver_->turn_ends();
    }

    asio::io_context& loop_;
    Logger& log_;
    const bool synchronous_;
    const std::unique_ptr<StoreMemoryFile> file_;
    EngineInTurns engine_;
    Front front_;
    BootTimer pulse_{loop_, [this] { pulse(); }};
    Preparation preparation_;
    Instant patient_until_;
    const Error no_answer_{Code::store_unavailable, "the store has not answered yet"};
    authority::Authority* authority_ = nullptr;
    Driver* driver_ = nullptr;
};

}  // namespace

MadeBackend make_engine_backend(asio::io_context& loop, const ServeOptions& options, Logger& log) {
    std::string url = options.store;
    const auto synchronous = take_synchronous(url);
    if (!synchronous) return synchronous.error();
    auto engine = make_engine(loop, url);
    if (!engine) return engine.error();
    const std::string address = without_credentials(url);
    auto file = open_memory(options.state_dir, address, log);
    if (!file) return file.error();
    const auto remembered = read_memory(file->get(), log);
    log.info("holdfast " HOLDFAST_VERSION ", a front of " + without_parameters(address));
    EngineBackend::Parts parts{.engine = std::move(*engine),
                               .file = std::move(*file),
                               .remembered = remembered.value_or(store::cas::FrontMemory{}),
                               .synchronous = *synchronous,
                               .new_store = options.new_store && remembered};
    return std::unique_ptr<Backend>(std::make_unique<EngineBackend>(loop, std::move(parts), log));
}

}  // namespace holdfast::server
