#include "discovery/relay/stream_pump.h"

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <thread>
#include <unistd.h>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/assert.h"

namespace holdfast::discovery::relay {

/// A lock-free queue from many threads to one, which takes all items in order. Neither side ever waits for the other.
template <class T>
class Handover {
 public:
    Handover() = default;
    Handover(const Handover&) = delete;
    Handover& operator=(const Handover&) = delete;
    ~Handover() { take_all(); }

    /// Returns true if the queue was empty: the consumer must be woken.
    bool push(T thing) {
        Node* before = first_.load(std::memory_order_relaxed);
        auto* node = new Node{std::move(thing), before};
        // Once pushed, the node belongs to the consumer, which may delete it; only `before` is used here afterwards.
        while (!first_.compare_exchange_weak(before, node, std::memory_order_release, std::memory_order_relaxed))
            node->next = before;
        return before == nullptr;
    }

    std::vector<T> take_all() {
        std::vector<T> all;
        for (Node* node = first_.exchange(nullptr, std::memory_order_acquire); node != nullptr;) {
            all.push_back(std::move(node->thing));
            delete std::exchange(node, node->next);
        }
        return {std::make_move_iterator(all.rbegin()), std::make_move_iterator(all.rend())};
    }

 private:
    struct Node {
        T thing;
        Node* next;
    };
    std::atomic<Node*> first_ = nullptr;
};

namespace {

using Clock = std::chrono::steady_clock;

constexpr int max_events = 512;
constexpr std::size_t buffer_bytes = StreamPump::max_stream_bytes / 2;
constexpr std::size_t bytes_per_turn = 2 * buffer_bytes;  // per stream and direction, before others have their turn
constexpr std::uint64_t publisher_bit = 1;                // in an event's data, beside the stream's address

}  // namespace

struct StreamPump::Impl {
    explicit Impl(OnEnded on_ended_given) : on_ended(std::move(on_ended_given)), buffer(buffer_bytes, '\0') {}
    ~Impl();

    void run();
    void turn();
    int timeout_ms() const;
    void wait_for_events();
    void take_over();
    void admit(JoinedSockets joined);
    void activate(Stream& stream);
    void move_active();
    void refill(Stream& stream);
    void pause(Stream& stream);
    void unpause(Stream& stream);
    void resume_paused();
    void end(Stream& stream);
    void cut();
    void wake();

    OnEnded on_ended;
    int epoll = -1;
    int wake_up = -1;
    std::atomic<bool> stopping = false, cutting = false;
    Handover<JoinedSockets> joins;
    std::thread thread;

    // Used by the thread only from here on.
    std::string buffer;
    std::unordered_map<std::uint64_t, std::unique_ptr<Stream>> streams;
    std::vector<Stream*> active, moving;
    std::vector<std::shared_ptr<TrafficShare>> thirsty;
    std::vector<std::uint64_t> ended;
    Clock::time_point now, resume_at = Clock::time_point::max();
};

StreamPump::Impl::~Impl() {
    for (const int descriptor : {epoll, wake_up})
        if (descriptor >= 0) ::close(descriptor);
}

// ---- the loop ----

void StreamPump::Impl::run() {
    ::pthread_setname_np(::pthread_self(), "relay-pump");
    while (!stopping.load())
        turn();
    take_over();
    cut();
}

void StreamPump::Impl::turn() {
    wait_for_events();
    now = Clock::now();
    take_over();
    resume_paused();
    move_active();
    if (cutting.exchange(false)) cut();
    if (!ended.empty()) on_ended(std::exchange(ended, {}));
}

int StreamPump::Impl::timeout_ms() const {
    if (!active.empty()) return 0;
    if (resume_at == Clock::time_point::max()) return -1;
    return static_cast<int>(std::clamp<std::int64_t>(to_ms_up(resume_at - Clock::now()), 0, 1000));
}

void StreamPump::Impl::wait_for_events() {
    std::array<epoll_event, max_events> events;
    const int count = ::epoll_wait(epoll, events.data(), max_events, timeout_ms());
    for (int i = 0; i < count; ++i) {
        const epoll_event& event = events[static_cast<std::size_t>(i)];
        if (event.data.u64 == 0) {
            std::uint64_t times = 0;
            [[maybe_unused]] const auto read = ::read(wake_up, &times, sizeof times);
            continue;
        }
        auto& stream = *reinterpret_cast<Stream*>(event.data.u64 & ~publisher_bit);
        stream.note((event.data.u64 & publisher_bit) != 0 ? Stream::Which::publisher : Stream::Which::consumer,
                    {.readable = (event.events & EPOLLIN) != 0,
                     .writable = (event.events & EPOLLOUT) != 0,
                     .hung_up = (event.events & (EPOLLRDHUP | EPOLLHUP)) != 0,
                     .failed = (event.events & EPOLLERR) != 0});
        activate(stream);
    }
}

void StreamPump::Impl::take_over() {
    for (JoinedSockets& joined : joins.take_all())
        admit(std::move(joined));
}

void StreamPump::Impl::admit(JoinedSockets joined) {
    auto made = std::make_unique<Stream>(std::move(joined));
    Stream& stream = *made;
    HOLDFAST_ASSERT(streams.emplace(stream.id(), std::move(made)).second);
    const auto data = static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(&stream));
    // Edge-triggered, for both directions at once: a stream's interest changes with every few bytes, and updating it
    // each time would cost more than copying them.
    epoll_event event{.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET, .data = {.u64 = data}};
    bool watched = ::epoll_ctl(epoll, EPOLL_CTL_ADD, stream.socket(Stream::Which::consumer), &event) == 0;
    event.data.u64 = data | publisher_bit;
    watched = watched && ::epoll_ctl(epoll, EPOLL_CTL_ADD, stream.socket(Stream::Which::publisher), &event) == 0;
    if (watched) return activate(stream);
    stream.reset_both();
    end(stream);
}

void StreamPump::Impl::activate(Stream& stream) {
    if (std::exchange(stream.is_active, true)) return;
    active.push_back(&stream);
}

void StreamPump::Impl::move_active() {
    std::swap(active, moving);
    for (Stream* stream : moving) {
        stream->is_active = false;
        refill(*stream);
        switch (stream->move(buffer, bytes_per_turn)) {
            case Stream::Outcome::waits:
                break;
            case Stream::Outcome::more:
                activate(*stream);
                break;
            case Stream::Outcome::paused:
                pause(*stream);
                break;
            case Stream::Outcome::broken:
                stream->reset_both();
                [[fallthrough]];
            case Stream::Outcome::ended:
                end(*stream);
                break;
        }
    }
    moving.clear();
}

// ---- rates ----

void StreamPump::Impl::refill(Stream& stream) {
    for (const auto& share : stream.shares())
        share->bucket.refill(now);
}

void StreamPump::Impl::pause(Stream& stream) {
    if (stream.paused_in != nullptr) return;
    TrafficShare& share = *stream.thirsty();
    stream.paused_in = &share;
    stream.paused_at = share.paused.insert(share.paused.end(), &stream);
    if (!std::exchange(share.is_thirsty, true)) thirsty.push_back(stream.thirsty());
    resume_at = std::min(resume_at, now + share.bucket.until_worthwhile());
}

void StreamPump::Impl::unpause(Stream& stream) {
    if (stream.paused_in == nullptr) return;
    std::exchange(stream.paused_in, nullptr)->paused.erase(stream.paused_at);
}

/// Resumes as many streams as the tokens allow, longest waiting first.
void StreamPump::Impl::resume_paused() {
    if (now < resume_at) return;
    resume_at = Clock::time_point::max();
    for (const auto& share : thirsty) {
        share->bucket.refill(now);
        if (share->bucket.until_worthwhile() > Duration::zero()) continue;
        const std::size_t turns = 1 + share->bucket.level() / buffer_bytes;
        for (std::size_t i = 0; i < turns && !share->paused.empty(); ++i) {
            Stream& stream = *share->paused.front();
            unpause(stream);
            activate(stream);
        }
    }
    std::erase_if(thirsty, [](const auto& share) {
        if (share->paused.empty()) share->is_thirsty = false;
        return share->paused.empty();
    });
    for (const auto& share : thirsty)
        resume_at = std::min(resume_at, now + std::max<Duration>(share->bucket.until_worthwhile(), 1ms));
}

// ---- stopping ----

void StreamPump::Impl::end(Stream& stream) {
    unpause(stream);
    ended.push_back(stream.id());
    streams.erase(stream.id());
}

void StreamPump::Impl::cut() {
    for (const auto& [id, stream] : streams) {
        stream->reset_both();
        unpause(*stream);
        ended.push_back(id);
    }
    active.clear();
    streams.clear();
    if (!ended.empty()) on_ended(std::exchange(ended, {}));
}

void StreamPump::Impl::wake() {
    const std::uint64_t once = 1;
    [[maybe_unused]] const auto written = ::write(wake_up, &once, sizeof once);
}

StreamPump::StreamPump(OnEnded on_ended) : impl_(std::make_unique<Impl>(std::move(on_ended))) {}

StreamPump::~StreamPump() {
    stop();
}

void StreamPump::stop() {
    if (!impl_->thread.joinable()) return;
    impl_->stopping.store(true);
    impl_->wake();
    impl_->thread.join();
}

Result<void> StreamPump::start() {
    impl_->epoll = ::epoll_create1(EPOLL_CLOEXEC);
    impl_->wake_up = ::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    epoll_event event{.events = EPOLLIN, .data = {.u64 = 0}};
    if (impl_->epoll < 0 || impl_->wake_up < 0 || ::epoll_ctl(impl_->epoll, EPOLL_CTL_ADD, impl_->wake_up, &event) != 0)
        return Error{Code::no_pump, "the system has no file descriptors for the relay to copy streams with"};
    sigset_t all, before;
    sigfillset(&all);
    ::pthread_sigmask(SIG_BLOCK, &all, &before);  // signals are for the serving thread
    impl_->thread = std::thread([impl = impl_.get()] { impl->run(); });
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
    return {};
}

void StreamPump::join(JoinedSockets joined) {
    if (impl_->joins.push(std::move(joined))) impl_->wake();
}

void StreamPump::cut_all() {
    impl_->cutting.store(true);
    impl_->wake();
}

}  // namespace holdfast::discovery::relay
