// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Accepted calls: names, types, strides, shapes, values and sizes.
#include "test/runtime/execute/ExpectError.h"
#include "test/support/fake/Fake.h"
#include <algorithm>

using namespace transom;
using namespace transom::test;

TEST(Call, takes_i32_strides_and_defaults) {
  auto model = fakeModel();
  auto session = makeSession(*model, makeConfig(2, 64));
  EncodeCall call(2, 5);
  call.randomize(3, false);
  std::fill(call.types.begin(), call.types.end(), 0);
  std::vector<int32_t> transposed(10);
  for (int64_t i = 0; i != 10; ++i)
    transposed[size_t(i % 5 * 2 + i / 5)] = int32_t(call.ids[size_t(i)]);
  transom_tensor ids =
      makeTensor("input_ids", TRANSOM_DTYPE_I32, {2, 5}, transposed);
  ids.strides[0] = 1;
  ids.strides[1] = 2;
  Result<void> done = session->run("encode", &ids, 1, call.outputs.data(), 2);
  ASSERT_TRUE(bool(done)) << done.error().message;
  call.checkResults();
}

TEST(Call, tells_wrong_inputs) {
  auto model = fakeModel();
  auto session = makeSession(*model, makeConfig(2, 64));
  EncodeCall call(2, 5);
  // A rejected call leaves its results unchanged.
  auto expect = [&](Status status, const std::string &text, auto change) {
    EncodeCall broken(2, 5);
    change(broken);
    SCOPED_TRACE(text);
    expectError(broken.run(*session), status, text);
    EXPECT_EQ(broken.hidden, std::vector<float>(broken.hidden.size(), -1));
  };
  // Names.
  expect(Status::Rejected,
         "entry 'encode' has no input 'input_id'; it has: input_ids, "
         "attention_mask, token_type_ids; did you mean 'input_ids'?",
         [](EncodeCall &c) { c.inputs[0].name = "input_id"; });
  expect(Status::Rejected,
         "entry 'encode' needs the input 'input_ids', which is missing",
         [](EncodeCall &c) { c.inputs.erase(c.inputs.begin()); });
  expect(Status::Rejected, "input 'input_ids' is given twice",
         [](EncodeCall &c) { c.inputs[1] = c.inputs[0]; });
  // Types and shapes.
  expect(Status::Rejected,
         "input 'input_ids' has dtype f32, expected i64 or i32",
         [](EncodeCall &c) { c.inputs[0].dtype = TRANSOM_DTYPE_F32; });
  expect(Status::Rejected,
         "input 'input_ids' has rank 1, expected 2: [batch, seq]",
         [](EncodeCall &c) { c.inputs[0].rank = 1; });
  expect(Status::Rejected,
         "input 'input_ids' has the shape [0, 5]; sizes are 1 to 2147483647",
         [](EncodeCall &c) { c.inputs[0].shape[0] = 0; });
  expect(Status::Rejected,
         "input 'attention_mask' has the shape [2, 4], but 'seq' is 5 in an "
         "input before",
         [](EncodeCall &c) { c.inputs[1].shape[1] = 4; });
  // Memory.
  expect(Status::Limit,
         "input 'input_ids' needs 80 bytes, got a capacity of 79",
         [](EncodeCall &c) { c.inputs[0].capacity = 79; });
  expect(Status::Usage, "input 'input_ids' has no data: it is NULL",
         [](EncodeCall &c) { c.inputs[0].data = nullptr; });
  // Values.
  expect(Status::Rejected,
         "input 'input_ids' at [1, 2]: id 100 is not in [0, 100)",
         [](EncodeCall &c) { c.ids[7] = 100; });
  expect(Status::Rejected,
         "input 'attention_mask' at [0, 1]: 2 is neither 0 nor 1",
         [](EncodeCall &c) { c.mask[1] = 2; });
  // Results.
  expect(Status::Rejected,
         "entry 'encode' has no result 'pooler'; it has: last_hidden_state, "
         "pooler_output; did you mean 'pooler_output'?",
         [](EncodeCall &c) { c.outputs[1].name = "pooler"; });
  expect(Status::Limit,
         "result 'last_hidden_state' needs 160 bytes for its shape [2, 5, 4], "
         "got a capacity of 159",
         [](EncodeCall &c) { c.outputs[0].capacity = 159; });
  expect(Status::Rejected, "result 'pooler_output' has dtype i64, expected f32",
         [](EncodeCall &c) { c.outputs[1].dtype = TRANSOM_DTYPE_I64; });
  expect(Status::Rejected,
         "result 'pooler_output' is left out, and the session does not hold "
         "results",
         [](EncodeCall &c) { c.outputs.pop_back(); });
  expectError(session->run("encod", nullptr, 0, nullptr, 0), Status::Usage,
              "the model has no entry 'encod'; it has: encode, combine; did "
              "you mean 'encode'?");
  ASSERT_TRUE(bool(call.run(*session))) << "a good call after the bad ones";
}

TEST(Call, refuses_what_does_not_fit) {
  auto model = fakeModel();
  auto session = makeSession(*model, makeConfig(2, 20));
  EncodeCall longer(1, 65);
  expectError(longer.run(*session), Status::Limit,
              "'seq' is 65, over the model's maximum 64");
  EncodeCall wide(3, 2);
  expectError(wide.run(*session), Status::Limit,
              "'batch' is 3, over the session's max_batch 2");
  EncodeCall full(2, 11);
  expectError(full.run(*session), Status::Limit,
              "22 tokens are over the session's max_tokens 20");
  // Padding is not a row: the same call with two masked columns fits.
  full.mask[21] = full.mask[20] = 0;
  ASSERT_TRUE(bool(full.run(*session)));
  full.checkResults();
  std::vector<float> x(2 * 11 * 3), y(2 * 11 * 3);
  std::vector<uint8_t> m(2 * 11);
  std::vector<uint16_t> z(3);
  transom_tensor inputs[] = {makeTensor("x", TRANSOM_DTYPE_F32, {2, 11, 3}, x),
                             makeTensor("m", TRANSOM_DTYPE_BOOL, {2, 11}, m),
                             makeTensor("z", TRANSOM_DTYPE_BF16, {3}, z)};
  expectError(session->run("combine", inputs, 3, nullptr, 0), Status::Limit,
              "'seq' is 11 for a batch of 2, over the session's max_tokens 20");
}

TEST(Call, bool_and_half_inputs_and_uniform_rows) {
  auto model = fakeModel();
  for (unsigned threads : {1u, 3u}) {
    auto session = makeSession(*model, makeConfig(4, 40, threads));
    // Inputs and results for the second entry.
    std::vector<float> x(4 * 5 * 3), y(x.size(), -1), tiny(4, -1);
    std::vector<uint8_t> m(20);
    std::vector<uint16_t> z = {0x3f80, 0x4000, 0x4040}; // 1, 2, 3
    std::vector<int64_t> count(4, -1);
    for (size_t i = 0; i != x.size(); ++i)
      x[i] = float(i);
    for (size_t i = 0; i != m.size(); ++i)
      m[i] = i % 3 == 0;
    transom_tensor inputs[] = {makeTensor("x", TRANSOM_DTYPE_F32, {4, 5, 3}, x),
                               makeTensor("m", TRANSOM_DTYPE_BOOL, {4, 5}, m),
                               makeTensor("z", TRANSOM_DTYPE_BF16, {3}, z)};
    transom_tensor outputs[] = {
        makeTensor("y", TRANSOM_DTYPE_F32, {}, y),
        makeTensor("tiny", TRANSOM_DTYPE_F32, {}, tiny),
        makeTensor("count", TRANSOM_DTYPE_I64, {}, count)};
    // The run follows the mask; its rows are uniform.
    Result<void> done = session->run("combine", inputs, 3, outputs, 3);
    ASSERT_TRUE(bool(done)) << done.error().message;
    for (size_t i = 0; i != y.size(); ++i)
      EXPECT_EQ(y[i], m[i / 3] ? 2 * x[i] + float(i % 3 + 1) : 0);
    EXPECT_EQ(count, (std::vector<int64_t>{2, 2, 1, 2}));
    EXPECT_EQ(tiny, std::vector<float>(4, 0)) << "denormals are zero";
    // A bool is 0 or 1.
    m[3] = 2;
    expectError(session->run("combine", inputs, 3, outputs, 3),
                Status::Rejected, "input 'm' at [0, 3]: 2 is neither 0 nor 1");
  }
}

TEST(Call, shapes_without_running) {
  auto model = fakeModel();
  auto session = makeSession(*model, makeConfig(1, 1));
  EncodeCall call(3, 7);
  transom_tensor result{};
  call.inputs[0].data = nullptr;
  ASSERT_TRUE(bool(session->shape("encode", call.inputs.data(), 3,
                                  "last_hidden_state", result)));
  EXPECT_EQ(result.rank, 3);
  EXPECT_EQ(result.shape[0], 3);
  EXPECT_EQ(result.shape[1], 7);
  EXPECT_EQ(result.shape[2], 4);
  EXPECT_EQ(result.capacity, 3u * 7 * 4 * 4);
  expectError(session->shape("encode", call.inputs.data(), 3, "logits", result),
              Status::Rejected,
              "entry 'encode' has no result 'logits'; it has: "
              "last_hidden_state, pooler_output");
}
