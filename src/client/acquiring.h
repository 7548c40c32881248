#pragma once

#include <holdfast/client.h>

#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <variant>
#include <vector>

#include "base/random.h"
#include "base/time.h"
#include "client/client_core.h"
#include "client/transport.h"
#include "lease/holder_deadlines.h"

namespace holdfast::client {

/// A fresh session for these intents. A leader's session proves its leadership (R2): it is marked private, so that the
/// other leases of the manifest do not reveal it.
std::string fresh_session(const std::vector<Intent>& intents);

/// One call of Client::acquire: sends the request, and retries until the wait is over if the connection is lost or the
/// server recovers or restarts.
///
/// A request whose answer was lost is repeated with the same idempotency key, so that it cannot acquire a second lease
/// (G7). If no answer ever arrives, a lease that may have been granted ends by itself. A grant is returned only if the
/// lease is certainly held, and only if the call was not stopped before.
class Acquiring {
 public:
    Acquiring(std::shared_ptr<Client::Core> core, std::vector<Intent> intents, const AcquireOptions& options);

    /// Observes retries. It has its own transport, so that the call can be cancelled independently. `goes_on` is called
    /// before each retry; it returns false to give up.
    struct Observer {
        std::shared_ptr<Transport> transport;
        std::function<bool(const Failure&)> goes_on;
    };
    void observe(Observer observer);

    Acquired run();

    /// Leases that were granted together, and are held until the earliest of their deadlines.
    struct Taken {
        std::vector<Grant> grants;
        std::string session;
        lease::HolderDeadlines deadlines;
        Timing timing;  ///< of the first of them
    };
    /// As run(), for a caller that keeps the leases itself.
    std::variant<Taken, Failure> take();

 private:
    AcquireReply ask();
    Failure cancelled(AcquireReply reply);
    void give_back(const std::vector<Grant>& grants) const;
    std::variant<Taken, Failure> settle(const std::vector<TimedGrant>& grants);
    std::optional<Failure> confirm(const std::vector<Grant>& grants, lease::HolderDeadlines& deadlines);
    bool may_ask_again(const Failure& failure) const;
    bool goes_on(const Failure& failure) const { return !goes_on_ || goes_on_(failure); }
    void pause(Duration at_most);
    std::optional<Failure> problem() const;

    const std::shared_ptr<Client::Core> core_;
    std::shared_ptr<Transport> transport_;
    std::function<bool(const Failure&)> goes_on_;
    const std::stop_token stop_;
    const bool keep_;
    AcquireAsk ask_;
    bool unanswered_ = false;   ///< sent, but the result is not known
    HolderInstant give_up_at_;  ///< the end of the wait
    HolderInstant stop_at_;     ///< the deadline of the last answer
    Random random_;
};

}  // namespace holdfast::client
