// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Output that appears complete or not at all.
#include "runtime/base/File.h"
#include "test/runtime/base/TestSupport.h"
#include <csignal>
#include <dirent.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

using namespace transom;
using namespace transom::test;

namespace {

std::vector<std::string> filesIn(const std::string &folder) {
  std::vector<std::string> names;
  DIR *dir = opendir(folder.c_str());
  while (dirent *entry = readdir(dir))
    if (std::string(entry->d_name) != "." && std::string(entry->d_name) != "..")
      names.push_back(entry->d_name);
  closedir(dir);
  return names;
}

OutputFile mustCreate(const std::string &path,
                      OutputFile::Mode mode = OutputFile::Mode::Automatic) {
  Result<OutputFile> file = OutputFile::create(path, mode);
  EXPECT_TRUE(file) << (file ? "" : file.error().message);
  return file ? std::move(*file) : OutputFile();
}

} // namespace

class Output : public testing::TestWithParam<OutputFile::Mode> {};
INSTANTIATE_TEST_SUITE_P(Modes, Output,
                         testing::Values(OutputFile::Mode::Automatic,
                                         OutputFile::Mode::Named));

TEST_P(Output, appears_at_commit_over_an_older_one) {
  TempFolder folder;
  std::string path = folder.write("out", "old");
  OutputFile file = mustCreate(path, GetParam());
  ASSERT_TRUE(file.append("he"));
  ASSERT_TRUE(file.append("llo"));
  ASSERT_TRUE(file.resize(8));
  ASSERT_TRUE(file.writeAt(6, "xy"));
  EXPECT_EQ(file.appended(), 5u);
  EXPECT_EQ(readAll(path), "old");
  ASSERT_TRUE(file.setMode(0755));
  ASSERT_TRUE(file.commit());
  EXPECT_EQ(readAll(path), std::string("hello\0xy", 8));
  EXPECT_EQ(filesIn(folder.path()), std::vector<std::string>{"out"});
  struct stat info;
  ASSERT_EQ(stat(path.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0755u);
  EXPECT_EQ(file.descriptor(), -1);
  EXPECT_FALSE(file.commit()) << "a second commit";
}

TEST_P(Output, leaves_nothing_without_commit) {
  TempFolder folder;
  {
    OutputFile file = mustCreate(folder / "out", GetParam());
    ASSERT_TRUE(file.append("x"));
    OutputFile moved = std::move(file);
    EXPECT_EQ(filesIn(folder.path()).size(),
              GetParam() == OutputFile::Mode::Named ? 1u : 0u);
  }
  EXPECT_EQ(filesIn(folder.path()).size(), 0u);
}

TEST_P(Output, removes_what_a_killed_process_left) {
  TempFolder folder;
  folder.write(".out.transom-tmp", "half");
  OutputFile file = mustCreate(folder / "out", GetParam());
  ASSERT_TRUE(file.append("whole"));
  ASSERT_TRUE(file.commit());
  EXPECT_EQ(filesIn(folder.path()), std::vector<std::string>{"out"});
}

TEST_P(Output, full_disk_is_an_error_and_leaves_nothing) {
  TempFolder folder;
  pid_t child = fork();
  if (child == 0) {
    signal(SIGXFSZ, SIG_IGN);
    rlimit limit{1000, 1000};
    setrlimit(RLIMIT_FSIZE, &limit);
    Result<OutputFile> file = OutputFile::create(folder / "out", GetParam());
    Result<void> wrote = file->append(std::string(5000, 'x'));
    bool refused = !wrote && wrote.error().status == Status::Unavailable;
    {
      OutputFile gone = std::move(*file);
    }
    _exit(refused ? 0 : 1);
  }
  int status;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(filesIn(folder.path()).size(), 0u);
}

TEST(OutputFile, a_signal_removes_the_named_file) {
  for (int signal : {SIGINT, SIGTERM}) {
    TempFolder folder;
    pid_t child = fork();
    if (child == 0) {
      Result<OutputFile> file =
          OutputFile::create(folder / "out", OutputFile::Mode::Named);
      if (file && filesIn(folder.path()).size() == 1)
        raise(signal);
      _exit(1);
    }
    int status;
    waitpid(child, &status, 0);
    EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == signal);
    EXPECT_EQ(filesIn(folder.path()).size(), 0u);
  }
}

TEST(OutputFile, two_writers_of_one_name_are_told_apart) {
  TempFolder folder;
  OutputFile first = mustCreate(folder / "out", OutputFile::Mode::Named);
  Result<OutputFile> second = OutputFile::create(folder / "out");
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().message, "cannot write '" + folder / "out" +
                                        "': another process is writing it");
  ASSERT_TRUE(first.append("1"));
  ASSERT_TRUE(first.commit());
  EXPECT_EQ(readAll(folder / "out"), "1");
}

TEST(OutputFile, refuses_devices_folders_and_missing_folders) {
  TempFolder folder;
  EXPECT_EQ(getError(OutputFile::create("/dev/null")),
            "cannot write '/dev/null': it exists and is not a regular file");
  EXPECT_FALSE(OutputFile::create(folder.path()));
  EXPECT_FALSE(OutputFile::create(folder / ""));
  EXPECT_EQ(getError(OutputFile::create(folder / "none/out")),
            "cannot write '" + folder / "none/out" +
                "': no such file or directory");
}
