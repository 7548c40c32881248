#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "authority/desk.h"
#include "discovery/directory/directory.h"
#include "discovery/identity/identity.h"

namespace holdfast::core {

/// A directory with time in the test's hand, and publishers that sign what the test tells them.
struct DirectoryDesk : Desk {
    static constexpr std::uint64_t life = 0xfeed;

    explicit DirectoryDesk(Policy policy = {}) : Desk(std::move(policy)), directory(open()) {
        directory->relay_address("10.0.0.5:7403");
        pass(0s);
    }

    std::unique_ptr<Directory> open(std::uint64_t of_life = life) {
        return std::make_unique<Directory>(
            Directory::Parts{.authority = authority,
                             .relay = of_life,
                             .wall_ms = 1'000'000,
                             .started_at = now,
                             .seed = 7,
                             .withdraw = [this](const Withdrawal& told) { withdrawn.push_back(told); }});
    }

    void pass(Duration time) {
        at(now + time);
        directory->advance(now);
    }

    const Identity& who(const std::string& publisher) {
        auto found = identities.find(publisher);
        if (found == identities.end()) found = identities.emplace(publisher, Identity::generate()).first;
        return found->second;
    }
    const std::string& id(const std::string& publisher) { return who(publisher).id(); }

    discovery::Update named(const std::string& name) {
        discovery::Update update;
        update.name = name;
        update.relay = directory->relay();
        update.time_ms = directory->relay_time_ms();
        update.nonce = ++nonce;
        return update;
    }
    discovery::Update of_lease(discovery::Action action, const std::string& name, Token token) {
        discovery::Update update = named(name);
        update.action = action;
        update.token = token;
        return update;
    }
    discovery::SignedUpdate signed_by(const std::string& publisher, const discovery::Update& update) {
        discovery::SignedUpdate made;
        made.request = discovery::encode(update);
        made.public_key = who(publisher).public_key();
        made.signature = who(publisher).sign(update_purpose, made.request);
        return made;
    }
    static Caller over(std::uint64_t connection, std::string address = "192.0.2.1:4711") {
        Caller caller;
        caller.connection = connection;
        caller.address = std::move(address);
        return caller;
    }

    discovery::UpdateResponse send(const discovery::SignedUpdate& update, const Caller& caller = over(1)) {
        std::optional<discovery::UpdateResponse> got;
        directory->update(update, caller, [&](discovery::UpdateResponse told) { got = std::move(told); });
        return got.value();
    }
    discovery::UpdateResponse say(const std::string& publisher, const discovery::Update& update,
                                  const Caller& caller = over(1)) {
        return send(signed_by(publisher, update), caller);
    }
    discovery::UpdateResponse enter(const std::string& publisher, const std::string& name,
                                    const Caller& caller = over(1)) {
        return say(publisher, named(name), caller);
    }
    discovery::UpdateResponse renew(const std::string& publisher, const std::string& name, Token token,
                                    const Caller& caller = over(1)) {
        return say(publisher, of_lease(discovery::Action::renew, name, token), caller);
    }
    discovery::UpdateResponse leave(const std::string& publisher, const std::string& name, Token token,
                                    const Caller& caller = over(1)) {
        return say(publisher, of_lease(discovery::Action::unregister, name, token), caller);
    }
    discovery::UpdateResponse come_back(const std::string& publisher, const std::string& name, Token token,
                                        const Caller& caller = over(1)) {
        discovery::Update update = of_lease(discovery::Action::enter, name, token);
        update.returning = true;
        return say(publisher, update, caller);
    }

    std::optional<ServiceEntry> find(const std::string& name) {
        std::optional<ServiceEntry> found;
        directory->find(name, [&](const Answer<ServiceEntry>& answer) {
            if (const auto* entry = std::get_if<ServiceEntry>(&answer)) found = *entry;
        });
        return found;
    }
    ServicePage page(ServiceQuery query = {}) {
        std::optional<ServicePage> got;
        directory->list(std::move(query),
                        [&](Answer<ServicePage> answer) { got = std::get<ServicePage>(std::move(answer)); });
        return got.value();
    }
    std::vector<std::string> names(ServiceQuery query = {}) {
        std::vector<std::string> listed;
        for (const ServiceEntry& entry : page(std::move(query)).services)
            listed.push_back(entry.name);
        return listed;
    }

    void ban(const std::string& whom) {
        authority.ban(whom, {}, [](const Answer<Ban>&) {});
    }
    void unban(const std::string& whom) {
        authority.unban(whom, [](const Answer<bool>&) {});
    }
    /// `publisher` empty: everybody.
    void put_rule(const std::string& name, const std::string& publisher, NameRule::Kind kind,
                  const std::string& reason = {}) {
        authority.put_name_rule({name, publisher.empty() ? publisher : id(publisher)}, {kind, reason, 0},
                                [](const Answer<NameRule>&) {});
    }
    std::size_t lift_rules(const std::string& name, const std::string& publisher = {}) {
        std::optional<std::size_t> lifted;
        authority.lift_name_rules({name, publisher.empty() ? publisher : id(publisher)},
                                  [&](const Answer<std::size_t>& answer) { lifted = std::get<std::size_t>(answer); });
        return lifted.value();
    }
    /// The code of the refusal, or nothing.
    std::optional<Code> change(const PolicyChange& change) {
        std::optional<Code> refused_as;
        authority.change_policy(change, [&](const Answer<Policy>& answer) {
            if (const auto* refused = std::get_if<Refused>(&answer)) refused_as = refused->code;
        });
        return refused_as;
    }

    std::map<std::string, Identity> identities;
    std::uint64_t nonce = 0;
    std::vector<Withdrawal> withdrawn;
    std::unique_ptr<Directory> directory;
};

}  // namespace holdfast::core
