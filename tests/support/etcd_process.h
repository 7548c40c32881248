#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <sys/types.h>
#include <vector>

namespace holdfast {

/// A real etcd of one or several members, on free ports of loopback, with its data in a scratch folder that is gone
/// with it. Killed at the end, also if the thread that started it goes away. Throws std::runtime_error if it does not
/// start.
class EtcdProcess {
 public:
    explicit EtcdProcess(std::size_t members = 1, std::vector<std::string> options = {});
    ~EtcdProcess();
    EtcdProcess(const EtcdProcess&) = delete;
    EtcdProcess& operator=(const EtcdProcess&) = delete;

    std::size_t size() const { return members_.size(); }
    std::uint16_t port(std::size_t member = 0) const { return members_[member].port; }
    /// All members, with `user:password@` if that is given.
    std::string url(std::string_view credentials = {}) const;

    /// With the data that it has. Returns once it answers, unless it is told not to wait.
    void start(std::size_t member = 0, bool wait = true);
    void kill(std::size_t member = 0);
    /// Starts over with nothing, as another cluster would.
    void lose_data();
    /// Copies the data of all members, which are restarted for it.
    void save_data();
    /// Starts again with the data that was saved last, as the same cluster.
    void restore_data();
    void freeze(std::size_t member = 0);
    void thaw(std::size_t member = 0);

    /// The index of the member that leads, asked of those that run. Waits until there is one.
    std::size_t leader() const;
    /// Asks etcd by its JSON API, which no code of ours speaks: the body of the answer.
    std::string post(std::string_view path, std::string_view json, std::string_view token = {}) const;

 private:
    struct Member {
        std::uint16_t port = 0, peer_port = 0;
        pid_t pid = -1;
    };
    void launch(std::size_t member);
    void restart_all_on(const std::string& from, const std::string& to);
    void wait_until_healthy(std::size_t member) const;

    std::vector<Member> members_;
    std::vector<std::string> options_;
    std::string folder_;
    int life_ = 0;
};

}  // namespace holdfast
