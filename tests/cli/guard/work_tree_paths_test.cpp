#include "cli/guard/work_tree_paths.h"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <map>
#include <unistd.h>

#include "cli/guard/work_tree_names.h"
#include "cli/guard/written_path.h"

namespace holdfast::cli::guard {
namespace {

const std::string repository_root = "/home/me/repository";

/// A file system as a list of paths; a target makes it a link.
class ListedFiles final : public WorkTreeFiles {
 public:
    bool ignores_case = false;

    ListedFiles() {
        for (const char* path : {"/home", "/home/me", "/etc"})
            add(path, FileKind::directory);
        add(repository_root, FileKind::repository);
        add("/etc/passwd", FileKind::file);
        link("/home/me/link", "repository");
    }
    void add(const std::string& path, FileKind kind) { all_[path] = {kind, ""}; }
    void link(const std::string& path, std::string target) { all_[path] = {FileKind::link, std::move(target)}; }
    /// In the repository, with the directories on the way.
    void file(const std::string& path) {
        for (std::size_t slash = path.find('/'); slash != std::string::npos; slash = path.find('/', slash + 1))
            add(repository_root + "/" + path.substr(0, slash), FileKind::directory);
        add(repository_root + "/" + path, FileKind::file);
    }

    FileKind kind(const std::string& path) const override {
        const auto found = std::find_if(all_.begin(), all_.end(), [&](const auto& one) {
            return one.first == path || (ignores_case && lower(one.first) == lower(path));
        });
        return found == all_.end() ? FileKind::missing : found->second.kind;
    }
    std::string target(const std::string& link) const override { return all_.at(link).target; }
    std::vector<std::string> entries(const std::string& directory) const override {
        std::vector<std::string> names;
        for (const auto& [path, entry] : all_)
            if (path.starts_with(directory + "/") && path.find('/', directory.size() + 1) == std::string::npos)
                names.push_back(path.substr(directory.size() + 1));
        return names;
    }

 private:
    struct Entry {
        FileKind kind;
        std::string target;
    };
    static std::string lower(std::string text) {
        std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return std::tolower(c); });
        return text;
    }
    std::map<std::string, Entry> all_;
};

class WorkTreePaths : public testing::Test {
 protected:
    WorkTreePaths() {
        for (const char* path : {"README.md", "Makefile", "src/main.c", "src/net/a.c", "app/[id]/page.tsx", "a:b\\c",
                                 "end ", "'quoted'", "new\nline", "100%25.c", "@scope/x.c", "x:12"})
            files.file(path);
        files.add(repository_root + "/sub", FileKind::repository);
        files.add(repository_root + "/sub/in.c", FileKind::file);
        files.link(repository_root + "/link.c", "src/main.c");
        files.link(repository_root + "/again.c", "link.c");
        files.link(repository_root + "/sources", "src");
        files.link(repository_root + "/up", "/home/me/repository/src/net/..");
        files.link(repository_root + "/outside", "/etc");
        files.link(repository_root + "/round", "round");
        files.link(repository_root + "/dangling", "src/later.c");
    }

    /// The names, with blanks between them, or the code of the error.
    std::string names(const std::string& path) const {
        const auto resolved = resolve_path(files, repository_root, path);
        if (!resolved) return std::string(resolved.error().code.name());
        std::string text;
        for (const std::string& name : resolved->names)
            text += (text.empty() ? "" : " ") + name;
        return text;
    }
    std::string note(const std::string& path) const {
        const auto resolved = resolve_path(files, repository_root, path);
        return resolved ? resolved->note : "";
    }
    std::string refusal(const std::string& path) const {
        const auto resolved = resolve_path(files, repository_root, path);
        return resolved ? "resolved" : resolved.error().message;
    }

    struct Case {
        const char* path;
        const char* names;
    };
    void expect(const std::vector<Case>& cases) const {
        for (const Case& one : cases)
            EXPECT_EQ(names(one.path), one.names) << one.path;
    }

    ListedFiles files;
};

TEST_F(WorkTreePaths, of_a_file_all_lead_to_its_one_name) {
    for (const char* path : {"src/main.c",
                             "./src/main.c",
                             "src//main.c",
                             "src/./main.c",
                             "src/net/../main.c",
                             "src/main.c/",
                             "src/main.c/**",
                             "/home/me/repository/src/main.c",
                             "/home/me/link/src/main.c",
                             "../repository/src/main.c",
                             " src/main.c",
                             "src/main.c \n",
                             "\"src/main.c\"",
                             "'src/main.c'",
                             "`src/main.c`",
                             " ' \"src/main.c\" ' ",
                             "“src/main.c”",
                             "‘src/main.c’",
                             "«src/main.c»",
                             "„src/main.c“",
                             "src\\main.c",
                             ".\\src\\main.c",
                             "FILE:/src/main.c",
                             "FILE:src/main.c",
                             "FILE:///src/main.c",
                             "FILE:/home/me/repository/src/main.c",
                             "file:src/main.c",
                             "file:///home/me/repository/src/main.c",
                             "file://localhost/home/me/repository/src/main.c",
                             "File:///home/me/repository/src/m%61in.c",
                             "file:/home/me/link/src/main.c",
                             "sources/main.c",
                             "up/main.c",
                             "src/main.c:42",
                             "src/main.c:42:7",
                             "src/main.c#L10-L20",
                             "@src/main.c",
                             "(src/main.c)",
                             "[src/main.c]",
                             "src /main.c",
                             "src/ main.c",
                             "src / main.c",
                             "FILE: /src/main.c",
                             "FILE: src/main.c"})
        EXPECT_EQ(names(path), "FILE:/src/main.c") << path;
    EXPECT_EQ(note("src/main.c"), "");
    EXPECT_EQ(note(" 'src\\main.c' "), "");
}

TEST_F(WorkTreePaths, that_were_guessed_are_noted) {
    for (const char* path : {"a/src/main.c", "b/src/main.c", "@src/main.c", "src/main.c:42", "src/main.c.",
                             "src/m%61in.c", "src /main.c", "(src/main.c)"}) {
        EXPECT_EQ(names(path), "FILE:/src/main.c") << path;
        EXPECT_NE(note(path).find("'src/main.c' was claimed"), std::string::npos) << path << ": " << note(path);
    }
}

TEST_F(WorkTreePaths, given_as_resources_are_seen_by_their_looks) {
    for (const char* text : {"src/main.c", "/src/main.c", "main.c", "*.c", "src\\main.c", "\"FILE:/src/main.c\"",
                             "C:\\main.c", "README.md:12", "Makefile", " Makefile", "src", "a?"})
        EXPECT_TRUE(looks_like_a_path(files, repository_root, text)) << text;
    for (const char* text : {"SYMBOL:parse.config", "API_ENDPOINT:/v1/users", "room:42", "build", "FILE:/src/main.c",
                             " FILE:/src/", "content-type:text/html", ""})
        EXPECT_FALSE(looks_like_a_path(files, repository_root, text)) << text;
    EXPECT_FALSE(looks_like_a_path(DiskFiles{}, "/", "")) << "a directory, to the file system";
    EXPECT_TRUE(looks_like_a_path(UnknownFiles{}, "", "src/main.c")) << "without a work tree";
    EXPECT_FALSE(looks_like_a_path(UnknownFiles{}, "", "Makefile"));
}

TEST_F(WorkTreePaths, are_read_as_written_if_there_is_such_a_file) {
    expect({{"a:b\\c", "FILE:/a:b\\c"},
            {"end ", "FILE:/end%20"},
            {"'quoted'", "FILE:/'quoted'"},
            {"new\nline", "FILE:/new%0Aline"},
            {"100%25.c", "FILE:/100%2525.c"},
            {"@scope/x.c", "FILE:/@scope/x.c"},
            {"x:12", "FILE:/x:12"},
            {"app/[id]/page.tsx", "FILE:/app/[id]/page.tsx"},
            {"app/[id]/new.tsx", "FILE:/app/[id]/new.tsx"}});
}

TEST_F(WorkTreePaths, may_be_escaped_as_for_a_shell) {
    files.file("my files/a (1).c");
    expect({{"my\\ files/a\\ \\(1\\).c", "FILE:/my files/a (1).c"},
            {"my\\ files/new.c", "FILE:/my files/new.c"},
            {"app/\\[id\\]/page.tsx", "FILE:/app/[id]/page.tsx"},
            {"app\\[id]\\page.tsx", "FILE:/app/[id]/page.tsx"},
            {"routes/$id.tsx", "FILE:/routes/$id.tsx"},
            {"$id.tsx", "FILE:/$id.tsx"},
            {"$lib/a.ts", "FILE:/$lib/a.ts"}});
}

TEST_F(WorkTreePaths, of_a_directory_mean_the_tree_below_it) {
    for (const char* path : {"src", "src/", "src//", "./src", "src/**", "src/**/", "src/net/..", "src\\", " src/ ",
                             "'src'", "FILE:/src", "FILE:/src/", "FILE:/src/**", "/home/me/repository/src",
                             "file:///home/me/repository/src/", "sources/", "sources/**"})
        EXPECT_EQ(names(path), "FILE:/src/**") << path;
    for (const char* path : {".", "./", "**", "./**", "src/..", "/home/me/repository", "/home/me/repository/**",
                             "FILE:/", "FILE:/**", "/home/me/link/"})
        EXPECT_EQ(names(path), "FILE:/**") << path;
    EXPECT_NE(note("src").find("FILE:/src/**"), std::string::npos) << note("src");
    EXPECT_EQ(note("src/**"), "") << "as it was said";
}

TEST_F(WorkTreePaths, of_a_submodule_mean_it_and_its_tree) {
    expect({{"sub", "FILE:/sub FILE:/sub/**"}, {"sub/**", "FILE:/sub FILE:/sub/**"}, {"sub/in.c", "FILE:/sub/in.c"}});
}

TEST_F(WorkTreePaths, that_are_patterns_mean_the_smallest_tree_that_contains_them) {
    expect({{"*.py", "FILE:/**"},
            {"src/*.c", "FILE:/src/**"},
            {"src/**/*.c", "FILE:/src/**"},
            {"src/*", "FILE:/src/**"},
            {"src/net/a.?", "FILE:/src/net/**"},
            {"src/main.?", "FILE:/src/**"},
            {"{src/main,lib/b}.c", "FILE:/**"},
            {"src/{net/a,main}.c", "FILE:/src/**"},
            {"src/(net/a|main).c", "FILE:/src/**"},
            {"src/{new/a.c", "FILE:/src/{new/a.c"},
            {"app/(group)/[slug]/page.tsx", "FILE:/app/(group)/**"},
            {"src/main.c?", "FILE:/src/**"},
            {"Makefile?", "FILE:/**"},
            {"src/!(main).c", "FILE:/src/**"},
            {"src/@(main).c", "FILE:/src/**"},
            {"src/+(main).c", "FILE:/src/**"},
            {"src/(main).c", "FILE:/src/(main).c"},
            {"src/[ab].c", "FILE:/src/**"},
            {"src/{a,b}.c", "FILE:/src/**"},
            {"src/+(a|b).c", "FILE:/src/**"},
            {"src/@(main|net)/x.c", "FILE:/src/**"},
            {"**/main.c", "FILE:/**"},
            {"lib/*.c", "FILE:/lib/**"},
            {"sources/*.c", "FILE:/src/**"},
            {"FILE:/src/*.c", "FILE:/src/**"},
            {"'src\\*.c'", "FILE:/src/**"},
            {"/home/me/repository/src/*.c", "FILE:/src/**"},
            {"app/[slug]/page.tsx", "FILE:/app/**"},
            {"src/main.c/*", "invalid_argument"},
            {"src/*/../../x", "invalid_argument"},
            {"/etc/*", "invalid_argument"},
            {"../*", "invalid_argument"},
            {"/**", "invalid_argument"}});
    EXPECT_NE(note("src/*.c").find("the smallest tree that contains it, FILE:/src/**"), std::string::npos);
    files.file("*.py");
    EXPECT_EQ(names("*.py"), "FILE:/**") << "a file of that name is in the tree too";
    EXPECT_EQ(names("FILE:/%2A.py"), "FILE:/*.py");
    EXPECT_EQ(names("FILE:/dir/%2A%2A"), "FILE:/dir/%2A%2A");
}

TEST_F(WorkTreePaths, that_do_not_exist_are_new_files_and_trees_if_that_may_be_meant) {
    expect({{"src/new.c", "FILE:/src/new.c"},
            {"a/b/c.c", "FILE:/a/b/c.c"},
            {"LICENSE", "FILE:/LICENSE FILE:/LICENSE/**"},
            {".github", "FILE:/.github FILE:/.github/**"},
            {"lib/", "FILE:/lib/**"},
            {"lib.d/", "FILE:/lib.d/**"},
            {"lib/**", "FILE:/lib/**"},
            {"FILE:/lib", "FILE:/lib"},
            {"FILE:/lib/", "FILE:/lib/**"},
            {"with space.c", "FILE:/with space.c"},
            {"a/new.c", "FILE:/a/new.c"},
            {"100%25", "FILE:/100%2525 FILE:/100%2525/**"},
            {"FILE:/with%20space%0A.c", "FILE:/with space%0A.c"},
            {"FILE:/back%5Cslash", "FILE:/back\\slash"}});
    for (const char* path : {"src/new.c", "FILE:/src/new.c", "FILE:/src/main.c:42"})
        EXPECT_NE(note(path).find("does not exist yet"), std::string::npos) << path;
}

TEST_F(WorkTreePaths, that_are_links_mean_the_link_and_what_it_leads_to) {
    expect({{"link.c", "FILE:/link.c FILE:/src/main.c"},
            {"again.c", "FILE:/again.c FILE:/src/main.c"},
            {"sources", "FILE:/sources FILE:/src/**"},
            {"up", "FILE:/up FILE:/src/**"},
            {"dangling", "FILE:/dangling FILE:/src/later.c"},
            {"outside", "FILE:/outside"},
            {"round", "FILE:/round"},
            {"outside/passwd", "invalid_argument"},
            {"outside/", "invalid_argument"},
            {"round/x", "invalid_argument"}});
    EXPECT_NE(note("link.c").find("FILE:/src/main.c"), std::string::npos);
    EXPECT_NE(note("outside").find("only the link itself"), std::string::npos);
}

TEST_F(WorkTreePaths, that_mean_no_file_of_the_work_tree_are_refused_with_advice) {
    const std::vector<std::pair<std::string, std::string>> cases{
        {"", "empty"},
        {"  \n", "empty"},
        {"''", "nothing between the quotes"},
        {"..", "leads out"},
        {"../other", "leads out"},
        {"src/../../other", "leads out"},
        {"/home/me/repository2/a", "leads out"},
        {"/", "leads out"},
        {"/etc/passwd", "from the root of the work tree"},
        {"/src/main.c", "say 'src/main.c'"},
        {"file:///etc/passwd", "leads out"},
        {"file://server/share/a.c", "another machine"},
        {"https://example.org/a.c", "is a URL"},
        {"C:\\work\\a.c", "another system"},
        {"\\\\server\\share", "another system"},
        {"~/repository/a.c", "'~'"},
        {"$HOME/repository/a.c", "'$'"},
        {"${PWD}/src/main.c", "'$'"},
        {"src/main.c/below", "is a file"},
        {"'src/main.c", "a quote at one end"},
        {"src/ma\u200bin.c", "invisible characters"},
        {"a\nb.c", "invisible characters"},
        {"src/\u202emain.c", "invisible characters"},
        {std::string("src/main.c\0", 11), "zero byte"},
        {"FILE:/a%2Fb", "no file's name"},
        {"src/main.c, README.md", "several paths"},
        {"src/main.c README.md", "several paths"},
        {"src/main.c|README.md", "several paths"},
        {"src/main.c and README.md", "several paths"},
        {"src/main.c, src/new.c", "several paths"},
        {"src/new.c src/net/other.c", "several paths"},
        {"SYMBOL:parse_config", "name of a resource"},
        {"FILE:/src/main.c#1795016670695", "give 'FILE:/src/main.c'"},
        {"SRC/main.c", "there is 'src'"},
        {"readme.md", "there is 'README.md'"},
        {"src/Main.c", "there is 'main.c'"},
    };
    for (const auto& [path, advice] : cases) {
        EXPECT_EQ(names(path), "invalid_argument") << path;
        EXPECT_NE(refusal(path).find(advice), std::string::npos) << path << ": " << refusal(path);
    }
    EXPECT_EQ(names("FILE:/readme.md"), "FILE:/readme.md") << "for a rename that only changes the case";
}

TEST_F(WorkTreePaths, are_spelled_as_the_directory_spells_them) {
    files.ignores_case = true;
    expect({{"SRC/Main.C", "FILE:/src/main.c"}, {"readme.MD", "FILE:/README.md"}, {"Src", "FILE:/src/**"}});
}

TEST_F(WorkTreePaths, may_write_accents_in_either_form) {
    files.file("caf\u0065\u0301/x.c");  // a letter and a combining accent
    EXPECT_EQ(names("caf\u00e9"), "FILE:/caf\u00e9/**");
    EXPECT_EQ(names("caf\u0065\u0301/x.c"), "FILE:/caf\u00e9/x.c");
}

TEST_F(WorkTreePaths, agree_with_the_names_that_the_guard_gives_to_files) {
    for (const char* path : {"src/main.c", "a:b\\c", "end ", "'quoted'", "new\nline", "100%25.c", "app/[id]/page.tsx",
                             "dir/**", " -rf", "tab\t", "caf\u0065\u0301", "hash#1", "latin-\xe4.c"}) {
        const std::string name = file_resource(path);
        EXPECT_EQ(names(name), name) << "by its name";
        files.file(path);
        EXPECT_EQ(names(name), name) << "by its name, once it exists";
        if (std::string(path).find('*') == std::string::npos) {
            EXPECT_EQ(names(path), name) << "by its path";
        }
    }
    EXPECT_EQ(names(file_resource("src/glob*")), "FILE:/src/**") << "more than the file, never less";
}

TEST(WorkTreePathsOfDisk, see_real_links_and_directories) {
    namespace fs = std::filesystem;
    const fs::path folder = fs::canonical(testing::TempDir()) / ("holdfast-paths-" + std::to_string(getpid()));
    fs::create_directories(folder / "real/src");
    fs::create_directories(folder / "real/sub/.git");
    std::ofstream{folder / "real/src/main.c"} << "text";
    fs::create_directory_symlink(folder / "real", folder / "root");
    fs::create_symlink("src/main.c", folder / "real/link.c");
    const auto names = [&](const std::string& path) {
        const auto resolved = resolve_path(DiskFiles{}, (folder / "root").string(), path);
        return resolved ? resolved->names : std::vector<std::string>{resolved.error().message};
    };
    using Names = std::vector<std::string>;
    EXPECT_EQ(names("src"), Names{"FILE:/src/**"});
    EXPECT_EQ(names((folder / "real/src/main.c").string()), Names{"FILE:/src/main.c"});
    EXPECT_EQ(names((folder / "root/src/main.c").string()), Names{"FILE:/src/main.c"});
    EXPECT_EQ(names("link.c"), (Names{"FILE:/link.c", "FILE:/src/main.c"}));
    EXPECT_EQ(names("sub"), (Names{"FILE:/sub", "FILE:/sub/**"}));
    EXPECT_NE(names("Src/main.c").at(0).find("there is 'src'"), std::string::npos);
    fs::remove_all(folder);
}

}  // namespace
}  // namespace holdfast::cli::guard
