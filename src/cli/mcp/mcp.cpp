#include <csignal>
#include <filesystem>
#include <fmt/format.h>
#include <optional>
#include <system_error>
#include <unistd.h>

#include "cli/app.h"
#include "cli/commands.h"
#include "cli/exit_codes.h"
#include "cli/guard/git_repository.h"
#include "cli/mcp/mcp_server.h"
#include "cli/mcp/mcp_tools.h"
#include "cli/mcp/mcp_words.h"
#include "cli/screen.h"
#include "cli/stop_on_signal.h"
#include "client/http_transport.h"

namespace holdfast::cli::mcp {
namespace {

constexpr auto release_within = 3s;

/// The root of relative paths: --root, or the work tree in which the program was started, or nothing.
Result<std::string> root_of(const McpOptions& options, const std::optional<guard::GitRepository>& repository) {
    if (options.root.empty()) return repository ? repository->root() : std::string{};
    std::error_code why;
    const auto root = std::filesystem::canonical(options.root, why);
    if (why) return Error{Code::invalid_argument, fmt::format("--root {}: {}", options.root, why.message())};
    return root.string();
}

}  // namespace

int mcp_command(const Arguments& arguments) {
    const McpOptions& options = arguments.mcp;
    const Screen screen{arguments.common};
    auto opened = guard::GitRepository::open(options.root);
    const std::optional<guard::GitRepository> repository = opened ? std::optional(std::move(*opened)) : std::nullopt;
    const auto root = root_of(options, repository);
    if (!root) {
        screen.complain(root.error());
        return exit_usage;
    }
    const auto identity =
        guard::work_tree_identity({options.holder, options.name_space}, repository ? &*repository : nullptr);
    std::signal(SIGPIPE, SIG_IGN);  // a failed write shows that the host is gone

    McpAgent agent{{identity.holder, identity.name_space, options.priority}};
    const auto servers = std::make_shared<client::ServerList>(arguments.common.server);
    McpLeases leases{std::make_shared<client::HttpTransport>(servers), agent};
    McpTools tools{{servers, *root}, agent, leases};
    const McpProtocol protocol{{version(), mcp_instructions(identity.holder, *root), mcp_tool_list()}};
    McpServer server{{STDIN_FILENO, STDOUT_FILENO}, protocol, tools};
    {
        const StopOnSignal stop{[&server] { server.stop(); }};
        screen.note(
            fmt::format("serving MCP for the holder {}, with leases of {}", identity.holder, arguments.common.server));
        server.run();
        tools.release_all(release_within);
    }
    return exit_ok;
}

}  // namespace holdfast::cli::mcp
