// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Functions in an object file are counted by name prefix.
#include "compiler/codegen/CodeSize.h"
#include "test/compiler/codegen/CodegenTestBase.h"

using namespace transom;
using namespace transom::test;

namespace {

TEST(CodeSize, CountsPhasesAndKernels) {
  Result<std::string> object =
      compileObject(phasesFor("avx2") +
                        "llvm.func @transom.k.avx2.f32.1x16() { llvm.return }\n"
                        "llvm.func @other() { llvm.return }\n",
                    "avx2");
  ASSERT_TRUE(object) << object.error().message;
  Result<CodeSize> size = getCodeSize(*object);
  ASSERT_TRUE(size) << size.error().message;
  EXPECT_EQ(size->phases, 2u);
  EXPECT_EQ(size->kernels, 1u);
  EXPECT_GT(size->bytes, 0u);
}

TEST(CodeSize, FailsForWhatIsNotAnObjectFile) {
  Result<CodeSize> size = getCodeSize("text");
  ASSERT_FALSE(size);
  EXPECT_EQ(size.error().status, Status::Internal);
}

} // namespace
