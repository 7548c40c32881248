#include "net/tls.h"

#include <array>
#include <cstdlib>
#include <fcntl.h>
#include <fmt/format.h>
#include <fstream>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "net/tls_handshakes.h"
#include "support/scratch.h"

namespace holdfast::net {
namespace {

/// Certificates made by the command line of OpenSSL, which shares nothing with the code under test but the library.
class TlsTest : public ::testing::Test {
 protected:
    static void SetUpTestSuite() {
        dir = new std::string(make_scratch_folder("tls"));
        make_ca("ca");
        make_ca("other-ca");
        make("server", "ca", "DNS:lease.example,IP:127.0.0.1");
        make("worker", "ca", "URI:spiffe://prod/worker/7,DNS:seven.example");
        make("stranger", "other-ca", "URI:spiffe://prod/worker/7");
    }
    static void TearDownTestSuite() {
        std::filesystem::remove_all(*dir);
        delete dir;
        dir = nullptr;
    }

    static std::string path(const std::string& name) { return *dir + "/" + name; }
    static void run(const std::string& command) {
        ASSERT_EQ(std::system((command + " >" + path("log") + " 2>&1").c_str()), 0) << command;
    }
    static void make_ca(const std::string& name) {
        run(fmt::format("openssl req -x509 -newkey ed25519 -nodes -days 2 -subj /CN={0} -keyout {1}.key -out {1}.pem",
                        name, path(name)));
    }
    static void make(const std::string& name, const std::string& ca, const std::string& names, int days = 2) {
        run(fmt::format(
            "openssl req -newkey ed25519 -nodes -subj /CN={0} -addext subjectAltName={1} -keyout {2}.key -out "
            "{2}.csr",
            name, names, path(name)));
        run(
            fmt::format("openssl x509 -req -in {0}.csr -CA {1}.pem -CAkey {1}.key -days {2} -copy_extensions copy -out "
                        "{0}.pem",
                        path(name), path(ca), days));
        run(fmt::format("chmod 600 {}.key", path(name)));
    }
    static TlsFiles files(const std::string& name, const std::string& ca = {}) {
        return {
            .certificate = path(name + ".pem"), .key = path(name + ".key"), .ca = ca.empty() ? ca : path(ca + ".pem")};
    }
    static TlsContext server(const TlsFiles& files) {
        auto context = tls_server(files);
        EXPECT_TRUE(context) << context.error().message;
        return *context;
    }
    static TlsContext client(const TlsFiles& files) {
        auto context = tls_client(files);
        EXPECT_TRUE(context) << context.error().message;
        return *context;
    }

    static inline std::string* dir = nullptr;
};

/// Two streams on a pair of sockets.
struct Ends {
    Ends(const TlsContext& server, const TlsContext& client, const std::string& name = {}) {
        std::array<int, 2> pair{};
        EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair.data()), 0);
        near_socket = Fd(pair[0]);
        far_socket = Fd(pair[1]);
        near.emplace(TlsStream::accepting(server, pair[0]));
        far.emplace(TlsStream::connecting(client, pair[1], name));
    }

    /// True if both ends finished.
    bool shake_hands() {
        bool near_done = false, far_done = false;
        for (int round = 0; round < 20 && !(near_done && far_done); ++round) {
            const auto one = far_done ? TlsStream::Step::done : far->handshake();
            const auto other = near_done ? TlsStream::Step::done : near->handshake();
            far_done = one == TlsStream::Step::done;
            near_done = other == TlsStream::Step::done;
            if (one == TlsStream::Step::failed || other == TlsStream::Step::failed) return false;
        }
        return near_done && far_done;
    }

    Fd near_socket, far_socket;
    std::optional<TlsStream> near, far;
};

/// Moves all of the text from one end to the other, as much at a time as the socket takes.
std::string carried(TlsStream& from, TlsStream& to, const std::string& text) {
    std::string got;
    std::size_t sent = 0;
    std::array<char, 10'000> room{};
    for (int round = 0; round < 100'000 && got.size() < text.size(); ++round) {
        sent += from.write_some(std::string_view(text).substr(sent)).bytes;
        const auto moved = to.read_some(room);
        EXPECT_FALSE(moved.broken);
        got.append(room.data(), moved.bytes);
    }
    return got;
}

TEST_F(TlsTest, carries_bytes_both_ways) {
    Ends ends(server(files("server")), client({.ca = path("ca.pem")}), "lease.example");
    ASSERT_TRUE(ends.shake_hands()) << ends.far->failure() << ends.near->failure();
    EXPECT_EQ(ends.near->version(), "TLSv1.3");
    const std::string large(1 << 20, 'x');
    EXPECT_EQ(carried(*ends.far, *ends.near, "PING\r\n"), "PING\r\n");
    EXPECT_EQ(carried(*ends.near, *ends.far, large), large);
}

TEST_F(TlsTest, says_what_it_still_has_when_the_socket_shows_nothing) {
    Ends ends(server(files("server")), client({.ca = path("ca.pem")}));
    ASSERT_TRUE(ends.shake_hands());
    ASSERT_EQ(ends.far->write_some("twelve bytes").bytes, 12U);
    std::array<char, 5> room{};
    ASSERT_EQ(ends.near->read_some(room).bytes, 5U);
    EXPECT_TRUE(ends.near->has_input());
    ASSERT_EQ(ends.near->read_some(room).bytes, 5U);
    ASSERT_EQ(ends.near->read_some(room).bytes, 2U);
    EXPECT_FALSE(ends.near->has_input());
}

TEST_F(TlsTest, tells_an_end_from_nothing_to_read) {
    Ends ends(server(files("server")), client({.ca = path("ca.pem")}));
    ASSERT_TRUE(ends.shake_hands());
    std::array<char, 5> room{};
    auto moved = ends.near->read_some(room);
    EXPECT_FALSE(moved.ended || moved.broken || moved.bytes > 0);
    ends.far->end_sending();
    moved = ends.near->read_some(room);
    EXPECT_TRUE(moved.ended);
    EXPECT_FALSE(moved.broken);
}

TEST_F(TlsTest, a_peer_that_is_gone_breaks_the_stream_and_raises_no_signal) {
    Ends ends(server(files("server")), client({.ca = path("ca.pem")}));
    ASSERT_TRUE(ends.shake_hands());
    ends.far.reset();
    ends.far_socket.close();
    bool broken = false;
    for (int i = 0; i < 10 && !broken; ++i)
        broken = ends.near->write_some("x").broken;
    EXPECT_TRUE(broken);
    std::array<char, 5> room{};
    EXPECT_TRUE(ends.near->read_some(room).broken);
}

TEST_F(TlsTest, a_client_refuses_a_server_of_another_name_or_signer) {
    const TlsContext shown = server(files("server"));
    Ends other_name(shown, client({.ca = path("ca.pem")}), "other.example");
    EXPECT_FALSE(other_name.shake_hands());
    EXPECT_NE(other_name.far->failure().find("ostname mismatch"), std::string::npos) << other_name.far->failure();
    Ends other_signer(shown, client({.ca = path("other-ca.pem")}), "lease.example");
    EXPECT_FALSE(other_signer.shake_hands());
    EXPECT_FALSE(other_signer.far->failure().empty());
    Ends by_address(shown, client({.ca = path("ca.pem")}), "127.0.0.1");
    EXPECT_TRUE(by_address.shake_hands()) << by_address.far->failure();
    Ends other_address(shown, client({.ca = path("ca.pem")}), "127.0.0.2");
    EXPECT_FALSE(other_address.shake_hands());
}

TEST_F(TlsTest, names_of_a_client_come_from_its_certificate) {
    Ends ends(server(files("server", "ca")), client(files("worker", "ca")), "lease.example");
    ASSERT_TRUE(ends.shake_hands()) << ends.near->failure();
    const auto names = ends.near->peer_names();
    ASSERT_TRUE(names);
    EXPECT_EQ(names->uris, std::vector<std::string>{"spiffe://prod/worker/7"});
    EXPECT_EQ(names->dns, std::vector<std::string>{"seven.example"});

    Ends without(server(files("server", "ca")), client({.ca = path("ca.pem")}));
    ASSERT_TRUE(without.shake_hands()) << "a certificate is not demanded";
    EXPECT_FALSE(without.near->peer_names());
}

TEST_F(TlsTest, a_server_refuses_certificates_that_it_does_not_trust) {
    Ends stranger(server(files("server", "ca")), client(files("stranger", "ca")));
    EXPECT_FALSE(stranger.shake_hands());
    EXPECT_FALSE(stranger.near->failure().empty());

    TlsFiles demanding = files("server", "ca");
    demanding.demands_client = true;
    Ends none(server(demanding), client({.ca = path("ca.pem")}));
    EXPECT_FALSE(none.shake_hands());
    EXPECT_NE(none.near->failure().find("did not return a certificate"), std::string::npos) << none.near->failure();
}

TEST_F(TlsTest, files_that_cannot_be_used_are_named) {
    TlsFiles wrong = files("server");
    wrong.key = path("worker.key");
    const auto other_key = tls_server(wrong);
    ASSERT_FALSE(other_key);
    EXPECT_NE(other_key.error().message.find("is not that of the certificate"), std::string::npos)
        << other_key.error().message;

    wrong.key = path("missing.key");
    EXPECT_NE(tls_server(wrong).error().message.find("missing.key"), std::string::npos);

    wrong = files("server");
    wrong.certificate = path("log");
    EXPECT_NE(tls_server(wrong).error().message.find("is not a certificate in PEM"), std::string::npos);

    std::ofstream(path("open.key")) << std::ifstream(path("server.key")).rdbuf();
    ASSERT_EQ(::chmod(path("open.key").c_str(), 0644), 0);
    wrong = files("server");
    wrong.key = path("open.key");
    EXPECT_NE(tls_server(wrong).error().message.find("chmod 600"), std::string::npos);
}

TEST_F(TlsTest, certificates_are_read_again_when_they_change_and_a_bad_one_is_not_taken) {
    make("rotated", "ca", "DNS:lease.example", 1);
    auto loaded = TlsCertificates::load(files("rotated"));
    ASSERT_TRUE(loaded) << loaded.error().message;
    TlsCertificates& certificates = *loaded;
    EXPECT_FALSE(*certificates.refresh()) << "nothing has changed";
    const TlsContext before = certificates.context();
    const std::int64_t ends = certificates.expires_at();
    EXPECT_GT(ends, 0);

    make("rotated", "ca", "DNS:lease.example", 9);
    const auto refreshed = certificates.refresh();
    ASSERT_TRUE(refreshed) << refreshed.error().message;
    EXPECT_TRUE(*refreshed);
    EXPECT_NE(certificates.context(), before);
    EXPECT_GT(certificates.expires_at(), ends);

    const TlsContext good = certificates.context();
    std::ofstream(path("rotated.pem")) << "half a certifi";
    EXPECT_FALSE(certificates.refresh());
    EXPECT_EQ(certificates.context(), good);
    EXPECT_FALSE(*certificates.refresh()) << "one change is reported once";
    Ends ends_of_old(certificates.context(), client({.ca = path("ca.pem")}), "lease.example");
    EXPECT_TRUE(ends_of_old.shake_hands());
}

TEST_F(TlsTest, peers_that_share_a_secret_need_no_certificate) {
    const TlsContext both = tls_shared_secret({"a secret of the cluster"}, "test");
    Ends ends(both, both);
    ASSERT_TRUE(ends.shake_hands()) << ends.near->failure() << ends.far->failure();
    EXPECT_EQ(ends.near->version(), "TLSv1.3");
    EXPECT_EQ(carried(*ends.far, *ends.near, "hello"), "hello");
    EXPECT_EQ(carried(*ends.near, *ends.far, "hello"), "hello");
}

TEST_F(TlsTest, a_peer_with_another_secret_label_or_only_a_certificate_is_refused) {
    const TlsContext ours = tls_shared_secret({"a secret of the cluster"}, "test");
    Ends other_secret(ours, tls_shared_secret({"some other secret here"}, "test"));
    EXPECT_FALSE(other_secret.shake_hands());
    Ends other_label(ours, tls_shared_secret({"a secret of the cluster"}, "other"));
    EXPECT_FALSE(other_label.shake_hands());
    Ends impostor(server(files("server")), ours);
    EXPECT_FALSE(impostor.shake_hands()) << "a server that does not know the secret shows a certificate instead";
    Ends stranger(ours, client({.ca = path("ca.pem")}));
    EXPECT_FALSE(stranger.shake_hands());
}

TEST_F(TlsTest, a_secret_is_replaced_while_both_are_known) {
    const std::string old_secret = "the secret of last year", new_secret = "the secret of this year";
    const TlsContext before = tls_shared_secret({old_secret}, "test");
    const TlsContext during = tls_shared_secret({new_secret, old_secret}, "test");
    const TlsContext prepared = tls_shared_secret({old_secret, new_secret}, "test");
    EXPECT_TRUE(Ends(during, before).shake_hands());
    EXPECT_TRUE(Ends(prepared, during).shake_hands());
    EXPECT_TRUE(Ends(during, prepared).shake_hands());
    EXPECT_FALSE(Ends(before, during).shake_hands()) << "it offers the new secret first";
}

TEST_F(TlsTest, nothing_a_stranger_sends_does_more_than_end_the_handshake) {
    const TlsContext context = server(files("server"));
    std::uint64_t state = 1;
    int refused = 0;
    for (int attempt = 0; attempt < 300; ++attempt) {
        std::array<int, 2> pair{};
        ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair.data()), 0);
        const Fd near(pair[0]), far(pair[1]);
        std::string junk = attempt % 2 == 0 ? std::string("\x16\x03\x01\x02\x00\x01", 6) : std::string();
        for (int i = 0; i < 600; ++i)
            junk += static_cast<char>((state = state * 6364136223846793005U + 1442695040888963407U) >> 56);
        ASSERT_TRUE(write_all(far.get(), junk));
        TlsStream stream = TlsStream::accepting(context, near.get());
        const TlsStream::Step step = stream.handshake();
        ASSERT_NE(step, TlsStream::Step::done);
        if (step != TlsStream::Step::failed) continue;  // it waits for the rest of a record
        ++refused;
        std::array<char, 10> room{};
        EXPECT_TRUE(stream.read_some(room).broken);
    }
    EXPECT_GT(refused, 250);
}

TEST_F(TlsTest, handshakes_run_on_their_own_threads_and_answer_on_the_loop) {
    boost::asio::io_context loop;
    const auto here = std::this_thread::get_id();
    const TlsContext shown = server(files("server")), trusting = client({.ca = path("ca.pem")});
    TlsHandshakes handshakes(loop, {.threads = 2, .waiting = 1000});
    constexpr int clients = 40;
    std::vector<std::unique_ptr<Ends>> all;
    int done = 0;
    std::function<void(Ends&, const std::shared_ptr<TlsStream>&)> go_on = [&](Ends& ends, const auto& stream) {
        ASSERT_TRUE(handshakes.step(stream, [&, stream](TlsStream::Step step) {
            EXPECT_EQ(std::this_thread::get_id(), here);
            ASSERT_NE(step, TlsStream::Step::failed) << stream->failure();
            if (step == TlsStream::Step::done) {
                ++done;
                return;
            }
            ends.far->handshake();
            go_on(ends, stream);
        }));
    };
    for (int i = 0; i < clients; ++i) {
        all.push_back(std::make_unique<Ends>(shown, trusting));
        all.back()->far->handshake();
        go_on(*all.back(), std::make_shared<TlsStream>(std::move(*all.back()->near)));
    }
    while (done < clients)
        ASSERT_GT(loop.run_one_for(60s), 0U) << "nothing happens any more";
}

TEST_F(TlsTest, steps_over_the_limit_are_turned_away) {
    boost::asio::io_context loop;
    TlsHandshakes handshakes(loop, {.threads = 0, .waiting = 2});
    Ends ends(server(files("server")), client({.ca = path("ca.pem")}));
    const auto stream = std::make_shared<TlsStream>(std::move(*ends.near));
    EXPECT_TRUE(handshakes.step(stream, [](TlsStream::Step) { FAIL(); }));
    EXPECT_TRUE(handshakes.step(stream, [](TlsStream::Step) { FAIL(); }));
    EXPECT_FALSE(handshakes.step(stream, [](TlsStream::Step) { FAIL(); }));
    EXPECT_EQ(handshakes.waiting(), 2U);
}

}  // namespace
}  // namespace holdfast::net
