#include "doors/peer/cluster_secret.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <sys/stat.h>

namespace holdfast::doors::peer {
namespace {

class ClusterSecret : public testing::Test {
 protected:
    ClusterSecret() {
        std::string pattern = (std::filesystem::temp_directory_path() / "holdfast-secret-XXXXXX").string();
        folder_ = ::mkdtemp(pattern.data());
        ::unsetenv("HOLDFAST_CLUSTER_SECRET");
    }
    ~ClusterSecret() override {
        std::filesystem::remove_all(folder_);
        ::unsetenv("HOLDFAST_CLUSTER_SECRET");
    }

    std::string file(const std::string& content, mode_t mode = 0600) {
        const std::string path = folder_ + "/secret";
        std::ofstream(path, std::ios::binary) << content;
        ::chmod(path.c_str(), mode);
        return path;
    }
    std::string code(const std::string& path) {
        const auto secret = read_cluster_secret(path);
        return secret ? "none" : std::string(secret.error().code.name());
    }

    std::string folder_;
};

TEST_F(ClusterSecret, comes_from_a_file_without_the_end_of_its_line) {
    EXPECT_EQ(*read_cluster_secret(file("0123456789abcdef\n")), "0123456789abcdef");
    EXPECT_EQ(*read_cluster_secret(file("0123456789abcde \r\n")), "0123456789abcde ");
}

TEST_F(ClusterSecret, comes_from_the_environment_if_no_file_is_named) {
    EXPECT_EQ(code(""), "no_secret");
    ::setenv("HOLDFAST_CLUSTER_SECRET", "from the environment", 1);
    EXPECT_EQ(*read_cluster_secret(""), "from the environment");
    EXPECT_EQ(*read_cluster_secret(file("from the file, which wins")), "from the file, which wins");
}

TEST_F(ClusterSecret, must_not_be_open_to_others) {
    for (const mode_t mode : {0644, 0604, 0602, 0620, 0777})
        EXPECT_EQ(code(file("0123456789abcdef", mode)), "exposed_secret") << std::oct << mode;
    for (const mode_t mode : {0600, 0400, 0640, 0440})
        EXPECT_EQ(code(file("0123456789abcdef", mode)), "none") << std::oct << mode;
}

TEST_F(ClusterSecret, must_be_there_and_neither_short_nor_endless) {
    EXPECT_EQ(code(folder_ + "/nothing"), "no_secret");
    EXPECT_EQ(code(folder_), "no_secret");
    EXPECT_EQ(code(file("")), "short_secret");
    EXPECT_EQ(code(file("0123456789abcde\n")), "short_secret");
    EXPECT_EQ(code(file(std::string(max_secret_bytes, 's'))), "none");
    EXPECT_EQ(code(file(std::string(max_secret_bytes + 1, 's'))), "long_secret");
    EXPECT_EQ(code(file(std::string(1 << 20, 's'))), "long_secret");
}

}  // namespace
}  // namespace holdfast::doors::peer
