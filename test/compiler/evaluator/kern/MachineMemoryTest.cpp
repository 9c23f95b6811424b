// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Elements as bytes, and reads that see earlier element writes.
#include "compiler/evaluator/kern/MachineMemory.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/MLIRContext.h"
#include <gtest/gtest.h>

using namespace mlir;
using namespace transom;

namespace {

class Machine : public ::testing::Test {
protected:
  double read(Type type, const void *bytes) {
    return decodeElement(type, static_cast<const char *>(bytes)).real();
  }

  MLIRContext context;
  Type f32 = Float32Type::get(&context), bf16 = BFloat16Type::get(&context),
       i64 = IntegerType::get(&context, 64), i1 = IntegerType::get(&context, 1);
};

} // namespace

TEST_F(Machine, ElementsReadBackAsTheyAreWritten) {
  for (double number : {0.0, 1.0, -2.5, 126.0}) {
    char bytes[8] = {};
    for (Type type : {f32, bf16}) {
      encodeElement(type, number, bytes);
      EXPECT_EQ(read(type, bytes), number);
    }
  }
  int64_t whole = 0;
  encodeElement(i64, -12345678901.0, reinterpret_cast<char *>(&whole));
  EXPECT_EQ(whole, -12345678901);
  EXPECT_EQ(read(i64, &whole), -12345678901.0);
  char flag = 7;
  encodeElement(i1, 1.0, &flag);
  EXPECT_EQ(flag, 1);
}

TEST_F(Machine, Bf16RoundsToNearestEven) {
  uint16_t bits = 0;
  auto encode = [&](double number) {
    encodeElement(bf16, number, reinterpret_cast<char *>(&bits));
    return bits;
  };
  EXPECT_EQ(encode(1.00390625), 0x3f80); // between 0x3f80 and 0x3f81
  EXPECT_EQ(encode(1.01171875), 0x3f82);
  EXPECT_EQ(encode(1.0040), 0x3f81);
  EXPECT_EQ(encode(std::numeric_limits<double>::quiet_NaN()) & 0x7fc0, 0x7fc0);
}

TEST_F(Machine, DenormalsStayWhereOperationsTakeThemForZero) {
  const uint32_t bits = 0x80000003;
  FloatMode mode;
  EXPECT_EQ(read(f32, &bits), -3 * 0x1p-149);
}

TEST_F(Machine, ReadsWhatWasWrittenElseTheBytes) {
  const float before[3] = {1, 2, 3};
  MachineMemory memory;
  const int32_t buffer =
      memory.add({reinterpret_cast<const char *>(before), 12}, 4);
  memory.write(buffer, 4, 0.1, nullptr);
  EXPECT_EQ(memory.read(buffer, 0, f32).real(), 1);
  EXPECT_EQ(memory.read(buffer, 4, f32).real(), 0.1); // not yet an f32
  EXPECT_EQ(memory.read(buffer, 8, f32).real(), 3);
  EXPECT_EQ(memory.buffers()[0].written,
            (std::vector<bool>{false, true, false}));
  EXPECT_TRUE(memory.mistake().empty());
}

TEST_F(Machine, RowsAreTheirElements) {
  // A denormal, too.
  const uint32_t words[3] = {0x3f800000, 0x80000003, 0x40400000};
  const uint16_t halves[3] = {0x3f80, 0xc000, 0x0001};
  FloatMode mode;
  MachineMemory memory;
  const int32_t floats =
      memory.add({reinterpret_cast<const char *>(words), 12}, 4);
  const int32_t bf16s =
      memory.add({reinterpret_cast<const char *>(halves), 6}, 2);
  auto readRow = [&](int32_t buffer, int64_t offset, Type type, size_t count) {
    std::vector<Number> row(count);
    memory.readRow(buffer, offset, type, row);
    std::vector<double> values;
    for (Number x : row)
      values.push_back(x.real());
    return values;
  };
  using Row = std::vector<double>;
  EXPECT_EQ(readRow(floats, 0, f32, 3), Row({1, -3 * 0x1p-149, 3}));
  EXPECT_EQ(readRow(floats, 4, f32, 1), Row({-3 * 0x1p-149}));
  EXPECT_EQ(readRow(bf16s, 0, bf16, 3), Row({1, -2, 0x1p-133}));
  memory.write(floats, 0, 0.1, nullptr);
  EXPECT_EQ(readRow(floats, 0, f32, 2), Row({0.1, -3 * 0x1p-149}));
  EXPECT_TRUE(memory.mistake().empty());
  readRow(bf16s, 2, bf16, 3);
  EXPECT_EQ(memory.mistake(), "reads byte 6 of a buffer of 6");
}

TEST_F(Machine, AccessesOutsideOfABufferAreMistakes) {
  const float before[2] = {1, 2};
  MachineMemory memory;
  const int32_t buffer =
      memory.add({reinterpret_cast<const char *>(before), 8}, 4);
  memory.write(buffer, 8, 1.0, nullptr);
  EXPECT_EQ(memory.mistake(), "writes byte 8 of a buffer of 8");
  (void)memory.read(buffer, -4, f32);
  EXPECT_EQ(memory.mistake(), "writes byte 8 of a buffer of 8"); // the first
}
