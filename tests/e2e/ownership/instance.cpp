#include <holdfast/lease_manager.h>

#include <cstdio>
#include <fstream>
#include <iostream>
#include <string>
#include <vector>

/// An instance without polls, for a test to start and kill: `ownership_instance REDIS SESSIONS INSTANCE TTL_MS`. Says
/// `ready` once it knows who lives, and ends cleanly when its standard input does.
int main(int argc, char** argv) {
    if (argc != 5) return 2;
    const std::chrono::milliseconds ttl{std::stoi(argv[4])};
    holdfast::OwnershipTimings timings;
    timings.lease_ttl = timings.node_ttl = ttl;
    timings.renew_every = timings.heartbeat_every = timings.refresh_every = ttl / 3;
    timings.try_every = ttl / 30;
    timings.restart_wait = std::chrono::milliseconds{0};
    holdfast::LeaseManager manager{{.redis = argv[1], .timings = timings, .instance_id = argv[3]}};
    std::vector<std::string> sessions;
    std::ifstream file{argv[2]};
    for (std::string line; std::getline(file, line);)
        sessions.push_back(line);
    auto problem = manager.start();
    if (!problem) problem = manager.add(sessions);
    if (problem) {
        std::fprintf(stderr, "%s\n", problem->message.c_str());
        return 1;
    }
    std::printf("%s\n", manager.instance_id().c_str());
    std::fflush(stdout);
    for (std::string line; std::getline(std::cin, line);) {
    }
    return manager.stop() ? 0 : 1;
}
