#include "etcd_fixture.h"
#include "support/etcd_process.h"

namespace holdfast::store::etcd {
namespace {

using namespace std::chrono_literals;

EtcdEngineOptions impatient(const std::string& url) {
    auto options = *parse_etcd_engine(url);
    options.connect_within = 1s;
    options.answer_within = 1s;
    return options;
}

/// Writes one record over and over, each time on what it last heard, as long as it is asked to. Whoever does not know
/// what became of a write looks.
class Writer {
 public:
    explicit Writer(Front& front, std::string name) : front_(front), name_(std::move(name)) {}

    void begin(WriteId first) {
        next_ = first;
        write();
    }
    void stop() { stopped_ = true; }

    int done = 0, failed = 0;
    std::vector<std::string> wrong;
    std::vector<ErrorCode> codes;

 private:
    void write() {
        if (stopped_) return;
        const WriteId becomes = ++next_;
        front_.begin(
            {.name = name_, .expected = last_, .becomes = becomes}, [this, becomes](Result<cas::Swapped> result) {
                if (!result) return failure(result.error(), becomes);
                if (!result->done)
                    wrong.push_back("nobody else writes here, but " + std::to_string(result->found.write.count));
                ++done;
                last_ = becomes;
                write();
            });
    }
    void failure(const Error& error, WriteId asked) {
        ++failed;
        if (codes.empty() || codes.back() != error.code) codes.push_back(error.code);
        if (stopped_) return;
        front_.engine().fetch(Kind::record, name_, [this, asked](Result<cas::Reading> reading) {
            if (!reading) return failure(reading.error(), asked);
            if (reading->value.write != last_ && reading->value.write != asked)
                wrong.push_back("of " + std::to_string(last_.count) + " and " + std::to_string(asked.count) +
                                " there is " + std::to_string(reading->value.write.count));
            last_ = reading->value.write;
            write();
        });
    }

    Front& front_;
    std::string name_;
    WriteId last_ = 0, next_ = 0;
    bool stopped_ = false;
};

class EtcdMembers : public testing::Test {
 protected:
    void SetUp() override {
        ASSERT_TRUE(front.becomes_reachable());
        for (std::size_t i = 0; i < 20; ++i) {
            writers.push_back(std::make_unique<Writer>(front, "x" + std::to_string(i)));
            writers.back()->begin(i * 1'000'000 + 1);
        }
        ASSERT_TRUE(goes_on());
    }
    void TearDown() override {
        for (const auto& writer : writers)
            writer->stop();
        front.engine().stop();
        for (const auto& writer : writers) {
            EXPECT_EQ(writer->wrong, std::vector<std::string>());
            for (const ErrorCode& code : writer->codes)
                EXPECT_EQ(code, Code::store_unavailable);
        }
    }
    /// Each writer has written ten times more.
    bool goes_on() {
        std::vector<int> before;
        for (const auto& writer : writers)
            before.push_back(writer->done);
        return loop.run_until([&] {
            for (std::size_t i = 0; i < writers.size(); ++i)
                if (writers[i]->done < before[i] + 10) return false;
            return true;
        });
    }
    bool fails() {
        const int before = writers.front()->failed;
        return loop.run_until([&] { return writers.front()->failed > before && !front.reachable; });
    }
    std::size_t in_use() {
        const std::string status = front.engine().status();
        for (std::size_t i = 0; i < etcd.size(); ++i)
            if (status.find(R"("member":"127.0.0.1:)" + std::to_string(etcd.port(i))) != std::string::npos) return i;
        return etcd.size();
    }

    EtcdProcess etcd{3};
    Loop loop;
    Front front{loop, impatient(etcd.url())};
    std::vector<std::unique_ptr<Writer>> writers;
};

TEST_F(EtcdMembers, go_on_without_the_one_that_was_in_use) {
    const std::size_t killed = in_use();
    ASSERT_LT(killed, 3u);
    etcd.kill(killed);
    ASSERT_TRUE(goes_on()) << front.engine().status();
    EXPECT_NE(in_use(), killed);
    EXPECT_GE(front.times_reachable, 2);
    etcd.start(killed);
    EXPECT_TRUE(goes_on());
}

TEST_F(EtcdMembers, go_on_without_a_leader_that_was_stopped) {
    const std::size_t stopped = etcd.leader();
    etcd.freeze(stopped);
    ASSERT_TRUE(goes_on());
    etcd.thaw(stopped);
    EXPECT_TRUE(goes_on());
}

TEST_F(EtcdMembers, are_not_there_without_a_majority_and_come_back_with_one) {
    const std::size_t left = in_use();
    etcd.kill((left + 1) % 3);
    etcd.kill((left + 2) % 3);
    ASSERT_TRUE(fails());
    EXPECT_FALSE(front.fetch("x0"));
    EXPECT_TRUE(loop.run_until([&] { return front.why.message.find("etcdserver: no leader") != std::string::npos; }))
        << front.why.message;
    etcd.start((left + 1) % 3);
    EXPECT_TRUE(goes_on());
}

}  // namespace
}  // namespace holdfast::store::etcd
