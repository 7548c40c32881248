#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "lease/rules.h"

namespace holdfast::core {

/// A lease as it is told to its holder: with its timeline at the moment of the answer (T4).
struct HeldLease {
    std::string resource;
    Lease lease;
    Timeline timeline;
};
struct TtlCut {
    Duration requested{};
    Duration granted{};
};
struct AcquireGranted {
    std::vector<HeldLease> leases;  ///< in the order of the manifest
    std::optional<TtlCut> ttl_cut;
};
struct NamedConflict {
    std::string resource;
    Conflict conflict;
};
struct AcquireBusy {
    Code code = Code::busy;  ///< or wait_timeout, cancelled
    std::vector<NamedConflict> conflicts;
    Duration retry_in{};
};
/// A refusal or failure: the code, a detail where the code's own text does not say enough, and when to ask again.
struct Refused {
    Code code;
    std::string detail;
    std::optional<Duration> retry_in;
};
using AcquireAnswer = std::variant<AcquireGranted, AcquireBusy, Refused>;

struct RenewedLease {
    HeldLease held;
    std::optional<TtlCut> ttl_cut;
};
struct RenewAnswer {
    LeaseName name;
    std::variant<RenewedLease, Refused> result;
};

struct ReleaseAnswer {
    bool released = false;  ///< by this very request
    LeaseState state = LeaseState::unknown;
};

struct VerifyAnswer {
    LeaseName name;
    Verified verified;
    std::optional<Timeline> timeline;  ///< if active
    Instant at;                        ///< the store's time of the answer
};

template <class T>
using Answer = std::variant<T, Refused>;

}  // namespace holdfast::core
