// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which code gets lines, and how assembly shows them.
#include "test/compiler/codegen/LinesModule.h"

using namespace transom;
using namespace transom::test;

TEST(LineTables, PhasesHaveTheLinesOfTheirOperations) {
  LinesModule module;
  Result<IsaModule> code = module.translate("avx2");
  ASSERT_TRUE(code) << code.error().message;
  const llvm::Function *phase = code->module->getFunction(LinesModule::phase);
  ASSERT_TRUE(phase && phase->getSubprogram());
  EXPECT_EQ(phase->getSubprogram()->getLine(), 3u);
  EXPECT_EQ(phase->getSubprogram()->getName(), LinesModule::phase);
  EXPECT_EQ(phase->getSubprogram()->getFile()->getFilename(), "list.mlir");
  std::set<unsigned> lines;
  for (const llvm::BasicBlock &block : *phase)
    for (const llvm::Instruction &instruction : block) {
      ASSERT_TRUE(instruction.getDebugLoc());
      lines.insert(instruction.getDebugLoc().getLine());
    }
  // An operation without a line in the listing belongs to the phase.
  EXPECT_EQ(lines, (std::set<unsigned>{3, 4, 5}));
}

TEST(LineTables, SharedCodeHasNone) {
  LinesModule module;
  Result<IsaModule> code = module.translate("avx2");
  ASSERT_TRUE(code) << code.error().message;
  const llvm::Function *kernel = code->module->getFunction(LinesModule::kernel);
  ASSERT_TRUE(kernel);
  EXPECT_FALSE(kernel->getSubprogram());
}

TEST(LineTables, OtherFilesAreNotTheListing) {
  LinesModule module;
  Result<IsaModule> code = module.translate("avx2", "other.mlir");
  ASSERT_TRUE(code) << code.error().message;
  EXPECT_FALSE(code->module->getFunction(LinesModule::phase)->getSubprogram());
}
