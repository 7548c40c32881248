#include "support/postgres_process.h"

#include <arpa/inet.h>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <grp.h>
#include <libpq-fe.h>
#include <memory>
#include <poll.h>
#include <pwd.h>
#include <random>
#include <signal.h>
#include <sstream>
#include <stdexcept>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/freezing.h"
#include "support/scratch.h"

namespace holdfast {
namespace {

namespace fs = std::filesystem;

constexpr auto patience = std::chrono::seconds(60);

/// The folder of its programs, where the user that it runs as can execute them.
std::string find_programs() {
    FILE* script = ::popen(HOLDFAST_ROOT "/scripts/postgres-programs", "r");
    if (script == nullptr) throw std::runtime_error("scripts/postgres-programs cannot be run");
    std::string folder;
    for (int next = 0; (next = std::fgetc(script)) != EOF && next != '\n';)
        folder.push_back(static_cast<char>(next));
    if (::pclose(script) != 0) throw std::runtime_error("there is no PostgreSQL here: scripts/setup unpacks one");
    return folder;
}

const std::string& programs() {
    static const std::string found = find_programs();
    return found;
}

/// Below those that the system gives to whoever connects: one of them may be taken the next moment.
std::uint16_t free_port() {
    int highest = 32768;
    std::ifstream("/proc/sys/net/ipv4/ip_local_port_range") >> highest;
    std::random_device random;
    std::uniform_int_distribution<int> any(10000, std::max(highest, 11000) - 1);
    for (int attempt = 0; attempt < 1000; ++attempt) {
        const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_port = htons(static_cast<std::uint16_t>(any(random)));
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        const bool bound = ::bind(socket, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
        ::close(socket);
        if (bound) return ntohs(address.sin_port);
    }
    throw std::runtime_error("no free port");
}

std::string contents(const std::string& path) {
    std::ostringstream out;
    out << std::ifstream(path).rdbuf();
    return out.str();
}

void wait_a_little() {
    ::poll(nullptr, 0, 20);
}

}  // namespace

PostgresProcess::PostgresProcess(Options options) : options_(std::move(options)), port_(free_port()) {
    const std::string pattern = make_scratch_folder("postgres");
    folder_ = pattern;
    if (::geteuid() == 0) {
        const passwd* nobody = ::getpwnam("nobody");
        if (nobody == nullptr || ::chown(folder_.c_str(), nobody->pw_uid, nobody->pw_gid) != 0)
            throw std::runtime_error("PostgreSQL does not run as root, and there is no nobody");
    }
    std::ofstream(folder_ + "/clock") << "+0\n";
    make_data();
    start();
}

PostgresProcess::~PostgresProcess() {
    kill();
    std::error_code ignored;
    fs::remove_all(folder_, ignored);
}

std::string PostgresProcess::url(const std::string& query) const {
    return "postgres://holdfast@127.0.0.1:" + std::to_string(port_) + "/postgres" + query;
}

pid_t PostgresProcess::run(const std::vector<std::string>& words, const std::string& log) const {
    std::vector<std::string> copies = words;
    std::vector<char*> pointers;
    for (std::string& word : copies)
        pointers.push_back(word.data());
    pointers.push_back(nullptr);
    const passwd* nobody = ::geteuid() == 0 ? ::getpwnam("nobody") : nullptr;
    const std::string clock = folder_ + "/clock";
    const pid_t pid = ::fork();
    if (pid != 0) return pid;
    if (nobody != nullptr &&
        (::setgroups(0, nullptr) != 0 || ::setgid(nobody->pw_gid) != 0 || ::setuid(nobody->pw_uid) != 0))
        ::_exit(126);
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    const int nothing = ::open("/dev/null", O_RDWR);
    const int out = ::open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
    ::dup2(nothing, STDIN_FILENO);
    ::dup2(out, STDOUT_FILENO);
    ::dup2(out, STDERR_FILENO);
    if (::chdir(folder_.c_str()) != 0) ::_exit(125);
    ::setenv("LC_ALL", "C", 1);
    if (options_.own_clock) {
        ::setenv("LD_PRELOAD", "/usr/lib/x86_64-linux-gnu/faketime/libfaketime.so.1", 1);
        ::setenv("FAKETIME_TIMESTAMP_FILE", clock.c_str(), 1);
        ::setenv("FAKETIME_NO_CACHE", "1", 1);
        ::setenv("FAKETIME_DONT_FAKE_MONOTONIC", "1", 1);
    } else {
        ::unsetenv("LD_PRELOAD");
    }
    ::execv(pointers[0], pointers.data());
    ::_exit(127);
}

/// Runs a program of those that come with it, to its end.
void PostgresProcess::make(const std::vector<std::string>& words) {
    const std::string log = folder_ + "/make.log";
    const pid_t pid = run(words, log);
    int status = 0;
    if (::waitpid(pid, &status, 0) != pid || status != 0) throw std::runtime_error(words[0] + ": " + contents(log));
}

void PostgresProcess::make_data() {
    const std::string data = folder_ + "/data";
    if (options_.tls)
        make({"/usr/bin/openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-days",
              "1", "-nodes", "-subj", "/CN=localhost", "-out", folder_ + "/tls.pem", "-keyout", folder_ + "/tls.key"});
    if (options_.primary != nullptr)
        return make({programs() + "/pg_basebackup", "-d", options_.primary->url(), "-D", data, "-R", "-c", "fast",
                     "--no-sync"});
    make(
        {programs() + "/initdb", "-D", data, "-U", "holdfast", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync"});
    std::ofstream(data + "/pg_hba.conf") << "host all needs_password 127.0.0.1/32 scram-sha-256\n"
                                            "host all all 127.0.0.1/32 trust\n"
                                            "host replication all 127.0.0.1/32 trust\n";
}

void PostgresProcess::start() {
    std::vector<std::string> words{programs() + "/postgres", "-D", folder_ + "/data"};
    std::vector<std::string> settings{"port=" + std::to_string(port_),
                                      "listen_addresses=127.0.0.1",
                                      "unix_socket_directories=",
                                      "shared_buffers=16MB",
                                      "max_connections=200",
                                      "logging_collector=off",
                                      options_.fsync ? "fsync=on" : "fsync=off"};
    if (options_.tls)
        settings.insert(settings.end(),
                        {"ssl=on", "ssl_cert_file=" + folder_ + "/tls.pem", "ssl_key_file=" + folder_ + "/tls.key"});
    settings.insert(settings.end(), options_.settings.begin(), options_.settings.end());
    for (const std::string& setting : settings) {
        words.push_back("-c");
        words.push_back(setting);
    }
    const std::string log = folder_ + "/server.log";
    const auto until = std::chrono::steady_clock::now() + patience;
    pid_ = run(words, log);
    while (PQping(url().c_str()) != PQPING_OK) {
        if (std::chrono::steady_clock::now() > until) throw std::runtime_error("no start: " + contents(log));
        // What is left of an earlier life, killed a moment ago, may still hold its memory.
        if (::waitpid(pid_, nullptr, WNOHANG) == pid_) pid_ = run(words, log);
        wait_a_little();
    }
}

std::vector<pid_t> PostgresProcess::processes() const {
    std::vector<pid_t> all{pid_};
    std::ifstream children("/proc/" + std::to_string(pid_) + "/task/" + std::to_string(pid_) + "/children");
    for (pid_t child = 0; children >> child;)
        all.push_back(child);
    return all;
}

void PostgresProcess::kill() {
    if (pid_ <= 0) return;
    freeze();
    for (const pid_t pid : processes())
        ::kill(pid, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    pid_ = -1;
}

/// While it stops it still takes connections, to say so, and waits a minute for each client to say who it is. A client
/// on this thread cannot, so the process that waits for it is ended.
void PostgresProcess::stop() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGINT);
    const auto end_clients_at = std::chrono::steady_clock::now() + std::chrono::seconds(1);
    while (::waitpid(pid_, nullptr, WNOHANG) == 0) {
        wait_a_little();
        if (std::chrono::steady_clock::now() < end_clients_at) continue;
        for (const pid_t pid : processes())
            if (pid != pid_) ::kill(pid, SIGTERM);
    }
    pid_ = -1;
}

/// The first is the one that starts the others.
void PostgresProcess::freeze() {
    holdfast::freeze(pid_);
    for (const pid_t pid : processes())
        holdfast::freeze(pid);
}

void PostgresProcess::thaw() {
    for (const pid_t pid : processes())
        holdfast::thaw(pid);
}

void PostgresProcess::set_clock_ahead(double seconds) {
    const std::string next = folder_ + "/clock.next";
    std::ofstream(next) << (seconds < 0 ? "" : "+") << seconds << "\n";
    fs::permissions(next, fs::perms::all);
    fs::rename(next, folder_ + "/clock");
}

PostgresSession::PostgresSession(const std::string& url) : handle_(PQconnectdb(url.c_str())) {
    if (PQstatus(static_cast<PGconn*>(handle_)) != CONNECTION_OK) {
        const std::string why = PQerrorMessage(static_cast<PGconn*>(handle_));
        PQfinish(static_cast<PGconn*>(handle_));
        throw std::runtime_error(why);
    }
    PQsetNoticeReceiver(
        static_cast<PGconn*>(handle_), [](void*, const PGresult*) {}, nullptr);
}

PostgresSession::~PostgresSession() {
    PQfinish(static_cast<PGconn*>(handle_));
}

std::string PostgresSession::run(const std::string& sql) {
    const std::unique_ptr<PGresult, void (*)(PGresult*)> result(PQexec(static_cast<PGconn*>(handle_), sql.c_str()),
                                                                PQclear);
    const ExecStatusType status = PQresultStatus(result.get());
    if (status != PGRES_TUPLES_OK && status != PGRES_COMMAND_OK)
        throw std::runtime_error(sql + ": " + PQresultErrorMessage(result.get()));
    return PQntuples(result.get()) > 0 && PQnfields(result.get()) > 0 ? PQgetvalue(result.get(), 0, 0) : "";
}

}  // namespace holdfast
