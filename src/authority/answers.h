#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "lease/manifest.h"
#include "lease/owner.h"
#include "lease/rules.h"

namespace holdfast::authority {

inline constexpr Duration retry_when_full = 1s;  ///< for refusals with memory_full

/// A lease as reported to its holder, with its timeline as of the answer (T4).
struct HeldLease {
    std::string resource;
    lease::Lease lease;
    lease::Timeline timeline;
};
struct TtlCut {
    Duration requested{};
    Duration granted{};
};
struct AcquireGranted {
    std::vector<HeldLease> leases;  ///< in the order of the manifest
    std::optional<TtlCut> ttl_cut;
    /// How long this transmission of the request waited, as a lower bound on the holder's clock. The holder counts from
    /// when it sent the request plus this (T3).
    Duration waited{};
};
struct NamedConflict {
    std::string resource;
    lease::Conflict conflict;
};
struct AcquireBusy {
    Code code = Code::busy;  ///< or wait_timeout, cancelled or die (G5)
    std::vector<NamedConflict> conflicts;
    std::size_t place = 1;  ///< in the queue: 1 is served next
    Duration retry_in{};
};
/// A refusal or failure: the code, a detail if the code's own text is not enough, and when to retry.
struct Refused {
    Code code;
    std::string detail;
    std::optional<Duration> retry_in;
};
inline Refused refused(Code code) {
    return {code, {}, {}};
}

/// The refusal of a generic request on a resource that belongs to a service.
inline Refused refused_by(lease::Owner owner) {
    return {lease::refusal_of(owner), std::string(advice_of(owner)), {}};
}

using AcquireAnswer = std::variant<AcquireGranted, AcquireBusy, Refused>;

struct RenewedLease {
    HeldLease held;
    std::optional<TtlCut> ttl_cut;
};
struct RenewAnswer {
    lease::LeaseName name;
    std::variant<RenewedLease, Refused> result;
};

struct RenewAllAnswer {
    std::vector<RenewAnswer> answers;
    bool more = false;  ///< the holder has further leases, which were not renewed
};

struct ReleaseAnswer {
    bool released = false;  ///< by this very request
    lease::LeaseState state = lease::LeaseState::unknown;
};

struct VerifyAnswer {
    lease::LeaseName name;
    lease::Verified verified;
    std::optional<lease::Timeline> timeline;  ///< if active
    Instant at;                               ///< the store's time of the answer
};

/// A registered agent (G5).
struct Agent {
    std::string id;
    lease::Priority priority = 0;
    std::uint64_t epoch = 1;
    bool restarting = false;  ///< this epoch has declared a restart (R5)
    unsigned deaths = 0;      ///< number of DIE answers since its last grant
};
/// A request that waits.
struct WaitingRequest {
    std::vector<lease::Intent> intents;
    std::size_t place = 1;
    Duration wait_left{};
    std::vector<NamedConflict> conflicts;
    Duration retry_in{};
};
struct AgentAnswer {
    Agent agent;
    std::size_t leases = 0;
    std::vector<WaitingRequest> waiting;  ///< at most limits::named_per_record
    bool created = false;                 ///< by this very request
};
struct AgentPage {
    std::vector<Agent> agents;
    bool more = false;
};
struct RestartAnswer {
    Agent agent;
    std::size_t reserved = 0;
};

template <class T>
using Answer = std::variant<T, Refused>;

}  // namespace holdfast::authority
