// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Views over the caller's tensors: strides, types, masks and labels.
#include "runtime/session/TensorViews.h"
#include "test/support/fake/FakeDecoder.h"

using namespace transom;
using namespace transom::test;

namespace {

/// A call to an entry in the hand-written encoder-decoder.
struct BoundCall {
  BoundCall(const char *name, std::vector<transom_tensor> tensors)
      : model(fakeModel(sourceManifest())), inputs(std::move(tensors)),
        entry(*model->findEntry(name)), storage(entry),
        call(entry, storage.view()) {
    Result<void> done = call.bindInputs(inputs.data(), inputs.size(), true);
    EXPECT_TRUE(done) << done.error().message;
  }
  std::unique_ptr<Model> model;
  std::vector<transom_tensor> inputs;
  const Entry &entry;
  ShapeStorage storage;
  Call call;
};

} // namespace

TEST(TensorViews, rows_under_a_mask) {
  std::vector<int64_t> ids = {5, 6, 7, 8, 9, 99}, mask = {0, 1, 0, 1, 1, 0};
  BoundCall bound(
      "generate",
      {makeTensor("input_ids", TRANSOM_DTYPE_I64, {2, 3}, ids),
       makeTensor("attention_mask", TRANSOM_DTYPE_I64, {2, 3}, mask)});
  const TokenRows rows = TokenRows::fromMask(bound.entry, bound.call, 0);
  EXPECT_EQ(rows.columns, 3);
  EXPECT_EQ(rows.count(0), 1);
  EXPECT_EQ(rows.count(1), 2);
  EXPECT_EQ(rows(1, 1), 9);
  EXPECT_EQ(rows.getNext(0, 0), 1);
  EXPECT_EQ(rows.getNext(0, 2), 3);
  EXPECT_EQ(rows.getPrevious(1, 3), 1);
  EXPECT_EQ(rows.getPrevious(0, 1), -1);
  EXPECT_EQ(*rows.check(1, true), 2);
  // An id under the mask counts only where all do.
  ids[5] = 100;
  EXPECT_EQ(*rows.check(1), 2);
  Result<int64_t> all = rows.check(1, true);
  ASSERT_FALSE(all);
  EXPECT_EQ(all.error().message,
            "input 'input_ids' has the value 100 at [1, 2]; ids of this model "
            "are 0 to 99");
  mask[0] = 2;
  Result<int64_t> wrong = rows.check(0);
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().message, "input 'attention_mask' has the value 2 at "
                                   "[0, 0]; masks hold 0 and 1");
}

TEST(TensorViews, labels_with_strides) {
  std::vector<int64_t> ids = {5};
  std::vector<int32_t> labels = {3, 0, -100, 0, 15, 0};
  transom_tensor given =
      makeTensor("labels", TRANSOM_DTYPE_I32, {1, 3}, labels);
  given.strides[0] = 6;
  given.strides[1] = 2;
  BoundCall bound(
      "score",
      {makeTensor("input_ids", TRANSOM_DTYPE_I64, {1, 1}, ids), given});
  const TokenRows rows =
      TokenRows::fromLabels(bound.entry, bound.call, 2, FAKE_VOCABULARY);
  EXPECT_EQ(rows.count(0), 2);
  EXPECT_FALSE(rows.isToken(0, 1));
  EXPECT_EQ(rows(0, 2), 15);
  EXPECT_EQ(*rows.check(0), 2);
  labels[4] = 16;
  Result<int64_t> wrong = rows.check(0);
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().message,
            "input 'labels' has the value 16 at [0, 2]; ids of this model are "
            "0 to 15, and -100 where there is no token");
}

TEST(TensorViews, results_with_strides) {
  std::vector<float> data(12, -1);
  const ShapeValue shape = {2, {2, 3}};
  const int64_t strides[] = {6, 2};
  FloatsOut out(data.data(), shape, strides);
  const float row[] = {1, 2, 3};
  out.setRow(out.at(0, 0), row);
  out.clearRow(out.at(1, 0));
  out.set(out.at(1, 2), 7);
  EXPECT_EQ(data,
            (std::vector<float>{1, -1, 2, -1, 3, -1, 0, -1, 0, -1, 7, -1}));
}
