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

/// What copies of a Client share, and what its leases keep alive.
struct Client::Core {
    struct Config {
        std::shared_ptr<Transport> transport;
        std::string holder;  ///< empty: a fresh one
        Duration timeout{};
        std::optional<Error> problem;  ///< why nothing can be acquired
        std::optional<std::uint64_t> epoch{};
    };

    /// In a child made by fork() it is not destroyed but left alone: its threads and connections are the parent's.
    static std::shared_ptr<Core> make(Config config);

    explicit Core(Config config);
    ~Core();
    Core(const Core&) = delete;
    Core& operator=(const Core&) = delete;

    /// True if the authority was told of every one.
    bool release(const std::vector<Grant>& grants, const std::string& session, Duration within) const;

    const std::string holder;
    const Duration timeout;
    const std::optional<Error> problem;
    const std::shared_ptr<Transport> transport;
    const std::shared_ptr<Epoch> epoch;
    const std::uint32_t born = forks();
    KeeperThread keeper;
};

}  // namespace holdfast
