#pragma once

#include <holdfast/lease.h>

#include <optional>
#include <string>
#include <vector>

#include "client/keeper.h"
#include "client/transport.h"

namespace holdfast::client {

/// One renewal message: the leases of several keys, each with one or more grants.
class RenewalBatch {
 public:
    explicit RenewalBatch(std::string holder, std::optional<std::uint64_t> epoch = {}) {
        names_.holder = std::move(holder);
        names_.epoch = epoch;
    }

    /// Returns false if the message would become larger than a server accepts. The first lease always fits, since its
    /// acquire request fitted.
    bool add(Keeper::Key key, const std::vector<Grant>& grants, HolderInstant end,
             std::optional<std::uint64_t> progress = {});

    bool empty() const { return parts_.empty(); }
    const NamedLeases& names() const { return names_; }

    /// The timeout for the answer: short enough to retry before the first of these leases ends.
    Duration patience(HolderInstant now, Duration most) const;

    /// When the message was sent, and when its reply arrived.
    struct Exchange {
        HolderInstant sent_at;
        HolderInstant arrived_at;
    };
    struct Answer {
        Keeper::Key key = 0;
        RenewalAnswer answer;
        Error why;  ///< unless granted
    };
    /// The answer for each key, from the reply to this message. A key is renewed if all of its grants are.
    std::vector<Answer> answers(const Result<std::vector<RenewReply>>& reply, const Exchange& exchange) const;

 private:
    struct Part {
        Keeper::Key key = 0;
        std::size_t grants = 0;
    };
    NamedLeases names_;
    std::size_t bytes_ = 0;
    HolderInstant first_end_ = HolderInstant::max();
    std::vector<Part> parts_;
};

}  // namespace holdfast::client
