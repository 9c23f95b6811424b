// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tensors that are triangles, and tensors that differ from one in an element.
// The expression has exactly the tensor's elements.
#include "compiler/import/Triangles.h"
#include "test/compiler/import/Fixture.h"
#include <cmath>

using namespace transom;
using namespace transom::testing;

namespace {

/// torch.tril(ones, diagonal) times `upTo`, plus `after` elsewhere.
std::vector<float> makeTriangle(int64_t rows, int64_t columns, int64_t diagonal,
                                float upTo, float after) {
  std::vector<float> values;
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j)
      values.push_back(j <= i + diagonal ? upTo : after);
  return values;
}

struct Triangles : ::testing::Test {
  ModelFolder folder;

  /// Returns the expression for a tensor with these elements as a string.
  std::string find(const std::vector<int64_t> &shape,
                   const std::vector<float> &values) {
    SafetensorsWriter writer;
    EXPECT_TRUE(writer.add("t", DType::F32, shape));
    EXPECT_TRUE(writer.begin(folder.path + "/model.safetensors"));
    EXPECT_TRUE(writer.append(
        {reinterpret_cast<const char *>(values.data()), values.size() * 4}));
    EXPECT_TRUE(writer.commit());
    Result<ModelFiles> files = ModelFiles::openFolder(folder.path);
    EXPECT_TRUE(files);
    Result<std::optional<WeightExpr>> found =
        findTriangle(*files, *files->find("t"));
    EXPECT_TRUE(found);
    if (!*found)
      return "";
    std::vector<float> computed(values.size());
    EXPECT_TRUE((*found)->evaluate(
        *files, std::vector<int64_t>(shape.size(), 0), shape, computed.data()));
    EXPECT_EQ(computed, values);
    return (*found)->str();
  }
};

TEST_F(Triangles, of_each_diagonal) {
  EXPECT_EQ(find({4, 4}, makeTriangle(4, 4, 0, 1, 0)),
            "triangle([4, 4], 0, 1.0, 0.0)");
  EXPECT_EQ(find({1, 1, 4, 4}, makeTriangle(4, 4, 0, 1, 0)),
            "triangle([1, 1, 4, 4], 0, 1.0, 0.0)");
  for (int64_t diagonal = -3; diagonal < 3; ++diagonal)
    EXPECT_EQ(find({4, 4}, makeTriangle(4, 4, diagonal, 0, -INFINITY)),
              "triangle([4, 4], " + std::to_string(diagonal) + ", 0.0, -inf)");
  for (int64_t diagonal = -2; diagonal < 4; ++diagonal)
    EXPECT_NE(find({3, 5}, makeTriangle(3, 5, diagonal, 2, 3)), "");
}

TEST_F(Triangles, of_each_batch) {
  std::vector<float> two = makeTriangle(3, 3, 0, 1, 0), other = two;
  two.insert(two.end(), other.begin(), other.end());
  EXPECT_EQ(find({2, 3, 3}, two), "triangle([2, 3, 3], 0, 1.0, 0.0)");
  two[9 + 5] = 1;
  EXPECT_EQ(find({2, 3, 3}, two), "");
}

TEST_F(Triangles, that_differ_in_an_element) {
  const std::vector<float> whole = makeTriangle(5, 5, 0, 1, 0);
  for (size_t i = 0; i < whole.size(); ++i) {
    std::vector<float> values = whole;
    values[i] = 2;
    EXPECT_EQ(find({5, 5}, values), "") << i;
    values[i] = 1 - whole[i];
    EXPECT_EQ(find({5, 5}, values), "") << i;
    values[i] = NAN;
    EXPECT_EQ(find({5, 5}, values), "") << i;
  }
}

TEST_F(Triangles, are_no_other_tensors) {
  EXPECT_EQ(find({4, 4}, std::vector<float>(16, 1)), "");
  EXPECT_EQ(find({16}, std::vector<float>(16, 1)), "");
  EXPECT_EQ(find({1, 4}, {1, 1, 0, 0}), "");
  EXPECT_EQ(find({2, 1}, {1, 0}), "");
  EXPECT_EQ(find({2, 4}, {1, 1, 0, 0, 1, 1, 0, 0}), "");
}

} // namespace
