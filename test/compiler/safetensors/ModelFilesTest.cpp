// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The tensors in a folder: one file or shards, and block reads.
#include "compiler/safetensors/Safetensors.h"
#include "test/runtime/base/TestSupport.h"
#include <cstring>
#include <gtest/gtest.h>
#include <sys/stat.h>

using namespace transom;
using namespace transom::test;

namespace {

std::string floats(const std::vector<float> &values) {
  return {reinterpret_cast<const char *>(values.data()), values.size() * 4};
}

} // namespace

TEST(ModelFiles, one_file) {
  TempFolder folder;
  folder.write("model.safetensors",
               safetensorsBytes(
                   "{" + safetensorsEntry("x", "F32", "[2,3]", "[0,24]") + "," +
                       safetensorsEntry("n", "I32", "[2]", "[24,32]") + "}",
                   floats({0, 1, 2, 3, 4, 5}) +
                       std::string("\7\0\0\0\xff\xff\xff\xff", 8)));
  Result<ModelFiles> files = ModelFiles::openFolder(folder.path());
  ASSERT_TRUE(files) << files.error().message;
  ModelFiles moved = std::move(*files);
  EXPECT_EQ(moved.names(), (std::vector<std::string>{"n", "x"}));
  EXPECT_EQ(moved.fileNames(), std::vector<std::string>{"model.safetensors"});
  EXPECT_EQ(moved.getFile("x"), folder / "model.safetensors");
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
  EXPECT_EQ(getError(moved.read("n", {0}, {2}, out)),
            folder / "model.safetensors: tensor 'n' has dtype I32; supported "
                     "here: F32, F16, BF16, F64");
  EXPECT_FALSE(moved.readIntegers("x", {0, 0}, {1, 1}, integers));
  EXPECT_EQ(getError(moved.shape("y")),
            "tensor 'y' is not in " + folder / "model.safetensors");
}

TEST(ModelFiles, modules_in_folders) {
  TempFolder folder;
  auto write = [&](const std::string &name, float value) {
    folder.write(name,
                 safetensorsBytes(
                     "{" + safetensorsEntry("x", "F32", "[1]", "[0,4]") + "}",
                     floats({value})));
  };
  write("model.safetensors", 1);
  ASSERT_EQ(mkdir((folder / "2_Dense").c_str(), 0700), 0);
  write("2_Dense/model.safetensors", 2);
  Result<ModelFiles> files = ModelFiles::openFolder(folder.path());
  ASSERT_TRUE(files) << files.error().message;
  ASSERT_TRUE(files->addModule("2_Dense"));
  EXPECT_EQ(files->names(), (std::vector<std::string>{"2_Dense/x", "x"}));
  float out = 0;
  ASSERT_TRUE(files->read("2_Dense/x", {0}, {1}, &out));
  EXPECT_EQ(out, 2);
  EXPECT_EQ(files->fileNames(),
            (std::vector<std::string>{"model.safetensors",
                                      "2_Dense/model.safetensors"}));
  EXPECT_FALSE(files->addModule("../2_Dense"));
  EXPECT_FALSE(files->addModule("3_Dense"));
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
    one = safetensorsBytes(
        "{" + safetensorsEntry("a", "F32", "[1]", "[0,4]") + "}", floats({1}));
    two = safetensorsBytes(
        "{" + safetensorsEntry("b", "F32", "[1]", "[0,4]") + "}", floats({2}));
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
    std::string text = getError(files);
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

TEST_F(Shards, stale_names_are_errors_where_they_are_needed) {
  index("{\"a\":\"m-2.safetensors\",\"b\":\"m-1.safetensors\","
        "\"c\":\"m-2.safetensors\"}");
  Result<ModelFiles> files = ModelFiles::openFolder(folder.path());
  ASSERT_TRUE(files) << files.error().message;
  EXPECT_TRUE(files->find("a") && files->find("b"));
  EXPECT_FALSE(files->find("c"));
  EXPECT_EQ(files->describeStale("a"), "");
  const std::string message = files->shape("c").error().message,
                    end = "; 'model.safetensors.index.json' names shard "
                          "'m-2.safetensors' for it, which does not have it";
  EXPECT_EQ(files->describeStale("c"), end);
  EXPECT_EQ(message.substr(message.size() - end.size()), end);
}

TEST_F(Shards, each_name_is_there_once) {
  index("{\"a\":\"m-1.safetensors\",\"b\":\"m-1.safetensors\","
        "\"a\":\"m-2.safetensors\"}");
  EXPECT_NE(error().find("duplicate key 'a'"), std::string::npos);
  index("{\"a\":\"m-1.safetensors\",\"b\":\"m-2.safetensors\"}");
  folder.write("m-2.safetensors", one);
  EXPECT_EQ(error(), "m-2.safetensors: tensor 'a' is in 'm-1.safetensors' too");
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
                "'model.safetensors': python -c \"import glob, torch; from "
                "safetensors.torch import save_file; save_file("),
            std::string::npos);
  EXPECT_EQ(getError(ModelFiles::openFolder(folder / "none")),
            "cannot open '" + folder / "none" + "': no such folder");
  EXPECT_EQ(getError(ModelFiles::openFiles(folder.path(), {"../x"})),
            "weights file '../x' is not a plain file name of the model's "
            "folder");
}

TEST(ModelFiles, derived_tensors_have_the_shapes_of_their_expressions) {
  TempFolder folder;
  std::string header =
      "{" + safetensorsEntry("m", "F32", "[2,3]", "[0,24]") + "}";
  const std::string path =
      folder.write("other", safetensorsBytes(header, std::string(24, '\0')));
  Result<MappedFile> mapped = MappedFile::open(path);
  ASSERT_TRUE(mapped);
  const uint64_t begin = 8 + header.size();
  ModelFiles files = ModelFiles::ofFile(
      folder.path(), "other",
      SafetensorsFile::ofTensors(
          std::move(*mapped), {{"m", DType::F32, {2, 3}, begin, begin + 24}}));
  ASSERT_TRUE(files.addDerived(
      "t", WeightExpr::transpose(WeightExpr::file("m"), {1, 0}), "m"));
  ASSERT_TRUE(files.find("t"));
  EXPECT_EQ(files.find("t")->shape, (std::vector<int64_t>{3, 2}));
  EXPECT_EQ(*files.shape("t"), (std::vector<int64_t>{3, 2}));
  EXPECT_EQ(files.names(), std::vector<std::string>{"m"});
  EXPECT_EQ(files.getStoredName("t"), "m");
  EXPECT_EQ(files.getStoredName("m"), "m");
  EXPECT_EQ(files.getFile("t"), path);
  EXPECT_EQ(files.resolve(WeightExpr::scale(WeightExpr::file("t"), 2)).str(),
            "scale(transpose(file(\"m\"), [1, 0]), 2.0)");
  float values[6] = {1};
  ASSERT_TRUE(files.read("m", {0, 0}, {2, 3}, values));
  EXPECT_EQ(values[0], 0);
  EXPECT_FALSE(files.addDerived("u", WeightExpr::file("none"), "m"));
}
