// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Weights in artifacts: each layout and type, tensors with many blocks, and
// invalid plans.
#include "dialects/weights/StoredGroups.h"
#include "runtime/base/Sha256.h"
#include "test/compiler/artifact/ArtifactFixture.h"
#include <cmath>

using namespace transom;
using namespace transom::test;

using WeightWriter = ArtifactFixture;

TEST_F(WeightWriter, PacksEachLayout) {
  Result<ArtifactReport> report = write(smallPlan());
  ASSERT_TRUE(report);
  const transom_artifact_code *code = load(folder / "model.so");
  ASSERT_NE(code, nullptr);
  auto *weights = reinterpret_cast<const float *>(code->weights);
  EXPECT_EQ(weights[31], 31.0f);
  const float *b = weights + 32; // [3 panels][3][32]
  EXPECT_EQ(b[0 * 32 + 4], 4000.0f);
  EXPECT_EQ(b[2 * 32 + 4], 4002.0f);
  EXPECT_EQ(b[0 * 32 + 5], 0.0f); // after the first split
  EXPECT_EQ(b[96 + 1 * 32 + 0], 5001.0f);
  EXPECT_EQ(b[2 * 96 + 2 * 32 + 2], 39002.0f);
  EXPECT_EQ(b[2 * 96 + 2 * 32 + 3], 0.0f);
  const float *c = weights + 512;
  EXPECT_EQ(c[4], 4.0f);
  EXPECT_EQ(c[5], 0.0f);
  EXPECT_EQ(c[32], 5.0f);
  EXPECT_EQ(c[32 + 34], 39.0f);
  EXPECT_EQ(report->weightsSha256, Sha256::getHex({code->weights, 4096}));
}

TEST_F(WeightWriter, PacksTensorsOfManyBlocks) {
  // A row-major weight, and panels that span several blocks.
  ArtifactPlan plan = smallPlan();
  const uint64_t bytes = uint64_t(3001) * 999 * 4;
  plan.weights = {{"rows",
                   "file(\"3001x999\")",
                   WeightLayout::Rows,
                   0,
                   bytes,
                   {3001, 999},
                   {}},
                  {"wide",
                   "file(\"2x1500000\")",
                   WeightLayout::Rows,
                   12000000,
                   12000000,
                   {2, 1500000},
                   {}},
                  {"panels",
                   "file(\"2000x999\")",
                   WeightLayout::Panels32,
                   24000000,
                   2016 * 999 * 4,
                   {2000, 999},
                   {}}};
  plan.weightBytes = 24000000 + 2016 * 999 * 4;
  Result<ArtifactReport> report = write(plan);
  ASSERT_TRUE(report) << report.error().message;
  // Check elements at block borders.
  const transom_artifact_code *code = load(folder / "model.so");
  ASSERT_NE(code, nullptr);
  auto *weights = reinterpret_cast<const float *>(code->weights);
  EXPECT_EQ(weights[3000 * 999 + 998], 3000998.0f);
  EXPECT_EQ(weights[3000000 + 1500000 + 77], 1077.0f);
  EXPECT_EQ(weights[3000000 + 1499999], 1499999.0f);
  for (int64_t n : {0, 31, 32, 1055, 1056, 1999})
    for (int64_t k : {0, 15, 16, 998})
      EXPECT_EQ(weights[6000000 + (n / 32 * 999 + k) * 32 + n % 32],
                static_cast<float>(n * 1000 + k));
  EXPECT_EQ(report->weightsSha256,
            Sha256::getHex({code->weights, plan.weightBytes}));
}

namespace {

/// Values that bf16 cannot represent, including ties and NaNs.
class AwkwardSource : public IndexSource {
public:
  static float at(int64_t i, int64_t j) {
    const uint32_t bits[] = {0x3F808000, 0x3F818000, 0x3F808001, 0x7F800001,
                             0xFF7FFFFF, 0x00000001, 0x7F810000, 0xBF80FFFF};
    float value;
    memcpy(&value, &bits[(i * 5 + j) % 8], 4);
    return value;
  }
  Result<void> read(const std::string &, const std::vector<int64_t> &offsets,
                    const std::vector<int64_t> &sizes,
                    float *out) const override {
    for (int64_t i = 0; i < sizes[0]; ++i)
      for (int64_t j = 0; j < sizes[1]; ++j)
        *out++ = at(offsets[0] + i, offsets[1] + j);
    return {};
  }
  /// The expected bf16 for `at`, as constants.
  static uint16_t rounded(int64_t i, int64_t j) {
    const uint16_t bits[] = {0x3F80, 0x3F82, 0x3F81, 0x7FC0,
                             0xFF80, 0x0000, 0x7F81, 0xBF81};
    return bits[(i * 5 + j) % 8];
  }
};

} // namespace

TEST_F(WeightWriter, RoundsToBf16) {
  // A row-major weight and panels with partial columns and rows.
  ArtifactPlan plan = smallPlan();
  const uint64_t panels = 3 * 64 * 32 * 2; // 5 and 35 columns, k = 37
  plan.weights = {
      {"rows", "file(\"9x3\")", WeightLayout::Rows, 0, 54, {9, 3}, {}},
      {"panels",
       "file(\"40x37\")",
       WeightLayout::Panels32,
       64,
       panels,
       {40, 37},
       {5, 35}}};
  for (ArtifactWeight &weight : plan.weights)
    weight.format = DType::BF16;
  plan.weightBytes = 64 + panels;
  Result<ArtifactReport> report =
      writeArtifact(plan, smallObjects(), AwkwardSource(), nullptr,
                    folder / "model.so", nullptr);
  ASSERT_TRUE(report) << report.error().message;
  // Each element is rounded; padding is zero.
  const transom_artifact_code *code = load(folder / "model.so");
  ASSERT_NE(code, nullptr);
  auto *rows = reinterpret_cast<const uint16_t *>(code->weights);
  for (int64_t i = 0; i < 27; ++i)
    EXPECT_EQ(rows[i], AwkwardSource::rounded(i / 3, i % 3)) << i;
  const uint16_t *packed = rows + 32;
  for (int64_t column = 0; column < 96; ++column)
    for (int64_t k = 0; k < 64; ++k) {
      const bool first = column < 32;
      const int64_t n = first ? column : column - 27;
      const bool real = k < 37 && (first ? n < 5 : n < 40);
      EXPECT_EQ(
          packed[((column / 32 * 32 + k / 2) * 32 + column % 32) * 2 + k % 2],
          real ? AwkwardSource::rounded(n, k) : 0)
          << column << " " << k;
    }
}

namespace {

/// Integer rows in groups of 32, or of 16, which no format supports.
class StoredSource : public IndexSource {
public:
  static int element(int64_t i, int64_t k) {
    return static_cast<int>((i * 37 + k * 11) % 256 - 128);
  }
  static float scale(int64_t i, int64_t g) {
    return static_cast<float>(i + 1) / static_cast<float>(8 << g);
  }
  Result<void> read(const std::string &, const std::vector<int64_t> &offsets,
                    const std::vector<int64_t> &sizes,
                    float *out) const override {
    for (int64_t i = offsets[0]; i < offsets[0] + sizes[0]; ++i)
      for (int64_t k = offsets[1]; k < offsets[1] + sizes[1]; ++k)
        *out++ = static_cast<float>(element(i, k)) * scale(i, k / 32);
    return {};
  }
  Result<void> readStored(const std::string &, StoredField field,
                          const std::vector<int64_t> &offsets,
                          const std::vector<int64_t> &sizes,
                          float *out) const override {
    for (int64_t i = offsets[0]; i < offsets[0] + sizes[0]; ++i)
      for (int64_t k = offsets[1]; k < offsets[1] + sizes[1]; ++k)
        *out++ = field == StoredField::Elements
                     ? static_cast<float>(element(i, k))
                     : scale(i, k);
    return {};
  }
};

} // namespace

TEST_F(WeightWriter, KeepsWholeNumbersOfFiles) {
  ArtifactPlan plan = smallPlan();
  const uint64_t bytes = 2 * 2 * (32 * 32 + 32 * 4); // panels, groups
  plan.weights = {{"panels",
                   "gather(file(\"40x64\", i8, 32, 64), [3, 0, 39, 8, 9, 10, "
                   "11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, "
                   "25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38])",
                   WeightLayout::Panels32,
                   0,
                   bytes,
                   {34, 64},
                   {}},
                  {"rounded",
                   "file(\"40x64\", i8, 16, 64)",
                   WeightLayout::Panels32,
                   bytes,
                   bytes,
                   {40, 64},
                   {}}};
  for (ArtifactWeight &weight : plan.weights)
    weight.format = OperandFormat::getQuantized(StorageType::I8, 32);
  plan.weightBytes = 2 * bytes;
  Result<ArtifactReport> report =
      writeArtifact(plan, smallObjects(), StoredSource(), nullptr,
                    folder / "model.so", nullptr);
  ASSERT_TRUE(report) << report.error().message;
  const transom_artifact_code *code = load(folder / "model.so");
  ASSERT_NE(code, nullptr);
  const char *packed = code->weights;
  for (int64_t n : {0, 1, 2, 33})
    for (int64_t g : {0, 1}) {
      const int64_t row = n == 0 ? 3 : n == 1 ? 0 : n == 2 ? 39 : 38;
      const char *group = packed + n / 32 * 2 * 1152 + g * 1152;
      for (int64_t k = 0; k < 32; ++k)
        EXPECT_EQ(
            static_cast<int8_t>(group[k / 4 * 128 + n % 32 * 4 + k % 4] ^ 0x80),
            StoredSource::element(row, g * 32 + k));
      float scale;
      std::memcpy(&scale, group + 1024 + n % 32 * 4, 4);
      EXPECT_EQ(scale, StoredSource::scale(row, g));
    }
  // Integers from -128 to 127 get other scales when rounded again.
  const RoundingError &error = report->rounding.numbers;
  EXPECT_EQ(error.weights, 1);
  EXPECT_EQ(error.numbers, 40 * 64);
  EXPECT_GT(error.largest, 0);
  EXPECT_LT(error.largest, 0.6 * 40 / 8);
  EXPECT_EQ(report->rounding.scales.weights, 0);
  const std::vector<std::string> notes = report->rounding.getNotes();
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_EQ(notes[0].substr(0, 42),
            "1 quantized weights are rounded anew: the ");
}

namespace {

/// Rows with elements 1; the scale in row i is 2^i times a value that f16
/// cannot represent.
class WideSource : public IndexSource {
public:
  Result<void> readStored(const std::string &, StoredField field,
                          const std::vector<int64_t> &offsets,
                          const std::vector<int64_t> &sizes,
                          float *out) const override {
    for (int64_t i = offsets[0]; i < offsets[0] + sizes[0]; ++i)
      for (int64_t k = 0; k < sizes[1]; ++k)
        *out++ = field == StoredField::Elements
                     ? 1
                     : std::ldexp(1.0f + 1.0f / 4096, static_cast<int>(i));
    return {};
  }
};

} // namespace

TEST_F(WeightWriter, RoundsScalesOfFiles) {
  ArtifactPlan plan = smallPlan();
  auto packRows = [&](const char *file, int64_t rows) {
    plan.weights = {{"panels",
                     file,
                     WeightLayout::Panels32,
                     0,
                     32 * 32 / 2 + 32 * 2,
                     {rows, 32},
                     {}}};
    plan.weights[0].format = OperandFormat::getQuantized(StorageType::I4, 32);
    plan.weightBytes = plan.weights[0].bytes;
    return writeArtifact(plan, smallObjects(), WideSource(), nullptr,
                         folder / "model.so", nullptr);
  };
  Result<ArtifactReport> report = packRows("file(\"8x32\", i4, 32, 32)", 8);
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(report->rounding.scales.weights, 1);
  EXPECT_EQ(report->rounding.scales.largest, std::ldexp(1.0, 7) / 4096);
  EXPECT_EQ(report->rounding.getNotes().size(), 1u);
  report = packRows("file(\"20x32\", i4, 32, 32)", 20);
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().status, Status::Unsupported);
  EXPECT_EQ(report.error().message,
            "weight 'panels': a scale does not fit f16; supported: '--quantize "
            "none', which makes floats of the weight");
}

TEST_F(WeightWriter, OverlappingWeightsAreABug) {
  ArtifactPlan plan = smallPlan();
  plan.weights[1].offset = 64;
  Result<ArtifactReport> report = write(plan);
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().status, Status::Internal);
}

TEST_F(WeightWriter, WeightOfAnotherShapeIsABug) {
  ArtifactPlan plan = smallPlan();
  plan.weights[0].expression = "file(\"31\")";
  Result<ArtifactReport> report = write(plan);
  ASSERT_FALSE(report);
  EXPECT_NE(report.error().message.find("'a'"), std::string::npos);
}

TEST_F(WeightWriter, RowsOfOtherFormatsAreABug) {
  ArtifactPlan plan = smallPlan();
  plan.weights[0].layout = WeightLayout::Rows;
  plan.weights[0].format = OperandFormat(StorageType::I8);
  plan.weights[0].bytes = 32;
  Result<ArtifactReport> report = write(plan);
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().status, Status::Internal);
  EXPECT_NE(report.error().message.find("rows of the format 'i8"),
            std::string::npos)
      << report.error().message;
}
