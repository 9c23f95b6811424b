// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Blocks of each type have the values that the package gguf reads from them,
// and preserve their integers and scales.
#include "compiler/import/gguf/GgufBlocks.h"
#include "compiler/safetensors/Safetensors.h"
#include "test/runtime/base/TestSupport.h"
#include <cstdlib>
#include <cstring>
#include <gtest/gtest.h>

using namespace transom;
using namespace transom::test;

namespace {

std::string golden(const char *name) {
  return std::string(std::getenv("TRANSOM_SOURCE_DIR")) +
         "/test/goldens/gguf/blocks/" + name;
}

/// Returns the reader for one tensor in the golden file.
std::shared_ptr<const StoredTensor> getReader(const gguf::File &file,
                                              const gguf::Tensor &tensor) {
  const gguf::BlockType *block = gguf::findBlockType(tensor.type->name);
  EXPECT_TRUE(block) << tensor.name;
  return gguf::makeBlockReader(*tensor.type, *block, file.getData(tensor),
                               tensor.shape[1]);
}

} // namespace

TEST(GgufBlocks, numbers_are_those_of_the_package) {
  Result<gguf::File> file = gguf::File::open(golden("blocks.gguf"));
  ASSERT_TRUE(file) << file.error().message;
  Result<SafetensorsFile> numbers =
      SafetensorsFile::open(golden("numbers.safetensors"));
  ASSERT_TRUE(numbers) << numbers.error().message;
  ASSERT_EQ(file->tensors().size(), 12u);
  for (const gguf::Tensor &tensor : file->tensors()) {
    SCOPED_TRACE(tensor.name);
    auto reader = getReader(*file, tensor);
    const int64_t rows = tensor.shape[0], depth = tensor.shape[1];
    std::vector<float> expected(rows * depth), got(rows * depth);
    std::string_view bytes = numbers->data(*numbers->find(tensor.name));
    ASSERT_EQ(bytes.size(), expected.size() * sizeof(float));
    std::memcpy(expected.data(), bytes.data(), bytes.size());
    EXPECT_TRUE(reader->readNumbers(0, rows, 0, depth, got.data()));
    EXPECT_EQ(got, expected);
    // Any block in the tensor.
    std::vector<float> some(rows * 21);
    EXPECT_TRUE(reader->readNumbers(0, rows, 30, 21, some.data()));
    for (int64_t i = 0; i < rows * 21; ++i)
      EXPECT_EQ(some[i], expected[i / 21 * depth + 30 + i % 21]);
  }
}

TEST(GgufBlocks, parts_are_those_of_the_file) {
  // Two Q8_0 blocks: a scale in half precision, then the integers.
  std::string bytes;
  for (int block = 0; block < 2; ++block) {
    bytes += std::string(block ? "\x00\x40" : "\x00\x3c", 2); // 2 and 1
    for (int i = 0; i < 32; ++i)
      bytes += static_cast<char>(block ? -i : i - 128);
  }
  auto reader = gguf::makeBlockReader(*gguf::findTensorType(8),
                                      *gguf::findBlockType("Q8_0"), bytes, 64);
  EXPECT_EQ(reader->getGroups().str(), "i8, 32, 64");
  float elements[64], scales[2];
  reader->read(StoredField::Elements, 0, 1, 0, 64, elements);
  reader->read(StoredField::Scales, 0, 1, 0, 2, scales);
  for (int i = 0; i < 32; ++i) {
    EXPECT_EQ(elements[i], i - 128);
    EXPECT_EQ(elements[32 + i], -i);
  }
  EXPECT_EQ(scales[0], 1);
  EXPECT_EQ(scales[1], 2);
}

TEST(GgufBlocks, a_scale_that_is_not_finite) {
  const std::string bytes = std::string("\x00\x7c", 2) + std::string(32, 1);
  auto reader = gguf::makeBlockReader(*gguf::findTensorType(8),
                                      *gguf::findBlockType("Q8_0"), bytes, 32);
  float numbers[32];
  EXPECT_FALSE(reader->readNumbers(0, 1, 0, 32, numbers));
}
