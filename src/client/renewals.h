#pragma once

#include <holdfast/lease.h>

#include <optional>
#include <string>
#include <vector>

#include "client/keeper.h"
#include "client/transport.h"

namespace holdfast {

/// One renewal message: the leases of several keys, each with one or more grants.
class RenewalBatch {
 public:
    explicit RenewalBatch(std::string holder, std::optional<std::uint64_t> epoch = {}) {
        names_.holder = std::move(holder);
        names_.epoch = epoch;
    }

    /// False if it would make the message larger than a server accepts. The first always fits: it fitted when acquired.
    bool add(Keeper::Key key, const std::vector<Grant>& grants, HolderInstant end,
             std::optional<std::uint64_t> progress = {});

    bool empty() const { return parts_.empty(); }
    const NamedLeases& names() const { return names_; }

    /// How long to wait for the answer: short enough to try again before the first of these leases ends.
    Duration patience(HolderInstant now, Duration most) const;

    struct Answer {
        Keeper::Key key = 0;
        RenewalAnswer answer;
        Error why;  ///< unless granted
    };
    /// What the reply to this message, sent at `sent_at`, means for each key. A key is renewed if each of its grants
    /// is.
    std::vector<Answer> answers(const Result<std::vector<RenewReply>>& reply, HolderInstant sent_at) const;

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

}  // namespace holdfast
