// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// safetensors: each rule's error text, folders with shards, reading of blocks
// and writing.
#include "runtime/safetensors/Safetensors.h"
#include "runtime/json/Json.h"
#include "test/runtime/base/TestSupport.h"
#include <cstring>
#include <gtest/gtest.h>
#include <sys/stat.h>

using namespace transom;
using namespace transom::test;

namespace {

template <typename T> std::string errorOf(const Result<T> &result) {
  return result ? "no error" : result.error().message;
}

/// The error for a header and data.
std::string headerError(const std::string &header, const std::string &data) {
  Result<SafetensorsHeader> parsed =
      parseSafetensors(safetensorsBytes(header, data), "m");
  EXPECT_TRUE(parsed || parsed.error().status == Status::Rejected);
  return errorOf(parsed);
}

/// An entry of a header.
std::string entry(const std::string &name, const std::string &dtype,
                  const std::string &shape, const std::string &offsets) {
  return "\"" + name + "\":{\"dtype\":\"" + dtype + "\",\"shape\":" + shape +
         ",\"data_offsets\":" + offsets + "}";
}

std::string floats(const std::vector<float> &values) {
  return {reinterpret_cast<const char *>(values.data()), values.size() * 4};
}

} // namespace

TEST(Safetensors, reads_what_is_valid) {
  std::string header = "{\"__metadata__\":{\"format\":\"pt\"}," +
                       entry("b", "F32", "[2]", "[4,12]") + "," +
                       entry("a", "U8", "[2,2]", "[0,4]") + "," +
                       entry("empty", "F64", "[0,5]", "[4,4]") + "," +
                       entry("scalar", "F16", "[]", "[12,14]") + "}   ";
  Result<SafetensorsHeader> parsed =
      parseSafetensors(safetensorsBytes(header, std::string(14, 'x')), "m");
  ASSERT_TRUE(parsed) << parsed.error().message;
  ASSERT_EQ(parsed->tensors.size(), 4u);
  EXPECT_EQ(parsed->tensors[0].name, "a");
  EXPECT_EQ(parsed->tensors[0].begin, 8 + header.size());
  EXPECT_EQ(parsed->tensors[1].name, "empty");
  EXPECT_EQ(parsed->tensors[2].name, "b");
  EXPECT_EQ(parsed->tensors[2].shape, std::vector<int64_t>{2});
  EXPECT_EQ(parsed->tensors[3].name, "scalar");
  EXPECT_EQ(parsed->metadata[0].second, "pt");
  EXPECT_EQ(headerError("{}", ""), "no error");
}

TEST(Safetensors, length_and_frame_of_the_header) {
  EXPECT_EQ(errorOf(parseSafetensors("1234567", "m")),
            "m: file of 7 bytes is too short for safetensors; expected at "
            "least 8");
  std::string huge("\xff\xff\xff\xff\xff\xff\xff\xff{}", 10);
  EXPECT_EQ(errorOf(parseSafetensors(huge, "m")),
            "m: header length 18446744073709551615 is over the limit of "
            "100000000");
  std::string beyond = safetensorsBytes("{}", "");
  beyond[0] = 3;
  EXPECT_EQ(errorOf(parseSafetensors(beyond, "m")),
            "m: header length 3 reaches beyond the file, which has 2 bytes "
            "behind the length");
  EXPECT_EQ(headerError("", ""), "m: header is empty; expected a JSON object");
  EXPECT_EQ(headerError(" {}", ""), "m: header begins with ' '; expected '{'");
  EXPECT_EQ(headerError("[]", ""), "m: header begins with '['; expected '{'");
  EXPECT_EQ(headerError("{}\n", ""),
            "m: header ends with '\\n'; expected only spaces behind '}'");
  EXPECT_EQ(headerError("{} x", "").substr(0, 14), "m: header:1:4:");
}

TEST(Safetensors, entries_hold_exactly_three_keys) {
  EXPECT_EQ(headerError("{\"a\":{\"dtype\":\"F32\",\"shape\":[]}}", ""),
            "m: header:1:6: '/a': missing key 'data_offsets'");
  EXPECT_EQ(
      headerError("{\"a\":{\"dtype\":\"F32\",\"data_offsets\":[0,0]}}", ""),
      "m: header:1:6: '/a': missing key 'shape'");
  EXPECT_EQ(headerError("{\"a\":{}}", ""),
            "m: header:1:6: '/a': missing key 'dtype'");
  EXPECT_EQ(headerError("{\"a\":{\"dtype\":\"F32\",\"shape\":[],"
                        "\"data_offsets\":[0,4],\"x\":1}}",
                        "1234"),
            "m: header:1:6: '/a': unknown key 'x'");
  EXPECT_EQ(headerError("{\"a\":[]}", ""),
            "m: header:1:6: '/a': expected an object, got an array");
  EXPECT_EQ(headerError("{" + entry("a", "F32", "[1]", "[0,4]") + "," +
                            entry("a", "F32", "[1]", "[4,8]") + "}",
                        "12345678"),
            "m: header:1:59: duplicate key 'a'");
  EXPECT_EQ(headerError("{\"__metadata__\":{\"a\":1}}", ""),
            "m: header:1:22: '/__metadata__/a': expected a string, got an "
            "integer");
  EXPECT_EQ(headerError("{\"__metadata__\":[]}", ""),
            "m: header:1:17: '/__metadata__': expected an object, got an "
            "array");
}

TEST(Safetensors, dtype_shape_and_offsets) {
  auto one = [](const std::string &dtype, const std::string &shape,
                const std::string &offsets) {
    return headerError("{" + entry("a", dtype, shape, offsets) + "}", "1234");
  };
  EXPECT_EQ(one("F33", "[1]", "[0,4]").substr(0, 47),
            "m: tensor 'a': unknown dtype 'F33'; known: F32,");
  EXPECT_EQ(one("F32", "[-1]", "[0,4]"),
            "m: header:1:30: '/a/shape/0': expected an integer from 0 to "
            "9223372036854775807, got -1");
  EXPECT_EQ(one("F32", "[1.0]", "[0,4]"),
            "m: header:1:30: '/a/shape/0': expected an integer, got a number");
  EXPECT_EQ(one("F32", "7", "[0,4]"), "m: header:1:29: '/a/shape': expected an "
                                      "array of integers, got an integer");
  EXPECT_EQ(one("F32", "[1]", "[0]"),
            "m: tensor 'a': data_offsets has 1 numbers; expected 2");
  EXPECT_EQ(one("F32", "[1]", "[0,4,4]"),
            "m: tensor 'a': data_offsets has 3 numbers; expected 2");
  EXPECT_EQ(one("F32", "[1]", "[4,0]"),
            "m: tensor 'a': data_offsets [4, 0] end before they begin");
  EXPECT_EQ(one("F32", "[2]", "[0,8]"),
            "m: tensor 'a': data_offsets [0, 8] reach beyond the 4 bytes of "
            "data in the file");
  EXPECT_EQ(one("F32", "[2]", "[0,4]"),
            "m: tensor 'a': shape [2] of F32 takes 8 bytes, data_offsets [0, "
            "4] hold 4");
  EXPECT_EQ(one("F32", "[4611686018427387904, 4]", "[0,4]"),
            "m: tensor 'a': shape [4611686018427387904, 4] of F32 has no size "
            "of whole bytes within 64 bits");
  EXPECT_EQ(one("F4", "[3]", "[0,4]"), "m: tensor 'a': shape [3] of F4 has no "
                                       "size of whole bytes within 64 bits");
  EXPECT_NE(one("F32", "[1]", "[0,18446744073709551615]"), "no error");
}

TEST(Safetensors, tensors_cover_the_data) {
  auto two = [](const std::string &a, const std::string &b) {
    return headerError("{" + entry("a", "U8", "[4]", a) + "," +
                           entry("b", "U8", "[4]", b) + "}",
                       std::string(10, 'x'));
  };
  EXPECT_EQ(two("[0,4]", "[6,10]"),
            "m: tensor 'b': begins at 6, behind a hole; expected 4, where "
            "tensor 'a' ends");
  EXPECT_EQ(two("[0,4]", "[3,7]"),
            "m: tensor 'b': begins at 3, overlapping; expected 4, where "
            "tensor 'a' ends");
  EXPECT_EQ(two("[2,6]", "[6,10]"),
            "m: tensor 'a': begins at 2, behind a hole; expected 0, where the "
            "data begins");
  EXPECT_EQ(two("[0,4]", "[4,8]"),
            "m: the last tensor ends at 8, the file has 10 bytes of data");
  EXPECT_EQ(headerError("{}", "x"),
            "m: the last tensor ends at 0, the file has 1 bytes of data");
}

TEST(ModelFiles, one_file) {
  TempFolder folder;
  folder.write(
      "model.safetensors",
      safetensorsBytes("{" + entry("x", "F32", "[2,3]", "[0,24]") + "," +
                           entry("n", "I32", "[2]", "[24,32]") + "}",
                       floats({0, 1, 2, 3, 4, 5}) +
                           std::string("\7\0\0\0\xff\xff\xff\xff", 8)));
  Result<ModelFiles> files = ModelFiles::openFolder(folder.path());
  ASSERT_TRUE(files) << files.error().message;
  ModelFiles moved = std::move(*files);
  EXPECT_EQ(moved.names(), (std::vector<std::string>{"n", "x"}));
  EXPECT_EQ(moved.fileNames(), std::vector<std::string>{"model.safetensors"});
  EXPECT_EQ(moved.fileOf("x"), folder / "model.safetensors");
  EXPECT_EQ(*moved.shape("x"), (std::vector<int64_t>{2, 3}));
  float out[6] = {};
  ASSERT_TRUE(moved.read("x", {0, 1}, {2, 2}, out));
  EXPECT_EQ(std::vector<float>(out, out + 4), (std::vector<float>{1, 2, 4, 5}));
  moved.release("x");
  moved.releaseAll();
  ASSERT_TRUE(moved.read("x", {1, 0}, {1, 3}, out));
  EXPECT_EQ(std::vector<float>(out, out + 3), (std::vector<float>{3, 4, 5}));
  EXPECT_TRUE(moved.read("x", {2, 3}, {0, 0}, out));
  EXPECT_FALSE(moved.read("x", {0, 2}, {2, 2}, out));
  EXPECT_FALSE(moved.read("x", {0}, {2}, out));
  int64_t integers[2];
  ASSERT_TRUE(moved.readIntegers("n", {0}, {2}, integers));
  EXPECT_EQ(integers[0], 7);
  EXPECT_EQ(integers[1], -1);
  ASSERT_TRUE(moved.readAsF32("n", {1}, {1}, out));
  EXPECT_EQ(out[0], -1);
  EXPECT_EQ(errorOf(moved.read("n", {0}, {2}, out)),
            folder / "model.safetensors: tensor 'n' has dtype I32; supported "
                     "here: F32, F16, BF16, F64");
  EXPECT_FALSE(moved.readIntegers("x", {0, 0}, {1, 1}, integers));
  EXPECT_EQ(errorOf(moved.shape("y")),
            "tensor 'y' is not in " + folder / "model.safetensors");
}

TEST(ModelFiles, blocks_of_any_rank_agree_with_elements) {
  TempFolder folder;
  std::vector<float> values(3 * 4 * 5 * 2);
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<float>(i);
  std::vector<int64_t> shape = {3, 4, 5, 2};
  ASSERT_TRUE(writeSafetensors(folder / "w.safetensors",
                               {{"x", DType::F32, shape, values.data()},
                                {"s", DType::F32, {}, values.data() + 9}}));
  Result<ModelFiles> files =
      ModelFiles::openFiles(folder.path(), {"w.safetensors"});
  ASSERT_TRUE(files);
  Random random(5);
  for (int i = 0; i < 500; ++i) {
    std::vector<int64_t> offsets, sizes;
    int64_t count = 1;
    for (int64_t dim : shape) {
      offsets.push_back(random.between(0, dim));
      sizes.push_back(random.between(0, dim - offsets.back()));
      count *= sizes.back();
    }
    std::vector<float> out(count + 1, -1);
    ASSERT_TRUE(files->read("x", offsets, sizes, out.data()));
    for (int64_t k = 0; k < count; ++k) {
      int64_t rest = k, at = 0, stride = 1;
      for (int d = 3; d >= 0; --d) {
        at += (offsets[d] + rest % sizes[d]) * stride;
        rest /= sizes[d];
        stride *= shape[d];
      }
      ASSERT_EQ(out[k], values[at]);
    }
    ASSERT_EQ(out[count], -1);
  }
  float scalar;
  ASSERT_TRUE(files->read("s", {}, {}, &scalar));
  EXPECT_EQ(scalar, 9);
}

class Shards : public testing::Test {
protected:
  void SetUp() override {
    one = safetensorsBytes("{" + entry("a", "F32", "[1]", "[0,4]") + "}",
                           floats({1}));
    two = safetensorsBytes("{" + entry("b", "F32", "[1]", "[0,4]") + "}",
                           floats({2}));
    folder.write("m-1.safetensors", one);
    folder.write("m-2.safetensors", two);
    index("{\"a\":\"m-1.safetensors\",\"b\":\"m-2.safetensors\"}");
  }
  void index(const std::string &map) {
    folder.write("model.safetensors.index.json",
                 "{\"metadata\":{},\"weight_map\":" + map + "}");
  }
  std::string error() {
    Result<ModelFiles> files = ModelFiles::openFolder(folder.path());
    std::string text = errorOf(files);
    size_t place = text.find(folder.path() + "/");
    while (place != std::string::npos) {
      text.erase(place, folder.path().size() + 1);
      place = text.find(folder.path() + "/");
    }
    return text;
  }
  TempFolder folder;
  std::string one, two;
};

TEST_F(Shards, are_one_source) {
  Result<ModelFiles> files = ModelFiles::openFolder(folder.path());
  ASSERT_TRUE(files) << files.error().message;
  float out[2];
  ASSERT_TRUE(files->read("a", {0}, {1}, out));
  ASSERT_TRUE(files->read("b", {0}, {1}, out + 1));
  EXPECT_EQ(out[0], 1);
  EXPECT_EQ(out[1], 2);
  EXPECT_EQ(files->fileNames(),
            (std::vector<std::string>{"model.safetensors.index.json",
                                      "m-1.safetensors", "m-2.safetensors"}));
}

TEST_F(Shards, one_file_goes_before_an_index) {
  folder.write("model.safetensors", one);
  Result<ModelFiles> files = ModelFiles::openFolder(folder.path());
  ASSERT_TRUE(files);
  EXPECT_EQ(files->names(), std::vector<std::string>{"a"});
}

TEST_F(Shards, links_of_the_folder_are_followed) {
  TempFolder blobs;
  blobs.write("blob", two);
  ASSERT_EQ(unlink((folder / "m-2.safetensors").c_str()), 0);
  ASSERT_EQ(
      symlink((blobs / "blob").c_str(), (folder / "m-2.safetensors").c_str()),
      0);
  EXPECT_EQ(error(), "no error");
  ASSERT_EQ(unlink((folder / "m-2.safetensors").c_str()), 0);
  ASSERT_EQ(symlink(blobs.path().c_str(), (folder / "m-2.safetensors").c_str()),
            0);
  EXPECT_EQ(error(), "cannot read 'm-2.safetensors': expected a regular file, "
                     "got a folder (a shard of model.safetensors.index.json)");
}

TEST_F(Shards, names_must_be_plain) {
  for (const char *name :
       {"../m-2.safetensors", "/etc/passwd", "x/y", "..", ""}) {
    index(std::string("{\"a\":\"m-1.safetensors\",\"b\":\"") + name + "\"}");
    EXPECT_EQ(error(),
              "model.safetensors.index.json:1:56: '/weight_map/b': shard '" +
                  std::string(name) +
                  "' is not a plain file name of the model's folder");
  }
}

TEST_F(Shards, each_name_is_in_its_shard_and_once) {
  index("{\"a\":\"m-1.safetensors\",\"c\":\"m-2.safetensors\"}");
  EXPECT_EQ(error(), "model.safetensors.index.json: tensor 'c' is not in shard "
                     "'m-2.safetensors', which the index names");
  index("{\"a\":\"m-1.safetensors\",\"b\":\"m-1.safetensors\","
        "\"a\":\"m-2.safetensors\"}");
  EXPECT_NE(error().find("duplicate key 'a'"), std::string::npos);
  index("{\"a\":\"m-2.safetensors\",\"b\":\"m-1.safetensors\"}");
  EXPECT_EQ(error(), "model.safetensors.index.json: tensor 'a' is not in shard "
                     "'m-2.safetensors', which the index names, but in "
                     "'m-1.safetensors'");
  index("{\"a\":\"m-1.safetensors\",\"b\":\"m-2.safetensors\"}");
  folder.write("m-2.safetensors", one);
  EXPECT_EQ(error(),
            "m-2.safetensors: tensor 'a' stands in 'm-1.safetensors' too");
  index("{}");
  EXPECT_EQ(error(), "model.safetensors.index.json:1:29: '/weight_map': the "
                     "index names no tensor");
}

TEST_F(Shards, a_missing_shard_is_named) {
  ASSERT_EQ(unlink((folder / "m-2.safetensors").c_str()), 0);
  EXPECT_EQ(error(), "cannot open 'm-2.safetensors': no such file or directory "
                     "(a shard of model.safetensors.index.json)");
}

TEST(ModelFiles, folders_without_safetensors_say_what_to_do) {
  TempFolder folder;
  Result<ModelFiles> none = ModelFiles::openFolder(folder.path());
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().status, Status::Unavailable);
  folder.write("pytorch_model.bin", "x");
  Result<ModelFiles> pickle = ModelFiles::openFolder(folder.path());
  ASSERT_FALSE(pickle);
  EXPECT_EQ(pickle.error().status, Status::Unsupported);
  EXPECT_NE(pickle.error().message.find(
                "only 'pytorch_model.bin', which is not read; convert it to "
                "'model.safetensors'"),
            std::string::npos);
  EXPECT_EQ(errorOf(ModelFiles::openFolder(folder / "none")),
            "cannot open '" + folder / "none" + "': no such folder");
  EXPECT_EQ(errorOf(ModelFiles::openFiles(folder.path(), {"../x"})),
            "weights file '../x' is not a plain file name of the model's "
            "folder");
}

TEST(SafetensorsWriter, round_trips_each_dtype) {
  TempFolder folder;
  std::vector<char> bytes(64, 7);
  std::vector<TensorView> views;
  for (int i = 0; i < dtypeCount; ++i)
    views.push_back({"t\"" + std::to_string(i),
                     static_cast<DType>(i),
                     {2, 4},
                     bytes.data()});
  views.push_back({"empty", DType::F32, {0, 3}, nullptr});
  ASSERT_TRUE(writeSafetensors(folder / "w", views));
  Result<SafetensorsFile> file = SafetensorsFile::open(folder / "w");
  ASSERT_TRUE(file) << file.error().message;
  for (const TensorView &view : views) {
    const SafetensorsTensor *tensor = file->find(view.name);
    ASSERT_TRUE(tensor);
    EXPECT_EQ(tensor->dtype, view.dtype);
    EXPECT_EQ(tensor->shape, view.shape);
    std::string_view data = file->data(*tensor);
    EXPECT_EQ(data.size(), *tensorBytes(view.dtype, view.shape));
    EXPECT_EQ(data, std::string(data.size(), 7));
  }
  EXPECT_EQ(file->tensors()[0].begin % 8, 0u);
  EXPECT_FALSE(file->find("other"));
}

TEST(SafetensorsWriter, checks_its_caller) {
  TempFolder folder;
  SafetensorsWriter writer;
  ASSERT_TRUE(writer.add("x", DType::F32, {2}));
  EXPECT_FALSE(writer.add("x", DType::F32, {2}));
  EXPECT_FALSE(writer.add("y", DType::F32, {INT64_MAX, 2}));
  writer.addMetadata("k", "v");
  ASSERT_TRUE(writer.begin(folder / "w"));
  ASSERT_TRUE(writer.append("1234"));
  EXPECT_FALSE(writer.commit()) << "half of the data is missing";
  ASSERT_TRUE(writer.append("5678"));
  ASSERT_TRUE(writer.commit());
  Result<SafetensorsFile> file = SafetensorsFile::open(folder / "w");
  ASSERT_TRUE(file);
  EXPECT_EQ(file->metadata()[0].first, "k");
}
