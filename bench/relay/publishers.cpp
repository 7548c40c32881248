// Many publishers in one process, as one relay has them: relay_publishers PORT SERVER_PID COUNT SECONDS SURVIVORS.
// Each holds a connection, registers a service and renews it every 5 s with a real signature. Then all but a few hang
// up at once, while those few go on renewing. Prints what it found as JSON.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <sys/epoll.h>
#include <unistd.h>
#include <vector>

#include "sockets.h"

namespace holdfast::bench {
namespace {

constexpr auto renew_every = 5s;
constexpr auto survivor_renew_every = 100ms;
constexpr auto survivors_for = 5s;

struct Publisher {
    explicit Publisher(int port) : control(connect_to(port, true)) {}

    ControlEnd control;
    Signer signer;
    std::string name;
    std::uint64_t token = 0;
    Clock::time_point due{}, sent_at{};
    bool waits = false;
};

struct Score {
    std::vector<double> waits_us;
    std::size_t bytes_sent = 0, bytes_received = 0;
    std::size_t late = 0;  ///< not answered when the next was due

    double quantile(double share) {
        if (waits_us.empty()) return 0;
        std::sort(waits_us.begin(), waits_us.end());
        return waits_us[std::min(waits_us.size() - 1,
                                 static_cast<std::size_t>(share * static_cast<double>(waits_us.size())))];
    }
};

class Load {
 public:
    Load(int port, std::size_t count) : epoll_(::epoll_create1(0)) {
        for (std::size_t i = 0; i < count; ++i)
            enter(port, i);
    }

    /// All of them renew, evenly spread, for so long.
    Score renew(Clock::duration every, Clock::duration how_long) {
        Score score;
        const auto begun = Clock::now();
        for (std::size_t i = 0; i < all_.size(); ++i)
            all_[i]->due = begun + every * static_cast<long>(i) / static_cast<long>(all_.size());
        std::size_t next = 0;
        while (Clock::now() < begun + how_long) {
            // Few at a time: a load that has fallen behind must not let answers wait and take that for the relay's
            // time.
            const auto now = Clock::now();
            for (int i = 0; i < 8 && all_[next]->due <= now; ++i, next = (next + 1) % all_.size())
                send(*all_[next], every, score);
            take_answers(score, all_[next]->due <= Clock::now() ? 0 : 1);
        }
        finish(score);
        return score;
    }

    void hang_up_all_but(std::size_t survivors) {
        for (std::size_t i = survivors; i < all_.size(); ++i)
            ::close(all_[i]->control.socket());
        all_.resize(survivors);
    }

 private:
    void enter(int port, std::size_t number) {
        auto made = std::make_unique<Publisher>(port);
        Publisher& one = *made;
        one.control.send(discovery::PublisherHello{});
        one.signer.greeted(std::get<discovery::RelayHello>(one.control.wait_for_message()));
        one.control.send(one.signer.sign({.name = "service-" + std::to_string(number)}));
        const auto answer = std::get<discovery::UpdateResponse>(one.control.wait_for_message());
        if (answer.refused) give_up("a registration was refused: " + answer.message);
        one.name = answer.name;
        one.token = answer.token;
        epoll_event event{.events = EPOLLIN, .data = {.ptr = &one}};
        ::epoll_ctl(epoll_, EPOLL_CTL_ADD, one.control.socket(), &event);
        all_.push_back(std::move(made));
    }

    void send(Publisher& one, Clock::duration every, Score& score) {
        one.due += every;
        if (one.waits) {
            ++score.late;
            return;
        }
        const auto update = one.signer.sign({.action = discovery::Action::renew, .name = one.name, .token = one.token});
        one.sent_at = Clock::now();
        one.waits = true;
        score.bytes_sent += one.control.send(update);
    }

    void take_answers(Score& score, int timeout_ms) {
        epoll_event events[256];
        const int count = ::epoll_wait(epoll_, events, 256, timeout_ms);
        for (int i = 0; i < count; ++i) {
            auto& one = *static_cast<Publisher*>(events[i].data.ptr);
            const std::size_t before = one.control.received();
            while (const auto message = one.control.receive()) {
                const auto* answer = std::get_if<discovery::UpdateResponse>(&*message);
                if (answer == nullptr || answer->refused)
                    give_up("a renewal was refused" +
                            (answer ? ": " + std::string(answer->refused->name()) : std::string()));
                one.waits = false;
                score.waits_us.push_back(std::chrono::duration<double, std::micro>(Clock::now() - one.sent_at).count());
            }
            score.bytes_received += one.control.received() - before;
        }
    }

    void finish(Score& score) {
        const auto is_waiting = [](const auto& one) { return one->waits; };
        const auto give_up_at = Clock::now() + 30s;
        while (std::any_of(all_.begin(), all_.end(), is_waiting) && Clock::now() < give_up_at)
            take_answers(score, 1);
    }

    int epoll_;
    std::vector<std::unique_ptr<Publisher>> all_;
};

void print(const char* name, Score& score, double seconds, const char* end) {
    const auto answered = static_cast<double>(score.waits_us.size());
    std::printf(
        "\"%s\": {\"per_second\": %.1f, \"p50_us\": %.0f, \"p99_us\": %.0f, \"max_us\": %.0f, \"late\": %zu, "
        "\"bytes_up\": %.1f, \"bytes_down\": %.1f}%s",
        name, answered / seconds, score.quantile(0.5), score.quantile(0.99), score.quantile(1), score.late,
        static_cast<double>(score.bytes_sent) / answered, static_cast<double>(score.bytes_received) / answered, end);
}

int run(char** arguments) {
    const int port = std::atoi(arguments[1]), server = std::atoi(arguments[2]);
    const auto count = static_cast<std::size_t>(std::atol(arguments[3]));
    const double seconds = std::atof(arguments[4]);
    const auto survivors = static_cast<std::size_t>(std::atol(arguments[5]));
    raise_open_files();
    const auto begun = Clock::now();
    Load load(port, count);
    const double entering = std::chrono::duration<double>(Clock::now() - begun).count();
    const double cpu_before = cpu_seconds_of(server);
    const auto from = Clock::now();
    Score all =
        load.renew(renew_every, std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds)));
    const double took = std::chrono::duration<double>(Clock::now() - from).count();
    const double cpu = cpu_seconds_of(server) - cpu_before;
    load.hang_up_all_but(survivors);
    Score rest = load.renew(survivor_renew_every, survivors_for);
    std::printf("{\"publishers\": %zu, \"registrations_per_second\": %.0f, \"cpu_percent\": %.1f, ", count,
                static_cast<double>(count) / entering, 100 * cpu / took);
    print("renewals", all, took, ", ");
    print("survivors", rest, std::chrono::duration<double>(survivors_for).count(), "}\n");
    return 0;
}

}  // namespace
}  // namespace holdfast::bench

int main(int count, char** arguments) {
    if (count != 6) holdfast::bench::give_up("relay_publishers PORT SERVER_PID COUNT SECONDS SURVIVORS");
    return holdfast::bench::run(arguments);
}
