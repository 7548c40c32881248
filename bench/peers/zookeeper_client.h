#pragma once

#include <functional>
#include <string_view>
#include <zookeeper/zookeeper.h>

#include "peer.h"
#include "zookeeper_session.h"

namespace holdfast::bench {

using Session = std::shared_ptr<ZookeeperSession>;

/// To any request. What the answer does not have is null or empty. The library keeps it until it has called it, which
/// it does in any case: when the session is closed at the latest.
using OnAnswer = std::function<void(int code, const Stat* stat, std::string_view value)>;

struct ZookeeperAnswer : Exchange {
    int code = ZOK;
    int tries = 0;  ///< it was asked for so often, as connections were lost
    Stat stat{};
    std::string value;
};

/// Requests to ZooKeeper that wait for their answer, with the sessions they go to. Throws what cannot be carried out.
class ZookeeperClient {
 public:
    explicit ZookeeperClient(std::vector<std::uint16_t> ports) : ports_(std::move(ports)) {}

    /// A session that is there. A server gives its shortest timeout if less is asked for, and its longest if more is.
    Session connect(Milliseconds timeout);
    ZookeeperLoop& loop() { return loop_; }
    /// Serves the sessions until it has happened.
    void wait_for(const std::function<bool()>& happened, const char* what);

    // They ask again when the connection was lost, until the session is over: then the code is ZSESSIONEXPIRED.
    ZookeeperAnswer create(const Session& session, const std::string& path, const std::string& value);
    ZookeeperAnswer remove(const Session& session, const std::string& path);
    ZookeeperAnswer get(const Session& session, const std::string& path);
    ZookeeperAnswer stat_of(const Session& session, const std::string& path);
    ZookeeperAnswer watch(const Session& session, const std::string& path, watcher_fn on_event, void* context);

    // They send, and return; `on_answer` may have been called by then.
    void send_stat(const Session& session, const std::string& path, OnAnswer on_answer);
    void send_watch(const Session& session, const std::string& path, watcher_fn on_event, void* context,
                    OnAnswer on_answer);

    /// Creates nodes 0 … count-1, many at a time.
    using PathOf = std::function<std::string(std::uint32_t)>;
    using OnCreated = std::function<void(std::uint32_t, const Stat&)>;
    void create_all(const Session& session, std::uint32_t count, const std::string& value, const PathOf& path_of,
                    const OnCreated& on_created);

 private:
    using Send = std::function<int(zhandle_t* handle, const void* data)>;
    ZookeeperAnswer ask(const Session& session, const Send& send);

    std::vector<std::uint16_t> ports_;
    ZookeeperLoop loop_;
};

}  // namespace holdfast::bench
