#include "net/tls_handshakes.h"

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <vector>

namespace holdfast::net {

struct TlsHandshakes::Impl : std::enable_shared_from_this<Impl> {
    struct Task {
        std::shared_ptr<TlsStream> stream;
        std::function<void(TlsStream::Step)> done;
        boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work;  // the loop waits for it
    };

    Impl(boost::asio::io_context& loop_given, Limits limits_given) : loop(loop_given), limits(limits_given) {}

    void run();
    void stop();

    boost::asio::io_context& loop;
    const Limits limits;
    std::mutex mutex;
    std::condition_variable more;
    std::deque<Task> tasks;
    bool stopped = false;
    std::vector<std::thread> threads;
};

void TlsHandshakes::Impl::run() {
    while (true) {
        std::unique_lock lock(mutex);
        more.wait(lock, [this] { return stopped || !tasks.empty(); });
        if (stopped) return;
        Task task = std::move(tasks.front());
        tasks.pop_front();
        lock.unlock();
        const TlsStream::Step step = task.stream->handshake();
        // The stream travels with the answer, so that its last owner, and with it the socket, is always on the loop.
        boost::asio::post(loop, [self = shared_from_this(), task = std::move(task), step]() mutable {
            if (!self->stopped) task.done(step);
        });
    }
}

void TlsHandshakes::Impl::stop() {
    {
        const std::lock_guard lock(mutex);
        stopped = true;
        tasks.clear();
    }
    more.notify_all();
    for (std::thread& thread : threads)
        thread.join();
}

TlsHandshakes::TlsHandshakes(boost::asio::io_context& loop, Limits limits)
    : impl_(std::make_shared<Impl>(loop, limits)) {
    for (std::size_t i = 0; i < limits.threads; ++i)
        impl_->threads.emplace_back([impl = impl_.get()] { impl->run(); });
}

TlsHandshakes::~TlsHandshakes() {
    impl_->stop();
}

bool TlsHandshakes::step(std::shared_ptr<TlsStream> stream, std::function<void(TlsStream::Step)> done) {
    {
        const std::lock_guard lock(impl_->mutex);
        if (impl_->tasks.size() >= impl_->limits.waiting) return false;
        impl_->tasks.push_back({std::move(stream), std::move(done), boost::asio::make_work_guard(impl_->loop)});
    }
    impl_->more.notify_one();
    return true;
}

std::size_t TlsHandshakes::waiting() const {
    const std::lock_guard lock(impl_->mutex);
    return impl_->tasks.size();
}

}  // namespace holdfast::net
