#include "server/signals.h"

#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <signal.h>

namespace holdfast {
namespace {

bool is_ignored(int signal) {
    struct sigaction now {};
    return ::sigaction(signal, nullptr, &now) == 0 && now.sa_handler == SIG_IGN;
}

}  // namespace

struct Signals::Impl {
    explicit Impl(boost::asio::io_context& loop) : set(loop, SIGTERM, SIGINT) {
        if (!is_ignored(SIGHUP)) set.add(SIGHUP);
    }

    boost::asio::signal_set set;
};

Signals::Signals(boost::asio::io_context& loop, std::function<void()> on_first) : impl_(std::make_unique<Impl>(loop)) {
    ::signal(SIGPIPE, SIG_IGN);
    impl_->set.async_wait([this, on_first = std::move(on_first)](const boost::system::error_code& failed, int) {
        if (failed) return;
        impl_->set.clear();
        on_first();
    });
}

Signals::~Signals() = default;

}  // namespace holdfast
