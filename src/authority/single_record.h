#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "authority/answers.h"
#include "authority/events.h"
#include "base/callback.h"
#include "lease/owner.h"
#include "lease/rules.h"
#include "store/store.h"

namespace holdfast::authority {

class Authority;
struct SingleRecordCall;

/// The resource and the holder of a request on one record. The text is copied and need not outlive the call.
struct SingleRecordSubject {
    std::string_view resource;                     ///< the full name
    std::string_view holder{};                     ///< the requester; empty if there is none in particular
    std::string_view extra{};                      ///< for the rule's own use
    bool takes = false;                            ///< the rule may acquire: the holder's quota is checked first (R6)
    lease::Owner acts_for = lease::Owner::nobody;  ///< the service whose own request this is
    bool node = false;                             ///< the request is of the node itself
    bool by_connection = false;  ///< the connection that took it may release it, also a leader's lease (R8)
    bool exact = false;          ///< grant the exact TTL or refuse: the holder does not learn the granted TTL
};

/// The outcome of a request on one record. Valid until `done` returns.
struct SingleRecordAnswer {
    std::string_view resource;         ///< as in the request
    std::optional<Code> refused;       ///< the reason for a refusal
    std::optional<Duration> retry_in;  ///< when to retry, if that helps
    std::string detail;                ///< if the code alone is not enough
    lease::Lease lease;                ///< of acquire, renew, release and end: as it is, or was at its end
    bool has_lease = false;
    std::optional<Duration> cut_from;                      ///< the requested TTL, if the policy cut it
    lease::LeaseState state = lease::LeaseState::unknown;  ///< of release: if `has_lease`, released by this request
    lease::ConflictReport standing;                        ///< of an acquire refused with `busy`: the conflicts
    Instant at;                                            ///< the store's time of the answer
    std::int64_t number = 0;                               ///< for the rule's own use
    std::string text;                                      ///< likewise
};

/// One record in a transaction, and the operations on it. The changes take effect together with the record, all or
/// nothing, and are then published as events.
class RecordTransaction {
 public:
    std::string_view resource() const;
    std::string_view holder() const;
    std::string_view extra() const;

    /// The settled record (T2). Rules change it only by the functions below.
    const lease::Record& record() const { return record_; }
    Instant now() const { return now_; }
    /// The policy that the request is judged by.
    const lease::Policy& policy() const;
    SingleRecordAnswer& answer();

    /// Acquires the resource for holder(), with all checks of Authority::acquire(). Returns the reason if refused;
    /// nothing is then changed. answer() has the lease or the conflicts. REQUIRES: the subject has `takes` set.
    /// The metadata is a JSON object as text, or empty.
    std::optional<Code> acquire(lease::Predicate predicate, std::optional<Duration> ttl,
                                std::string_view metadata = {});

    /// As acquire(), but replaces the current holders: the leases of holder() without a session are released, all
    /// others are revoked. If it is refused, no lease has ended.
    std::optional<Code> replace(lease::Predicate predicate, std::optional<Duration> ttl,
                                std::string_view metadata = {});

    /// Extends a lease of holder() (R1), or of `holder` if the caller acts for another holder.
    std::optional<Code> renew(lease::Token token, std::optional<Duration> ttl);
    std::optional<Code> renew(lease::Token token, std::optional<Duration> ttl, std::string_view holder,
                              std::optional<std::uint64_t> progress = {});

    /// Releases a lease of holder() (R2). A leader's lease only if extra() is the session it leads in, or by_connection
    /// is set. answer().state is its state.
    std::optional<Code> release(lease::Token token);

    /// Ends an active lease of any holder: `released`, or `revoked` if requested by another party. REQUIRES: the lease
    /// is in the record, `how` is not `expired`, and the resource belongs to no service.
    void end(lease::Token token, lease::Ending how);

    /// Grants an admitted claim with a fresh token, unless something conflicts with it. As for acquire().
    std::optional<Code> take(lease::Claim claim);
    /// Queues the claim until then, unless it is in the queue already.
    void queue(const lease::Claim& claim, Instant until);

 private:
    friend struct SingleRecordCall;
    RecordTransaction(SingleRecordCall& call, lease::Record& record, const lease::Neighbours& neighbours, Instant now)
        : call_(call), record_(record), neighbours_(neighbours), now_(now) {}

    std::optional<Code> refuse(Code code) const;
    std::optional<Code> refuse(Refused refusal) const;
    bool may_release(lease::Token token) const;
    lease::Owner owner() const;

    SingleRecordCall& call_;
    lease::Record& record_;
    const lease::Neighbours& neighbours_;
    Instant now_;
};

/// Requests on one record: everything that the authority acquires, renews or releases goes through here, a manifest one
/// record at a time. Takes text as views, and allocates nothing once warm. Obtained from Authority::single_record(),
/// which answers requests that do not wait.
///
/// A registered agent may have to be answered with `die` instead of `busy` (G5). That needs Authority::acquire(); see
/// Authority::is_agent().
///
///     authority.single_record().update({.resource = name, .holder = who, .takes = true},
///         [](RecordTransaction& desk) { desk.acquire(Predicate::mutates, 30s); },
///         [&exchange](const SingleRecordAnswer& answer) { … exchange.finish(); });
class SingleRecord {
 public:
    /// Changes the record. May run more than once, on fresher state; its earlier effects are then discarded. Must not
    /// call the authority. Captures of up to six words do not allocate. They must outlive the call, so do not capture
    /// views of the input.
    using Rule = Callback<RecordTransaction&>;
    /// Runs once, before the call returns or later. May call the authority.
    using Done = Callback<SingleRecordAnswer&>;

    explicit SingleRecord(Authority& authority);
    ~SingleRecord();
    SingleRecord(const SingleRecord&) = delete;
    SingleRecord& operator=(const SingleRecord&) = delete;

    /// A hint to the store about the next requests (Store::expect).
    void expect(std::span<const store::Expected> coming);

    /// Runs any rule on one record. `answer.refused` is set by the rule, or is the code of a store failure
    /// (storage_failure()).
    void update(const SingleRecordSubject& subject, Rule rule, Done done);

    /// The same as a step of a longer request: the caller has registered the request (Agents::see()), publishes a grant
    /// once it stands, and serves the waiters afterwards.
    void step(const SingleRecordSubject& subject, Rule rule, Done done);

    void acquire(std::string_view resource, std::string_view holder, lease::Predicate predicate,
                 std::optional<Duration> ttl, Done done);
    void renew(std::string_view resource, std::string_view holder, lease::Token token, std::optional<Duration> ttl,
               Done done);
    /// The session is needed only for the lease of a leader.
    void release(std::string_view resource, std::string_view holder, lease::Token token, Done done,
                 std::string_view session = {});

 private:
    friend struct SingleRecordCall;
    friend class RecordTransaction;

    static constexpr std::size_t max_kept = 256;

    SingleRecordCall& take_call();
    void put_back(SingleRecordCall& call);
    SingleRecordCall& prepare(const SingleRecordSubject& subject, Rule&& rule, Done&& done);
    void start(SingleRecordCall& call);

    Authority& authority_;
    std::vector<std::unique_ptr<SingleRecordCall>> all_;
    std::vector<SingleRecordCall*> free_;  // at most max_kept
};

}  // namespace holdfast::authority
