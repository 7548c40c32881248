#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace holdfast::core {

/// How a drone finds out that a backend is ready.
struct Readiness {
    enum class How : std::uint8_t { tcp, http, started };
    How how = How::tcp;
    std::string path{};  ///< of http
};

/// What is to be started, as a drone is told. The controller understands nothing of it.
struct Spawn {
    std::string command;
    std::vector<std::string> args;
    std::map<std::string, std::string> env;
    std::optional<std::string> cwd;
    std::optional<std::uint16_t> port;
    Readiness ready;
    std::optional<std::uint64_t> max_idle_s, lifetime_s;
    std::uint64_t start_timeout_s = 60;

    /// How much there is to send.
    std::size_t bytes() const {
        std::size_t sum = command.size() + cwd.value_or("").size() + ready.path.size() + 256;
        for (const std::string& argument : args)
            sum += argument.size() + 4;
        for (const auto& [name, value] : env)
            sum += name.size() + value.size() + 8;
        return sum;
    }
};

}  // namespace holdfast::core
