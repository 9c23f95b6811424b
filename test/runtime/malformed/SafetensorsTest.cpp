// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Malformed safetensors files and folders: every rule violated, every
// truncation, fixed random damage, and the time and memory limits for an error.
#include "compiler/safetensors/Safetensors.h"
#include "test/runtime/malformed/Malformed.h"
#include "test/support/TimeLimit.h"
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

using namespace transom;
using namespace transom::test;

namespace {

const std::string goodHeader =
    R"({"__metadata__":{"format":"pt"},)"
    R"("a.weight":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]},)"
    R"("b":{"dtype":"I64","shape":[2],"data_offsets":[24,40]},)"
    R"("e":{"dtype":"F16","shape":[0,7],"data_offsets":[40,40]},)"
    R"("s":{"dtype":"BF16","shape":[],"data_offsets":[40,42]}}  )";

std::string goodFile() {
  return safetensorsBytes(goodHeader, std::string(42, 'd'));
}

/// Reads all tensors that a header declares, as a compiler would.
void useTensors(const SafetensorsHeader &header, std::string_view file) {
  uint64_t at = 0;
  for (const SafetensorsTensor &tensor : header.tensors) {
    ASSERT_LE(tensor.begin, tensor.end);
    ASSERT_LE(tensor.end, file.size());
    ASSERT_GE(tensor.begin, at);
    ASSERT_EQ(tensorBytes(tensor.dtype, tensor.shape),
              tensor.end - tensor.begin);
    at = tensor.end;
    unsigned sum = 0;
    for (char c : file.substr(tensor.begin, tensor.end - tensor.begin))
      sum += static_cast<unsigned char>(c);
    ASSERT_GE(sum, 0u);
  }
}

/// Parses from an exact allocation; true when it was accepted.
bool tryFile(const std::string &bytes) {
  ExactBytes exact(bytes);
  Result<SafetensorsHeader> header = parseSafetensors(exact, "m.safetensors");
  if (header)
    useTensors(*header, exact);
  else
    expectInputError(header.error(), "m.safetensors");
  return static_cast<bool>(header);
}

std::string header(const std::string &entries) {
  return safetensorsBytes("{" + entries + "}", std::string(8, 'd'));
}
std::string entry(const std::string &body) {
  return header("\"t\":{" + body + "}");
}

/// Files that break one rule each.
std::vector<std::string> brokenFiles() {
  std::vector<std::string> files = {
      "",
      "{}",
      safetensorsBytes("", ""),
      safetensorsBytes(" {}", ""),
      safetensorsBytes("{}\n", ""),
      safetensorsBytes("{}\t ", ""),
      safetensorsBytes("{} {}", ""),
      safetensorsBytes("{}x", ""),
      safetensorsBytes("[]", ""),
      safetensorsBytes("null", ""),
      safetensorsBytes("{", ""),
      safetensorsBytes("{}", "x"),
      safetensorsBytes(std::string("{}\0", 3), ""),
      safetensorsBytes("\xEF\xBB\xBF{}", ""),
      safetensorsBytes("{\"\xC0\xAF\":1}", ""),
      header("\"t\":1"),
      header("\"t\":null"),
      header("\"t\":[]"),
      header("\"__metadata__\":1"),
      header("\"__metadata__\":{\"a\":1}"),
      header("\"__metadata__\":{\"a\":null}"),
      header("\"__metadata__\":{\"a\":\"1\",\"a\":\"2\"}"),
      header("\"t\":{},\"t\":{}"),
  };
  // Missing, unknown and repeated members.
  const std::string dtype = "\"dtype\":\"F32\"", shape = "\"shape\":[2]",
                    offsets = "\"data_offsets\":[0,8]";
  for (const std::string &body :
       {std::string(), dtype, shape, offsets, dtype + "," + shape,
        dtype + "," + offsets, shape + "," + offsets,
        dtype + "," + shape + "," + offsets + ",\"x\":0",
        dtype + "," + dtype + "," + shape + "," + offsets})
    files.push_back(entry(body));
  // Wrong types, shapes and offsets.
  for (const char *bad :
       {"\"F33\"", "\"f32\"", "\"\"", "7", "null", "[\"F32\"]",
        "\"F32\\u0000\"", "\"F64\"", "\"F4\"", "\"U8\""})
    files.push_back(
        entry(std::string("\"dtype\":") + bad + "," + shape + "," + offsets));
  for (const char *bad : {"2",
                          "\"2\"",
                          "null",
                          "{}",
                          "[-2]",
                          "[2.0]",
                          "[\"2\"]",
                          "[null]",
                          "[[2]]",
                          "[1]",
                          "[3]",
                          "[]",
                          "[2,2]",
                          "[0]",
                          "[2,0]",
                          "[9223372036854775807]",
                          "[9223372036854775808]",
                          "[18446744073709551615]",
                          "[18446744073709551616]",
                          "[4294967296,4294967296]",
                          "[4611686018427387904,4,2]",
                          "[2305843009213693952,8]",
                          "[-1,-2]",
                          "[1e0,2]"})
    files.push_back(entry(dtype + ",\"shape\":" + bad + "," + offsets));
  for (const char *bad : {"8",
                          "null",
                          "{}",
                          "[]",
                          "[0]",
                          "[0,8,8]",
                          "[8,0]",
                          "[0,4]",
                          "[0,9]",
                          "[1,9]",
                          "[4,12]",
                          "[0,8.0]",
                          "[\"0\",8]",
                          "[-8,0]",
                          "[-1,7]",
                          "[0,18446744073709551615]",
                          "[18446744073709551608,0]",
                          "[9223372036854775807,9223372036854775807]",
                          "[0,9223372036854775807]",
                          "[0,36893488147419103232]",
                          "[[0,8]]"})
    files.push_back(entry(dtype + "," + shape + ",\"data_offsets\":" + bad));
  // Two tensors that overlap or leave a gap.
  auto pair = [&](const std::string &first, const std::string &second) {
    return header(
        "\"t\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":" + first +
        "},\"u\":{\"dtype\":\"U8\",\"shape\":[4],"
        "\"data_offsets\":" +
        second + "}");
  };
  files.push_back(pair("[0,4]", "[0,4]"));
  files.push_back(pair("[0,4]", "[3,7]"));
  files.push_back(pair("[0,4]", "[5,9]"));
  files.push_back(pair("[4,8]", "[4,8]"));
  files.push_back(pair("[1,5]", "[5,9]"));
  for (uint64_t length :
       {uint64_t(1), uint64_t(3), uint64_t(100000000), uint64_t(100000001),
        uint64_t(1) << 32, uint64_t(1) << 63, UINT64_MAX, UINT64_MAX - 7}) {
    std::string file = safetensorsBytes("{}", "");
    for (int i = 0; i < 8; ++i)
      file[i] = static_cast<char>(length >> (8 * i));
    files.push_back(file);
  }
  return files;
}

} // namespace

TEST(MalformedSafetensors, the_corpus_base_is_valid) {
  EXPECT_TRUE(tryFile(goodFile()));
}

TEST(MalformedSafetensors, every_broken_rule_is_an_error) {
  TempFolder folder;
  for (const std::string &file : brokenFiles()) {
    EXPECT_FALSE(tryFile(file)) << file.substr(0, 300);
    std::string path = folder.write("model.safetensors", file);
    Result<ModelFiles> files = ModelFiles::openFolder(folder.path());
    ASSERT_FALSE(files) << file.substr(0, 300);
    expectInputError(files.error(), path);
  }
}

TEST(MalformedSafetensors, every_cut_is_an_error) {
  std::string file = goodFile();
  TempFolder folder;
  for (size_t size = 0; size < file.size(); ++size) {
    EXPECT_FALSE(tryFile(file.substr(0, size))) << size;
    std::string path = folder.write("model.safetensors", file.substr(0, size));
    Result<ModelFiles> files = ModelFiles::openFolder(folder.path());
    ASSERT_FALSE(files) << size;
    expectInputError(files.error(), path);
  }
  EXPECT_FALSE(tryFile(file + "x")) << "bytes after the last tensor";
}

TEST(MalformedSafetensors, every_changed_byte_is_an_error_or_harmless) {
  std::string file = goodFile();
  for (size_t at = 0; at < 8 + goodHeader.size(); ++at)
    for (int bit = 0; bit < 8; ++bit) {
      std::string changed = file;
      changed[at] = static_cast<char>(changed[at] ^ 1 << bit);
      tryFile(changed);
    }
}

TEST(MalformedSafetensors, random_damage_is_an_error_or_harmless) {
  int accepted = 0;
  for (uint64_t seed = 0; seed < 20000; ++seed) {
    Random random(seed);
    accepted += tryFile(damaged(goodFile(), random));
  }
  EXPECT_LT(accepted, 12000) << "damage is mostly noticed";
  EXPECT_GT(accepted, 0) << "a changed byte of data or of a name is harmless";
}

TEST(MalformedSafetensors, what_stands_in_place_of_a_file) {
  TempFolder folder;
  std::string path = folder / "model.safetensors";
  auto expectError = [&] {
    Result<ModelFiles> files = ModelFiles::openFolder(folder.path());
    ASSERT_FALSE(files);
    expectInputError(files.error(), folder.path());
  };
  ASSERT_EQ(mkdir(path.c_str(), 0700), 0);
  expectError();
  ASSERT_EQ(rmdir(path.c_str()), 0);
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0); // must not wait for a writer
  expectError();
  ASSERT_EQ(unlink(path.c_str()), 0);
  ASSERT_EQ(symlink("model.safetensors", path.c_str()), 0); // a loop
  expectError();
  ASSERT_EQ(unlink(path.c_str()), 0);
  ASSERT_EQ(symlink("/dev/zero", path.c_str()), 0);
  expectError();
  ASSERT_EQ(unlink(path.c_str()), 0);
  expectError();
}

TEST(MalformedSafetensors, every_broken_index_is_an_error) {
  TempFolder folder;
  folder.write("one.safetensors", goodFile());
  std::string path = folder / "model.safetensors.index.json";
  auto names = [](const std::string &shard) {
    std::string map;
    for (const char *name : {"a.weight", "b", "e", "s"})
      map += (map.empty() ? "\"" : ",\"") + std::string(name) + "\":\"" +
             shard + "\"";
    return map;
  };
  std::string good = "{\"weight_map\":{" + names("one.safetensors") + "}}";
  folder.write("model.safetensors.index.json", good);
  ASSERT_TRUE(ModelFiles::openFolder(folder.path()));
  // A name that no shard has is an error for readers of that tensor.
  folder.write("model.safetensors.index.json",
               "{\"weight_map\":{" + names("one.safetensors") +
                   ",\"more\":\"one.safetensors\"}}");
  ASSERT_TRUE(ModelFiles::openFolder(folder.path()));
  std::vector<std::string> broken = {
      "",
      "null",
      "[]",
      "{}",
      "{\"weight_map\":[]}",
      "{\"weight_map\":{}}",
      "{\"weight_map\":{\"b\":1}}",
      "{\"weight_map\":{\"b\":null}}",
      "{\"weight_map\":{" + names("one.safetensors") +
          ",\"b\":\"one.safetensors\"}}",
      "{\"weight_map\":{\"b\":\"one.safetensors\",\"s\":\"none\"}}"};
  for (const char *shard :
       {"", ".", "..", "/", "/etc/passwd", "../one.safetensors",
        "./one.safetensors", "x/../one.safetensors", "one.safetensors/",
        "one.safetensors\\u0000", "\\u0000", "none.safetensors",
        "model.safetensors.index.json"})
    broken.push_back("{\"weight_map\":{" + names(shard) + "}}");
  for (size_t size = 0; size < good.size(); ++size)
    broken.push_back(good.substr(0, size));
  for (const std::string &text : broken) {
    folder.write("model.safetensors.index.json", text);
    Result<ModelFiles> files = ModelFiles::openFolder(folder.path());
    ASSERT_FALSE(files) << text;
    expectInputError(files.error(), folder.path());
  }
  for (uint64_t seed = 0; seed < 1000; ++seed) {
    Random random(seed);
    folder.write("model.safetensors.index.json", damaged(good, random));
    Result<ModelFiles> files = ModelFiles::openFolder(folder.path());
    if (!files)
      expectInputError(files.error(), folder.path());
  }
}

#if defined(NDEBUG) && !__has_feature(address_sanitizer) &&                    \
    !__has_feature(thread_sanitizer)
namespace {

/// One-mebibyte headers that make a reader work before it finds the error.
std::vector<std::string> costlyHeaders() {
  auto repeated = [](const std::string &first, const std::string &block,
                     const std::string &last) {
    std::string text = first;
    while (text.size() + block.size() + last.size() < 1 << 20)
      text += block;
    return text + last;
  };
  // Large values and many errors.
  std::vector<std::string> headers = {
      repeated("{\"t\":[", "[],", "0"),
      repeated("{\"t\":[", "0,", "x"),
      repeated("{\"", "k", ""),
      repeated("{\"t\":", "[", ""),
      repeated("{\"t\":{\"shape\":[", "1,", "1]}}"),
      repeated("{", " ", "x"),
      repeated("{\"t\":\"", "\\u00e9", "\"}"),
      repeated("{\"t\":\"", "\n", "\"}"),
  };
  // Many tensors, whose last key is repeated or wrong.
  std::string tensors = "{", keys = "{";
  for (int i = 0; tensors.size() < (1 << 20) - 100; ++i)
    tensors += "\"" + std::to_string(i) +
               "\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[0,0]},";
  for (int i = 0; keys.size() < (1 << 20) - 100; ++i)
    keys += "\"" + std::to_string(i) + "\":0,";
  headers.push_back(tensors + "\"x\":0}");
  headers.push_back(tensors + "\"0\":0}");
  headers.push_back(keys + "\"0\":0}");
  return headers;
}

} // namespace

TEST(MalformedSafetensors, errors_for_a_mebibyte_are_quick_and_small) {
  TempFolder folder;
  for (const std::string &text : costlyHeaders()) {
    std::string path =
        folder.write("m.safetensors", safetensorsBytes(text, ""));
    double best = 1e9;
    for (int run = 0; run < 5; ++run) {
      double start = processorSeconds();
      ASSERT_FALSE(SafetensorsFile::open(path));
      best = std::min(best, processorSeconds() - start);
    }
    SCOPED_TRACE(text.substr(0, 60));
    expectSeconds(best, 0.1);
    pid_t child = fork();
    if (child == 0) {
      rusage before, after;
      getrusage(RUSAGE_SELF, &before);
      bool failed = !SafetensorsFile::open(path);
      getrusage(RUSAGE_SELF, &after);
      _exit(failed && after.ru_maxrss - before.ru_maxrss < 64 << 10 ? 0 : 1);
    }
    int status;
    waitpid(child, &status, 0);
    EXPECT_EQ(status, 0) << "memory for " << text.substr(0, 60);
  }
}

TEST(MalformedSafetensors, huge_claims_cost_nothing) {
  TempFolder folder;
  std::string file = safetensorsBytes("{", "");
  file[0] = static_cast<char>(99999999 & 255);
  file[1] = static_cast<char>(99999999 >> 8 & 255);
  file[2] = static_cast<char>(99999999 >> 16 & 255);
  file[3] = static_cast<char>(99999999 >> 24);
  std::string path = folder.write("m.safetensors", file);
  ASSERT_EQ(truncate(path.c_str(), off_t(1) << 40), 0); // a one-tebibyte hole
  double start = processorSeconds();
  Result<SafetensorsFile> opened = SafetensorsFile::open(path);
  double seconds = processorSeconds() - start;
  ASSERT_FALSE(opened);
  expectInputError(opened.error(), path);
  expectSeconds(seconds, 2);
}
#endif
