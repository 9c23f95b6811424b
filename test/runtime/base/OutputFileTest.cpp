// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Output that appears complete or not at all.
#include "runtime/base/OutputFile.h"
#include "test/runtime/base/TestSupport.h"
#include <cerrno>
#include <csignal>
#include <dirent.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace transom;
using namespace transom::test;

namespace {

/// Errors that the two functions below report, as a network file system does;
/// 0: none.
int syncError = 0, closeError = 0;

} // namespace

// These replace the C library functions.
extern "C" int fsync(int fd) {
  errno = syncError;
  return syncError ? -1 : int(syscall(SYS_fsync, fd));
}
extern "C" int close(int fd) {
  const int result = int(syscall(SYS_close, fd));
  errno = closeError ? closeError : errno;
  return closeError ? -1 : result;
}

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

OutputFile mustCreate(const std::string &path, bool randomAccess = false,
                      bool resume = false) {
  OutputOptions options;
  options.randomAccess = randomAccess;
  options.resume = resume;
  Result<OutputFile> file = OutputFile::create(path, options);
  EXPECT_TRUE(file) << getError(file);
  return file ? std::move(*file) : OutputFile();
}

unsigned getMode(const std::string &path) {
  struct stat info;
  EXPECT_EQ(stat(path.c_str(), &info), 0);
  return info.st_mode & 07777;
}

} // namespace

TEST(OutputFile, appears_at_commit_over_an_older_one) {
  TempFolder folder;
  std::string path = folder.write("out", "old");
  OutputFile file = mustCreate(path, true);
  ASSERT_TRUE(file.append("he"));
  ASSERT_TRUE(file.append("llo"));
  ASSERT_TRUE(file.resize(8));
  ASSERT_TRUE(file.writeAt(6, "xy"));
  EXPECT_EQ(file.appended(), 5u);
  EXPECT_EQ(readAll(path), "old");
  EXPECT_EQ(filesIn(folder.path()).size(), 2u);
  EXPECT_EQ(file.partialPath(), path + ".partial");
  ASSERT_TRUE(file.setMode(0755));
  ASSERT_TRUE(file.commit());
  EXPECT_EQ(readAll(path), std::string("hello\0xy", 8));
  EXPECT_EQ(filesIn(folder.path()), std::vector<std::string>{"out"});
  EXPECT_EQ(getMode(path), 0755u);
  EXPECT_FALSE(file.isOpen());
  EXPECT_FALSE(file.commit()) << "a second commit";
}

TEST(OutputFile, keeps_the_permissions_of_an_older_one) {
  TempFolder folder;
  std::string path = folder.write("out", "old");
  ASSERT_EQ(chmod(path.c_str(), 0600), 0);
  OutputFile file = mustCreate(path);
  EXPECT_EQ(getMode(path + ".partial"), 0600u);
  ASSERT_TRUE(file.commit());
  EXPECT_EQ(getMode(path), 0600u);
}

TEST(OutputFile, leaves_nothing_without_commit) {
  TempFolder folder;
  {
    OutputFile file = mustCreate(folder / "out");
    ASSERT_TRUE(file.append("x"));
    OutputFile moved = std::move(file);
    EXPECT_EQ(filesIn(folder.path()), std::vector<std::string>{"out.partial"});
  }
  EXPECT_EQ(filesIn(folder.path()).size(), 0u);
}

TEST(OutputFile, replaces_what_a_killed_process_left) {
  TempFolder folder;
  // Its other names keep their contents, and a link is not followed.
  folder.write("other", "half");
  ASSERT_EQ(link((folder / "other").c_str(), (folder / "out.partial").c_str()),
            0);
  ASSERT_EQ(symlink("other", (folder / "two.partial").c_str()), 0);
  for (const char *name : {"out", "two"}) {
    OutputFile file = mustCreate(folder / name);
    ASSERT_TRUE(file.append("whole"));
    ASSERT_TRUE(file.commit());
    EXPECT_EQ(readAll(folder / name), "whole");
  }
  EXPECT_EQ(readAll(folder / "other"), "half");
  EXPECT_EQ(filesIn(folder.path()).size(), 3u);
}

TEST(OutputFile, resumes_the_partial_file_or_a_copy_of_the_result) {
  TempFolder folder;
  folder.write("out", "old result");
  {
    OutputFile file = mustCreate(folder / "out", false, true);
    EXPECT_EQ(*file.getSize(), 10u);
    ASSERT_TRUE(file.resumeAt(4));
    ASSERT_TRUE(file.append("x"));
  }
  // Nothing needed to be kept.
  EXPECT_EQ(filesIn(folder.path()), std::vector<std::string>{"out"});
  {
    OutputFile file = mustCreate(folder / "out");
    ASSERT_TRUE(file.append("half"));
    file.keepPartial();
  }
  EXPECT_EQ(readAll(folder / "out"), "old result");
  EXPECT_EQ(readAll(folder / "out.partial"), "half");
  {
    // An error in a run that resumes also leaves the file.
    OutputFile file = mustCreate(folder / "out", false, true);
  }
  OutputFile file = mustCreate(folder / "out", false, true);
  char bytes[8];
  EXPECT_EQ(*file.readAt(2, bytes, sizeof bytes), 2u);
  EXPECT_EQ(std::string(bytes, 2), "lf");
  ASSERT_TRUE(file.resumeAt(4));
  ASSERT_TRUE(file.append("-whole"));
  ASSERT_TRUE(file.commit());
  EXPECT_EQ(readAll(folder / "out"), "half-whole");
  EXPECT_EQ(filesIn(folder.path()), std::vector<std::string>{"out"});
}

TEST(OutputFile, full_disk_is_an_error_and_leaves_nothing) {
  TempFolder folder;
  pid_t child = fork();
  if (child == 0) {
    signal(SIGXFSZ, SIG_IGN);
    rlimit limit{1000, 1000};
    setrlimit(RLIMIT_FSIZE, &limit);
    Result<OutputFile> file = OutputFile::create(folder / "out");
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

TEST(OutputFile, errors_of_fsync_and_close_are_reported) {
  TempFolder folder;
  folder.write("out", "old");
  for (int *error : {&syncError, &closeError}) {
    OutputFile file = mustCreate(folder / "out");
    ASSERT_TRUE(file.append("new"));
    *error = error == &syncError ? EIO : ENOSPC;
    Result<void> done = file.commit();
    *error = 0;
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().status, Status::Unavailable);
    EXPECT_EQ(done.error().message,
              "cannot write '" + folder / "out" +
                  (error == &syncError ? "': input/output error"
                                       : "': no space left on device"));
  }
  EXPECT_EQ(readAll(folder / "out"), "old");
  EXPECT_EQ(filesIn(folder.path()), std::vector<std::string>{"out"});
}

TEST(OutputFile, a_signal_removes_the_partial_file) {
  for (int signal : {SIGINT, SIGTERM, SIGHUP}) {
    TempFolder folder;
    folder.write("out", "old");
    pid_t child = fork();
    if (child == 0) {
      ::signal(signal, SIG_DFL); // nohup
      Result<OutputFile> file = OutputFile::create(folder / "out");
      if (file && filesIn(folder.path()).size() == 2)
        raise(signal);
      _exit(1);
    }
    int status;
    waitpid(child, &status, 0);
    EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == signal);
    EXPECT_EQ(filesIn(folder.path()), std::vector<std::string>{"out"});
    EXPECT_EQ(readAll(folder / "out"), "old");
  }
}

TEST(OutputFile, two_writers_of_one_name_are_told_apart) {
  TempFolder folder;
  ASSERT_EQ(symlink("out", (folder / "link").c_str()), 0);
  OutputFile first = mustCreate(folder / "out");
  for (const char *name : {"out", "link"}) {
    Result<OutputFile> second = OutputFile::create(folder / name);
    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().status, Status::Unavailable);
    EXPECT_EQ(second.error().message,
              "cannot write '" + folder / "out" +
                  "': another process is writing it and holds the lock on '" +
                  folder / "out.partial" + "'");
  }
  ASSERT_TRUE(first.append("1"));
  ASSERT_TRUE(first.commit());
  EXPECT_EQ(readAll(folder / "out"), "1");
}

TEST(OutputFile, many_writers_never_mix) {
  TempFolder folder;
  constexpr int writers = 6, rounds = 40;
  std::vector<pid_t> children;
  // Each writer replaces the file repeatedly.
  for (int i = 0; i != writers; ++i) {
    children.push_back(fork());
    if (children.back() != 0)
      continue;
    for (int round = 0; round != rounds; ++round) {
      Result<OutputFile> file = OutputFile::create(folder / "out");
      if (!file)
        continue;
      for (int block = 0; block != 4; ++block)
        if (!file->append(std::string(500, static_cast<char>('a' + i))))
          _exit(2);
      if (!file->commit())
        _exit(3);
    }
    _exit(0);
  }
  for (pid_t child : children) {
    int status;
    waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
  }
  // The file has one writer's contents.
  const std::string found = readAll(folder / "out");
  ASSERT_EQ(found.size(), 2000u);
  EXPECT_EQ(found, std::string(2000, found[0]));
  EXPECT_EQ(filesIn(folder.path()), std::vector<std::string>{"out"});
}

TEST(OutputFile, writes_through_links) {
  TempFolder folder;
  ASSERT_EQ(mkdir((folder / "elsewhere").c_str(), 0777), 0);
  folder.write("elsewhere/file", "old");
  ASSERT_EQ(symlink("elsewhere/file", (folder / "link").c_str()), 0);
  ASSERT_EQ(symlink("elsewhere/new", (folder / "dangling").c_str()), 0);
  ASSERT_EQ(symlink("loop", (folder / "loop").c_str()), 0);
  for (const char *name : {"link", "dangling"}) {
    OutputFile file = mustCreate(folder / name);
    ASSERT_TRUE(file.append("new"));
    ASSERT_TRUE(file.commit());
  }
  EXPECT_EQ(readAll(folder / "elsewhere/file"), "new");
  EXPECT_EQ(readAll(folder / "elsewhere/new"), "new");
  struct stat info;
  ASSERT_EQ(lstat((folder / "link").c_str(), &info), 0);
  EXPECT_TRUE(S_ISLNK(info.st_mode));
  EXPECT_FALSE(OutputFile::create(folder / "loop"));
}

TEST(OutputFile, writes_devices_and_pipes_directly) {
  TempFolder folder;
  for (bool randomAccess : {false, true}) {
    EXPECT_TRUE(OutputFile::isStream("/dev/null"));
    OutputFile null = mustCreate("/dev/null", randomAccess);
    EXPECT_TRUE(null.append("x"));
    EXPECT_TRUE(!randomAccess || null.resize(10));
    EXPECT_TRUE(!randomAccess || null.writeAt(3, "y"));
    EXPECT_TRUE(null.commit());
    // A full device is an error when it gets the bytes.
    OutputFile full = mustCreate("/dev/full", randomAccess);
    const bool wrote = static_cast<bool>(full.append("x"));
    EXPECT_EQ(wrote, randomAccess);
    EXPECT_TRUE(!wrote || !full.commit());
    // A pipe gets bytes that were written out of order at the end.
    const std::string name = folder / (randomAccess ? "random" : "pipe");
    ASSERT_EQ(mkfifo(name.c_str(), 0666), 0);
    const int reader = open(name.c_str(), O_RDONLY | O_NONBLOCK);
    OutputFile pipe = mustCreate(name, randomAccess);
    EXPECT_TRUE(pipe.append("abcd"));
    EXPECT_EQ(static_cast<bool>(pipe.writeAt(1, "B")), randomAccess);
    EXPECT_TRUE(pipe.commit());
    char bytes[8];
    EXPECT_EQ(read(reader, bytes, sizeof bytes), 4);
    EXPECT_EQ(std::string(bytes, 4), randomAccess ? "aBcd" : "abcd");
    close(reader);
    EXPECT_EQ(unlink(name.c_str()), 0);
  }
  EXPECT_EQ(filesIn(folder.path()).size(), 0u);
}

TEST(OutputFile, appends_to_descriptors_of_the_process) {
  TempFolder folder;
  const std::string path = folder.write("log", "old\n");
  const int log = open(path.c_str(), O_WRONLY | O_APPEND);
  for (const char *place : {"/dev/fd/", "/proc/self/fd/"}) {
    const std::string name = place + std::to_string(log);
    ASSERT_TRUE(OutputFile::isStream(name));
    OutputFile file = mustCreate(name);
    ASSERT_TRUE(file.append("new\n"));
    ASSERT_TRUE(file.commit());
  }
  EXPECT_EQ(readAll(path), "old\nnew\nnew\n");
  close(log);
  const int input = open(path.c_str(), O_RDONLY);
  EXPECT_FALSE(OutputFile::create("/dev/fd/" + std::to_string(input)));
  close(input);
  EXPECT_FALSE(OutputFile::create("/dev/fd/" + std::to_string(input)));
}

TEST(OutputFile, refuses_folders_and_missing_folders) {
  TempFolder folder;
  EXPECT_EQ(getError(OutputFile::create(folder.path())),
            "cannot write '" + folder.path() + "': is a directory");
  EXPECT_FALSE(OutputFile::create(folder / ""));
  EXPECT_FALSE(OutputFile::create(folder / "."));
  EXPECT_FALSE(OutputFile::create(""));
  EXPECT_EQ(getError(OutputFile::create(folder / "none/out")),
            "cannot write '" + folder / "none/out" +
                "': no such file or directory");
  ASSERT_EQ(mkdir((folder / "out.partial").c_str(), 0777), 0);
  EXPECT_FALSE(OutputFile::create(folder / "out"));
}

TEST(OutputSet, renames_nothing_before_everything_is_written) {
  TempFolder folder;
  folder.write("listing", "old listing");
  folder.write("result", "old result");
  {
    OutputSet outputs;
    OutputFile *result =
        *outputs.create(folder / "result", {}, OutputSet::Order::Result);
    OutputFile *listing = *outputs.create(folder / "listing");
    ASSERT_TRUE(result->append("new"));
    ASSERT_TRUE(listing->append("new"));
    EXPECT_EQ(readAll(folder / "listing"), "old listing");
    // A file that fails leaves the older result.
    ASSERT_EQ(unlink((folder / "listing").c_str()), 0);
    ASSERT_EQ(mkdir((folder / "listing").c_str(), 0777), 0);
    EXPECT_FALSE(outputs.commit());
  }
  EXPECT_EQ(readAll(folder / "result"), "old result");
  ASSERT_EQ(rmdir((folder / "listing").c_str()), 0);
  OutputSet outputs;
  ASSERT_TRUE((*outputs.create(folder / "result"))->append("new"));
  ASSERT_TRUE(outputs.commit());
  EXPECT_EQ(readAll(folder / "result"), "new");
  EXPECT_EQ(filesIn(folder.path()), std::vector<std::string>{"result"});
}
