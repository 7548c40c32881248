// The same bytes to a real Redis and to a CommandReader: what is a command, what it says, and what is malformed must
// not differ. Redis answers PING and ECHO; so does a twin made of a reader and a writer.

#include <algorithm>
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <random>
#include <string>
#include <sys/socket.h>
#include <unistd.h>

#include "codec/resp/resp_command.h"
#include "codec/resp/resp_writer.h"
#include "support/redis_process.h"

namespace holdfast::codec::resp {
namespace {

/// Sends all of it, then nothing more, and gives what came back until the other side closed.
std::string ask(const RedisProcess& redis, std::string_view input) {
    const sockaddr_in address = loopback(redis.port());
    const int fd = socket(AF_INET, SOCK_STREAM, 0);
    EXPECT_EQ(connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0) << "no Redis to be reached";
    while (!input.empty()) {
        const ssize_t sent = send(fd, input.data(), input.size(), MSG_NOSIGNAL);
        if (sent <= 0) break;  // Redis closes on what is malformed
        input.remove_prefix(static_cast<std::size_t>(sent));
    }
    shutdown(fd, SHUT_WR);
    std::string answer;
    char buffer[4096];
    for (ssize_t got; (got = recv(fd, buffer, sizeof buffer, 0)) > 0;)
        answer.append(buffer, static_cast<std::size_t>(got));
    close(fd);
    return answer;
}

std::string twin(std::string_view input) {
    std::string out;
    ReplyWriter reply(out, Protocol::resp2);
    CommandReader reader;
    while (true) {
        const auto outcome = reader.read(input);
        if (outcome == CommandReader::Outcome::more) return out;
        if (outcome == CommandReader::Outcome::malformed) {
            // As the reader says it. The writer escapes control characters, which Redis sends raw but for line ends.
            std::string message(reader.error());
            std::replace_if(
                message.begin(), message.end(), [](char c) { return c == '\r' || c == '\n'; }, ' ');
            return out + "-ERR Protocol error: " + message + "\r\n";
        }
        input.remove_prefix(reader.size());
        const auto words = reader.words();
        if (words.empty()) continue;
        if (words[0] == "ECHO" && words.size() == 2)
            reply.bulk(words[1]);
        else if (words[0] == "PING" && words.size() == 1)
            reply.simple("PONG");
        else
            return out + "?";  // what Redis says to other commands is not the codec's
    }
}

/// They must agree, up to a command that the twin does not know.
void compare(const RedisProcess& redis, const std::string& input) {
    const std::string expected = twin(input);
    const std::string answer = ask(redis, input);
    if (expected.ends_with('?'))
        EXPECT_TRUE(answer.starts_with(expected.substr(0, expected.size() - 1))) << input << "\n" << answer;
    else
        EXPECT_EQ(answer, expected) << input;
}

TEST(RedisTwin, agrees_on_what_is_a_command_and_what_is_malformed) {
    const RedisProcess redis;
    const std::string ping = "*1\r\n$4\r\nPING\r\n";
    for (const std::string& input : {ping + ping,
                                     "*0\r\n" + ping,
                                     "*-1\r\n" + ping,
                                     "*-5\r\n" + ping,
                                     "\r\n" + ping,
                                     "   \r\n" + ping,
                                     "\n" + ping,
                                     std::string("*01\r\n"),
                                     std::string("*+1\r\n"),
                                     std::string("*-0\r\n"),
                                     std::string("*x\r\n"),
                                     std::string("*\r\n"),
                                     std::string("*1\n$4\nPING\r\n"),
                                     std::string("*2147483648\r\n"),
                                     "*1\r\n" + ping,
                                     std::string("*1\r\n:4\r\n"),
                                     std::string("*1\r\n\r\n"),
                                     std::string("*1\r\n$-1\r\n"),
                                     std::string("*1\r\n$\r\n"),
                                     std::string("*1\r\n$04\r\nPING\r\n"),
                                     std::string("*1\r\n$abc\r\n"),
                                     std::string("*1\r\n$9999999999\r\n"),
                                     std::string("PING\n"),
                                     std::string("PING\r\nPING\n"),
                                     std::string("ECHO \"a\\x41\\n b\"\r\n"),
                                     std::string("ECHO 'it\\'s \\n'\r\n"),
                                     std::string("ECHO \"abc\r\n"),
                                     std::string("ECHO \"a\"b\r\n"),
                                     std::string("ECHO a\"b c\"\r\n"),
                                     std::string("ECHO a\vb\r\n"),
                                     std::string("\vECHO a\r\n"),
                                     std::string("ECHO ''\r\n"),
                                     std::string("ECHO \"\\q\\\\\"\r\n"),
                                     std::string("ECHO \"a\\xZZ\"\r\n"),
                                     std::string("ECHO \"tail\\\r\n"),
                                     std::string("ECHO \"a\"\vb\r\n"),
                                     std::string(70'000, 'x')})
        compare(redis, input);
}

TEST(RedisTwin, agrees_on_what_chance_makes_of_words_and_quotes) {
    const RedisProcess redis;
    const char* const parts[] = {"ECHO ",
                                 "ECHO ",
                                 "a",
                                 "\"",
                                 "'",
                                 "\\",
                                 " ",
                                 "\\x41",
                                 "\\n",
                                 "\r\n",
                                 "\r\n",
                                 "*2\r\n",
                                 "*1\r\n",
                                 "$4\r\nECHO\r\n",
                                 "$4\r\nPING\r\n",
                                 "$1\r\nx\r\n",
                                 "$0\r\n\r\n",
                                 "\t",
                                 "\v",
                                 "*0\r\n",
                                 "$-1\r\n",
                                 "7"};
    std::mt19937 random(20'240'607);
    for (int round = 0; round < 2000 && !HasFailure(); ++round) {
        std::string input;
        for (auto left = 1 + random() % 14; left > 0; --left)
            input += parts[random() % std::size(parts)];
        compare(redis, input + "\r\n");
    }
}

}  // namespace
}  // namespace holdfast::codec::resp
