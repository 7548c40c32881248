#pragma once

#include <holdfast/client.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "client/forks.h"
#include "client/keeper_thread.h"
#include "client/transport.h"

namespace holdfast {

/// The state that copies of a Client share and that its leases keep alive.
struct Client::Core {
    struct Config {
        std::shared_ptr<client::Transport> transport;
        std::string holder;  ///< empty: a generated name
        Duration timeout{};
        std::optional<Error> problem;  ///< if set, every acquire fails with it
        std::optional<std::uint64_t> epoch{};
    };

    /// In a child made by fork() the core is leaked, not destroyed: its threads and connections belong to the parent.
    static std::shared_ptr<Core> make(Config config);

    explicit Core(Config config);
    ~Core();
    Core(const Core&) = delete;
    Core& operator=(const Core&) = delete;

    /// True if the authority confirmed the release of every grant.
    bool release(const std::vector<Grant>& grants, const std::string& session, Duration within) const;

    const std::string holder;
    const Duration timeout;
    const std::optional<Error> problem;
    const std::shared_ptr<client::Transport> transport;
    const std::shared_ptr<client::Epoch> epoch;
    const std::uint32_t born = client::forks();
    client::KeeperThread keeper;
};

}  // namespace holdfast
