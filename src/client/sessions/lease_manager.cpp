#include <holdfast/lease_manager.h>

#include <fmt/format.h>
#include <utility>

#include "base/clock.h"
#include "client/sessions/instance_id.h"
#include "client/sessions/lease_manager_core.h"

namespace holdfast {

namespace {

constexpr std::chrono::milliseconds ttl_min{200};
constexpr std::chrono::milliseconds max_time{std::chrono::hours{24}};

std::optional<std::string> problem_with_times(const OwnershipTimings& times) {
    for (const auto time : {times.lease_ttl, times.node_ttl, times.renew_every, times.heartbeat_every,
                            times.refresh_every, times.try_every, times.timeout})
        if (time.count() <= 0 || time > max_time) return "each must be more than zero and at most a day";
    for (const auto time : {times.chance, times.restart_wait.value_or(times.lease_ttl)})
        if (time.count() < 0 || time > max_time) return "a wait must be at least zero and at most a day";
    if (times.lease_ttl < ttl_min || times.node_ttl < ttl_min) return "a TTL must be at least 200ms";
    if (times.renew_every * 2 > times.lease_ttl) return "a lease must be renewed at least twice in its TTL";
    if (times.heartbeat_every * 2 > times.node_ttl) return "a heartbeat must come at least twice in its TTL";
    return std::nullopt;
}

}  // namespace

const char* to_string(Ownership ownership) {
    switch (ownership) {
        case Ownership::unknown:
            return "unknown";
        case Ownership::owned:
            return "owned";
        case Ownership::other:
            return "other";
        case Ownership::uncertain:
            return "uncertain";
    }
    return "unknown";
}

std::optional<Failure> problem_of(const LeaseManagerOptions& options) {
    const auto refused = [](std::string message) {
        return Failure{.outcome = Outcome::refused, .code = "invalid_argument", .message = std::move(message)};
    };
    if (const auto address = codec::resp::parse_redis(codec::resp::default_redis(options.redis)); !address)
        return refused(address.error().message);
    if (!options.instance_id.empty() && !client::sessions::is_instance_id(options.instance_id))
        return refused(
            fmt::format("'{}' is not an instance id: it must be HOST-NANOSECONDS-8HEXDIGITS", options.instance_id));
    if (const auto problem = problem_with_times(options.timings)) return refused("invalid timings: " + *problem);
    return std::nullopt;
}

Poll::Poll() noexcept = default;
Poll::Poll(std::unique_ptr<State> state) noexcept : state_(std::move(state)) {}
Poll::Poll(Poll&&) noexcept = default;

Poll& Poll::operator=(Poll&& other) noexcept {
    if (this == &other) return *this;
    Poll ended{std::move(state_)};
    state_ = std::move(other.state_);
    return *this;
}

Poll::~Poll() {
    if (state_ && state_->core->born == client::forks()) state_->core->end_poll(state_->until->session());
}

bool Poll::held() const noexcept {
    return state_ && state_->core->born == client::forks() && state_->until->held_by(holder_clock_now, state_->turn);
}

std::chrono::nanoseconds Poll::remaining() const noexcept {
    if (!held()) return std::chrono::nanoseconds{0};
    const HolderInstant end = state_->until->end();
    const HolderInstant now = holder_clock_now();
    return now < end ? end - now : std::chrono::nanoseconds{0};
}

LeaseManager::LeaseManager(LeaseManagerOptions options) : core_(Core::make(std::move(options))) {}

LeaseManager::~LeaseManager() {
    if (core_->born == client::forks()) core_->stop(Duration{0});
}

std::optional<Failure> LeaseManager::start() {
    return core_->start();
}

void LeaseManager::retire() {
    core_->retire();
}

bool LeaseManager::stop(std::chrono::milliseconds patience) {
    return core_->stop(patience);
}

std::optional<Failure> LeaseManager::add(const std::vector<std::string>& sessions) {
    return core_->add(sessions);
}

Taken LeaseManager::try_acquire(const std::string& session, const std::stop_token& stop) {
    return core_->try_acquire(session, stop);
}

void LeaseManager::release(const std::string& session) {
    core_->release(session);
}

bool LeaseManager::is_owned(std::string_view session) const noexcept {
    return core_->is_owned(session);
}

Poll LeaseManager::begin_poll(const std::string& session) {
    auto until = core_->begin_poll(session);
    if (until == nullptr) return {};
    const std::uint64_t turn = until->turn();
    return Poll{std::make_unique<Poll::State>(Poll::State{core_, std::move(until), turn})};
}

const std::string& LeaseManager::instance_id() const& {
    return core_->instance;
}

std::string LeaseManager::instance_id() const&& {
    return core_->instance;
}

std::vector<std::string> LeaseManager::owned_sessions() const {
    return core_->owned_sessions();
}

std::vector<std::string> LeaseManager::live_nodes() const {
    return core_->live_nodes();
}

std::string LeaseManager::preferred_owner(const std::string& session) const {
    return core_->preferred_owner(session);
}

SessionInfo LeaseManager::info(const std::string& session) const {
    return core_->info(session);
}

std::vector<SessionInfo> LeaseManager::sessions() const {
    return core_->sessions();
}

}  // namespace holdfast
