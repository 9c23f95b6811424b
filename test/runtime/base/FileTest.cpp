// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Mapped files, small files, names and paths.
#include "runtime/base/File.h"
#include "test/runtime/base/TestSupport.h"
#include <gtest/gtest.h>
#include <sys/stat.h>

using namespace transom;
using namespace transom::test;

TEST(MappedFile, maps_regular_files_and_links) {
  TempFolder folder;
  std::string path = folder.write("a", "hello");
  ASSERT_EQ(symlink("a", (folder / "link").c_str()), 0);
  for (const char *name : {"a", "link"}) {
    Result<MappedFile> file = MappedFile::open(folder / name);
    ASSERT_TRUE(file);
    EXPECT_EQ(file->bytes(), "hello");
    MappedFile moved = std::move(*file);
    EXPECT_EQ(moved.bytes(), "hello");
    EXPECT_EQ(file->size(), 0u);
  }
  folder.write("empty", "");
  Result<MappedFile> empty = MappedFile::open(folder / "empty");
  ASSERT_TRUE(empty);
  EXPECT_EQ(empty->bytes(), "");
  empty->release();
}

TEST(MappedFile, released_pages_read_the_same) {
  TempFolder folder;
  std::string bytes;
  for (int i = 0; i < 100000; ++i)
    bytes += static_cast<char>(i * 7);
  Result<MappedFile> file = MappedFile::open(folder.write("a", bytes));
  ASSERT_TRUE(file);
  for (uint64_t begin : {0, 1, 4096, 99999, 200000})
    for (uint64_t end : {0, 1, 5000, 8192, 100000, 300000}) {
      file->release(begin, end);
      file->willNeed(begin, end);
      ASSERT_EQ(file->bytes(), bytes);
    }
}

TEST(MappedFile, refuses_what_is_no_regular_file) {
  TempFolder folder;
  ASSERT_EQ(mkfifo((folder / "pipe").c_str(), 0600), 0);
  EXPECT_EQ(getError(MappedFile::open(folder.path())),
            "cannot read '" + folder.path() +
                "': expected a regular file, got a folder");
  EXPECT_EQ(getError(MappedFile::open(folder / "pipe")),
            "cannot read '" + folder / "pipe" +
                "': expected a regular file, got a pipe");
  EXPECT_EQ(getError(MappedFile::open("/dev/zero")),
            "cannot read '/dev/zero': expected a regular file, got a device");
  EXPECT_EQ(getError(MappedFile::open(folder / "no\nfile")),
            "cannot open '" + folder.path() +
                "/no\\nfile': no such file or directory");
  EXPECT_EQ(MappedFile::open(folder / "none").error().status,
            Status::Unavailable);
}

TEST(File, small_files_are_read_up_to_a_cap) {
  TempFolder folder;
  std::string path = folder.write("a", "12345");
  EXPECT_EQ(*readSmallFile(path, 5), "12345");
  Result<std::string> over = readSmallFile(path, 4);
  ASSERT_FALSE(over);
  EXPECT_EQ(over.error().status, Status::Rejected);
  EXPECT_EQ(over.error().message,
            path + ": file of 5 bytes is over the limit of 4");
  EXPECT_FALSE(readSmallFile("/proc/self/status", 16))
      << "the cap holds for files that hide their size";
}

TEST(File, plain_names) {
  EXPECT_TRUE(checkPlainFileName("model-00001-of-00002.safetensors", "shard"));
  EXPECT_TRUE(checkPlainFileName("..x", "shard"));
  for (std::string name : {std::string(), std::string("."), std::string(".."),
                           std::string("a/b"), std::string("/etc/passwd"),
                           std::string("../x"), std::string("a\0b", 3)})
    EXPECT_FALSE(checkPlainFileName(name, "shard")) << name;
  EXPECT_EQ(getError(checkPlainFileName("../x", "shard")),
            "shard '../x' is not a plain file name of the model's folder");
}

TEST(File, paths) {
  EXPECT_EQ(joinPath("a", "b"), "a/b");
  EXPECT_EQ(joinPath("a/", "b"), "a/b");
  EXPECT_EQ(joinPath("", "b"), "b");
  EXPECT_EQ(getFileName("a/b/c"), "c");
  EXPECT_EQ(getFileName("c"), "c");
}
