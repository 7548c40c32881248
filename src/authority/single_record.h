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

namespace holdfast::core {

class Authority;
struct SingleRecordCall;

/// Whom and what a request about one record is about. The text is copied: it need not outlive the call.
struct SingleRecordSubject {
    std::string_view resource;   ///< the full name
    std::string_view holder{};   ///< who asks; empty if nobody in particular does
    std::string_view extra{};    ///< for the rule's own use
    bool takes = false;          ///< the rule may acquire: the holder's quota is looked at first (R6)
    bool signed_for = false;     ///< may change what is reserved (is_reserved()); the holder is then no agent
    bool by_connection = false;  ///< the connection that took it speaks for it, a leader's too (R8)
    bool exact = false;          ///< TTLs as they are asked for, or a refusal: the holder is not told what it got
};

/// The outcome of a request about one record. Lives until `done` returns.
struct SingleRecordAnswer {
    std::string_view resource;         ///< as asked
    std::optional<Code> refused;       ///< why not
    std::optional<Duration> retry_in;  ///< when to ask again, if that helps
    std::string detail;                ///< where the code does not say enough
    Lease lease;                       ///< of acquire, renew and end: as it is, or was, then
    bool has_lease = false;
    std::optional<Duration> cut_from;        ///< the TTL it would have had but for the policy
    LeaseState state = LeaseState::unknown;  ///< of release: RELEASED by this very request if `has_lease`
    ConflictReport standing;                 ///< of an acquire that was refused as `busy`: who is in the way
    Instant at;                              ///< the store's time of the answer
    std::int64_t number = 0;                 ///< the rule's own
    std::string text;                        ///< likewise
};

/// One record in a transaction, and what may be done with it. What is done takes effect with the record,
/// all or nothing, and is published as events then.
class RecordTransaction {
 public:
    std::string_view resource() const;
    std::string_view holder() const;
    std::string_view extra() const;

    /// The record, without what is past its time (T2). Rules change it by the functions below only.
    const Record& record() const { return record_; }
    Instant now() const { return now_; }
    const Policy& policy() const;
    SingleRecordAnswer& answer();

    /// Takes the resource for holder(), by all that acquire() of the authority checks, or says why not: then nothing is
    /// changed. answer() has the lease, or who stands in the way. REQUIRES: the subject `takes`.
    /// The metadata is a JSON object as text, or empty.
    std::optional<Code> acquire(Predicate predicate, std::optional<Duration> ttl, std::string_view metadata = {});

    /// As acquire(), in the place of whoever has it: what holder() had is released, what others had is revoked. If it
    /// is refused, nothing has ended.
    std::optional<Code> replace(Predicate predicate, std::optional<Duration> ttl, std::string_view metadata = {});

    /// Extends a lease of holder() (R1); `holder` in its place for whoever acts for the holder.
    std::optional<Code> renew(Token token, std::optional<Duration> ttl);
    std::optional<Code> renew(Token token, std::optional<Duration> ttl, std::string_view holder);

    /// Releases a lease of holder() (R2); a leader's only if extra() is the session it leads in. answer().state says
    /// how it stood.
    std::optional<Code> release(Token token);

    /// Ends an active lease, whoever holds it: `released`, or `revoked` by somebody else's wish. REQUIRES: it is in the
    /// record.
    void end(Token token, Ending how);

 private:
    friend struct SingleRecordCall;
    RecordTransaction(SingleRecordCall& call, Record& record, const Neighbours& neighbours, Instant now)
        : call_(call), record_(record), neighbours_(neighbours), now_(now) {}

    std::optional<Code> refuse(Code code) const;
    std::optional<Code> refuse_for(Owner of) const;
    std::optional<Code> admitted() const;
    bool forbidden() const;
    Owner owner() const;

    SingleRecordCall& call_;
    Record& record_;
    const Neighbours& neighbours_;
    Instant now_;
};

/// The short way through the authority, for a request about one record that does not wait: it does what the long way
/// does (admission, policy, tokens, events, waiters that have their turn), takes text as views, and allocates nothing
/// once warm. Reached by Authority::single_record().
///
/// A holder that is registered as an agent may be told to die rather than that the resource is busy (G5): that takes
/// the long way; see Authority::is_agent().
///
///     authority.single_record().update({.resource = name, .holder = who, .takes = true},
///         [](RecordTransaction& desk) { desk.acquire(Predicate::mutates, 30s); },
///         [&exchange](const SingleRecordAnswer& answer) { … exchange.finish(); });
class SingleRecord {
 public:
    /// Decides on the record. May run more than once, on fresher state; what it did before is then forgotten. Must not
    /// call the authority. Captures of up to six words cost nothing; they must outlive the call, so no views of input.
    using Rule = Callback<RecordTransaction&>;
    /// Called once, before the call returns or later. May call the authority.
    using Done = Callback<const SingleRecordAnswer&>;

    explicit SingleRecord(Authority& authority);
    ~SingleRecord();
    SingleRecord(const SingleRecord&) = delete;
    SingleRecord& operator=(const SingleRecord&) = delete;

    /// What will be asked for next, many at once: a hint to the store (Store::expect).
    void expect(std::span<const Expected> coming);

    /// Runs any rule on one record. `answer.refused` is what the rule set there, or storage_failed.
    void update(const SingleRecordSubject& subject, Rule rule, Done done);

    void acquire(std::string_view resource, std::string_view holder, Predicate predicate, std::optional<Duration> ttl,
                 Done done);
    void renew(std::string_view resource, std::string_view holder, Token token, std::optional<Duration> ttl, Done done);
    /// The session is asked for only of whoever leads a group.
    void release(std::string_view resource, std::string_view holder, Token token, Done done,
                 std::string_view session = {});

 private:
    friend struct SingleRecordCall;
    friend class RecordTransaction;

    SingleRecordCall& take_call();
    void start(SingleRecordCall& call);

    Authority& authority_;
    std::vector<std::unique_ptr<SingleRecordCall>> all_;
    std::vector<SingleRecordCall*> free_;
};

}  // namespace holdfast::core
