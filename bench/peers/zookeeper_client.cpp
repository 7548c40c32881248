#include "zookeeper_client.h"

#include <stdexcept>

namespace holdfast::bench {
namespace {

constexpr std::uint32_t creates_under_way = 1000;

const void* kept(OnAnswer on_answer) {
    return new OnAnswer(std::move(on_answer));
}

void give(const void* kept, int code, const Stat* stat, std::string_view value) {
    const std::unique_ptr<const OnAnswer> on_answer(static_cast<const OnAnswer*>(kept));
    (*on_answer)(code, code == ZOK ? stat : nullptr, value);
}

/// What is not sent is not answered by the library.
void send_or_fail(int refused, const void* data) {
    if (refused != ZOK) give(data, refused, nullptr, {});
}

void on_created(int code, const char*, const Stat* stat, const void* data) {
    give(data, code, stat, {});
}
void on_stat(int code, const Stat* stat, const void* data) {
    give(data, code, stat, {});
}
void on_done(int code, const void* data) {
    give(data, code, nullptr, {});
}
void on_value(int code, const char* value, int size, const Stat* stat, const void* data) {
    give(data, code, stat, size > 0 ? std::string_view(value, static_cast<std::size_t>(size)) : std::string_view());
}

int send_create(zhandle_t* handle, const std::string& path, const std::string& value, const void* data) {
    return zoo_acreate2(handle, path.c_str(), value.data(), static_cast<int>(value.size()), &ZOO_OPEN_ACL_UNSAFE,
                        ZOO_EPHEMERAL, on_created, data);
}

}  // namespace

void ZookeeperClient::wait_for(const std::function<bool()>& happened, const char* what) {
    const Moment limit = SteadyClock::now() + answer_limit;
    while (!happened()) {
        if (SteadyClock::now() >= limit) throw std::runtime_error(std::string("ZooKeeper: no ") + what + " in time");
        loop_.serve(limit);
    }
}

Session ZookeeperClient::connect(Milliseconds timeout) {
    auto session = std::make_shared<ZookeeperSession>(ports_, timeout);
    loop_.forget_those_over();
    loop_.add(session);
    wait_for([&] { return session->connected() || session->over(); }, "session");
    if (session->over()) throw std::runtime_error("ZooKeeper refuses a session");
    return session;
}

ZookeeperAnswer ZookeeperClient::ask(const Session& session, const Send& send) {
    struct Waiting : ZookeeperAnswer {
        bool came = false;
    };
    for (int tries = 1;; ++tries) {
        wait_for([&] { return session->connected() || session->over(); }, "connection");
        const auto answer = std::make_shared<Waiting>();
        answer->tries = tries;
        answer->asked = answer->answered = SteadyClock::now();
        answer->code = ZSESSIONEXPIRED;
        if (session->over()) return *answer;
        const void* data = kept([answer](int code, const Stat* stat, std::string_view value) {
            answer->answered = SteadyClock::now();
            answer->came = true;
            answer->code = code;
            answer->value = value;
            if (stat) answer->stat = *stat;
        });
        send_or_fail(send(session->handle(), data), data);
        wait_for([&] { return answer->came; }, "answer");
        if (!is_connection_loss(answer->code)) return *answer;
    }
}

ZookeeperAnswer ZookeeperClient::create(const Session& session, const std::string& path, const std::string& value) {
    return ask(session, [&](zhandle_t* handle, const void* data) { return send_create(handle, path, value, data); });
}

ZookeeperAnswer ZookeeperClient::remove(const Session& session, const std::string& path) {
    return ask(session, [&](zhandle_t* handle, const void* data) {
        return zoo_adelete(handle, path.c_str(), -1, on_done, data);
    });
}

ZookeeperAnswer ZookeeperClient::get(const Session& session, const std::string& path) {
    return ask(session,
               [&](zhandle_t* handle, const void* data) { return zoo_aget(handle, path.c_str(), 0, on_value, data); });
}

ZookeeperAnswer ZookeeperClient::stat_of(const Session& session, const std::string& path) {
    return ask(session, [&](zhandle_t* handle, const void* data) {
        return zoo_aexists(handle, path.c_str(), 0, on_stat, data);
    });
}

ZookeeperAnswer ZookeeperClient::watch(const Session& session, const std::string& path, watcher_fn on_event,
                                       void* context) {
    return ask(session, [&](zhandle_t* handle, const void* data) {
        return zoo_awexists(handle, path.c_str(), on_event, context, on_stat, data);
    });
}

void ZookeeperClient::send_stat(const Session& session, const std::string& path, OnAnswer on_answer) {
    const void* data = kept(std::move(on_answer));
    const bool over = session->over();
    send_or_fail(over ? ZSESSIONEXPIRED : zoo_aexists(session->handle(), path.c_str(), 0, on_stat, data), data);
}

void ZookeeperClient::send_watch(const Session& session, const std::string& path, watcher_fn on_event, void* context,
                                 OnAnswer on_answer) {
    const void* data = kept(std::move(on_answer));
    send_or_fail(zoo_awexists(session->handle(), path.c_str(), on_event, context, on_stat, data), data);
}

void ZookeeperClient::create_all(const Session& session, std::uint32_t count, const std::string& value,
                                 const PathOf& path_of, const OnCreated& on_created) {
    struct Progress {
        std::uint32_t answered = 0;
        int failed = ZOK;
        const OnCreated* on_created = nullptr;  ///< as long as this function runs
    };
    const auto progress = std::make_shared<Progress>();
    progress->on_created = &on_created;
    const std::shared_ptr<void> at_end(nullptr, [&](void*) { progress->on_created = nullptr; });
    for (std::uint32_t i = 0; i < count && progress->failed == ZOK; ++i) {
        wait_for([&] { return i - progress->answered < creates_under_way; }, "answer");
        const void* data = kept([progress, i](int code, const Stat* stat, std::string_view) {
            ++progress->answered;
            if (code != ZOK)
                progress->failed = code;
            else if (progress->on_created)
                (*progress->on_created)(i, *stat);
        });
        send_or_fail(send_create(session->handle(), path_of(i), value, data), data);
    }
    wait_for([&] { return progress->answered == count || progress->failed != ZOK; }, "answer");
    if (progress->failed != ZOK) throw std::runtime_error("ZooKeeper: " + zookeeper_error(progress->failed));
}

}  // namespace holdfast::bench
