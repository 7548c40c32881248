#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <thread>

#include "discovery/publisher/control.h"
#include "discovery/publisher/scripted_relay.h"

namespace holdfast::discovery::publisher {

/// A relay on a real port, just good enough to try the holder's and the consumer's side by themselves.
class TestRelay {
 public:
    TestRelay();
    ~TestRelay();
    TestRelay(const TestRelay&) = delete;
    TestRelay& operator=(const TestRelay&) = delete;

    client::ServerAddress address() const { return {"127.0.0.1", port_}; }
    /// Who asks here from now on is told to ask there.
    void send_elsewhere(const std::string& relay);
    /// Cuts every publisher off, and is another relay from now on.
    void restart();
    /// Does what is wanted with the relay, in its thread.
    void with(const std::function<void(ScriptedRelay&)>& function);
    std::size_t registered() const { return registered_; }

 private:
    struct Publisher {
        std::shared_ptr<Control> control;
        std::uint64_t connection = 0;
    };
    void accept();
    void greet(std::shared_ptr<Socket> socket);
    void begin(const std::shared_ptr<Socket>& socket, const Message& first);
    void publish(const std::shared_ptr<Socket>& socket);
    void hear(std::uint64_t connection, const Message& message);
    void offer(const std::shared_ptr<Socket>& consumer, const std::string& name);
    void join(const std::shared_ptr<Socket>& data, const std::string& ticket);
    void fail(const std::shared_ptr<Socket>& socket, const StreamFailed& why);

    boost::asio::io_context loop_{1};
    boost::asio::ip::tcp::acceptor acceptor_;
    std::uint16_t port_ = 0;
    ScriptedRelay relay_;
    std::string elsewhere_;
    std::map<std::uint64_t, std::shared_ptr<Control>> publishers_;
    std::map<std::string, std::shared_ptr<Socket>> waiting_;  ///< consumers, by ticket
    std::uint64_t connections_ = 0;
    std::atomic<std::size_t> registered_ = 0;
    std::thread thread_;
};

}  // namespace holdfast::discovery::publisher
