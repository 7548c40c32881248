#include "supervise/terminal.h"

#include <csignal>
#include <gtest/gtest.h>
#include <poll.h>
#include <pty.h>
#include <sys/wait.h>
#include <thread>

#include "supervise/keeper_process.h"

namespace holdfast::supervise {
namespace {

using Clock = std::chrono::steady_clock;

/// A person at a terminal: a program with a terminal of its own, what it prints and what is typed.
class Person {
 public:
    explicit Person(std::vector<std::string> command) {
        std::vector<char*> pointers;
        for (std::string& argument : command)
            pointers.push_back(argument.data());
        pointers.push_back(nullptr);
        int screen = -1;
        id_ = forkpty(&screen, nullptr, nullptr, nullptr);
        if (id_ == 0) {
            setenv("EXE", ("/proc/" + std::to_string(getppid()) + "/exe").c_str(), 1);
            setenv("PS1", "", 1);
            execvp(pointers[0], pointers.data());
            _exit(125);
        }
        screen_ = Fd{screen};
    }
    ~Person() {
        ::kill(id_, SIGKILL);
        screen_.close();  // hangs up on whatever is left
        waitpid(id_, nullptr, 0);
    }
    Person(const Person&) = delete;
    Person& operator=(const Person&) = delete;

    void type(const std::string& keys) const {
        if (::write(screen_.get(), keys.data(), keys.size()) < 0) std::abort();
    }

    /// Waits until the text shows on the screen, and forgets all up to it.
    bool sees(const std::string& text) {
        const auto limit = Clock::now() + patience;
        for (;;) {
            const std::size_t place = seen_.find(text);
            if (place != std::string::npos) {
                seen_.erase(0, place + text.size());
                return true;
            }
            pollfd waiting{screen_.get(), POLLIN, 0};
            if (Clock::now() >= limit || ::poll(&waiting, 1, 30'000) <= 0) break;
            char bytes[4096];
            const ssize_t length = ::read(screen_.get(), bytes, sizeof bytes);
            if (length <= 0) break;
            seen_.append(bytes, static_cast<std::size_t>(length));
        }
        ADD_FAILURE() << "never saw '" << text << "' in: " << seen_;
        return false;
    }

 private:
    pid_t id_ = 0;
    Fd screen_;
    std::string seen_;
};

const std::string keeper = "$EXE __keeper 3600000 3600000 ";

TEST(TerminalHandOver, lets_the_command_read_and_gives_the_terminal_back) {
    Person person{{"sh", "-c", keeper + "sh -c 'echo ask; read a; echo heard-$a'; read b; echo then-$b"}};
    ASSERT_TRUE(person.sees("ask"));
    person.type("one\n");
    ASSERT_TRUE(person.sees("heard-one"));
    person.type("two\n");
    EXPECT_TRUE(person.sees("then-two"));
}

TEST(TerminalHandOver, sends_the_interrupt_key_to_the_command) {
    Person person{{"sh", "-c",
                   "trap '' INT; " + keeper +
                       "sh -c 'trap - INT; python3 -c \"import signal; signal.signal(signal.SIGINT, "
                       "signal.default_int_handler); print(\\\"up\\\", flush=True); signal.pause()\" "
                       "2>/dev/null; echo code-$?'"}};
    ASSERT_TRUE(person.sees("up"));
    person.type("\x03");
    EXPECT_TRUE(person.sees("code-"));
}

TEST(TerminalHandOver, comes_when_asked_for_if_the_input_is_a_pipe) {
    Person person{{"sh", "-c",
                   "echo piped | " + keeper +
                       "sh -c 'read a; echo ask-$a; read b </dev/tty; echo heard-$b'; read c; echo then-$c"}};
    ASSERT_TRUE(person.sees("ask-piped"));
    person.type("one\n");
    ASSERT_TRUE(person.sees("heard-one"));
    person.type("two\n");
    EXPECT_TRUE(person.sees("then-two"));
}

TEST(TerminalHandOver, suspends_and_resumes_with_the_command) {
    Person person{{"bash", "--norc", "--noprofile", "-i"}};
    person.type("stty -echo; " + keeper + "sh -c 'while read a; do echo heard-$a; done'\n");
    person.type("one\n");
    ASSERT_TRUE(person.sees("heard-one"));
    person.type("\x1a");
    ASSERT_TRUE(person.sees("Stopped"));
    person.type("echo shell-$((40+2))\n");
    ASSERT_TRUE(person.sees("shell-42"));
    person.type("fg\n");
    person.type("two\n");
    ASSERT_TRUE(person.sees("heard-two"));
    person.type("\x04");
    person.type("echo shell-$((40+3))\n");
    EXPECT_TRUE(person.sees("shell-43"));
}

TEST(TerminalHandOver, restores_the_settings_that_a_killed_command_left) {
    Person person{{"sh", "-c", keeper + "sh -c 'stty raw -echo; kill -KILL $$'; stty -a; echo end"}};
    EXPECT_TRUE(person.sees(" icanon"));
    EXPECT_TRUE(person.sees("end"));
}

}  // namespace
}  // namespace holdfast::supervise
