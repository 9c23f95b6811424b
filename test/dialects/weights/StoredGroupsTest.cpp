// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Expressions that preserve their tensors' pre-quantized integers, and fields
// that reproduce the expression's values.
#include "dialects/weights/StoredGroups.h"
#include "test/dialects/weights/MemorySource.h"

using namespace transom;
using namespace transom::test;

namespace {

/// Integer tensors in groups with 4 elements, some with offsets.
class StoredSource : public MemorySource {
public:
  void addStored(const std::string &name, Shape shape, bool minimums,
                 Random &random) {
    MemorySource all;
    all.add("elements", shape, random);
    all.add("scales", {shape[0], shape[1] / 4}, random);
    all.add("minimums", {shape[0], shape[1] / 4}, random);
    if (!minimums)
      for (float &x : all.tensors["minimums"].data)
        x = 0;
    Tensor numbers = all.tensors["elements"];
    for (size_t i = 0; i < numbers.data.size(); ++i)
      numbers.data[i] = numbers.data[i] * all.tensors["scales"].data[i / 4] +
                        all.tensors["minimums"].data[i / 4];
    tensors[name] = numbers;
    stored[name] = all;
  }
  Result<void> readStored(const std::string &name, StoredField field,
                          const Shape &offsets, const Shape &sizes,
                          float *out) const override {
    const char *names[] = {"elements", "scales", "minimums"};
    return stored.at(name).read(names[static_cast<int>(field)], offsets, sizes,
                                out);
  }

private:
  std::map<std::string, MemorySource> stored;
};

/// Files `a` and `b` [4, 8], and `m` with offsets; `p` is plain.
StoredSource makeSource() {
  Random random(7);
  StoredSource source;
  source.addStored("a", {4, 8}, false, random);
  source.addStored("b", {4, 8}, false, random);
  source.addStored("m", {4, 8}, true, random);
  source.add("p", {4, 8}, random);
  return source;
}

/// `a` for `file("a", i8, 4, 8)`, and so on.
std::string withFiles(std::string text) {
  for (const char *name : {"a", "b", "m"}) {
    const std::string mark = std::string("$") + name;
    for (size_t at; (at = text.find(mark)) != std::string::npos;)
      text.replace(at, 2,
                   "file(\"" + std::string(name) + "\", i8, 4, 8" +
                       (*name == 'm' ? ", minimums)" : ")"));
  }
  return text;
}

} // namespace

TEST(StoredGroups, text) {
  for (const char *text :
       {"file(\"a\", i8, 32, 4096)", "file(\"a\", ui4, 16, 256, minimums)"})
    EXPECT_EQ(expr(text).str(), text);
  for (const char *text :
       {"file(\"a\", f32, 32, 64)", "file(\"a\", i8, 0, 64)",
        "file(\"a\", i8, 32)", "file(\"a\", i8, 32, 64, maximums)",
        "file(\"a\", i8, 32, -1)", "file(\"a\", x, 32, 64)"})
    EXPECT_FALSE(WeightExpr::parse(text)) << text;
}

TEST(StoredGroups, whole_rows_keep_their_parts) {
  StoredSource source = makeSource();
  for (const char *text :
       {"$a", "concat(0, $a, $b)", "concat(0, $a, $m)", "slice($a, 0, 1, 2)",
        "gather($a, [3, 0, 0])", "interleave(2, $a, $b)", "pad($m, 0, 7)",
        "scale($a, 0.5)", "scale($m, 0.5)",
        "concat(0, scale($a, 2.0), fill([3, 8], 0.0))",
        "reshape(transpose(reshape($a, [2, 2, 1, 8]), [1, 0, 2, 3]), [4, 8])",
        "transpose(transpose($a, [1, 0]), [1, 0])",
        "transpose(slice(transpose($m, [1, 0]), 1, 1, 2), [1, 0])",
        "transpose(concat(1, transpose($a, [1, 0]), transpose($b, [1, 0])), "
        "[1, 0])"}) {
    SCOPED_TRACE(text);
    const WeightExpr e = expr(withFiles(text));
    std::optional<StoredExpr> stored = splitStored(e);
    ASSERT_TRUE(stored);
    const std::vector<float> numbers = evaluateAll(e, source);
    const auto rows = static_cast<int64_t>(numbers.size() / 8);
    Result<StoredRows> fields = evaluateStored(*stored, source, 0, rows);
    ASSERT_TRUE(fields) << fields.error().message;
    for (size_t i = 0; i < numbers.size(); ++i)
      EXPECT_EQ(fields->elements[i] * fields->scales[i / 4] +
                    (stored->minimums ? fields->minimums[i / 4] : 0),
                numbers[i]);
    EXPECT_EQ(stored->minimums.has_value(),
              std::string(text).find("$m") != std::string::npos);
    // A row subset.
    Result<StoredRows> last = evaluateStored(*stored, source, rows - 1, 1);
    ASSERT_TRUE(last);
    EXPECT_EQ(last->scales[1], fields->scales.back());
    EXPECT_EQ(last->elements[7], fields->elements.back());
  }
}

TEST(StoredGroups, mixed_columns_and_computed_numbers_do_not) {
  for (const char *text :
       {"file(\"p\")", "concat(0, $a, file(\"p\"))", "concat(1, $a, $b)",
        "slice($a, 1, 0, 4)", "transpose($a, [1, 0])", "pad($a, 1, 12)",
        "gather(transpose($a, [1, 0]), [0, 1, 2, 3, 4, 5, 6, 7])",
        "add($a, fill([4, 8], 1.0))", "concat(0, $a, fill([1, 8], 1.0))",
        "reshape($a, [8, 4])", "reshape($a, [32])", "reshape($a, [2, 2, 8])",
        "matmul($a, transpose($b, [1, 0]))",
        "concat(0, $a, file(\"c\", i8, 8, 8))",
        "reshape(reshape($a, [2, 16]), [4, 8])"})
    EXPECT_FALSE(splitStored(expr(withFiles(text)))) << text;
  EXPECT_FALSE(readsStored(expr("file(\"p\")")));
  EXPECT_TRUE(readsStored(expr(withFiles("add(file(\"p\"), $a)"))));
}

TEST(StoredGroups, formats_that_hold_them) {
  auto format = [](const char *text) {
    std::optional<StoredExpr> stored = splitStored(expr(text));
    EXPECT_TRUE(stored) << text;
    std::optional<OperandFormat> found = stored->groups.getFormat();
    return found ? found->str() : "none";
  };
  EXPECT_EQ(format("file(\"a\", i8, 32, 64)"),
            OperandFormat::getQuantized(StorageType::I8, 32).str());
  EXPECT_EQ(format("file(\"a\", i4, 128, 256)"),
            OperandFormat::getQuantized(StorageType::I4, 128).str());
  // Rows of bytes may be shorter.
  EXPECT_EQ(format("file(\"a\", i4, 64, 12)"),
            OperandFormat::getQuantized(StorageType::I8, 64).str());
  EXPECT_EQ(format("concat(0, file(\"a\", i4, 32, 64), file(\"b\", i8, 32, "
                   "64))"),
            OperandFormat::getQuantized(StorageType::I8, 32).str());
  EXPECT_EQ(format("file(\"a\", i8, 16, 64)"), "none");
  EXPECT_EQ(format("file(\"a\", ui4, 32, 64, minimums)"),
            OperandFormat::getQuantized(StorageType::U4, 32).str());
  EXPECT_EQ(format("file(\"a\", ui4, 128, 256, minimums)"),
            "ui4, group 128, scales f32, minimums f32, interleave 8");
  EXPECT_EQ(format("file(\"a\", ui4, 16, 64, minimums)"), "none");
  EXPECT_EQ(format("file(\"a\", i8, 32, 64, minimums)"), "none");
  EXPECT_FALSE(splitStored(expr("file(\"a\", i8, 32, 64)"),
                           OperandFormat(StorageType::BF16)));
  EXPECT_FALSE(splitStored(expr("file(\"a\", i8, 32, 64)"),
                           OperandFormat::getQuantized(StorageType::I8, 64)));
}

TEST(StoredGroups, bits_of_a_weight) {
  auto getBits = [](const char *text) {
    const OperandFormat format = *splitStored(expr(text))->groups.getFormat();
    return static_cast<double>(format.getPanelBytes(4096)) * 8 / (32 * 4096);
  };
  EXPECT_EQ(getBits("file(\"a\", i4, 32, 4096)"), 4.5);
  EXPECT_EQ(getBits("file(\"a\", i4, 128, 4096)"), 4.125);
  EXPECT_EQ(getBits("file(\"a\", ui4, 32, 4096, minimums)"), 5);
  EXPECT_EQ(getBits("file(\"a\", ui4, 64, 4096, minimums)"), 5);
  EXPECT_EQ(getBits("file(\"a\", ui4, 128, 4096, minimums)"), 4.5);
  EXPECT_EQ(getBits("file(\"a\", i8, 32, 4096)"), 9);
}
