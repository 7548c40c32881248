// Puts load on one server that speaks RESP, and says what it cost. Takes its orders from standard input, one line each:
//     acquire|renew|release PIPELINE REQUESTS FIRST
// and answers each with a line of JSON. Between orders it keeps its connections and the tokens of its leases.
//     resp_load PORT PID redis|lease CONNECTIONS LOCKS TTL_MS [RENEW_SHA RELEASE_SHA [HOLDER]]

#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "traffic.h"

namespace holdfast::bench {
namespace {

/// Time on a CPU that a process had so far, user and system, in all its threads. The scheduler's count of nanoseconds,
/// of which the ticks in /proc/PID/stat are the rounded form.
std::optional<double> cpu_seconds_of(int pid) {
    double nanoseconds = 0;
    std::error_code error;
    for (const auto& task : std::filesystem::directory_iterator("/proc/" + std::to_string(pid) + "/task", error)) {
        std::ifstream file(task.path() / "schedstat");
        double ran = 0;
        if (!(file >> ran)) return std::nullopt;
        nanoseconds += ran;
    }
    if (error) return std::nullopt;
    return nanoseconds / 1e9;
}

std::string json_text(const std::string& text) {
    std::string out = "\"";
    for (const char c : text) {
        if (c == '"' || c == '\\') out += '\\';
        out += static_cast<unsigned char>(c) < 0x20 || static_cast<unsigned char>(c) > 0x7e ? ' ' : c;
    }
    return out + '"';
}

std::optional<Stretch> order_in(const std::string& line) {
    std::istringstream words(line);
    std::string operation;
    Stretch stretch;
    if (!(words >> operation >> stretch.pipeline >> stretch.requests >> stretch.first)) return std::nullopt;
    if (operation == "acquire")
        stretch.operation = Operation::acquire;
    else if (operation == "renew")
        stretch.operation = Operation::renew;
    else if (operation == "release")
        stretch.operation = Operation::release;
    else
        return std::nullopt;
    return stretch;
}

int serve_orders(Traffic& traffic, int pid) {
    for (std::string line; std::getline(std::cin, line);) {
        const auto stretch = order_in(line);
        if (!stretch) {
            std::cerr << "resp_load: expected OPERATION PIPELINE REQUESTS FIRST, got: " << line << '\n';
            return 2;
        }
        const auto before = cpu_seconds_of(pid);
        const Outcome outcome = traffic.run(*stretch);
        const auto after = cpu_seconds_of(pid);
        if (!before || !after) {
            std::cerr << "resp_load: cannot read the CPU time of process " << pid << '\n';
            return 1;
        }
        std::cout << "{\"good\": " << outcome.good << ", \"other\": " << outcome.other
                  << ", \"seconds\": " << outcome.seconds << ", \"cpu_seconds\": " << *after - *before
                  << ", \"first_other\": " << json_text(outcome.first_other)
                  << ", \"trouble\": " << json_text(outcome.trouble) << "}" << std::endl;
        if (!outcome.trouble.empty()) return 1;
    }
    return 0;
}

int run(const std::vector<std::string>& arguments) {
    if (arguments.size() < 6) {
        std::cerr
            << "usage: resp_load PORT PID redis|lease CONNECTIONS LOCKS TTL_MS [RENEW_SHA RELEASE_SHA [HOLDER]]\n";
        return 2;
    }
    const auto number = [&](std::size_t i) { return static_cast<std::uint32_t>(std::stoul(arguments[i])); };
    const auto text = [&](std::size_t i) { return arguments.size() > i ? arguments[i] : std::string(); };
    const std::uint32_t locks = number(4);
    const std::uint32_t ttl_ms = number(5);
    const auto commands =
        arguments[2] == "lease" ? lease_locks(locks, ttl_ms) : redis_locks({text(6), text(7)}, text(8), ttl_ms);
    Traffic traffic(static_cast<std::uint16_t>(number(0)), number(3), locks, *commands);
    return serve_orders(traffic, static_cast<int>(number(1)));
}

}  // namespace
}  // namespace holdfast::bench

int main(int argc, char** argv) {
    try {
        return holdfast::bench::run({argv + 1, argv + argc});
    } catch (const std::exception& error) {
        std::cerr << "resp_load: " << error.what() << '\n';
        return 1;
    }
}
