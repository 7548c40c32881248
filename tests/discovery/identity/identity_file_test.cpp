#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <thread>
#include <vector>

#include "base/random.h"
#include "discovery/identity/identity.h"

namespace holdfast::discovery::identity {
namespace {

class IdentityFile : public testing::Test {
 protected:
    void SetUp() override { std::filesystem::create_directory(directory_); }
    void TearDown() override { std::filesystem::remove_all(directory_); }

    std::string path(const std::string& name) const { return (directory_ / name).string(); }
    std::string written(const std::string& name, const std::string& text, mode_t mode = 0600) const {
        std::ofstream(path(name)) << text;
        ::chmod(path(name).c_str(), mode);
        return path(name);
    }
    std::size_t files() const {
        return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(directory_), {}));
    }

 private:
    const std::filesystem::path directory_ =
        std::filesystem::temp_directory_path() / ("holdfast-identity-" + random_hex(8));
};

// As `openssl genpkey -algorithm ed25519` wrote it.
constexpr const char* of_openssl =
    "-----BEGIN PRIVATE KEY-----\n"
    "MC4CAQAwBQYDK2VwBCIEIJ1hsZ3v/VpguoRK9JLsLMREScVpezJpGXA7rAMcrn9g\n"
    "-----END PRIVATE KEY-----\n";

TEST_F(IdentityFile, brings_the_same_identity_back_and_only_its_owner_can_read_it) {
    const Identity identity = Identity::generate();
    ASSERT_TRUE(identity.save_new(path("key.pem")));
    struct stat about {};
    ASSERT_EQ(::stat(path("key.pem").c_str(), &about), 0);
    EXPECT_EQ(about.st_mode & 0777, 0600U);
    EXPECT_EQ(files(), 1U) << "nothing is left of the writing";
    const auto loaded = Identity::load(path("key.pem"));
    ASSERT_TRUE(loaded) << loaded.error().message;
    EXPECT_EQ(loaded->id(), identity.id());
    EXPECT_EQ(loaded->public_key(), identity.public_key());
    EXPECT_TRUE(Verifier::of(identity.public_key())->verify("p", "c", loaded->sign("p", "c")));
}

TEST_F(IdentityFile, is_what_openssl_writes_too) {
    const auto loaded = Identity::load(written("key.pem", of_openssl));
    ASSERT_TRUE(loaded) << loaded.error().message;
    EXPECT_EQ(loaded->id(), "uwtlpvdlittldzc6iowmni223soz2yui") << "the private key of the first vector of RFC 8032";
}

TEST_F(IdentityFile, that_is_there_is_never_replaced) {
    const Identity first = Identity::generate();
    ASSERT_TRUE(first.save_new(path("key.pem")));
    EXPECT_EQ(Identity::generate().save_new(path("key.pem")).error().code, Code::identity_exists);
    EXPECT_EQ(Identity::load(path("key.pem"))->id(), first.id());
    EXPECT_EQ(files(), 1U);
}

TEST_F(IdentityFile, is_written_by_one_of_many_who_try_at_once) {
    std::vector<int> saved(8);
    std::vector<std::string> ids(saved.size());
    {
        std::vector<std::jthread> threads;
        for (std::size_t i = 0; i < saved.size(); ++i)
            threads.emplace_back([&, i] {
                const Identity identity = Identity::generate();
                ids[i] = identity.id();
                saved[i] = identity.save_new(path("key.pem")) ? 1 : 0;
            });
    }
    EXPECT_EQ(std::count(saved.begin(), saved.end(), 1), 1);
    const auto winner = static_cast<std::size_t>(std::find(saved.begin(), saved.end(), 1) - saved.begin());
    EXPECT_EQ(Identity::load(path("key.pem"))->id(), ids[winner]);
    EXPECT_EQ(files(), 1U);
}

TEST_F(IdentityFile, gets_the_directories_that_it_lies_in) {
    ASSERT_TRUE(Identity::generate().save_new(path("a/b/key.pem")));
    struct stat about {};
    ASSERT_EQ(::stat(path("a/b").c_str(), &about), 0);
    EXPECT_EQ(about.st_mode & 0777, 0700U);
    EXPECT_TRUE(Identity::load(path("a/b/key.pem")));
}

TEST_F(IdentityFile, that_cannot_be_written_is_an_error_that_says_so) {
    EXPECT_EQ(Identity::generate().save_new(written("file", "x") + "/key.pem").error().code, Code::identity_not_saved);
}

TEST_F(IdentityFile, that_others_can_read_is_refused_and_told_how_to_mend) {
    for (const mode_t mode : {0640, 0604, 0644, 0660, 0606}) {
        const auto loaded = Identity::load(written("key.pem", of_openssl, mode));
        ASSERT_FALSE(loaded) << mode;
        EXPECT_EQ(loaded.error().code, Code::identity_exposed);
        EXPECT_NE(loaded.error().message.find("chmod 600"), std::string::npos);
    }
    EXPECT_TRUE(Identity::load(written("key.pem", of_openssl, 0400)));
}

TEST_F(IdentityFile, that_is_none_is_told_apart_from_one_that_is_missing) {
    EXPECT_EQ(Identity::load(path("none.pem")).error().code, Code::identity_missing);
    const std::string whole = of_openssl;
    const std::string of_x25519 =
        "-----BEGIN PRIVATE KEY-----\n"
        "MC4CAQAwBQYDK2VuBCIEIJ1hsZ3v/VpguoRK9JLsLMREScVpezJpGXA7rAMcrn9g\n"
        "-----END PRIVATE KEY-----\n";
    for (const std::string& text : {std::string(), std::string("garbage"), whole.substr(0, whole.size() / 2),
                                    std::string(20'000, '-'), of_x25519})
        EXPECT_EQ(Identity::load(written("key.pem", text)).error().code, Code::identity_corrupt) << text.substr(0, 80);
    EXPECT_EQ(Identity::load(std::filesystem::temp_directory_path().string()).error().code, Code::identity_corrupt);
}

TEST_F(IdentityFile, that_has_a_password_is_refused_without_asking_for_it) {
    const std::string text =
        "-----BEGIN ENCRYPTED PRIVATE KEY-----\n"
        "MIGbMFcGCSqGSIb3DQEFDTBKMCkGCSqGSIb3DQEFDDAcBAifTQcjTsWh1QICCAAw\n"
        "DAYIKoZIhvcNAgkFADAdBglghkgBZQMEASoEEEG7kn2WibP1/93mZKJQVxQEQJGw\n"
        "/B3p2HQvI225wvw1RO7vRM4EZqKQIi7Ow9eoGHZbMjLIY4JhLTCbXrgw2I8vxyOv\n"
        "m9VYGK4jZ9ZnKx0/Lpg=\n"
        "-----END ENCRYPTED PRIVATE KEY-----\n";
    EXPECT_EQ(Identity::load(written("key.pem", text)).error().code, Code::identity_corrupt);
}

TEST_F(IdentityFile, is_made_when_it_is_first_used) {
    const auto made = load_or_make_identity(path("key.pem"));
    ASSERT_TRUE(made);
    EXPECT_TRUE(made->made);
    const auto found = load_or_make_identity(path("key.pem"));
    ASSERT_TRUE(found);
    EXPECT_FALSE(found->made);
    EXPECT_EQ(found->identity.id(), made->identity.id());
    EXPECT_EQ(load_or_make_identity(written("damaged.pem", "garbage")).error().code, Code::identity_corrupt);
}

TEST(DefaultIdentity, is_where_the_environment_says_or_in_the_users_configuration) {
    ::setenv("HOME", "/home/somebody", 1);
    ::unsetenv("HOLDFAST_IDENTITY");
    ::unsetenv("XDG_CONFIG_HOME");
    EXPECT_EQ(default_identity_file(), "/home/somebody/.config/holdfast/identity.pem");
    ::setenv("XDG_CONFIG_HOME", "/configuration", 1);
    EXPECT_EQ(default_identity_file(), "/configuration/holdfast/identity.pem");
    ::setenv("HOLDFAST_IDENTITY", "/elsewhere.pem", 1);
    EXPECT_EQ(default_identity_file(), "/elsewhere.pem");
}

}  // namespace
}  // namespace holdfast::discovery::identity
