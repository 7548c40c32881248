#include <holdfast/client.h>

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <unistd.h>
#include <utility>

#include "base/random.h"
#include "client/acquiring.h"
#include "client/client_core.h"
#include "client/http_connection.h"
#include "client/http_transport.h"

namespace holdfast {

namespace {

constexpr std::chrono::milliseconds timeout_min{1};
constexpr std::chrono::milliseconds max_timeout{3'600'000};

std::string fresh_holder() {
    std::array<char, 65> host{};
    if (::gethostname(host.data(), host.size() - 1) != 0) host[0] = '\0';
    return fmt::format("{}-{}-{}", host.data(), ::getpid(), random_hex(4));
}

/// A malformed address is reported by the first acquire, since a constructor returns no result.
Client::Core::Config config_of(const ClientOptions& options) {
    const auto server = client::parse_servers(client::default_server(options.server));
    return {.transport = std::make_shared<client::HttpTransport>(server ? *server : "http://127.0.0.1:7400"),
            .holder = options.holder,
            .timeout = std::clamp(options.timeout, timeout_min, max_timeout),
            .problem = server ? std::nullopt : std::optional(server.error()),
            .epoch = options.epoch};
}

}  // namespace

Client::Core::Core(Config config)
    : holder(config.holder.empty() ? fresh_holder() : std::move(config.holder)),
      timeout(config.timeout),
      problem(std::move(config.problem)),
      transport(config.transport),
      epoch(std::make_shared<client::Epoch>(config.epoch)),
      keeper({config.transport, holder, epoch, timeout}) {}

Client::Core::~Core() {
    transport->stop();
}

std::shared_ptr<Client::Core> Client::Core::make(Config config) {
    const auto destroy_unless_forked = [](const Core* core) {
        if (core->born == client::forks()) delete core;
    };
    return {new Core(std::move(config)), destroy_unless_forked};
}

bool Client::Core::release(const std::vector<Grant>& grants, const std::string& session, Duration within) const {
    client::NamedLeases names{holder, {}, epoch->get(), session};
    for (const auto& grant : grants)
        names.leases.push_back({grant.id, {}});
    const auto replies = transport->release(names, within);
    return replies && std::ranges::all_of(*replies, [](const client::ReleaseReply& reply) {
               return std::holds_alternative<client::Released>(reply);
           });
}

Client::Client(ClientOptions options) : core_(Core::make(config_of(options))) {}
Client::Client(std::shared_ptr<Core> core) : core_(std::move(core)) {}

Acquired Client::acquire(std::string resource, const AcquireOptions& options) {
    return acquire(std::vector{Intent{std::move(resource)}}, options);
}

Acquired Client::acquire(std::vector<Intent> intents, const AcquireOptions& options) {
    if (!core_)
        return Failure{.outcome = Outcome::refused,
                       .code = "invalid_argument",
                       .message = "this client was moved from: use the one it was moved to"};
    return client::Acquiring(core_, std::move(intents), options).run();
}

const std::string& Client::holder() const& {
    static const std::string none;
    return core_ ? core_->holder : none;
}

std::string Client::holder() const&& {
    return holder();
}

}  // namespace holdfast
