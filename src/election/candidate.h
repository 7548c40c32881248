#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "authority/authority.h"

namespace holdfast::core {

/// The resource whose holder leads a group (L1).
std::string leader_resource(std::string_view group);

/// One who would lead a group: holds the lease `leader:GROUP` whenever it can get it, renews it at a third of its TTL,
/// and says when it begins and when it ceases to lead. It ceases by its own clock, counted from when it asked (T3),
/// whether or not anybody answers.
///
/// For a candidate in the same process as its authority, such as the log of a node. Programs elsewhere use the client.
class Candidate {
 public:
    struct Parts {
        Authority& authority;
        std::string group;
        std::string id;
        Duration ttl = 10s;
        bool node = false;  ///< a node stands for itself: policy is not in its way (L1)
        std::function<void(Token term)> on_lead;
        std::function<void()> on_cease;
    };
    explicit Candidate(Parts parts);
    ~Candidate();
    Candidate(const Candidate&) = delete;
    Candidate& operator=(const Candidate&) = delete;

    /// The time, whenever next_due() is reached. Begins to stand at the first call.
    void advance(Instant now);
    Instant next_due() const;

    /// The term it leads in; none if it does not.
    std::optional<Token> term() const;
    /// Stands no more, and gives the lease back.
    void withdraw();

 private:
    struct Impl;
    std::shared_ptr<Impl> impl_;
};

}  // namespace holdfast::core
