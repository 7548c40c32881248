#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/random.h"
#include "discovery/directory/applicants.h"
#include "discovery/directory/directory.h"
#include "discovery/directory/replay_guard.h"
#include "discovery/directory/service_index.h"
#include "discovery/directory/service_limits.h"
#include "discovery/directory/stand_bys.h"
#include "discovery/directory/update_rules.h"
#include "discovery/identity/identity.h"

namespace holdfast::discovery::directory {

/// The implementation of the directory. Updates are in updates.cpp, reads in directory.cpp.
struct Directory::Impl : std::enable_shared_from_this<Impl> {
    explicit Impl(Parts given);
    void begin();
    void end();

    /// An update in progress.
    struct Call {
        std::weak_ptr<Impl> directory;
        Update update;  ///< with a normalised name
        std::string identity;
        authority::Caller caller;
        std::optional<lease::IpPrefix> from;
        std::variant<EnterTerms, RenewTerms, lease::Token> terms;  ///< Token: unregister
        Callback<UpdateResponse> reply;
    };

    // Updates, in the order of their steps.
    struct Signed {
        std::string_view text, public_key, signature;
    };
    void update(Update update, const Signed& by, const authority::Caller& caller, Callback<UpdateResponse> reply);
    /// The checks that need no public key; with the name normalised.
    authority::Answer<Update> well_formed(Update update);
    /// Checks the signature and the nonce (D1); the identity that signed.
    authority::Answer<std::string> signer_of(const Update& update, const Signed& by);
    std::optional<Code> over_limit(const Call& call) const;
    void start(const std::shared_ptr<Call>& call);
    void decide(authority::RecordTransaction& desk, const Call& call) const;
    void decided(Call& call, const authority::SingleRecordAnswer& answer);
    void note_applicant(const Call& call);
    EnterTerms enter_terms(const Call& call) const;
    RenewTerms renew_terms(const Call& call) const;
    UpdateResponse response(const authority::SingleRecordAnswer& answer, std::string name) const;
    UpdateResponse refusal(const authority::Refused& why) const;

    // Reads.
    ServiceEntry entry(std::string_view name, const Service& service) const;
    bool is_shown(const Service& service) const { return !service.hidden && !service.ended && is_alive(service); }
    bool is_alive(const Service& service) const { return authority.now() < service.expires_at; }
    std::optional<Code> hidden_as(std::string_view name, const Service& service) const;
    /// The admin's reason, for the affected publisher; empty if there is none.
    std::string reason_of(Code code, std::string_view name, std::string_view identity,
                          const std::optional<lease::IpPrefix>& from) const;
    ServicePage page(const ServiceQuery& query) const;
    void load_page();
    void loaded(const authority::Answer<store::ListPage>& answer);

    // External events.
    void on_lease(authority::EventKind kind, std::string_view resource, const lease::Lease& lease);
    void on_policy();
    lease::NamespacePolicy policy() const { return authority.policy().of_namespace(lease::services_namespace); }
    /// Sends the pending notices and releases the pending leases. Must not run within a call of the store.
    void settle();
    void release(const ServiceIndex::ToRelease& what);
    void tell(const Notice& notice);
    void tell_who_may_retry();
    /// True if the policy no longer refuses it.
    bool may_have(const StandBys::Refusal& refusal) const;
    bool anything_to_do() const { return book.anything_to_do() || stand_bys.anyone_ready(); }
    /// When a lease was last renewed, according to its own fields.
    Instant renewed_at(const lease::Lease& lease) const {
        return std::min(authority.now(), lease.expires_at - lease.ttl);
    }

    std::int64_t time_ms() const { return wall_ms + to_ms(authority.now() - started_at); }

    authority::Authority& authority;
    const std::uint64_t life;
    const std::int64_t wall_ms;
    const Instant started_at;
    const std::function<void(const Withdrawal&)> withdraw;
    const std::function<void(const RetryNotice&)> may_retry;
    const std::uint32_t node;
    Random random;
    std::string relay_address;
    ServiceIndex book;
    ReplayGuard nonces;
    identity::Verifiers verifiers{limits::verifiers};
    Applicants applicants;
    StandBys stand_bys;
    lease::AddressBans address_bans;
    std::map<std::uint64_t, Watcher> watchers;
    std::uint64_t last_watch = 0;
    std::map<std::uint64_t, std::size_t> entering;  ///< registrations in progress, by connection
    std::size_t entering_all = 0;
    std::uint64_t updates = 0, refused = 0;
    authority::Events::Subscription following = 0;
    bool settling = false;

    // The store is read completely once, and again from time to time if other nodes write to it.
    struct Waiter {
        ServiceQuery query;
        Callback<authority::Answer<ServicePage>> reply;
    };
    Instant load_at{};  ///< when to read the next page, or to start the next pass
    std::string load_after;
    bool loading = false;
    bool known_all = false;
    std::vector<Waiter> waiting_for_all;
};

}  // namespace holdfast::discovery::directory
