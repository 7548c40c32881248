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

namespace holdfast::discovery::directory {

/// A directory with time in the test's hand, and publishers that sign what the test tells them.
struct DirectoryDesk : authority::Desk {
    static constexpr std::uint64_t life = 0xfeed;

    explicit DirectoryDesk(lease::Policy policy = {}) : authority::Desk(std::move(policy)), directory(open()) {
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

    const identity::Identity& who(const std::string& publisher) {
        auto found = identities.find(publisher);
        if (found == identities.end()) found = identities.emplace(publisher, identity::Identity::generate()).first;
        return found->second;
    }
    const std::string& id(const std::string& publisher) { return who(publisher).id(); }

    Update named(const std::string& name) {
        Update update;
        update.name = name;
        update.relay = directory->relay();
        update.time_ms = directory->relay_time_ms();
        update.nonce = ++nonce;
        return update;
    }
    Update of_lease(Action action, const std::string& name, lease::Token token) {
        Update update = named(name);
        update.action = action;
        update.token = token;
        return update;
    }
    SignedUpdate signed_by(const std::string& publisher, const Update& update) {
        SignedUpdate made;
        made.request = encode(update);
        made.public_key = who(publisher).public_key();
        made.signature = who(publisher).sign(identity::update_purpose, made.request);
        return made;
    }
    static authority::Caller over(std::uint64_t connection, std::string address = "192.0.2.1:4711") {
        authority::Caller caller;
        caller.connection = connection;
        caller.address = std::move(address);
        return caller;
    }

    UpdateResponse send(const SignedUpdate& update, const authority::Caller& caller = over(1)) {
        std::optional<UpdateResponse> got;
        directory->update(update, caller, [&](UpdateResponse told) { got = std::move(told); });
        return got.value();
    }
    UpdateResponse say(const std::string& publisher, const Update& update, const authority::Caller& caller = over(1)) {
        return send(signed_by(publisher, update), caller);
    }
    UpdateResponse enter(const std::string& publisher, const std::string& name,
                         const authority::Caller& caller = over(1)) {
        return say(publisher, named(name), caller);
    }
    UpdateResponse renew(const std::string& publisher, const std::string& name, lease::Token token,
                         const authority::Caller& caller = over(1)) {
        return say(publisher, of_lease(Action::renew, name, token), caller);
    }
    UpdateResponse leave(const std::string& publisher, const std::string& name, lease::Token token,
                         const authority::Caller& caller = over(1)) {
        return say(publisher, of_lease(Action::unregister, name, token), caller);
    }
    UpdateResponse come_back(const std::string& publisher, const std::string& name, lease::Token token,
                             const authority::Caller& caller = over(1)) {
        Update update = of_lease(Action::enter, name, token);
        update.returning = true;
        return say(publisher, update, caller);
    }

    std::optional<ServiceEntry> find(const std::string& name) {
        std::optional<ServiceEntry> found;
        directory->find(name, [&](const authority::Answer<ServiceEntry>& answer) {
            if (const auto* entry = std::get_if<ServiceEntry>(&answer)) found = *entry;
        });
        return found;
    }
    ServicePage page(ServiceQuery query = {}) {
        std::optional<ServicePage> got;
        directory->list(std::move(query),
                        [&](authority::Answer<ServicePage> answer) { got = std::get<ServicePage>(std::move(answer)); });
        return got.value();
    }
    std::vector<std::string> names(ServiceQuery query = {}) {
        std::vector<std::string> listed;
        for (const ServiceEntry& entry : page(std::move(query)).services)
            listed.push_back(entry.name);
        return listed;
    }

    void ban(const std::string& whom) {
        authority.ban(whom, {}, [](const authority::Answer<lease::Ban>&) {});
    }
    void unban(const std::string& whom) {
        authority.unban(whom, [](const authority::Answer<bool>&) {});
    }
    /// `publisher` empty: everybody.
    void put_rule(const std::string& name, const std::string& publisher, lease::NameRule::Kind kind,
                  const std::string& reason = {}) {
        authority.put_name_rule({name, publisher.empty() ? publisher : id(publisher)}, {kind, reason, 0},
                                [](const authority::Answer<lease::NameRule>&) {});
    }
    std::size_t lift_rules(const std::string& name, const std::string& publisher = {}) {
        std::optional<std::size_t> lifted;
        authority.lift_name_rules(
            {name, publisher.empty() ? publisher : id(publisher)},
            [&](const authority::Answer<std::size_t>& answer) { lifted = std::get<std::size_t>(answer); });
        return lifted.value();
    }
    /// The code of the refusal, or nothing.
    std::optional<Code> change(const authority::PolicyChange& change) {
        std::optional<Code> refused_as;
        authority.change_policy(change, [&](const authority::Answer<lease::Policy>& answer) {
            if (const auto* refused = std::get_if<authority::Refused>(&answer)) refused_as = refused->code;
        });
        return refused_as;
    }

    std::map<std::string, identity::Identity> identities;
    std::uint64_t nonce = 0;
    std::vector<Withdrawal> withdrawn;
    std::unique_ptr<Directory> directory;
};

}  // namespace holdfast::discovery::directory
