// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// C API functions for tasks: arguments that they reject before anything runs.
#include "test/runtime/api/FakeModelTest.h"
#include <cstring>

using namespace transom;
using namespace transom::test;

namespace {
class ApiTasks : public FakeModelTest {
protected:
  void SetUp() override {
    FakeModelTest::SetUp();
    ASSERT_EQ(transom_session_create(model, nullptr, &session),
              TRANSOM_STATUS_OK);
  }
  void TearDown() override {
    transom_session_free(session);
    FakeModelTest::TearDown();
  }

  transom_session *session = nullptr;
  const transom_text text = {"a", 1}, wrong = {nullptr, 3};
  size_t count = 0, other = 0;
  float scores[2];
};
} // namespace

TEST_F(ApiTasks, need_a_tokenizer) {
  EXPECT_EQ(transom_session_tag(session, &text, TRANSOM_SPAN_MERGE_NONE,
                                nullptr, 0, &count, nullptr),
            TRANSOM_STATUS_UNSUPPORTED);
  EXPECT_EQ(transom_session_find_entities(session, &text, &text, 1, nullptr,
                                          nullptr, 0, &count, nullptr),
            TRANSOM_STATUS_UNSUPPORTED);
  auto take = [](void *, size_t, const transom_entity *, size_t, uint32_t) {};
  EXPECT_EQ(transom_session_find_entities_batch(session, &text, 1, &text, 1,
                                                nullptr, take, nullptr),
            TRANSOM_STATUS_UNSUPPORTED);
  EXPECT_EQ(transom_session_fill_masks(session, &text, nullptr, nullptr, 0,
                                       nullptr, 0, &count, &other, nullptr),
            TRANSOM_STATUS_UNSUPPORTED);
  EXPECT_EQ(transom_session_rerank(session, &text, &text, 1, scores,
                                   sizeof scores, nullptr),
            TRANSOM_STATUS_UNSUPPORTED);
  EXPECT_EQ(transom_session_zero_shot(session, &text, &text, 1, 0, scores,
                                      sizeof scores, nullptr),
            TRANSOM_STATUS_UNSUPPORTED);
  EXPECT_EQ(transom_session_answer(session, &text, &text, nullptr, nullptr, 0,
                                   &count),
            TRANSOM_STATUS_UNSUPPORTED);
}

TEST_F(ApiTasks, texts_without_data_are_wrong_usage) {
  EXPECT_EQ(transom_session_tag(session, &wrong, TRANSOM_SPAN_MERGE_NONE,
                                nullptr, 0, &count, nullptr),
            TRANSOM_STATUS_USAGE);
  EXPECT_EQ(transom_session_find_entities(session, &text, &wrong, 1, nullptr,
                                          nullptr, 0, &count, nullptr),
            TRANSOM_STATUS_USAGE);
  auto take = [](void *, size_t, const transom_entity *, size_t, uint32_t) {};
  EXPECT_EQ(transom_session_find_entities_batch(session, &wrong, 1, &text, 1,
                                                nullptr, take, nullptr),
            TRANSOM_STATUS_USAGE);
  EXPECT_EQ(transom_session_find_entities_batch(session, &text, 1, &text, 1,
                                                nullptr, nullptr, nullptr),
            TRANSOM_STATUS_USAGE);
  EXPECT_EQ(transom_session_fill_masks(session, &wrong, nullptr, nullptr, 0,
                                       nullptr, 0, &count, &other, nullptr),
            TRANSOM_STATUS_USAGE);
  EXPECT_EQ(transom_session_rerank(session, &text, &wrong, 1, scores,
                                   sizeof scores, nullptr),
            TRANSOM_STATUS_USAGE);
  EXPECT_EQ(transom_session_zero_shot(session, &text, &wrong, 1, 0, scores,
                                      sizeof scores, nullptr),
            TRANSOM_STATUS_USAGE);
  EXPECT_EQ(transom_session_answer(session, &text, &wrong, nullptr, nullptr, 0,
                                   &count),
            TRANSOM_STATUS_USAGE);
}

TEST_F(ApiTasks, results_need_room_and_arguments) {
  EXPECT_EQ(
      transom_session_rerank(session, &text, &text, 1, scores, 3, nullptr),
      TRANSOM_STATUS_LIMIT);
  EXPECT_EQ(transom_session_zero_shot(session, &text, &text, 1, 0, nullptr, 4,
                                      nullptr),
            TRANSOM_STATUS_USAGE);
  EXPECT_EQ(transom_session_tag(session, &text, TRANSOM_SPAN_MERGE_NONE,
                                nullptr, 0, nullptr, nullptr),
            TRANSOM_STATUS_USAGE);
  EXPECT_EQ(
      transom_session_rerank(session, nullptr, &text, 1, scores, 4, nullptr),
      TRANSOM_STATUS_USAGE);
  EXPECT_EQ(transom_session_answer(session, &text, nullptr, nullptr, nullptr, 0,
                                   &count),
            TRANSOM_STATUS_USAGE);
  EXPECT_NE(std::strstr(transom_last_error(), "'context' is NULL"), nullptr);
}

TEST_F(ApiTasks, similarities_of_embeddings) {
  const float a[] = {1, 0, 0, 1}, b[] = {2, 0};
  EXPECT_EQ(
      transom_model_similarity(model, a, 2, b, 1, 2, scores, sizeof scores),
      TRANSOM_STATUS_OK);
  EXPECT_EQ(scores[0], 1);
  EXPECT_EQ(scores[1], 0);
  EXPECT_EQ(transom_model_similarity(model, a, 2, b, 1, 2, scores, 4),
            TRANSOM_STATUS_LIMIT);
  EXPECT_EQ(transom_model_similarity(model, nullptr, 2, b, 1, 2, scores, 8),
            TRANSOM_STATUS_USAGE);
}

TEST_F(ApiTasks, options_have_defaults) {
  const transom_answer_options answer = transom_answer_options_default();
  EXPECT_EQ(answer.struct_size, sizeof answer);
  EXPECT_EQ(answer.overlap, TRANSOM_FROM_MODEL);
  const transom_fill_options fill = transom_fill_options_default();
  EXPECT_EQ(fill.struct_size, sizeof fill);
  EXPECT_EQ(fill.targets, nullptr);
  const transom_entity_options entity = transom_entity_options_default();
  EXPECT_EQ(entity.struct_size, sizeof entity);
  EXPECT_EQ(entity.threshold, 0.5);
  EXPECT_EQ(entity.nested + entity.multi_label, 0u);
  const transom_rerank_options rerank = transom_rerank_options_default();
  EXPECT_EQ(rerank.struct_size, sizeof rerank);
  EXPECT_EQ(rerank.prompt, nullptr);
  EXPECT_EQ(rerank.prompt_name, nullptr);
}
