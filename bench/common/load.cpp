#include "load.h"

#include <iostream>
#include <sstream>
#include <stdexcept>
#include <unistd.h>

namespace holdfast::bench {

std::string Setting::lock_name(std::uint32_t client, std::uint32_t lock) const {
    static const std::string begin = "lock:" + std::to_string(getpid()) + ":";
    return begin + std::to_string(100'000 + client) + ":" + std::to_string(100'000 + lock);
}

std::string Setting::holder_name(std::uint32_t client) const {
    return "holder-" + std::to_string(100'000 + client);
}

Setting read_setting(const std::vector<std::string>& arguments, std::size_t first) {
    if (arguments.size() != first + 5) throw std::runtime_error("expected CLIENTS LOCKS_EACH TTL_MS ATTEMPT_MS PORT,…");
    const auto number = [&](std::size_t i) { return static_cast<std::uint32_t>(std::stoul(arguments[first + i])); };
    Setting setting;
    setting.clients = number(0);
    setting.locks_each = number(1);
    setting.ttl_ms = number(2);
    setting.attempt_time = std::chrono::milliseconds(number(3));
    std::istringstream ports(arguments[first + 4]);
    for (std::string port; std::getline(ports, port, ',');)
        setting.ports.push_back(static_cast<std::uint16_t>(std::stoul(port)));
    if (setting.clients == 0 || setting.locks_each == 0 || setting.ports.empty())
        throw std::runtime_error("there must be clients, locks and ports");
    return setting;
}

void Load::get_ready(Operation operation) {
    const auto give_up_at = SteadyClock::now() + std::chrono::minutes(4);
    do {
        if (SteadyClock::now() > give_up_at) throw std::runtime_error("the leases to renew cannot be had");
        Score nobody_looks(SteadyClock::now());
        run(operation, SteadyClock::now() + std::chrono::milliseconds(300), nobody_looks);
    } while (!all_hold(leases_to_hold(operation)));
}

int serve_orders(Load& load) {
    for (std::string line; std::getline(std::cin, line);) {
        std::istringstream words(line);
        std::string name;
        double seconds = 0;
        const bool whole = static_cast<bool>(words >> name >> seconds);
        if (!whole || (name != "cycle" && name != "renew" && name != "heartbeat")) {
            std::cerr << "expected cycle|renew|heartbeat SECONDS, got: " << line << '\n';
            return 2;
        }
        const Operation operation = name == "cycle"   ? Operation::cycle
                                    : name == "renew" ? Operation::renew
                                                      : Operation::heartbeat;
        load.get_ready(operation);
        std::cout << "ready" << std::endl;
        const auto start = SteadyClock::now();
        const auto end =
            start + std::chrono::duration_cast<SteadyClock::duration>(std::chrono::duration<double>(seconds));
        Score score(start);
        load.run(operation, end, score);
        std::cout << score.to_json(end) << std::endl;
    }
    return 0;
}

int run_load(int argc, char** argv, const std::array<std::string, 2>& ways, const MakeLoad& make) {
    try {
        const std::vector<std::string> arguments(argv + 1, argv + argc);
        const std::string how = arguments.empty() ? "" : arguments[0];
        if (how != ways[0] && how != ways[1])
            throw std::runtime_error("expected " + ways[0] + "|" + ways[1] +
                                     " CLIENTS LOCKS_EACH TTL_MS ATTEMPT_MS PORT,…");
        return serve_orders(*make(read_setting(arguments, 1), how == ways[0]));
    } catch (const std::exception& error) {
        std::cerr << argv[0] << ": " << error.what() << '\n';
        return 1;
    }
}

}  // namespace holdfast::bench
