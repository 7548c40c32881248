#include <holdfast/client.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <iostream>
#include <random>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

/// Holders for a test, each a thread with the client library, that say on standard output what they believe. Ends when
/// its standard input does.
///
///     cluster_holders contend SERVERS NAME THREADS TTL_MS RESOURCES SEED   takes turns at so many resources
///     cluster_holders keep    SERVERS NAME THREADS TTL_MS                  one lease each, kept to the end
///
/// Lines, with instants of the monotonic clock in nanoseconds:
///
///     hold RESOURCE TOKEN NOW UNTIL   it is held, until then unless renewed
///     end  RESOURCE TOKEN NOW         it was held until now, and is given back
///     lost RESOURCE TOKEN NOW WHY     it is not held any more
///     renewed, unsure RESOURCE TOKEN NOW   a renewal got through, or failed
///     not  RESOURCE 0 NOW WHY         it was not granted
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

struct Job {
    bool contends = false;
    std::string servers;
    std::string name;
    int threads = 0;
    std::chrono::milliseconds ttl{};
    int resources = 0;
    std::uint64_t seed = 0;
};

std::atomic<bool> over{false};

std::int64_t nanoseconds(Clock::time_point instant) {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(instant.time_since_epoch()).count();
}

/// One write each, so that a killed process leaves whole lines only.
void say(const std::string& line) {
    const std::string whole = line + "\n";
    if (::write(STDOUT_FILENO, whole.data(), whole.size()) < 0) over = true;
}

/// What is said of one lease.
struct Story {
    explicit Story(const holdfast::Lease& lease)
        : about(" " + lease.grants().front().resource + " " + std::to_string(lease.token()) + " ") {}

    void tell(const char* what, Clock::time_point now, const std::string& more = {}) const {
        say(what + about + std::to_string(nanoseconds(now)) + (more.empty() ? "" : " " + more));
    }

    std::string about;
};

void tell_of_trouble(holdfast::Lease& lease, const Story& story) {
    lease.on_change([story](holdfast::Outcome outcome) {
        story.tell(outcome == holdfast::Outcome::granted ? "renewed" : "unsure", Clock::now());
    });
    lease.on_lost([story](const holdfast::Failure& failure) { story.tell("lost", Clock::now(), failure.code); });
}

/// Works under the lease for so long, or until it is lost; then gives it back. The clock is read before the lease is
/// asked: the belief that is told may end a moment too early, never too late.
void work(holdfast::Lease& lease, Clock::duration length) {
    const Story story{lease};
    tell_of_trouble(lease, story);
    const auto done = Clock::now() + length;
    auto until = Clock::time_point::min();
    while (true) {
        const auto now = Clock::now();
        const auto left = lease.remaining();
        if (left == 0ns) return;
        if (now + left > until + 1ms) story.tell("hold", now, std::to_string(nanoseconds(until = now + left)));
        if (now >= done || over) {
            story.tell("end", now);
            lease.release();
            return;
        }
        std::this_thread::sleep_for(5ms);
    }
}

void tell_refusal(const std::string& resource, const holdfast::Failure& failure) {
    say("not " + resource + " 0 " + std::to_string(nanoseconds(Clock::now())) + " " + failure.code);
}

void contend(const Job& job, int number) {
    std::mt19937_64 random{job.seed + static_cast<std::uint64_t>(number)};
    holdfast::Client client{{.server = job.servers, .holder = job.name + "-" + std::to_string(number)}};
    while (!over) {
        const std::string resource = "r" + std::to_string(random() % static_cast<std::uint64_t>(job.resources));
        auto acquired = client.acquire(resource, {.ttl = job.ttl, .wait = job.ttl});
        if (acquired) {
            const bool needs_renewals = random() % 4 == 0;
            const auto longest = static_cast<std::uint64_t>((needs_renewals ? 3 * job.ttl / 2 : job.ttl / 8).count());
            work(acquired.lease(), std::chrono::milliseconds{random() % longest});
        } else {
            tell_refusal(resource, acquired.failure());
            std::this_thread::sleep_for(20ms);
        }
    }
}

void keep(const Job& job, int number) {
    holdfast::Client client{{.server = job.servers, .holder = job.name + "-" + std::to_string(number)}};
    const std::string resource = job.name + "-" + std::to_string(number);
    auto acquired = client.acquire(resource, {.ttl = job.ttl, .wait = 60s});
    if (acquired)
        work(acquired.lease(), std::chrono::hours{1});
    else
        tell_refusal(resource, acquired.failure());
}

}  // namespace

int main(int argc, char** argv) {
    const std::vector<std::string> words{argv + 1, argv + argc};
    if (words.size() != 5 && words.size() != 7) return 2;
    Job job{.contends = words[0] == "contend",
            .servers = words[1],
            .name = words[2],
            .threads = std::stoi(words[3]),
            .ttl = std::chrono::milliseconds{std::stoi(words[4])}};
    if (job.contends) {
        if (words.size() != 7) return 2;
        job.resources = std::stoi(words[5]);
        job.seed = std::stoull(words[6]);
    }
    std::vector<std::thread> threads;
    for (int number = 0; number < job.threads; ++number)
        threads.emplace_back(job.contends ? contend : keep, std::cref(job), number);
    for (std::string line; std::getline(std::cin, line);) {
    }
    over = true;
    for (auto& thread : threads)
        thread.join();
}
