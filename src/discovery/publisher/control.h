#pragma once

#include <functional>
#include <memory>
#include <string>

#include "discovery/publisher/dial.h"

namespace holdfast::discovery::publisher {

/// A publisher's control connection, with messages in both directions. After close(), the listener is not called.
class Control : public std::enable_shared_from_this<Control> {
 public:
    struct Listener {
        std::function<void(const Message&)> on_message;
        std::function<void(const std::string& why)> on_closed;  ///< called once
    };

    Control(Socket socket, Listener listener) : socket_(std::move(socket)), listener_(std::move(listener)) {}

    void start() { read(); }
    void send(const Message& message);
    void close();

 private:
    void read();
    void on_read(std::size_t bytes);
    void write();
    void failed(const std::string& why);

    Socket socket_;
    Listener listener_;
    std::string input_;
    std::size_t have_ = 0;
    std::string waiting_;  ///< to be sent; bounded by one unanswered message per service
    std::string sending_;
    bool closed_ = false;
};

}  // namespace holdfast::discovery::publisher
