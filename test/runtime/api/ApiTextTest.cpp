// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// C API functions on texts: a model without a tokenizer, and texts without
// data.
#include "test/runtime/api/FakeModelTest.h"
#include <cstring>
#include <tuple>

using namespace transom;
using namespace transom::test;

using ApiText = FakeModelTest;

static void takeNothing(void *, const transom_token_vectors *) {
  FAIL() << "no text has vectors";
}

TEST_F(ApiText, text_calls_need_a_tokenizer) {
  transom_text text = {"a", 1};
  size_t count;
  EXPECT_EQ(transom_model_tokenize(model, &text, nullptr, nullptr, nullptr, 0,
                                   &count, nullptr),
            TRANSOM_STATUS_UNSUPPORTED);
  EXPECT_EQ(transom_model_detokenize(model, nullptr, 0, 0, nullptr, 0, &count),
            TRANSOM_STATUS_UNSUPPORTED);
  int64_t id;
  EXPECT_EQ(transom_model_language_token(model, "en", &id),
            TRANSOM_STATUS_UNSUPPORTED);
  EXPECT_EQ(transom_model_language_name(model, 0, nullptr, 0, &count),
            TRANSOM_STATUS_UNSUPPORTED);
  transom_session *session = nullptr;
  ASSERT_EQ(transom_session_create(model, nullptr, &session),
            TRANSOM_STATUS_OK);
  float out[4];
  EXPECT_EQ(transom_session_embed(session, &text, 1, nullptr, out, sizeof out,
                                  nullptr),
            TRANSOM_STATUS_UNSUPPORTED);
  EXPECT_EQ(transom_session_embed_tokens_batch(
                session, &text, 1, nullptr, nullptr, 0, takeNothing, nullptr),
            TRANSOM_STATUS_UNSUPPORTED);
  transom_session_free(session);
}

TEST_F(ApiText, texts_without_data_are_wrong_usage) {
  transom_session *session = nullptr;
  ASSERT_EQ(transom_session_create(model, nullptr, &session),
            TRANSOM_STATUS_OK);
  const transom_text wrong = {nullptr, 3}, empty = {nullptr, 0};
  size_t count = 0;
  float out[4];
  EXPECT_EQ(transom_model_tokenize(model, &wrong, nullptr, nullptr, nullptr, 0,
                                   &count, nullptr),
            TRANSOM_STATUS_USAGE);
  EXPECT_EQ(transom_model_tokenize(model, &empty, &wrong, nullptr, nullptr, 0,
                                   &count, nullptr),
            TRANSOM_STATUS_USAGE);
  EXPECT_EQ(transom_session_embed(session, &wrong, 1, nullptr, out, sizeof out,
                                  nullptr),
            TRANSOM_STATUS_USAGE);
  EXPECT_NE(std::strstr(transom_last_error(), "data is NULL"), nullptr);
  EXPECT_EQ(transom_session_classify(session, &wrong, nullptr, 1, out,
                                     sizeof out, nullptr),
            TRANSOM_STATUS_USAGE);
  EXPECT_EQ(transom_session_classify_tokens(session, &wrong, nullptr, 0,
                                            nullptr, 0, &count, nullptr),
            TRANSOM_STATUS_USAGE);
  for (auto [texts, layers, callback] :
       {std::tuple(&wrong, 0, &takeNothing),
        {static_cast<const transom_text *>(nullptr), 0, &takeNothing},
        {&empty, 1, &takeNothing},
        {&empty, 0, static_cast<transom_token_vectors_callback>(nullptr)}})
    EXPECT_EQ(transom_session_embed_tokens_batch(session, texts, 1, nullptr,
                                                 nullptr, size_t(layers),
                                                 callback, nullptr),
              TRANSOM_STATUS_USAGE);
  // Memory without a pointer, a count without an array.
  EXPECT_EQ(transom_model_tokenize(model, &empty, nullptr, nullptr, nullptr, 24,
                                   &count, nullptr),
            TRANSOM_STATUS_USAGE);
  EXPECT_EQ(
      transom_session_embed(session, nullptr, 1, nullptr, out, 4, nullptr),
      TRANSOM_STATUS_USAGE);
  EXPECT_EQ(transom_model_detokenize(model, nullptr, 2, 0, nullptr, 0, &count),
            TRANSOM_STATUS_USAGE);
  EXPECT_EQ(transom_model_language_token(model, nullptr, nullptr),
            TRANSOM_STATUS_USAGE);
  transom_session_free(session);
}
