#include <arpa/inet.h>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <set>
#include <string>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

/// A backend that bears witness against itself: it listens on PORT and writes to the file $1 what happens and, every 20
/// ms, that it lives, as lines `WHAT BOOT_NS REAL_NS TOKEN BACKEND PID`. The clocks are the kernel's own, whatever
/// library stands between it and the program. WHAT is `start`, `alive`, `term` (SIGTERM came), `overlap` (a process of
/// the same file that another token started is alive).
///
/// More words: `ignore` SIGTERM; `detach`: a child in a session of its own, whose parent is gone, bears witness as
/// well.
namespace {

volatile std::sig_atomic_t told_to_stop = 0;

std::int64_t now_ns(clockid_t clock) {
    timespec reading{};
    ::syscall(SYS_clock_gettime, clock, &reading);
    return reading.tv_sec * 1'000'000'000LL + reading.tv_nsec;
}

const char* variable(const char* name) {
    const char* value = std::getenv(name);
    return value != nullptr ? value : "-";
}

/// One write per line, so that lines of several processes do not mix.
void witness(int file, const char* what) {
    char line[512];
    const int size =
        std::snprintf(line, sizeof line, "%s %lld %lld %s %s %d\n", what,
                      static_cast<long long>(now_ns(CLOCK_BOOTTIME)), static_cast<long long>(now_ns(CLOCK_REALTIME)),
                      variable("HOLDFAST_FENCING_TOKEN"), variable("HOLDFAST_BACKEND_ID"), static_cast<int>(getpid()));
    if (::write(file, line, static_cast<std::size_t>(size)) != size) std::abort();
}

/// A process that has ended but was not waited for is dead.
bool lives(int pid) {
    std::FILE* stat = std::fopen(("/proc/" + std::to_string(pid) + "/stat").c_str(), "re");
    if (stat == nullptr) return false;
    char name[64] = "";
    char state = 'X';
    const bool read = std::fscanf(stat, "%*d (%63[^)]) %c", name, &state) == 2;
    std::fclose(stat);
    return read && std::strncmp(name, "keys_backend", 12) == 0 && state != 'Z' && state != 'X';
}

/// Looks after everybody who ever wrote to the file under another token.
void look_for_others(int file, const char* path) {
    std::FILE* lines = std::fopen(path, "re");
    if (lines == nullptr) std::abort();
    std::set<int> others;
    char token[64];
    int pid = 0;
    while (std::fscanf(lines, "%*s %*s %*s %63s %*s %d", token, &pid) == 2)
        if (std::strcmp(token, variable("HOLDFAST_FENCING_TOKEN")) != 0) others.insert(pid);
    std::fclose(lines);
    for (const int other : others)
        if (lives(other)) witness(file, "overlap");
}

int listen_on(const char* port) {
    const int server = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const int yes = 1;
    ::setsockopt(server, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(std::atoi(port)));
    if (::bind(server, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0 || ::listen(server, 100) != 0) {
        std::perror("listen");
        std::exit(3);
    }
    return server;
}

void detach(int server) {
    if (::fork() != 0) return;
    ::setsid();
    if (::fork() != 0) ::_exit(0);
    ::close(server);
    std::signal(SIGTERM, SIG_IGN);
}

/// Says the token to whoever connects.
void greet(int server) {
    const int client = ::accept4(server, nullptr, nullptr, SOCK_CLOEXEC);
    if (client < 0) return;
    const std::string token = std::string(variable("HOLDFAST_FENCING_TOKEN")) + "\n";
    (void)!::send(client, token.data(), token.size(), MSG_NOSIGNAL);
    ::close(client);
}

}  // namespace

int main(int argc, char** argv) {
    if (argc < 2) return 2;
    const int file = ::open(argv[1], O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    if (file < 0) return 2;
    look_for_others(file, argv[1]);
    witness(file, "start");
    std::signal(SIGTERM, [](int) { told_to_stop = 1; });
    const int server = listen_on(variable("PORT"));
    bool ignores = false;
    for (int i = 2; i < argc; ++i) {
        if (std::strcmp(argv[i], "ignore") == 0) ignores = true;
        if (std::strcmp(argv[i], "detach") == 0) detach(server);
    }
    bool said = false;
    for (;;) {
        pollfd waiting{server, POLLIN, 0};
        if (::poll(&waiting, 1, 20) > 0) (waiting.revents & POLLIN) != 0 ? greet(server) : (void)::usleep(20'000);
        witness(file, "alive");
        if (told_to_stop != 0 && !said) witness(file, "term");
        said = told_to_stop != 0;
        if (said && !ignores) return 0;
    }
}
