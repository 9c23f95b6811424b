// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Small files in a folder and in memory.
#include "runtime/base/SmallFiles.h"
#include "test/runtime/base/TestSupport.h"
#include <gtest/gtest.h>

using namespace transom;
using namespace transom::test;

TEST(SmallFiles, of_a_folder) {
  TempFolder folder;
  folder.write("a.json", "{}");
  const SmallFiles files = folder.path();
  EXPECT_TRUE(files.areInFolder());
  EXPECT_TRUE(files.has("a.json"));
  EXPECT_FALSE(files.has("b.json"));
  EXPECT_EQ(files.getPath("a.json"), folder / "a.json");
  EXPECT_EQ(*files.read("a.json", 2), "{}");
  EXPECT_FALSE(files.read("a.json", 1));
  EXPECT_FALSE(files.read("b.json", 9));
}

TEST(SmallFiles, in_memory) {
  TempFolder folder;
  folder.write("b.json", "{}");
  const SmallFiles files(folder / "m.gguf", {{"a.json", "[]"}});
  EXPECT_FALSE(files.areInFolder());
  EXPECT_EQ(files.getSource(), folder / "m.gguf");
  EXPECT_TRUE(files.has("a.json"));
  EXPECT_FALSE(files.has("b.json")) << "a file beside it is of no concern";
  EXPECT_EQ(*files.read("a.json", 2), "[]");
  EXPECT_EQ(getError(files.read("a.json", 1)),
            folder / "m.gguf" +
                " (as a.json): 2 bytes are over the limit of 1");
  EXPECT_EQ(getError(files.read("b.json", 9)),
            folder / "m.gguf" + " (as b.json): no such file");
}
