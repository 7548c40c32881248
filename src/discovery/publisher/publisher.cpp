#include <holdfast/discovery.h>

#include <csignal>
#include <cstdlib>
#include <pthread.h>
#include <system_error>
#include <thread>

#include "base/code.h"
#include "client/forks.h"
#include "discovery/publisher/dial.h"
#include "discovery/publisher/event_thread.h"
#include "discovery/publisher/host_port.h"
#include "discovery/publisher/publisher_loop.h"

namespace holdfast {
namespace {

Failure refused(const Error& error) {
    return Failure{.outcome = Outcome::refused, .code = std::string(error.code.name()), .message = error.message};
}

std::string relay_of(const std::string& given) {
    if (!given.empty()) return given;
    const char* variable = std::getenv("HOLDFAST_RELAY_SERVER");
    return variable != nullptr && *variable != '\0' ? variable : "127.0.0.1";
}

ServiceEvent told(const discovery::publisher::PublisherEvent& event) {
    return {.event = to_string(event.what),
            .service = event.service,
            .code = std::string(event.code.name()),
            .message = event.message,
            .token = event.token,
            .retry_in = std::chrono::milliseconds{to_ms_up(event.retry_in)}};
}

/// Signals are left to the program's own threads.
class WithoutSignals {
 public:
    WithoutSignals() {
        sigset_t all;
        sigfillset(&all);
        pthread_sigmask(SIG_SETMASK, &all, &before_);
    }
    ~WithoutSignals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
    WithoutSignals(const WithoutSignals&) = delete;
    WithoutSignals& operator=(const WithoutSignals&) = delete;

 private:
    sigset_t before_{};
};

}  // namespace

struct Publisher::Core {
    Core(discovery::identity::Identity its_identity, std::vector<client::ServerAddress> relays,
         discovery::publisher::Served service, AdvertiseOptions given)
        : identity(std::move(its_identity)),
          events(std::move(given.on_event)),
          loop({.identity = identity,
                .relays = std::move(relays),
                .services = {std::move(service)},
                .max_streams = given.streams_max,
                .on_event = [this](const discovery::publisher::PublisherEvent& event) { events.put(told(event)); }}) {
        thread = std::thread([this] { loop.run(); });
    }

    void stop() {
        loop.stop();
        thread.join();
    }

    const discovery::identity::Identity identity;
    discovery::publisher::EventThread events;
    discovery::publisher::PublisherLoop loop;
    std::thread thread;
    const std::uint32_t born = client::forks();
};

Published Publisher::advertise(AdvertiseOptions options) {
    const auto relays = discovery::publisher::parse_relays(relay_of(options.relay));
    if (!relays) return refused(relays.error());
    const auto target = discovery::publisher::parse_host_port(options.target);
    if (!target) return refused(target.error());
    const discovery::publisher::Advertisement what{options.name, options.ttl, options.address, options.alpn,
                                                   options.metadata};
    if (const auto checked = check(what); !checked) return refused(checked.error());
    auto identity = discovery::identity::load_or_make_identity(
        options.identity.empty() ? discovery::identity::default_identity_file() : options.identity);
    if (!identity) return refused(identity.error());
    try {
        const WithoutSignals here;
        return Publisher{std::make_unique<Core>(std::move(identity->identity), *relays,
                                                discovery::publisher::Served{what, *target}, std::move(options))};
    } catch (const std::system_error& error) {  // no fd or thread left
        return Failure{.outcome = Outcome::unreachable, .code = "unreachable", .message = error.what()};
    }
}

Publisher::Publisher(std::unique_ptr<Core> core) : core_(std::move(core)) {}
Publisher::Publisher(Publisher&&) noexcept = default;

Publisher& Publisher::operator=(Publisher&& other) noexcept {
    if (this == &other) return *this;
    const Publisher ended{std::move(core_)};
    core_ = std::move(other.core_);
    return *this;
}

/// A forked child has no thread to end, and the advertisement belongs to the parent.
Publisher::~Publisher() {
    if (core_ && core_->born == client::forks())
        core_->stop();
    else
        (void)core_.release();
}

bool Publisher::held() const noexcept {
    return core_ && core_->born == client::forks() && core_->loop.held(0);
}

std::string Publisher::name() const {
    return core_ ? core_->loop.name(0) : std::string{};
}

const std::string& Publisher::identity() const& {
    static const std::string none;
    return core_ ? core_->identity.id() : none;
}

std::string Publisher::identity() const&& {
    return identity();
}

std::size_t Publisher::streams() const {
    return core_ ? core_->loop.streams() : 0;
}

ServiceConnection connect_service(const std::string& relay, const std::string& name, std::chrono::milliseconds timeout,
                                  const std::stop_token& stop) {
    const auto relays = discovery::publisher::parse_relays(relay_of(relay));
    if (!relays) return {.failure = refused(relays.error())};
    const auto opened = discovery::publisher::open_service(*relays, name, timeout, stop);
    if (opened) return {.fd = *opened};
    ServiceConnection none{.failure = refused(opened.error())};
    if (opened.error().code == Code::unreachable) none.failure.outcome = Outcome::unreachable;
    if (opened.error().code == Code::cancelled) none.failure.outcome = Outcome::cancelled;
    return none;
}

}  // namespace holdfast
