// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The object that LLVM produces from a module for each instruction set.
#include "test/compiler/codegen/CodegenTestBase.h"

using namespace transom;
using namespace transom::test;

static std::string assembly(const std::string &text, const std::string &isa) {
  Result<std::string> result = compileObject(text, isa, CodeKind::Assembly);
  return result ? *result : "error: " + result.error().message;
}

/// A function on three vectors with 16 floats that returns its result through
/// the first.
static std::string vectorFunction(const std::string &body) {
  return "llvm.func @f(%p: !llvm.ptr, %q: !llvm.ptr, %r: !llvm.ptr) {\n"
         "%a = llvm.load %p : !llvm.ptr -> vector<16xf32>\n"
         "%b = llvm.load %q : !llvm.ptr -> vector<16xf32>\n"
         "%c = llvm.load %r : !llvm.ptr -> vector<16xf32>\n" +
         body + "llvm.store %d, %p : vector<16xf32>, !llvm.ptr\nllvm.return\n}";
}

TEST(Object, KeepsFullVectorsOnEachInstructionSet) {
  const std::string text =
      vectorFunction("%d = llvm.intr.fma(%a, %b, %c) : (vector<16xf32>, "
                     "vector<16xf32>, vector<16xf32>) -> vector<16xf32>\n");
  EXPECT_NE(assembly(text, "avx512").find("zmm"), std::string::npos);
  EXPECT_EQ(assembly(text, "avx2").find("zmm"), std::string::npos);
  EXPECT_NE(assembly(text, "avx2").find("vfmadd"), std::string::npos);
}

TEST(Object, NeverContractsSeparateProductsAndSums) {
  const std::string text =
      vectorFunction("%m = llvm.fmul %a, %b : vector<16xf32>\n"
                     "%d = llvm.fadd %m, %c : vector<16xf32>\n");
  for (const InstructionSet &isa : getInstructionSets()) {
    std::string code = assembly(text, isa.name);
    for (const char *fused : {"vfmadd", "fmla", "fmadd"})
      EXPECT_EQ(code.find(fused), std::string::npos) << code;
    EXPECT_NE(code.find(isa.name == std::string("neon") ? "fmul" : "vmulps"),
              std::string::npos)
        << code;
  }
}

TEST(Object, MakesNoLibraryCallsOfLoops) {
  // A loop that clears memory stays a loop.
  const std::string text = R"(
llvm.func @f(%p: !llvm.ptr, %n: i64) {
  %zero = llvm.mlir.constant(0 : i64) : i64
  %one = llvm.mlir.constant(1 : i64) : i64
  %value = llvm.mlir.constant(0.0 : f32) : f32
  llvm.br ^head(%zero : i64)
^head(%i: i64):
  %more = llvm.icmp "slt" %i, %n : i64
  llvm.cond_br %more, ^body, ^end
^body:
  %at = llvm.getelementptr %p[%i] : (!llvm.ptr, i64) -> !llvm.ptr, f32
  llvm.store %value, %at : f32, !llvm.ptr
  %next = llvm.add %i, %one : i64
  llvm.br ^head(%next : i64)
^end:
  llvm.return
})";
  for (const InstructionSet &isa : getInstructionSets()) {
    std::string code = assembly(text, isa.name);
    EXPECT_EQ(code.find("memset"), std::string::npos) << code;
    EXPECT_EQ(code.find("error"), std::string::npos) << code;
  }
}
