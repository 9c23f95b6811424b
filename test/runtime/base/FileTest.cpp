// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Files, output that is whole or absent, and element types.
#include "runtime/base/File.h"
#include "runtime/base/DType.h"
#include "test/runtime/base/TestSupport.h"
#include <cmath>
#include <csignal>
#include <cstring>
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

template <typename T> std::string errorOf(const Result<T> &result) {
  return result ? "no error" : result.error().message;
}

} // namespace

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
  EXPECT_EQ(errorOf(MappedFile::open(folder.path())),
            "cannot read '" + folder.path() +
                "': expected a regular file, got a folder");
  EXPECT_EQ(errorOf(MappedFile::open(folder / "pipe")),
            "cannot read '" + folder / "pipe" +
                "': expected a regular file, got a pipe");
  EXPECT_EQ(errorOf(MappedFile::open("/dev/zero")),
            "cannot read '/dev/zero': expected a regular file, got a device");
  EXPECT_EQ(errorOf(MappedFile::open(folder / "no\nfile")),
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
  EXPECT_EQ(errorOf(checkPlainFileName("../x", "shard")),
            "shard '../x' is not a plain file name of the model's folder");
}

TEST(File, paths) {
  EXPECT_EQ(joinPath("a", "b"), "a/b");
  EXPECT_EQ(joinPath("a/", "b"), "a/b");
  EXPECT_EQ(joinPath("", "b"), "b");
  EXPECT_EQ(fileNameOf("a/b/c"), "c");
  EXPECT_EQ(fileNameOf("c"), "c");
}

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
  folder.write(".out.tmp", "half");
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
  EXPECT_EQ(errorOf(OutputFile::create("/dev/null")),
            "cannot write '/dev/null': it exists and is not a regular file");
  EXPECT_FALSE(OutputFile::create(folder.path()));
  EXPECT_FALSE(OutputFile::create(folder / ""));
  EXPECT_EQ(errorOf(OutputFile::create(folder / "none/out")),
            "cannot write '" + folder / "none/out" +
                "': no such file or directory");
}

TEST(DType, names_round_trip) {
  for (int i = 0; i < dtypeCount; ++i) {
    DType type = static_cast<DType>(i);
    EXPECT_EQ(dtypeFromName(dtypeName(type)), type);
    EXPECT_EQ(dtypeFromSafetensors(safetensorsName(type)), type);
    EXPECT_GT(dtypeBits(type), 0u);
  }
  EXPECT_FALSE(dtypeFromSafetensors("f32"));
  EXPECT_FALSE(dtypeFromName("F32"));
  EXPECT_EQ(safetensorsName(DType::Bool), "BOOL");
  EXPECT_EQ(dtypeName(DType::BF16), "bf16");
}

TEST(DType, sizes_are_checked) {
  EXPECT_EQ(dtypeBytes(DType::F64, 3), 24u);
  EXPECT_EQ(dtypeBytes(DType::F4, 4), 2u);
  EXPECT_FALSE(dtypeBytes(DType::F4, 3));
  EXPECT_EQ(dtypeBytes(DType::F6E2M3, 4), 3u);
  EXPECT_FALSE(dtypeBytes(DType::F32, UINT64_MAX / 2));
  EXPECT_EQ(tensorBytes(DType::F16, {2, 3}), 12u);
  EXPECT_EQ(tensorBytes(DType::F16, {}), 2u);
  EXPECT_EQ(tensorBytes(DType::F16, {0, INT64_MAX, INT64_MAX}), 0u);
  EXPECT_FALSE(tensorBytes(DType::I8, {INT64_MAX, 2}));
  EXPECT_FALSE(elementCount({2, -1}));
  EXPECT_FALSE(elementCount({0, -1}));
  EXPECT_EQ(shapeText({2, 3}), "[2, 3]");
  EXPECT_EQ(shapeText({}), "[]");
}

TEST(DType, all_halves_convert_both_ways) {
  for (uint32_t h = 0; h < 0x10000; ++h) {
    float value = halfToFloat(static_cast<uint16_t>(h));
    int exponent = h >> 10 & 31, mantissa = h & 1023;
    double expected = exponent == 0
                          ? std::ldexp(mantissa, -24)
                          : std::ldexp(1024 + mantissa, exponent - 25);
    if (h & 0x8000)
      expected = -expected;
    if (exponent == 31 && mantissa != 0) {
      ASSERT_TRUE(std::isnan(value)) << h;
      ASSERT_TRUE(std::isnan(halfToFloat(floatToHalf(value))));
      continue;
    }
    if (exponent == 31)
      expected = h & 0x8000 ? -INFINITY : INFINITY;
    ASSERT_EQ(value, expected) << h;
    ASSERT_EQ(std::signbit(value), (h & 0x8000) != 0);
    ASSERT_EQ(floatToHalf(value), h);
  }
}

TEST(DType, rounding_is_to_nearest_even) {
  EXPECT_EQ(floatToHalf(65519.99f), 0x7BFF);
  EXPECT_EQ(floatToHalf(65520.0f), 0x7C00);
  EXPECT_EQ(floatToHalf(1.0f + 0x1p-11f), 0x3C00) << "a tie goes to even";
  EXPECT_EQ(floatToHalf(1.0f + 3 * 0x1p-11f), 0x3C02);
  EXPECT_EQ(floatToHalf(1.0f + 0x1.1p-11f), 0x3C01);
  EXPECT_EQ(floatToHalf(0x1p-25f), 0);
  EXPECT_EQ(floatToHalf(0x1.1p-25f), 1);
  EXPECT_EQ(floatToHalf(-0x1.8p-24f), 0x8002);
  EXPECT_EQ(floatToBfloat16(1.0f + 0x1p-8f), 0x3F80);
  EXPECT_EQ(floatToBfloat16(1.0f + 3 * 0x1p-8f), 0x3F82);
  EXPECT_EQ(floatToBfloat16(3.4e38f), 0x7F80);
  EXPECT_TRUE(std::isnan(bfloat16ToFloat(floatToBfloat16(NAN))));
}

TEST(DType, conversions_read_unaligned_data) {
  char bytes[40] = {};
  float out[2];
  int64_t integers[2];
  double d = -2.5;
  std::memcpy(bytes + 1, &d, 8);
  ASSERT_TRUE(convertToF32(DType::F64, bytes + 1, 1, out));
  EXPECT_EQ(out[0], -2.5f);
  int32_t i[2] = {-7, 8};
  std::memcpy(bytes + 3, i, 8);
  ASSERT_TRUE(convertToF32(DType::I32, bytes + 3, 2, out));
  EXPECT_EQ(out[0], -7);
  ASSERT_TRUE(convertToI64(DType::I32, bytes + 3, 2, integers));
  EXPECT_EQ(integers[1], 8);
  bytes[0] = 5;
  ASSERT_TRUE(convertToI64(DType::Bool, bytes, 1, integers));
  EXPECT_EQ(integers[0], 1);
  bytes[0] = static_cast<char>(0xFF);
  ASSERT_TRUE(convertToI64(DType::U8, bytes, 1, integers));
  EXPECT_EQ(integers[0], 255);
  ASSERT_TRUE(convertToI64(DType::I8, bytes, 1, integers));
  EXPECT_EQ(integers[0], -1);
  EXPECT_FALSE(convertToI64(DType::F32, bytes, 1, integers));
  EXPECT_FALSE(convertToF32(DType::C64, bytes, 1, out));
  EXPECT_TRUE(convertToF32(DType::F32, nullptr, 0, nullptr));
}
