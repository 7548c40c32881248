#pragma once

#include <gtest/gtest.h>
#include <initializer_list>
#include <poll.h>
#include <string>
#include <string_view>
#include <sys/socket.h>
#include <unistd.h>

#include "codec/resp/resp_command.h"
#include "codec/resp/resp_value.h"
#include "support/redis_process.h"

namespace holdfast::store::redis {

/// Somebody else who uses the same Redis: one blocking connection.
class PlainRedis {
 public:
    explicit PlainRedis(std::uint16_t port) : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
        const sockaddr_in address = loopback(port);
        if (::connect(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
            throw std::runtime_error("no Redis there");
    }
    ~PlainRedis() { ::close(socket_); }
    PlainRedis(const PlainRedis&) = delete;
    PlainRedis& operator=(const PlainRedis&) = delete;

    codec::resp::Value operator()(std::initializer_list<std::string_view> words) {
        std::string out;
        codec::resp::write_command(out, words);
        EXPECT_EQ(::send(socket_, out.data(), out.size(), MSG_NOSIGNAL), static_cast<ssize_t>(out.size()));
        for (;;) {
            switch (reader_.read(input_)) {
                case codec::resp::ValueReader::Outcome::value: {
                    input_.erase(0, reader_.size());
                    return std::move(reader_.value());
                }
                case codec::resp::ValueReader::Outcome::malformed:
                    ADD_FAILURE() << "malformed";
                    return {};
                case codec::resp::ValueReader::Outcome::more:
                    break;
            }
            char chunk[65536];
            pollfd ready{socket_, POLLIN, 0};
            if (::poll(&ready, 1, 60'000) <= 0) {
                ADD_FAILURE() << "no answer";
                return {};
            }
            const auto got = ::recv(socket_, chunk, sizeof chunk, 0);
            if (got <= 0) {
                ADD_FAILURE() << "closed";
                return {};
            }
            input_.append(chunk, static_cast<std::size_t>(got));
        }
    }
    /// A line of INFO as a number.
    long info(const std::string& name) {
        const std::string text = (*this)({"INFO", "everything"}).text;
        const auto at = text.find("\r\n" + name + ":");
        return at == std::string::npos ? -1 : std::stol(text.substr(at + name.size() + 3));
    }

 private:
    int socket_;
    std::string input_;
    codec::resp::ValueReader reader_;
};

}  // namespace holdfast::store::redis
