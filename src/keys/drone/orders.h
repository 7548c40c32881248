#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/time.h"

namespace holdfast::keys::drone {

/// A controller's orders (docs/keys.md), decoded.

struct Key {
    std::string name_space{};
    std::string name{};
    std::string tag{};
};

/// The name of a key's lease: `KEY:room#17`, or `@team/KEY:room#17` outside the default namespace.
std::string lease_of(const Key& key, std::uint64_t token);

/// The deadlines of a key, on the drone's own clock (T4, K3).
struct KeyDeadlines {
    HolderInstant renew{};
    HolderInstant soft{};
    HolderInstant hard{};

    bool operator==(const KeyDeadlines&) const = default;
};

/// When a backend counts as ready.
struct Readiness {
    enum class By { started, tcp, http };
    By by = By::started;
    std::string path{};  ///< for http
};

struct SpawnOrder {
    std::string backend;
    Key key{};
    std::uint64_t token = 0;
    Duration ttl{};
    KeyDeadlines deadlines{};
    std::string command{};
    std::vector<std::string> args{};
    std::vector<std::string> environment{};  ///< `NAME=value`
    std::string directory{};                 ///< empty: the drone's working directory
    std::optional<std::uint16_t> port{};     ///< none: a free one
    Readiness ready{};
    std::optional<Duration> idle_max{};
    std::optional<Duration> lifetime{};
    Duration start_timeout = 60s;
};

enum class How { soft, hard };

struct TerminateOrder {
    std::string backend;
    How how = How::soft;
};

/// A malformed order: it is not carried out, but acknowledged so that it is not sent again.
struct UnclearOrder {
    std::string why;
};

struct Order {
    std::uint64_t number = 0;
    std::variant<SpawnOrder, TerminateOrder, UnclearOrder> what;
};

}  // namespace holdfast::keys::drone
