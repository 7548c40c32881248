#include "cli/taking.h"

#include <sys/eventfd.h>
#include <sys/poll.h>
#include <unistd.h>
#include <utility>

#include "base/clock.h"
#include "cli/agent_calls.h"
#include "cli/default_holder.h"
#include "cli/exit_codes.h"
#include "cli/failure_text.h"

namespace holdfast {
namespace {

constexpr std::chrono::milliseconds for_ever = 24h * 365;
/// Between two tries to register with a server that is away.
constexpr auto enrol_pause = 500ms;

AcquireOptions acquire_options(const TakeOptions& take) {
    AcquireOptions options;
    const auto ms = [](Duration duration) { return std::chrono::ceil<std::chrono::milliseconds>(duration); };
    if (take.ttl) options.ttl = ms(*take.ttl);
    options.reason = take.reason;
    options.name_space = take.name_space;
    options.session = take.session;
    return options;
}

Failure refusal_of(const Answer& answer) {
    return {.outcome = Outcome::refused,
            .code = error_code_of(answer),
            .message = text_of(field_of(answer.body, "error"), "message"),
            .retry_in = field_of(answer.body, "retry_in_ms").is_number()
                            ? std::optional{std::chrono::milliseconds{number_of(answer.body, "retry_in_ms")}}
                            : std::nullopt};
}

/// The server answers, and cannot at the moment.
bool passes(const Answer& answer) {
    return answer.status >= 500 && exit_code_of(answer) == exit_not_now;
}

bool may_pass(Outcome outcome) {
    return outcome != Outcome::refused && outcome != Outcome::die && outcome != Outcome::cancelled;
}

}  // namespace

Taking::Taking(const CommonOptions& common, const TakeOptions& take, const Screen& screen)
    : client_({.server = common.server,
               .holder = take.holder.empty() ? default_holder() : take.holder,
               .epoch = take.epoch}),
      common_(common),
      take_(take),
      screen_(screen),
      done_(eventfd(0, EFD_CLOEXEC)),
      thread_([this] { run(); }) {}

bool Taking::wait(std::chrono::milliseconds time) const {
    pollfd waiting{fd(), POLLIN, 0};
    return ::poll(&waiting, 1, static_cast<int>(time.count())) == 1;
}

Acquired& Taking::answer() {
    if (thread_.joinable()) thread_.join();
    return *answer_;
}

void Taking::run() {
    std::vector<Intent> intents;
    for (const std::string& resource : take_.resources)
        intents.push_back({resource, take_.predicate});
    if (auto failure = enrol())
        answer_.emplace(std::move(*failure));
    else
        acquire(intents);
    const std::uint64_t one = 1;
    [[maybe_unused]] const ssize_t told = ::write(done_.get(), &one, sizeof one);
}

void Taking::acquire(const std::vector<Intent>& intents) {
    AcquireOptions options = acquire_options(take_);
    options.stop = stop_.get_token();
    answer_.emplace(client_.acquire(intents, options));
    // Asking once without waiting tells whom we wait for.
    while (waits() && !*answer_ && may_pass(answer_->outcome())) {
        screen_.note("waiting: " + describe(answer_->failure()));
        options.wait = take_.wait_for_ever ? for_ever : std::chrono::ceil<std::chrono::milliseconds>(*take_.wait);
        answer_.emplace(client_.acquire(intents, options));
        if (!take_.wait_for_ever) break;
    }
}

/// Registers the holder as an agent, if it is to be one; waits for a server that is away as for a turn.
std::optional<Failure> Taking::enrol() {
    if (take_.priority.empty()) return std::nullopt;
    const HolderInstant start = holder_clock_now();
    for (bool told = false;;) {
        Api api{common_};
        const auto answer = register_agent(api, {client_.holder(), take_.priority, take_.epoch});
        if (answer && answer->ok()) return std::nullopt;
        const Failure failure = answer ? refusal_of(*answer)
                                       : Failure{.outcome = Outcome::unreachable,
                                                 .code = answer.error().code,
                                                 .message = answer.error().message};
        const bool goes_on = take_.wait_for_ever || holder_clock_now() - start < take_.wait.value_or(0s);
        const bool helps = answer ? passes(*answer) : failure.code == "unreachable";
        if (!helps || !goes_on) return failure;
        if (!std::exchange(told, true)) screen_.note("waiting: " + describe(failure));
        std::this_thread::sleep_for(enrol_pause);
    }
}

}  // namespace holdfast
