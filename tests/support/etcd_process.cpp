#include "support/etcd_process.h"

#include <chrono>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <functional>
#include <netinet/in.h>
#include <poll.h>
#include <random>
#include <signal.h>
#include <stdexcept>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/freezing.h"
#include "support/scratch.h"

namespace holdfast {
namespace {

constexpr auto start_within = std::chrono::seconds(60);

sockaddr_in address_of(std::uint16_t port) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return address;
}

std::string binary() {
    const char* source = std::getenv("HOLDFAST_SOURCE");
    const std::string root = source != nullptr ? std::string(source) + "/" : "";
    for (const std::string& path : {root + "build/etcd/usr/bin/etcd", std::string("/usr/bin/etcd")})
        if (::access(path.c_str(), X_OK) == 0) return std::filesystem::absolute(path);
    throw std::runtime_error("there is no etcd here: scripts/setup unpacks it");
}

/// One that nobody listens on, and that the system gives to nobody who connects: a member must find it free again when
/// it is restarted.
std::uint16_t free_port() {
    int first_of_connections = 32768;
    std::ifstream("/proc/sys/net/ipv4/ip_local_port_range") >> first_of_connections;
    static std::mt19937 random{std::random_device{}()};
    std::uniform_int_distribution<int> any(10000, std::max(first_of_connections, 11000) - 1);
    for (int attempt = 0; attempt < 1000; ++attempt) {
        const auto port = static_cast<std::uint16_t>(any(random));
        const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        const sockaddr_in address = address_of(port);
        const bool free = ::bind(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
        ::close(socket);
        if (free) return port;
    }
    throw std::runtime_error("no free port");
}

/// The whole answer to an HTTP request, or nothing if nobody answers.
std::string ask(std::uint16_t port, const std::string& request) {
    const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const timeval limit{5, 0};
    ::setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    const sockaddr_in address = address_of(port);
    std::string answer;
    if (::connect(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 &&
        ::send(socket, request.data(), request.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(request.size())) {
        char part[4096];
        for (ssize_t size = ::recv(socket, part, sizeof part, 0); size > 0; size = ::recv(socket, part, sizeof part, 0))
            answer.append(part, static_cast<std::size_t>(size));
    }
    ::close(socket);
    return answer;
}

std::string get(std::uint16_t port, const std::string& path) {
    return ask(port, "GET " + path + " HTTP/1.0\r\nHost: localhost\r\n\r\n");
}

void wait_for(const char* what, const std::function<bool()>& condition) {
    const auto until = std::chrono::steady_clock::now() + start_within;
    while (!condition()) {
        if (std::chrono::steady_clock::now() > until) throw std::runtime_error(std::string("etcd: no ") + what);
        ::poll(nullptr, 0, 20);
    }
}

std::string name_of(std::size_t member) {
    return std::string(1, static_cast<char>('a' + member));
}

std::string loopback_url(std::uint16_t port) {
    return "http://127.0.0.1:" + std::to_string(port);
}

}  // namespace

EtcdProcess::EtcdProcess(std::size_t members, std::vector<std::string> options)
    : members_(members), options_(std::move(options)) {
    const std::string folder = make_scratch_folder("etcd");
    folder_ = folder;
    for (Member& member : members_)
        member = {free_port(), free_port(), -1};
    for (std::size_t member = 0; member < members; ++member)
        start(member, false);
    for (std::size_t member = 0; member < members; ++member)
        wait_until_healthy(member);
}

EtcdProcess::~EtcdProcess() {
    for (std::size_t member = 0; member < size(); ++member)
        kill(member);
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
}

std::string EtcdProcess::url(std::string_view credentials) const {
    std::string url = "etcd://" + std::string(credentials);
    for (std::size_t member = 0; member < size(); ++member)
        url += (member > 0 ? ",127.0.0.1:" : "127.0.0.1:") + std::to_string(port(member));
    return url;
}

void EtcdProcess::start(std::size_t member, bool wait) {
    launch(member);
    if (wait) wait_until_healthy(member);
}

void EtcdProcess::launch(std::size_t member) {
    const std::string path = binary(), own = loopback_url(port(member)),
                      peer = loopback_url(members_[member].peer_port);
    const std::string folder = folder_ + "/" + name_of(member) + std::to_string(life_);
    std::string cluster;
    for (std::size_t i = 0; i < size(); ++i)
        cluster += (i > 0 ? "," : "") + name_of(i) + "=" + loopback_url(members_[i].peer_port);
    std::vector<std::string> words{"etcd",
                                   "--name",
                                   name_of(member),
                                   "--data-dir",
                                   folder,
                                   "--listen-peer-urls",
                                   peer,
                                   "--initial-advertise-peer-urls",
                                   peer,
                                   "--listen-client-urls",
                                   own,
                                   "--advertise-client-urls",
                                   own,
                                   "--initial-cluster",
                                   cluster,
                                   "--initial-cluster-token",
                                   folder_ + std::to_string(life_),
                                   "--log-level",
                                   "error"};
    words.insert(words.end(), options_.begin(), options_.end());
    std::vector<char*> pointers;
    for (std::string& word : words)
        pointers.push_back(word.data());
    pointers.push_back(nullptr);
    const std::string log = folder + ".log";
    members_[member].pid = ::fork();
    if (members_[member].pid == 0) {
        ::prctl(PR_SET_PDEATHSIG, SIGKILL);
        const int file = ::open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
        ::dup2(file, STDOUT_FILENO);
        ::dup2(file, STDERR_FILENO);
        ::close_range(STDERR_FILENO + 1, ~0U, 0);  // connections of the test would not end while etcd has them
        ::execv(path.c_str(), pointers.data());
        ::_exit(127);
    }
}

void EtcdProcess::wait_until_healthy(std::size_t member) const {
    wait_for("health", [&] { return get(port(member), "/health").find("\"true\"") != std::string::npos; });
}

void EtcdProcess::kill(std::size_t member) {
    pid_t& pid = members_[member].pid;
    if (pid <= 0) return;
    ::kill(pid, SIGKILL);
    ::waitpid(pid, nullptr, 0);
    pid = -1;
}

void EtcdProcess::lose_data() {
    for (std::size_t member = 0; member < size(); ++member)
        kill(member);
    ++life_;
    for (std::size_t member = 0; member < size(); ++member)
        start(member, false);
    for (std::size_t member = 0; member < size(); ++member)
        wait_until_healthy(member);
}

void EtcdProcess::save_data() {
    restart_all_on("", ".saved");
}

void EtcdProcess::restore_data() {
    restart_all_on(".saved", "");
}

/// After the folder of each member with the one ending has been copied to that with the other.
void EtcdProcess::restart_all_on(const std::string& from, const std::string& to) {
    for (std::size_t member = 0; member < size(); ++member) {
        kill(member);
        const std::string folder = folder_ + "/" + name_of(member) + std::to_string(life_);
        std::filesystem::remove_all(folder + to);
        std::filesystem::copy(folder + from, folder + to, std::filesystem::copy_options::recursive);
    }
    for (std::size_t member = 0; member < size(); ++member)
        start(member, false);
    for (std::size_t member = 0; member < size(); ++member)
        wait_until_healthy(member);
}

void EtcdProcess::freeze(std::size_t member) {
    holdfast::freeze(members_[member].pid);
}

void EtcdProcess::thaw(std::size_t member) {
    holdfast::thaw(members_[member].pid);
}

std::size_t EtcdProcess::leader() const {
    std::size_t found = size();
    wait_for("leader", [&] {
        for (std::size_t member = 0; member < size() && found == size(); ++member)
            if (members_[member].pid > 0 &&
                get(port(member), "/metrics").find("\netcd_server_is_leader 1\n") != std::string::npos)
                found = member;
        return found != size();
    });
    return found;
}

std::string EtcdProcess::post(std::string_view path, std::string_view json, std::string_view token) const {
    std::string request =
        "POST " + std::string(path) + " HTTP/1.0\r\nHost: localhost\r\nContent-Type: application/json\r\n";
    if (!token.empty()) request += "Authorization: " + std::string(token) + "\r\n";
    request += "Content-Length: " + std::to_string(json.size()) + "\r\n\r\n" + std::string(json);
    for (std::size_t member = 0; member < size(); ++member) {
        if (members_[member].pid <= 0) continue;
        const std::string answer = ask(port(member), request);
        const std::size_t body = answer.find("\r\n\r\n");
        return body == std::string::npos ? std::string() : answer.substr(body + 4);
    }
    return {};
}

}  // namespace holdfast
