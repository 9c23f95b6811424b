// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Calls on texts, and on values without a session.
#include "test/runtime/FloatModeCalls.h"

using namespace transom::test;

static const transom_text texts[] = {makeText("the quick brown fox"),
                                     makeText("a b c d e f g"),
                                     makeText("one two")};
static constexpr size_t numTexts = 3;

void Calls::callTokenizer() {
  std::vector<transom_token> tokens(64);
  size_t count = 0;
  if (!call("transom_model_tokenize", [&] {
        return transom_model_tokenize(
            model, texts, nullptr, nullptr, tokens.data(),
            tokens.size() * sizeof(transom_token), &count, nullptr);
      }))
    return;
  std::vector<int64_t> ids;
  for (size_t i = 0; i != count; ++i)
    ids.push_back(tokens[i].id);
  std::string text(256, ' ');
  size_t size = 0;
  call("transom_model_detokenize", [&] {
    return transom_model_detokenize(model, ids.data(), ids.size(), 0,
                                    text.data(), text.size(), &size);
  });
  add(bytes, ids);
  bytes.append(text, 0, size);
}

static void takeVectors(void *context, const transom_token_vectors *found) {
  checkCallback("the callback of vectors");
  auto &all = *static_cast<std::vector<float> *>(context);
  all.insert(all.end(), found->vectors,
             found->vectors + found->count * found->width);
}

void Calls::callText() {
  std::vector<float> values(numTexts * info.embedding_size);
  if (call("transom_session_embed", [&] {
        return transom_session_embed(session, texts, numTexts, nullptr,
                                     values.data(),
                                     values.size() * sizeof(float), nullptr);
      }))
    add(bytes, values);
  std::vector<float> vectors(64 * info.token_embedding_size);
  size_t count = 0;
  if (call("transom_session_embed_tokens", [&] {
        return transom_session_embed_tokens(
            session, texts, nullptr, vectors.data(),
            vectors.size() * sizeof(float), nullptr, 0, &count, nullptr);
      }))
    add(bytes, vectors);
  std::vector<float> batch;
  batch.reserve(1 << 16);
  if (call("transom_session_embed_tokens_batch", [&] {
        batch.clear();
        return transom_session_embed_tokens_batch(
            session, texts, numTexts, nullptr, nullptr, 0, takeVectors, &batch);
      }))
    add(bytes, batch);
}

static void takeEntities(void *context, size_t, const transom_entity *found,
                         size_t count, uint32_t) {
  checkCallback("the callback of entities");
  auto &all = *static_cast<std::vector<float> *>(context);
  for (size_t i = 0; i != count; ++i)
    all.push_back(found[i].score);
}

void Calls::callTasks() {
  std::vector<float> scores(numTexts * std::max<size_t>(1, info.num_labels));
  const size_t room = scores.size() * sizeof(float);
  size_t count = 0;
  // Classification, tokens and spans.
  if (call("transom_session_classify", [&] {
        return transom_session_classify(session, texts, nullptr, numTexts,
                                        scores.data(), room, nullptr);
      }))
    add(bytes, scores);
  std::vector<transom_token> tokens(64);
  std::vector<float> tokenScores(64 * info.num_labels);
  if (call("transom_session_classify_tokens", [&] {
        return transom_session_classify_tokens(
            session, texts, tokens.data(),
            tokens.size() * sizeof(transom_token), tokenScores.data(),
            tokenScores.size() * sizeof(float), &count, nullptr);
      }))
    add(bytes, tokenScores);
  std::vector<transom_span> spans(64);
  if (call("transom_session_tag", [&] {
        return transom_session_tag(
            session, texts, TRANSOM_SPAN_MERGE_AVERAGE, spans.data(),
            spans.size() * sizeof(transom_span), &count, nullptr);
      }))
    for (size_t i = 0; i != count; ++i)
      add(bytes, &spans[i].score, 1);
  // Pairs and labels.
  for (auto [name, function] : {std::pair("transom_session_rerank", 0),
                                {"transom_session_rerank_prompted", 1}})
    if (call(name, [&, which = function] {
          return which == 0
                     ? transom_session_rerank(session, texts, texts, numTexts,
                                              scores.data(), room, nullptr)
                     : transom_session_rerank_prompted(
                           session, texts, texts, numTexts, nullptr,
                           scores.data(), room, nullptr);
        }))
      add(bytes, scores.data(), numTexts);
  if (call("transom_session_zero_shot", [&] {
        return transom_session_zero_shot(session, texts, texts, numTexts, 0,
                                         scores.data(), room, nullptr);
      }))
    add(bytes, scores.data(), numTexts);
  // Answers and masks.
  std::vector<transom_answer> answers(4);
  if (call("transom_session_answer", [&] {
        return transom_session_answer(
            session, texts + 2, texts, nullptr, answers.data(),
            answers.size() * sizeof(transom_answer), &count);
      }))
    for (size_t i = 0; i != count; ++i)
      add(bytes, &answers[i].score, 1);
  std::vector<transom_fill> fills(8);
  size_t masks[2], numMasks = 0;
  const transom_text masked = makeText("the [MASK] fox");
  if (call("transom_session_fill_masks", [&] {
        return transom_session_fill_masks(
            session, &masked, nullptr, fills.data(),
            fills.size() * sizeof(transom_fill), masks, sizeof masks, &numMasks,
            &count, nullptr);
      }))
    for (size_t i = 0; i != count; ++i)
      add(bytes, &fills[i].score, 1);
  // Entities, for one text and for a batch.
  std::vector<transom_entity> entities(64);
  transom_entity_options low = transom_entity_options_default();
  low.threshold = 0.01;
  if (call("transom_session_find_entities", [&] {
        return transom_session_find_entities(
            session, texts, texts + 1, 2, &low, entities.data(),
            entities.size() * sizeof(transom_entity), &count, nullptr);
      }))
    for (size_t i = 0; i != count; ++i)
      add(bytes, &entities[i].score, 1);
  std::vector<float> found;
  found.reserve(1 << 16);
  if (call("transom_session_find_entities_batch", [&] {
        found.clear();
        return transom_session_find_entities_batch(
            session, texts, numTexts, texts + 1, 2, &low, takeEntities, &found);
      }))
    add(bytes, found);
}

void Calls::callNumbers() {
  constexpr size_t count = 5, size = 11;
  static float embeddings[count * size], similarities[count * count];
  for (size_t i = 0; i != count * size; ++i)
    embeddings[i] = float(int(i * 37 % 101) - 50) / 7;
  call("transom_model_similarity", [&] {
    return transom_model_similarity(model, embeddings, count, embeddings, count,
                                    size, similarities, sizeof similarities);
  });
  add(bytes, similarities, count * count);
  static char quantized[count * size];
  for (transom_precision precision :
       {TRANSOM_PRECISION_INT8, TRANSOM_PRECISION_BINARY}) {
    call("transom_quantize_embeddings", [&] {
      return transom_quantize_embeddings(embeddings, count, size, precision,
                                         nullptr, quantized, sizeof quantized);
    });
    add(bytes, quantized, sizeof quantized);
  }
}
