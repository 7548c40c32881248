#pragma once

#include <map>

#include "discovery/publisher/publisher_core.h"

namespace holdfast::discovery::publisher {

/// A relay in virtual time, as docs/discovery.md has it, as far as publishers of one identity can tell: it checks what
/// is signed, keeps leases on a clock of its own, and ends them with their connection.
class ScriptedRelay {
 public:
    struct Lease {
        std::uint64_t token = 0;
        HolderInstant expires_at{};
        std::uint64_t connection = 0;
    };

    /// What it answers; `code`, if it is set, instead of what would come of it.
    UpdateResponse answer(const SignedUpdate& message, std::uint64_t connection, HolderInstant now);
    RelayHello hello(HolderInstant now) const { return {.relay = life, .time_ms = time_ms(now)}; }
    void connection_closed(std::uint64_t connection);
    /// Forgets everything, and is another.
    void restart() {
        leases.clear();
        nonces.clear();
        ++life;
    }
    bool active(const std::string& name, std::uint64_t token, HolderInstant now) const;

    std::int64_t time_ms(HolderInstant now) const { return to_ms(now.time_since_epoch()) + clock_offset_ms; }

    std::map<std::string, Lease> leases;
    std::map<std::uint64_t, HolderInstant> nonces;
    std::uint64_t life = 77;
    std::int64_t clock_offset_ms = 1'700'000'000'000;
    std::uint64_t last_token = 1000;
    Duration ttl = 30s;
    std::optional<ErrorCode> code;
    Duration retry_in{};
    std::vector<Update> updates;  ///< all that were heard
};

}  // namespace holdfast::discovery::publisher
