// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Hand-written matrices composed from several tensors, and tensors that do not
// fit together. Complete models: e2e-packed.
#include "compiler/import/huggingface/checkpoints/PackedTensors.h"
#include "test/runtime/base/TestSupport.h"
#include <gtest/gtest.h>

using namespace transom;
using namespace transom::test;

namespace {

using PackedLayout = QuantizationConfig::Layout;

QuantizationConfig makePackedConfig(PackedLayout layout, int64_t bits,
                                    int64_t group) {
  QuantizationConfig config;
  config.layout = layout;
  config.bits = bits;
  config.group = group;
  return config;
}

/// A tensor file in memory.
class PackedFile {
public:
  template <typename T>
  PackedFile &add(const std::string &name, DType type,
                  std::vector<int64_t> shape, std::vector<T> values) {
    std::string bytes(reinterpret_cast<const char *>(values.data()),
                      values.size() * sizeof(T));
    data.push_back(std::move(bytes));
    views.push_back({name, type, std::move(shape), nullptr});
    return *this;
  }
  /// The tensors after joining, or the error.
  Result<ModelFiles> join(const QuantizationConfig &config) {
    TempFolder folder; // whose file stays mapped
    for (size_t i = 0; i < views.size(); ++i)
      views[i].data = data[i].data();
    EXPECT_TRUE(writeSafetensors(folder / "model.safetensors", views));
    TRANSOM_ASSIGN(ModelFiles files, ModelFiles::openFolder(folder.path()));
    TRANSOM_TRY(joinPackedTensors(files, config));
    return Result<ModelFiles>(std::move(files));
  }

private:
  std::vector<TensorView> views;
  std::vector<std::string> data;
};

/// [8, 8] in GPTQ: code n, zero point 3, scale 0.5 and 2 for two groups of 4.
PackedFile makeGptq() {
  PackedFile file;
  std::vector<uint32_t> codes;
  for (uint32_t n = 0; n < 8; ++n)
    codes.push_back(n * 0x11111111);
  std::vector<float> scales(16, 0.5f);
  std::fill(scales.begin() + 8, scales.end(), 2.0f);
  file.add("a.qweight", DType::I32, {1, 8}, codes);
  file.add("a.qzeros", DType::I32, {2, 1},
           std::vector<uint32_t>{0x33333333, 0x33333333});
  file.add("a.scales", DType::F32, {2, 8}, scales);
  return file;
}

std::string getJoinError(PackedFile file, const QuantizationConfig &config,
                         Status status = Status::Rejected) {
  Result<ModelFiles> files = file.join(config);
  if (files)
    return "no error";
  EXPECT_EQ(files.error().status, status) << files.error().message;
  const std::string &text = files.error().message;
  return text.substr(text.find("model.safetensors: ") + 19);
}

} // namespace

TEST(PackedTensors, gptq_of_both_versions) {
  for (bool isLess : {false, true}) {
    QuantizationConfig config = makePackedConfig(PackedLayout::Gptq, 4, 4);
    config.zeroIsLess = isLess;
    PackedFile file = makeGptq();
    Result<ModelFiles> files = file.join(config);
    ASSERT_TRUE(files) << files.error().message;
    EXPECT_EQ(files->names(), (std::vector<std::string>{"a.weight"}));
    EXPECT_EQ(files->find("a.weight")->getTypeName(), "INT4");
    EXPECT_EQ(files->resolve(WeightExpr::file("a.weight")).str(),
              "file(\"a.weight\", ui4, 4, 8, minimums)");
    std::vector<float> numbers(64);
    ASSERT_TRUE(files->read("a.weight", {0, 0}, {8, 8}, numbers.data()));
    for (int n = 0; n < 8; ++n)
      for (int k = 0; k < 8; ++k)
        EXPECT_EQ(numbers[n * 8 + k],
                  static_cast<float>(n - 3 - isLess) * (k < 4 ? 0.5f : 2));
  }
}

TEST(PackedTensors, a_zero_point_of_zero_in_the_first_version) {
  QuantizationConfig config = makePackedConfig(PackedLayout::Gptq, 4, 0);
  config.zeroIsLess = true;
  PackedFile zero;
  zero.add("a.qweight", DType::I32, {1, 8},
           std::vector<uint32_t>(8, 0x55555555));
  zero.add("a.qzeros", DType::I32, {1, 1}, std::vector<uint32_t>{0xFFFFFFFF});
  zero.add("a.scales", DType::F32, {1, 8}, std::vector<float>(8, 1));
  Result<ModelFiles> files = zero.join(config);
  ASSERT_TRUE(files) << files.error().message;
  float number = 0;
  ASSERT_TRUE(files->read("a.weight", {2, 3}, {1, 1}, &number));
  EXPECT_EQ(number, 5);
}

TEST(PackedTensors, the_order_of_awq) {
  // A word's eight columns are 0, 2, 4, 6, 1, 3, 5, 7 from the lowest.
  PackedFile file;
  file.add("a.qweight", DType::I32, {2, 1},
           std::vector<uint32_t>{0x75316420, 0x00000001});
  file.add("a.qzeros", DType::I32, {1, 1}, std::vector<uint32_t>{0});
  file.add("a.scales", DType::F32, {1, 8}, std::vector<float>(8, 1));
  Result<ModelFiles> files =
      file.join(makePackedConfig(PackedLayout::Awq, 4, 0));
  ASSERT_TRUE(files) << files.error().message;
  std::vector<float> numbers(16);
  ASSERT_TRUE(files->read("a.weight", {0, 0}, {8, 2}, numbers.data()));
  for (int n = 0; n < 8; ++n) {
    EXPECT_EQ(numbers[n * 2], n);
    EXPECT_EQ(numbers[n * 2 + 1], n == 0);
  }
}

TEST(PackedTensors, bytes_with_zero_points_have_minimums) {
  PackedFile file;
  file.add("a.weight", DType::I8, {2, 4},
           std::vector<int8_t>{-128, 127, 0, 1, 2, 3, 4, 5});
  file.add("a.weight_scale", DType::F32, {2, 1}, std::vector<float>{1, 2});
  file.add("a.weight_zero_point", DType::I8, {2, 1},
           std::vector<int8_t>{-100, 3});
  file.add("b.weight", DType::F32, {1}, std::vector<float>{7});
  Result<ModelFiles> files =
      file.join(makePackedConfig(PackedLayout::Plain, 8, 0));
  ASSERT_TRUE(files) << files.error().message;
  EXPECT_EQ(files->names(), (std::vector<std::string>{"a.weight", "b.weight"}));
  EXPECT_EQ(files->resolve(WeightExpr::file("a.weight")).str(),
            "file(\"a.weight\", i8, 128, 4, minimums)");
  std::vector<float> numbers(8);
  ASSERT_TRUE(files->read("a.weight", {0, 0}, {2, 4}, numbers.data()));
  EXPECT_EQ(numbers, (std::vector<float>{-28, 227, 100, 101, -2, 0, 2, 4}));
}

TEST(PackedTensors, one_scale_for_all) {
  PackedFile file;
  file.add("a.weight", DType::I8, {1, 4}, std::vector<int8_t>{-1, 2, 0, 1});
  file.add("a.weight_scale", DType::BF16, {1}, std::vector<uint16_t>{0x4000});
  Result<ModelFiles> files =
      file.join(makePackedConfig(PackedLayout::Plain, 8, 0));
  ASSERT_TRUE(files) << files.error().message;
  std::vector<float> numbers(4);
  ASSERT_TRUE(files->read("a.weight", {0, 0}, {1, 4}, numbers.data()));
  EXPECT_EQ(numbers, (std::vector<float>{-2, 4, 0, 2}));
}

TEST(PackedTensors, wrong_tensors) {
  const QuantizationConfig config = makePackedConfig(PackedLayout::Gptq, 4, 4);
  EXPECT_EQ(
      getJoinError(makeGptq(), makePackedConfig(PackedLayout::Gptq, 4, 2)),
      "tensor 'a.scales' has shape [2, 8], expected [4, 8] for groups of "
      "2 of 8");
  // Missing and additional tensors.
  PackedFile alone;
  alone.add("a.qweight", DType::I32, {1, 8}, std::vector<uint32_t>(8, 1));
  EXPECT_EQ(getJoinError(alone, config),
            "tensor 'a.qweight' has no 'scales' beside it");
  EXPECT_EQ(getJoinError(makeGptq().add("a.weight", DType::F32, {1},
                                        std::vector<float>{1}),
                         config),
            "tensor 'a.qweight' is beside 'a.weight'; expected one of them");
  EXPECT_EQ(
      getJoinError(makeGptq().add("a.g_idx", DType::I32, {8},
                                  std::vector<int32_t>{0, 0, 1, 0, 0, 1, 1, 1}),
                   config, Status::Unsupported),
      "tensor 'a.g_idx' puts number 2 into group 1: groups by activation "
      "('desc_act') are not supported; supported: groups in order");
  EXPECT_EQ(
      getJoinError(makeGptq().add("a.g_idx", DType::I32, {8},
                                  std::vector<int32_t>{0, 0, 0, 0, 7, 1, 1, 1}),
                   config),
      "tensor 'a.g_idx' has the group 7 of 2");
  EXPECT_TRUE(makeGptq()
                  .add("a.g_idx", DType::I32, {8},
                       std::vector<int32_t>{0, 0, 0, 0, 1, 1, 1, 1})
                  .join(config));
  // Types and shapes that do not fit.
  PackedFile types;
  types.add("a.qweight", DType::F32, {1, 8}, std::vector<float>(8, 1));
  EXPECT_EQ(getJoinError(types, config),
            "tensor 'a.qweight' has dtype F32; expected I32");
  PackedFile sizes;
  sizes.add("a.weight_packed", DType::I32, {2, 1}, std::vector<uint32_t>{1, 2});
  sizes.add("a.weight_shape", DType::I64, {2}, std::vector<int64_t>{2, 9});
  EXPECT_EQ(getJoinError(sizes, makePackedConfig(PackedLayout::Packed, 4, 0)),
            "tensor 'a.weight_shape' is [2, 9], but 'weight_packed' holds "
            "[2, 8]");
}

TEST(PackedTensors, random_shapes_and_zero_points) {
  // Whatever fits together is read within its tensors; all else is an error.
  int accepted = 0;
  for (uint64_t seed = 0; seed < 200; ++seed) {
    Random random(seed);
    const auto layout = static_cast<PackedLayout>(random.between(0, 3));
    const bool isPlain = layout == PackedLayout::Plain;
    auto size = [&] { return random.between(0, 9) ? 8 : random.between(0, 3); };
    const bool isPacked = layout == PackedLayout::Packed;
    const char *codes = isPlain    ? "a.weight"
                        : isPacked ? "a.weight_packed"
                                   : "a.qweight";
    const bool isNew = isPlain || isPacked;
    PackedFile file;
    auto add = [&](const char *name, bool isBytes) {
      const int64_t rows = size(), columns = random.between(0, 2) ? size() : 1;
      if (isBytes)
        file.add(name, DType::I8, {rows, columns},
                 std::vector<int8_t>(rows * columns, int8_t(seed)));
      else
        file.add(name, DType::I32, {rows, columns},
                 std::vector<uint32_t>(rows * columns, uint32_t(seed * 977)));
    };
    add(codes, isPlain);
    const int64_t groups = random.between(0, 2) ? 8 : 1;
    file.add(isNew ? "a.weight_scale" : "a.scales", DType::F32, {8, groups},
             std::vector<float>(8 * groups, 0.5f));
    if (!isNew || random.between(0, 1))
      add(isNew ? "a.weight_zero_point" : "a.qzeros", isPlain);
    if (isPacked)
      file.add("a.weight_shape", DType::I64, {2},
               std::vector<int64_t>{8, random.between(60, 66)});
    const bool isBytes =
        isPlain || (layout != PackedLayout::Awq && random.between(0, 1));
    Result<ModelFiles> files = file.join(
        makePackedConfig(layout, isBytes ? 8 : 4, random.between(0, 9)));
    if (!files) {
      EXPECT_EQ(files.error().status, Status::Rejected)
          << files.error().message;
      continue;
    }
    const SafetensorsTensor *made = files->find("a.weight");
    if (!made || !made->stored)
      continue;
    std::vector<float> numbers(*elementCount(made->shape));
    EXPECT_TRUE(files->read("a.weight", {0, 0}, made->shape, numbers.data()));
    ++accepted;
  }
  EXPECT_GT(accepted, 0);
}
