#include "discovery/publisher/publisher_loop.h"

#include <atomic>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <fmt/format.h>
#include <mutex>

#include "base/clock.h"
#include "discovery/publisher/control.h"
#include "discovery/publisher/publisher_core.h"
#include "discovery/publisher/splice.h"

namespace holdfast::discovery::publisher {
namespace {

/// The longest sleep. Bounded because the loop's timers do not count suspended time.
constexpr Duration max_turn = 1s;
/// Together shorter than a ticket is valid.
constexpr Duration target_timeout = 4s;
constexpr Duration data_timeout = 5s;

std::vector<Advertisement> advertisements_of(const std::vector<Served>& services) {
    std::vector<Advertisement> what;
    for (const Served& service : services)
        what.push_back(service.what);
    return what;
}

}  // namespace

struct PublisherLoop::Impl {
    struct Shown {
        std::atomic<HolderInstant::rep> until{INT64_MIN};
        std::string name;
        bool target_away = false;
    };

    explicit Impl(Options given)
        : options(std::move(given)),
          timer(loop),
          core({options.identity, advertisements_of(options.services), random_seed(), options.relays.size()}),
          shown(options.services.size()) {
        for (std::size_t i = 0; i < shown.size(); ++i)
            shown[i].name = options.services[i].what.name;
    }

    void turn();
    void end();
    void stream_ended();
    void show();
    void carry_out(const Connect& connect);
    void carry_out(const Disconnect&);
    void carry_out(const Send& send);
    void carry_out(const Serve& serve);
    void carry_out(const PublisherEvent& event) {
        if (options.on_event) options.on_event(event);
    }
    void connected(Socket socket);
    void gone(const std::string& why);
    void join(Socket target, const Serve& serve);
    void refuse(const StreamOffer& offer, const std::string& why);
    void tell_target(const Serve& serve, const std::string& trouble);

    const Options options;
    boost::asio::io_context loop{1};
    boost::asio::steady_timer timer;
    PublisherCore core;
    std::shared_ptr<Control> control;
    std::uint64_t attempt = 0;  ///< number of the current connection; results of earlier ones are dropped
    std::atomic<std::size_t> streams = 0;
    bool ending = false;  ///< waits for the remaining streams
    std::mutex mutex;     ///< guards the names in `shown`
    std::vector<Shown> shown;
};

void PublisherLoop::Impl::turn() {
    const HolderInstant now = holder_clock_now();
    const auto effects = core.step(now);
    show();  // before the event is delivered
    for (const Effect& effect : effects)
        std::visit([this](const auto& what) { carry_out(what); }, effect);
    if (core.finished(now)) return end();
    timer.expires_after(std::clamp<Duration>(core.next_due() - now, 1ms, max_turn));
    timer.async_wait([this](boost::system::error_code error) {
        if (!error) turn();
    });
}

/// Accepts no new streams; open ones may end by themselves, without the relay connection.
void PublisherLoop::Impl::end() {
    if (streams == 0) return loop.stop();
    if (std::exchange(ending, true)) return;
    carry_out(Disconnect{});
    timer.expires_after(options.streams_grace);
    timer.async_wait([this](boost::system::error_code) { loop.stop(); });
}

void PublisherLoop::Impl::stream_ended() {
    if (--streams == 0 && ending) loop.stop();
}

void PublisherLoop::Impl::show() {
    for (std::size_t i = 0; i < shown.size(); ++i) {
        const Advert& advert = core.advert(i);
        shown[i].until = advert.held_until().time_since_epoch().count();
        if (shown[i].name == advert.name() || advert.token() == 0) continue;
        const std::lock_guard lock{mutex};
        shown[i].name = advert.name();
    }
}

void PublisherLoop::Impl::carry_out(const Connect& connect) {
    dial(loop, options.relays[connect.relay], answer_timeout, [this, number = ++attempt](Result<Socket> socket) {
        if (number != attempt) return;
        if (!socket) return gone(socket.error().message);
        connected(std::move(*socket));
    });
}

void PublisherLoop::Impl::connected(Socket socket) {
    const std::uint64_t number = attempt;
    const auto on_message = [this, number](const Message& message) {
        if (number != attempt) return;
        core.on_message(message, holder_clock_now());
        turn();
    };
    const auto on_closed = [this, number](const std::string& why) {
        if (number == attempt) gone(why);
    };
    control = std::make_shared<Control>(std::move(socket), Control::Listener{on_message, on_closed});
    control->start();
    core.on_connected(holder_clock_now());
    turn();
}

void PublisherLoop::Impl::gone(const std::string& why) {
    control.reset();
    core.on_disconnected(why, holder_clock_now());
    turn();
}

void PublisherLoop::Impl::carry_out(const Disconnect&) {
    ++attempt;
    if (control) control->close();
    control.reset();
}

void PublisherLoop::Impl::carry_out(const Send& send) {
    if (control) control->send(send.message);
}

void PublisherLoop::Impl::refuse(const StreamOffer& offer, const std::string& why) {
    if (control) control->send(StreamRefused{offer.ticket, why.substr(0, 512)});
}

/// Connects to the target first: a ticket is used only if the stream has a destination.
void PublisherLoop::Impl::carry_out(const Serve& serve) {
    if (streams >= options.max_streams) return refuse(serve.offer, "the publisher has too many streams");
    ++streams;
    dial(loop, options.services[serve.service].target, target_timeout, [this, serve](Result<Socket> target) {
        tell_target(serve, target ? std::string() : target.error().message);
        if (target) return join(std::move(*target), serve);
        stream_ended();
        refuse(serve.offer, target.error().message);
    });
}

void PublisherLoop::Impl::tell_target(const Serve& serve, const std::string& trouble) {
    bool& away = shown[serve.service].target_away;
    if (!trouble.empty() && !away)
        carry_out(
            PublisherEvent{.what = PublisherEventKind::unserved,
                           .service = serve.offer.name,
                           .code = Code::unreachable,
                           .message = fmt::format("{}: a consumer was turned away: {}", serve.offer.name, trouble)});
    away = !trouble.empty();
}

void PublisherLoop::Impl::join(Socket target, const Serve& serve) {
    const auto kept = std::make_shared<Socket>(std::move(target));
    dial_stream(loop, options.relays[serve.relay], StreamAccept{.ticket = serve.offer.ticket}, data_timeout,
                [this, kept](StreamResult data) {
                    if (auto* socket = std::get_if<Socket>(&data))
                        return splice(std::move(*socket), std::move(*kept), [this] { stream_ended(); });
                    stream_ended();
                });
}

PublisherLoop::PublisherLoop(Options options) : impl_(std::make_unique<Impl>(std::move(options))) {}
PublisherLoop::~PublisherLoop() = default;

bool PublisherLoop::run() {
    boost::asio::post(impl_->loop, [this] { impl_->turn(); });
    impl_->loop.run();
    for (Impl::Shown& shown : impl_->shown)
        shown.until = INT64_MIN;
    return !impl_->core.gave_up();
}

void PublisherLoop::stop() {
    boost::asio::post(impl_->loop, [this] {
        impl_->core.stop(holder_clock_now());
        impl_->turn();
    });
}

bool PublisherLoop::held(std::size_t service) const {
    const HolderInstant::rep until = impl_->shown[service].until;  // read before the clock: T3
    return holder_clock_now().time_since_epoch().count() < until;
}

std::string PublisherLoop::name(std::size_t service) const {
    const std::lock_guard lock{impl_->mutex};
    return impl_->shown[service].name;
}

std::size_t PublisherLoop::streams() const {
    return impl_->streams;
}

}  // namespace holdfast::discovery::publisher
