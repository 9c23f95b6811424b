// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The safetensors writer against the reader.
#include "compiler/safetensors/Safetensors.h"
#include "test/runtime/base/TestSupport.h"
#include <gtest/gtest.h>

using namespace transom;
using namespace transom::test;

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
