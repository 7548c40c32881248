#include "agreed/engine_durable.h"

#include "authority/authority.h"

namespace holdfast::agreed {

EngineDurable::EngineDurable(Parts parts)
    : parts_(std::move(parts)),
      log_({.engine = parts_.engine,
            .next_write = parts_.next_write,
            .apply = [this](consensus::LogIndex index, const std::string& entry) { agreed_.apply(index, entry); },
            .take_snapshot = [this] { return agreed_.snapshot(); },
            .install = [this](const std::string& snapshot) { return agreed_.install(snapshot); }}),
      agreed_({.append = [this](std::string entry,
                                Callback<Result<void>> done) { log_.append(std::move(entry), std::move(done)); },
               .refusal = [this]() -> std::optional<Error> {
                   if (stopped_) return Error{"store_unavailable", "this front is stopping"};
                   return agreed_.state().trouble();
               },
               .on_policy =
                   [this] {
                       parts_.watch.know_ttl(agreed_.state().policy().ttl_max);
                       authority_->take_policy(agreed_.state().policy());
                   },
               .on_failure = parts_.on_failure,
               .first_id = parts_.first_id}) {}

EngineDurable::~EngineDurable() = default;

void EngineDurable::load(Callback<Result<void>> done) {
    log_.catch_up([this, done = std::move(done)](const Result<void>& loaded) mutable {
        if (!loaded) return done(loaded);
        if (agreed_.state().trouble()) return done(*agreed_.state().trouble());
        agreed_.delivered();
        done({});
    });
}

std::vector<store::SavedAgent> EngineDurable::agents() const {
    std::vector<store::SavedAgent> all;
    for (const auto& [id, agent] : agreed_.state().agents())
        all.push_back(agent);
    return all;
}

void EngineDurable::use(authority::Authority& authority) {
    authority_ = &authority;
    agreed_.use(authority);
}

void EngineDurable::advance(Instant now) {
    if (stopped_) return;
    log_.advance(now);
    agreed_.deliver();
}

bool EngineDurable::on_notice(std::string_view notice) {
    if (notice != EngineLog::notice) return false;
    if (!stopped_) log_.on_notice();
    return true;
}

void EngineDurable::stop() {
    stopped_ = true;
    agreed_.stop({"store_unavailable", "this front is stopping; what became of this is not known"});
}

/// The longest TTL is recorded for all fronts before any lease is granted for that long (engine_watch.h).
void EngineDurable::change_policy(std::optional<store::AuditEntry> audit, const lease::Policy& policy,
                                  Callback<Result<void>> done) {
    struct Change {
        std::uint64_t version;
        lease::Policy before, after;
    };
    auto change = std::make_unique<const Change>(Change{agreed_.shown_version(), authority_->policy(), policy});
    parts_.watch.expect_ttl(policy.ttl_max, [this, audit = std::move(audit), change = std::move(change),
                                             done = std::move(done)](const Result<void>& expected) mutable {
        if (!expected) return done(expected.error());
        agreed_.submit_policy(audit, {change->version, change->before, change->after}, std::move(done));
    });
}

void EngineDurable::submit(store::Change change, std::optional<store::AuditEntry> audit, Callback<Result<void>> done) {
    if (const auto* policy = std::get_if<lease::Policy>(&change))
        return change_policy(std::move(audit), *policy, std::move(done));
    agreed_.submit(std::move(change), std::move(audit), std::move(done));
}

store::AuditPage EngineDurable::audit(std::uint64_t after, std::size_t limit) const {
    return agreed_.state().audit(after, limit);
}

}  // namespace holdfast::agreed
