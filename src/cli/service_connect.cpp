#include <algorithm>
#include <boost/json/object.hpp>

#include "base/code.h"
#include "cli/commands.h"
#include "cli/exit_codes.h"
#include "cli/relay_place.h"
#include "cli/screen.h"
#include "cli/stdio_stream.h"
#include "cli/stop_on_signal.h"
#include "discovery/publisher/open_service.h"
#include "discovery/publisher/splice.h"
#include "net/listener.h"

namespace holdfast {
namespace {

namespace json = boost::json;

constexpr Duration connect_timeout = 15s;

/// What may be done about it.
std::string_view advice(std::string_view code) {
    if (code == "unreachable") return "; start a server with 'holdfast serve' or say where its relay is with --relay";
    if (core::code_in(code) == core::Code::unknown_service) return "; 'holdfast discover' shows those that there are";
    return "";
}

int fail_to_connect(const Screen& screen, const Error& error) {
    screen.complain(Error{error.code, error.message + std::string(advice(error.code))});  // stdout is the stream's
    return error.code == "refused" ? exit_not_now : exit_code_of(error.code);  // by its publisher, which stays
}

/// Lets programs that know nothing of relays connect to a service: to a port here, each time a stream.
class Gateway {
 public:
    Gateway(const Arguments& arguments, const Screen& screen)
        : given_(arguments.service_connect),
          relays_(relay_places(given_.relay, arguments.common)),
          screen_(screen),
          listener_(loop_, [this](discovery::Socket local) { accept(std::move(local)); }) {}

    int run() {
        const auto bound = listener_.listen(given_.listen);
        if (!bound) {
            screen_.complain(bound.error());
            return exit_failed;
        }
        const std::string address = text_of(*bound);
        if (screen_.json())
            screen_.show(json::object{{"listening", address}, {"service", given_.name}});
        else
            screen_.note(given_.name + " is at " + address);
        const StopOnSignal stop{[this] { loop_.stop(); }};
        loop_.run();
        return exit_ok;
    }

 private:
    void accept(discovery::Socket local) {
        if (streams_ >= given_.streams) return turn_away(local, "too many streams");
        ++streams_;
        const auto kept = std::make_shared<discovery::Socket>(std::move(local));
        discovery::dial_service(
            loop_, relays_, given_.name, connect_timeout,
            [this, kept](discovery::StreamResult result) {
                if (auto* stream = std::get_if<discovery::Socket>(&result))
                    return discovery::splice(std::move(*stream), std::move(*kept), [this] { --streams_; });
                --streams_;
                const auto& failed = std::get<discovery::StreamFailed>(result);
                turn_away(*kept, failed.message.empty() ? failed.code : failed.message);
            },
            [this](const ServerAddress& relay) { ask_last(relay); });
    }

    /// The next stream need not wait for it again.
    void ask_last(const ServerAddress& relay) {
        if (relays_.front().authority() == relay.authority())
            std::rotate(relays_.begin(), relays_.begin() + 1, relays_.end());
    }

    /// Reset, not closed: an end without an error would look like an empty answer.
    void turn_away(discovery::Socket& local, const std::string& why) {
        screen_.note("somebody who wants " + given_.name + " was turned away: " + why);
        boost::system::error_code ignored;
        local.set_option(boost::asio::socket_base::linger(true, 0), ignored);
        local.close(ignored);
    }

    const ServiceConnectArguments& given_;
    std::vector<ServerAddress> relays_;  // the first is asked first
    const Screen& screen_;
    boost::asio::io_context loop_{1};
    Listener listener_;
    std::size_t streams_ = 0;
};

}  // namespace

int connect_command(const Arguments& arguments) {
    const Screen screen{arguments.common};
    const ServiceConnectArguments& given = arguments.service_connect;
    if (!given.listen.empty()) return Gateway{arguments, screen}.run();
    const auto opened =
        discovery::open_service(relay_places(given.relay, arguments.common), given.name, connect_timeout);
    if (!opened) return fail_to_connect(screen, opened.error());
    if (const auto copied = copy_standard_streams(Fd{*opened}); !copied) {
        screen.complain(copied.error());
        return exit_failed;
    }
    return exit_ok;
}

}  // namespace holdfast
