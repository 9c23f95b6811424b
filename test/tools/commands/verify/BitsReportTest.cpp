// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Bit comparisons: floats that are equal except for their bits, blocks in
// larger tensors, padding; and their report.
#include "tools/commands/verify/BitsReport.h"
#include "test/support/fake/Fake.h"
#include <cmath>
#include <cstring>

using namespace transom;
using namespace transom::test;
using namespace transom::tools;

static BitsTensor makeFloats(std::vector<int64_t> shape,
                             const std::vector<float> &values) {
  BitsTensor tensor{TRANSOM_DTYPE_F32, std::move(shape), {}};
  tensor.bytes.assign(reinterpret_cast<const char *>(values.data()),
                      values.size() * sizeof(float));
  return tensor;
}

/// Compares as the first result of the entry `encode`.
static BitsCell compareTensors(const BitsTensor &expected,
                               const BitsTensor &found, int64_t row = 0,
                               bool zeroElsewhere = false) {
  auto model = fakeModel();
  BitsCell cell;
  cell.compare(*model->findEntry("encode"), {expected}, {found}, row, "here",
               zeroElsewhere);
  EXPECT_EQ(cell.comparisons, 1);
  return cell;
}

TEST(BitsReport, ComparesBitsNotNumbers) {
  const BitsTensor zero = makeFloats({2}, {0.0F, NAN});
  EXPECT_EQ(compareTensors(zero, zero).verdict, BitsVerdict::Equal);
  const BitsCell cell = compareTensors(zero, makeFloats({2}, {-0.0F, NAN}));
  EXPECT_EQ(cell.verdict, BitsVerdict::Different);
  EXPECT_EQ(cell.difference,
            "here: result 'last_hidden_state' is 0x80000000 (-0) in place of "
            "0x00000000 (0) at [0]");
}

TEST(BitsReport, ComparesABlockOfALargerTensor) {
  const BitsTensor one = makeFloats({1, 2, 1, 2}, {1, 2, 3, 4});
  std::vector<float> values(3 * 3 * 2 * 3, 0);
  auto at = [&](int i, int j, int k, int l) -> float & {
    return values[size_t(((i * 3 + j) * 2 + k) * 3 + l)];
  };
  at(1, 0, 0, 0) = 1, at(1, 0, 0, 1) = 2, at(1, 1, 0, 0) = 3,
              at(1, 1, 0, 1) = 4;
  at(0, 2, 1, 2) = 5; // in another sequence
  auto compareBoth = [&](bool zeroElsewhere) {
    return compareTensors(one, makeFloats({3, 3, 2, 3}, values), 1,
                          zeroElsewhere);
  };
  EXPECT_EQ(compareBoth(true).verdict, BitsVerdict::Equal);
  at(1, 0, 1, 2) = 7;
  EXPECT_EQ(compareBoth(false).verdict, BitsVerdict::Equal);
  EXPECT_EQ(compareBoth(true).difference,
            "here: result 'last_hidden_state' is 0x40e00000 (7) in place of "
            "0x00000000 (0) at [0, 0, 1, 2], which is padding");
  at(1, 1, 0, 1) = 9;
  EXPECT_EQ(compareBoth(false).difference,
            "here: result 'last_hidden_state' is 0x41100000 (9) in place of "
            "0x40800000 (4) at [0, 1, 0, 1]");
}

TEST(BitsReport, RefusesAnotherShape) {
  const BitsTensor two = makeFloats({2}, {1, 2}), one = makeFloats({1}, {1});
  EXPECT_EQ(compareTensors(two, one).difference,
            "here: result 'last_hidden_state' has the shape [1] in place of "
            "[2]");
  EXPECT_EQ(compareTensors(one, two).verdict, BitsVerdict::Equal);
  EXPECT_EQ(compareTensors(one, two, 2).verdict, BitsVerdict::Different);
}

TEST(BitsReport, ComparesFilesAndLogits) {
  BitsCell cell;
  cell.compareBytes("abc", "abc", "again");
  EXPECT_EQ(cell.verdict, BitsVerdict::Equal);
  cell.compareBytes("abc", "abd", "again");
  cell.compareBytes("abc", "ab", "again");
  EXPECT_EQ(cell.difference, "again: byte 2 of the file is 100 in place of 99");
  EXPECT_EQ(cell.comparisons, 3);
  EXPECT_EQ(cell.differing, 2);
  BitsCell logits;
  const float right[] = {1, 2}, wrong[] = {1, 3};
  logits.compare(right, right, 2, "the logits", "so");
  logits.compare(right, wrong, 2, "the logits", "so");
  EXPECT_EQ(logits.difference, "so: number 1 of the logits is 0x40400000 (3) "
                               "in place of 0x40000000 (2)");
}

TEST(BitsReport, FailsOnlyWhereBitsArePromised) {
  BitsReport report;
  report.path = "m.so";
  BitsCell cell;
  cell.axis = "run";
  cell.compareBytes("a", "b", "again");
  cell.isPromised = false;
  report.add({cell}, "encode", "avx2");
  EXPECT_TRUE(bool(report.check()));
  EXPECT_NE(report.toText().find("different, not promised"), std::string::npos);
  EXPECT_NE(report.toJson().find("\"equal\": true"), std::string::npos);
  cell.isPromised = true;
  report.add({cell}, "encode", "avx2");
  Result<void> failed = report.check();
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().status, Status::CheckFailed);
  EXPECT_EQ(failed.error().message,
            "m.so: other bits on the axis 'run' of 'encode' on avx2: again: "
            "byte 0 of the file is 98 in place of 97");
  EXPECT_NE(report.toText().find("1 of 1 differ"), std::string::npos);
  EXPECT_NE(report.toJson().find("\"equal\": false"), std::string::npos);
}
