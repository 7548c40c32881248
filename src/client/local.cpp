#include <holdfast/local.h>

#include <optional>
#include <utility>

#include "client/client_core.h"
#include "client/http_transport.h"
#include "client/local_core.h"
#include "client/local_transport.h"

namespace holdfast {

namespace {

/// A child made by fork() has a copy of the core but not its timer thread: the core is leaked there, not destroyed.
std::shared_ptr<Local::Core> make_core() {
    const auto destroy_unless_forked = [](const Local::Core* core) {
        if (core->born == forks()) delete core;
    };
    return {new Local::Core, destroy_unless_forked};
}

}  // namespace

Local::Local() : core_(make_core()) {}

Client Local::client(std::string holder) const {
    std::optional<Error> problem;
    if (!core_) {
        problem = {"invalid_argument", "this authority was moved from: use the one it was moved to"};
        const auto nowhere = std::make_shared<HttpTransport>("http://127.0.0.1:7400");  // which is never asked
        return Client(Client::Core::make({.transport = nowhere, .holder = std::move(holder), .problem = problem}));
    }
    if (core_->born != forks()) problem = {"invalid_argument", "this authority is the parent's: make one after fork()"};
    return Client(Client::Core::make({.transport = std::make_shared<LocalTransport>(core_),
                                      .holder = std::move(holder),
                                      .timeout = 5s,
                                      .problem = std::move(problem)}));
}

}  // namespace holdfast
