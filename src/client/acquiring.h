#pragma once

#include <holdfast/client.h>

#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <variant>
#include <vector>

#include "base/random.h"
#include "base/time.h"
#include "client/client_core.h"
#include "client/deadlines.h"
#include "client/transport.h"

namespace holdfast {

/// One call of Client::acquire: asks, and as long as there is time to wait asks again over lost connections, a server
/// that recovers and one that restarts.
///
/// An ask whose answer was lost is repeated with the same key, so that it cannot take a second lease (G7). If the
/// answer stays away for good, what was perhaps granted ends by itself. A grant is handed out only if it is certain to
/// be held, and only if nobody stopped the call before.
class Acquiring {
 public:
    Acquiring(std::shared_ptr<Client::Core> core, std::vector<Intent> intents, const AcquireOptions& options);

    /// Observes retries: uses its own transport, so that it can be cancelled independently, and is called before each
    /// retry; false gives up.
    struct Observer {
        std::shared_ptr<Transport> transport;
        std::function<bool(const Failure&)> goes_on;
    };
    void observe(Observer observer);

    Acquired run();

 private:
    AcquireReply ask();
    Acquired cancelled(AcquireReply reply);
    void give_back(const std::vector<Grant>& grants) const;
    std::variant<Lease, Failure> settle(const std::vector<TimedGrant>& grants);
    std::optional<Failure> confirm(const std::vector<Grant>& grants, Deadlines& deadlines);
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
    bool unanswered_ = false;   ///< it was sent, and nobody said what came of it
    HolderInstant give_up_at_;  ///< the wait is over
    HolderInstant stop_at_;     ///< and with it the time for the last answer
    Random random_;
};

}  // namespace holdfast
