// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// No command output is one of its inputs or another output.
#include "runtime/base/FileUse.h"
#include "runtime/base/File.h"
#include "runtime/base/OutputFile.h"
#include "test/runtime/base/TestSupport.h"
#include <gtest/gtest.h>
#include <sys/stat.h>

using namespace transom;
using namespace transom::test;

namespace {

/// Records while a test runs.
class RecordedUse : public testing::Test {
protected:
  RecordedUse() { FileUse::record(&use); }
  ~RecordedUse() override { FileUse::record(nullptr); }

  /// All names under which a file can be given as an output.
  std::vector<std::string> getNames(const std::string &path) const {
    EXPECT_EQ(link(path.c_str(), (path + "-hard").c_str()), 0);
    EXPECT_EQ(symlink(path.c_str(), (path + "-soft").c_str()), 0);
    return {path, folder.path() + "/./" + getFileName(path), path + "-hard",
            path + "-soft"};
  }

  TempFolder folder;
  FileUse use;
};

} // namespace

TEST_F(RecordedUse, an_output_that_was_read_is_refused) {
  const std::string input = folder.write("in", "text");
  ASSERT_TRUE(MappedFile::open(input)); // closed again
  for (const std::string &name : getNames(input)) {
    Result<OutputFile> file = OutputFile::create(name);
    ASSERT_FALSE(file) << name;
    EXPECT_EQ(file.error().status, Status::Usage);
    EXPECT_EQ(file.error().message, "output '" + name +
                                        "' is also the input '" + input +
                                        "'; write to another file");
  }
  EXPECT_EQ(readAll(input), "text");
  EXPECT_TRUE(use.getConflict());
}

TEST_F(RecordedUse, a_removed_input_leaves_its_number_to_others) {
  const std::string input = folder.write("in", "text");
  ASSERT_TRUE(MappedFile::open(input));
  // An output that gets the removed file's inode.
  const std::string output = input + ".other";
  ASSERT_EQ(rename(input.c_str(), output.c_str()), 0);
  EXPECT_TRUE(OutputFile::create(output));
  EXPECT_FALSE(use.getConflict());
}

TEST_F(RecordedUse, an_input_that_is_written_is_refused) {
  const std::string output = folder.write("out", "text");
  Result<OutputFile> file = OutputFile::create(output);
  ASSERT_TRUE(file);
  ASSERT_TRUE(file->append("new"));
  for (const std::string &name : getNames(output)) {
    Result<std::string> read = readSmallFile(name, 100);
    ASSERT_FALSE(read) << name;
    EXPECT_EQ(read.error().status, Status::Usage);
  }
  // Also if the reader's error was not reported.
  Result<void> done = file->commit();
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().status, Status::Usage);
  EXPECT_EQ(readAll(output), "text");
}

TEST_F(RecordedUse, an_input_with_the_name_of_the_partial_file_is_refused) {
  const std::string input = folder.write("out.partial", "text");
  ASSERT_TRUE(MappedFile::open(input));
  for (bool resume : {false, true}) {
    OutputOptions options;
    options.resume = resume;
    Result<OutputFile> file = OutputFile::create(folder / "out", options);
    ASSERT_FALSE(file);
    EXPECT_EQ(file.error().status, Status::Usage);
    EXPECT_EQ(readAll(input), "text");
  }
}

TEST_F(RecordedUse, two_outputs_of_one_file_are_refused) {
  const std::string old = folder.write("old", "text");
  for (const std::string &path : {old, folder / "new"}) {
    Result<OutputFile> first = OutputFile::create(path);
    ASSERT_TRUE(first);
    Result<OutputFile> second = OutputFile::create(path);
    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().status, Status::Usage);
    EXPECT_EQ(second.error().message, "outputs '" + path + "' and '" + path +
                                          "' are one file; write to two files");
  }
}

TEST_F(RecordedUse, other_files_are_not_refused) {
  const std::string input = folder.write("in", "text");
  ASSERT_TRUE(MappedFile::open(input));
  // Outputs one after another, a discarded file, the null device.
  for (int i = 0; i != 3; ++i) {
    Result<OutputFile> file = OutputFile::create(folder / "out");
    ASSERT_TRUE(file) << getError(file);
    ASSERT_TRUE(i == 1 || file->commit());
  }
  struct stat status;
  ASSERT_EQ(stat("/dev/null", &status), 0);
  ASSERT_TRUE(FileUse::addInput(status, "/dev/null"));
  EXPECT_TRUE(OutputFile::create("/dev/null"));
  EXPECT_TRUE(MappedFile::open(folder / "out"));
  EXPECT_FALSE(use.getConflict());
}

TEST(FileUse, a_library_refuses_nothing) {
  TempFolder folder;
  const std::string path = folder.write("file", "text");
  ASSERT_TRUE(MappedFile::open(path));
  EXPECT_TRUE(writeFile(path, "new"));
  EXPECT_EQ(readAll(path), "new");
}
