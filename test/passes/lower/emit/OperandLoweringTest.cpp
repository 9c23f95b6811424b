// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The format table, and the code shape for each format. LowerGemmTest.cpp,
// MicroKernelTest.cpp and the attention and cache tests check the computed
// values.
#include "passes/lower/emit/OperandLowering.h"
#include "test/passes/lower/emit/EmitFunction.h"

using namespace transom;
using namespace transom::lower;
using namespace transom::test;

namespace {

const OperandFormat kFormats[] = {OperandFormat(StorageType::F32),
                                  OperandFormat(StorageType::BF16),
                                  OperandFormat::getRows(StorageType::BF16),
                                  OperandFormat::getCache(StorageType::I8)};

TEST(OperandLowering, EveryCodecHasALowering) {
  for (const OperandFormat &format : kFormats) {
    const OperandLowering *lowering = OperandLowering::find(format);
    ASSERT_TRUE(lowering) << format.str();
    EXPECT_TRUE(lowering->getFormat() == format);
  }
  for (StorageType type :
       {StorageType::F32, StorageType::F16, StorageType::BF16}) {
    OperandFormat format(type);
    EXPECT_EQ(findPanelCodec(format) != nullptr,
              OperandLowering::find(format) != nullptr)
        << format.str();
  }
}

TEST(OperandLowering, FormatsOfWeightsAreListed) {
  auto inGroups = [](const std::string &type, std::vector<int64_t> groups,
                     const std::string &rest) {
    std::string names;
    for (int64_t group : groups)
      names +=
          ", '" + type + ", group " + std::to_string(group) + ", " + rest + "'";
    return names;
  };
  const std::vector<int64_t> all = {32, 64, 128, 256, 512, 1024};
  EXPECT_EQ(
      OperandLowering::getSupportedNames(),
      "'f32', 'bf16, interleave 2', 'bf16'" +
          inGroups("i8", all, "scales f32, interleave 4") +
          inGroups("i4", all, "scales f16, interleave 8") +
          inGroups("ui4", all, "scales f16, minimums f16, interleave 8") +
          inGroups("i8", all, "scales f16, interleave 4") +
          inGroups("ui4", {64, 128}, "scales f32, minimums f32, interleave 8"));
  OperandFormat format(StorageType::I8);
  format.group = 32;
  format.scales = StorageType::F32;
  EXPECT_FALSE(OperandLowering::find(format));
}

TEST(OperandLowering, StoredNumbersHaveTheSizeOfTheFormat) {
  for (const OperandFormat &format : kFormats) {
    EmitFunction f;
    const OperandLowering &lowering = OperandLowering::get(format);
    EXPECT_EQ(int64_t(lowering.getStoredType(f.e).getIntOrFloatBitWidth()),
              format.getElementBytes() * 8)
        << format.str();
    mlir::Value rounded = lowering.round(f.e, f.e.splat(1.0));
    EXPECT_TRUE(rounded.getType() ==
                f.e.getVectorType(lowering.getStoredType(f.e)))
        << format.str();
    EXPECT_TRUE(lowering.widen(f.e, rounded).getType() == f.e.f32Vector())
        << format.str();
  }
}

TEST(OperandLowering, LeftOperandsAreRows) {
  for (const OperandFormat &format : kFormats) {
    const OperandLowering &lhs = OperandLowering::get(format).getLhs();
    EXPECT_EQ(lhs.getFormat().interleave, 1) << format.str();
    EXPECT_EQ(lhs.getFormat().element, format.getOperandType());
  }
}

/// The operations in one multiplication, with the right operand on the stack.
std::string multiply(const OperandFormat &format, bool isRest) {
  EmitFunction f;
  CodeEmitter &e = f.e;
  const OperandLowering &lowering = OperandLowering::get(format);
  mlir::Value stack = e.stackBuffer(256);
  Operand right = lowering.loadRhs(
      e, {stack, f.argument(0), f.argument(1), 0, mlir::Value(), isRest});
  Operand left = lowering.broadcastLhs(e, stack, isRest);
  EXPECT_EQ(left.size(), right.size());
  lowering.multiplyAdd(e, left, right, e.splat(0.0));
  return f.operations();
}

/// Counts a name in a string.
int64_t count(const std::string &text, const std::string &name) {
  int64_t found = 0;
  for (size_t at = text.find(name); at != std::string::npos;
       at = text.find(name, at + 1))
    ++found;
  return found;
}

TEST(OperandLowering, IterationsMultiplyOneNumberOrAPair) {
  for (const OperandFormat &format : kFormats)
    EXPECT_EQ(count(multiply(format, false), "llvm.intr.fma"),
              OperandLowering::get(format).getKPerIteration())
        << format.str();
}

TEST(OperandLowering, ARestReadsNoPartner) {
  // A pair is masked, and the second row in it is not loaded.
  OperandFormat pairs(StorageType::BF16),
      rows = OperandFormat::getRows(StorageType::BF16);
  EXPECT_EQ(count(multiply(pairs, true), "arith.andi"),
            count(multiply(pairs, false), "arith.andi") + 1);
  EXPECT_EQ(count(multiply(rows, true), "llvm.load"),
            count(multiply(rows, false), "llvm.load") - 1);
}

} // namespace
