#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "auth/auth_state.h"
#include "auth/grant.h"
#include "auth/verb.h"

namespace holdfast::auth {

/// What a request touches.
struct Target {
    std::string_view resource;  ///< a full name, normalised; of a tree it is the whole tree
    std::string_view holder{};  ///< that it acts as, for hold and drone; ignored by the other verbs
};

/// What a principal lacks (A5). It repeats what the request named, and has nothing that the principal does not know.
struct Refusal {
    Verb verb = Verb::hold;
    std::string name_space;  ///< `*`: all of them
    std::string prefix;      ///< empty: all of the namespace
    std::string holder{};    ///< set if only the right to act as this holder is missing (A4)
};
/// For people: what is missing, and whom to ask.
std::string message_of(const Refusal& refusal);

/// The rights of one principal, as of one version of the state (A2 to A5). Small enough to copy, and safe to keep: it
/// owns what it needs. A connection that keeps it resolves it again once the state has another version (A7).
///
/// The questions are asked for each record that a request touches, lists or reports (A3), and for each command of the
/// RESP door. They allocate nothing, and take one branch for a principal that may do everything.
class Access {
 public:
    /// Of nobody, who may do nothing.
    Access() = default;
    /// Of a principal, and of `anonymous` with all rights while access control is off (A1). A principal that is not in
    /// the state, as after its removal, may do nothing.
    Access(const AuthState& state, std::string_view principal);
    /// For the server itself, and for `local-admin`.
    static Access unrestricted(std::string principal, std::uint64_t version);

    /// Empty: nobody.
    const std::string& principal() const;
    std::uint64_t version() const { return version_; }
    bool is_unrestricted() const { return unrestricted_; }

    bool allows(Verb verb, const Target& target) const { return unrestricted_ || covers(verb, target); }
    /// On all resources of the namespace, as for its settings.
    bool allows_namespace(Verb verb, std::string_view name_space) const;
    /// On all resources of all namespaces, as for bans, and for verbs about the whole server.
    bool allows_everywhere(Verb verb) const;
    /// On some resource. Without it, a listing is refused; with it, the listing has what allows() lets through.
    bool allows_anywhere(Verb verb) const { return unrestricted_ || verbs_.has(verb); }
    /// On some resource as this holder (A4): for requests about the holder and no resource, as of agents and drones.
    bool may_act_as(Verb verb, std::string_view holder) const;

    // ---- what is missing. REQUIRES: the question of this name was answered with no ----

    Refusal refusal(Verb verb, const Target& target) const;
    static Refusal refusal_of_namespace(Verb verb, std::string_view name_space);
    static Refusal refusal_everywhere(Verb verb);
    static Refusal refusal_as(Verb verb, std::string_view holder);

 private:
    struct Rights {
        std::string principal;
        std::vector<Grant> grants;
    };

    bool covers(Verb verb, const Target& target) const;

    std::shared_ptr<const Rights> rights_;
    std::uint64_t version_ = 0;
    Verbs verbs_;
    bool unrestricted_ = false;
};

}  // namespace holdfast::auth
