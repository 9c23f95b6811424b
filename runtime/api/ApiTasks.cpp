// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The C API for tasks on texts: labelled spans, named entities, masks, document
// relevance, zero-shot labels.
#include "runtime/api/ApiSupport.h"
#include "runtime/text/Answers.h"
#include "runtime/text/Entities.h"
#include "runtime/text/FillMasks.h"
#include "runtime/text/Rerank.h"
#include "runtime/text/Similarity.h"
#include "runtime/text/Tags.h"
#include "runtime/text/Text.h"
#include "runtime/text/ZeroShot.h"

using namespace transom;
using namespace transom::api;

transom_status transom_session_tag(transom_session *handle,
                                   const transom_text *text,
                                   transom_span_merge merge,
                                   transom_span *spans, size_t capacity,
                                   size_t *count, uint32_t *truncated) {
  return onSession(handle, [&](Session &session) -> Result<void> {
    if (!text || !count)
      return nullArgument(text ? "count" : "text");
    TRANSOM_TRY(checkTexts("text", text, 1));
    bool cut = false;
    TRANSOM_ASSIGN(std::vector<transom_span> found,
                   tagText(session, *text, merge, cut));
    *count = found.size();
    if (truncated)
      *truncated = cut;
    TRANSOM_TRY(checkRoom("spans", found.size(), spans, capacity));
    std::copy(found.begin(), found.end(), spans);
    return {};
  });
}

void transom_entity_options_init(transom_entity_options *options,
                                 size_t struct_size) {
  transom_entity_options defaults = {};
  defaults.threshold = 0.5;
  initialize(defaults, options, struct_size);
}

transom_status
transom_session_find_entities(transom_session *handle, const transom_text *text,
                              const transom_text *types, size_t numTypes,
                              const transom_entity_options *given,
                              transom_entity *entities, size_t capacity,
                              size_t *count, uint32_t *truncated) {
  return onSession(handle, [&](Session &session) -> Result<void> {
    if (!text || !count)
      return nullArgument(text ? "count" : "text");
    TRANSOM_TRY(checkTexts("text", text, 1));
    TRANSOM_TRY(checkTexts("types", types, numTypes));
    transom_entity_options options = transom_entity_options_default();
    TRANSOM_TRY(readOptions(given, options));
    TextEntities found;
    TRANSOM_TRY(findEntities(
        session, text, 1, types, numTypes, options,
        [&](size_t, TextEntities entities) { found = std::move(entities); }));
    *count = found.entities.size();
    if (truncated)
      *truncated = found.isCut;
    TRANSOM_TRY(
        checkRoom("entities", found.entities.size(), entities, capacity));
    std::copy(found.entities.begin(), found.entities.end(), entities);
    return {};
  });
}

transom_status transom_session_find_entities_batch(
    transom_session *handle, const transom_text *texts, size_t count,
    const transom_text *types, size_t numTypes,
    const transom_entity_options *given, transom_entities_callback callback,
    void *context) {
  return onSession(handle, [&](Session &session) -> Result<void> {
    if (count && !callback)
      return nullArgument("callback");
    TRANSOM_TRY(checkTexts("texts", texts, count));
    TRANSOM_TRY(checkTexts("types", types, numTypes));
    transom_entity_options options = transom_entity_options_default();
    TRANSOM_TRY(readOptions(given, options));
    auto take = [&](size_t text, const TextEntities &found) {
      callHost([&] {
        callback(context, text, found.entities.data(), found.entities.size(),
                 found.isCut);
      });
    };
    return findEntities(session, texts, count, types, numTypes, options, take);
  });
}

void transom_fill_options_init(transom_fill_options *options,
                               size_t struct_size) {
  initialize(transom_fill_options(), options, struct_size);
}

transom_status transom_session_fill_masks(
    transom_session *handle, const transom_text *text,
    const transom_fill_options *given, transom_fill *fills,
    size_t fillsCapacity, size_t *masks, size_t masksCapacity, size_t *numMasks,
    size_t *numFills, uint32_t *truncated) {
  return onSession(handle, [&](Session &session) -> Result<void> {
    if (!text)
      return nullArgument("text");
    if (!numMasks || !numFills)
      return nullArgument(numMasks ? "num_fills" : "num_masks");
    TRANSOM_TRY(checkTexts("text", text, 1));
    transom_fill_options options = transom_fill_options_default();
    TRANSOM_TRY(readOptions(given, options));
    TRANSOM_TRY(checkArray("targets", options.targets, options.num_targets));
    Encoding encoding;
    TRANSOM_ASSIGN(std::vector<FilledMask> filled,
                   fillMasks(session, *text, options, encoding));
    *numMasks = filled.size();
    *numFills = filled.front().fills.size();
    if (truncated)
      *truncated = encoding.truncatedTokens != 0;
    TRANSOM_TRY(checkRoom("masks", filled.size(), masks, masksCapacity));
    TRANSOM_TRY(checkRoom("fills", CheckedSize(filled.size()) * *numFills,
                          fills, fillsCapacity));
    for (const FilledMask &mask : filled) {
      *masks++ = mask.token;
      fills = std::copy(mask.fills.begin(), mask.fills.end(), fills);
    }
    return {};
  });
}

transom_status transom_session_rerank(transom_session *session,
                                      const transom_text *query,
                                      const transom_text *documents,
                                      size_t count, float *scores,
                                      size_t capacity, size_t *truncated) {
  return transom_session_rerank_prompted(session, query, documents, count,
                                         nullptr, scores, capacity, truncated);
}

void transom_rerank_options_init(transom_rerank_options *options,
                                 size_t struct_size) {
  initialize(transom_rerank_options(), options, struct_size);
}

transom_status transom_session_rerank_prompted(
    transom_session *handle, const transom_text *query,
    const transom_text *documents, size_t count,
    const transom_rerank_options *given, float *scores, size_t capacity,
    size_t *truncated) {
  return onSession(handle, [&](Session &session) -> Result<void> {
    if (!query)
      return nullArgument("query");
    TRANSOM_TRY(checkTexts("query", query, 1));
    TRANSOM_TRY(checkRoom("scores", count, scores, capacity));
    TRANSOM_TRY(checkTexts("documents", documents, count));
    transom_rerank_options options = transom_rerank_options_default();
    TRANSOM_TRY(readOptions(given, options));
    size_t cut = 0;
    TRANSOM_TRY(
        rerankTexts(session, *query, documents, count, options, scores, cut));
    if (truncated)
      *truncated = cut;
    return {};
  });
}

transom_status transom_session_zero_shot(transom_session *handle,
                                         const transom_text *text,
                                         const transom_text *hypotheses,
                                         size_t count, uint32_t independent,
                                         float *scores, size_t capacity,
                                         uint32_t *truncated) {
  return onSession(handle, [&](Session &session) -> Result<void> {
    if (!text)
      return nullArgument("text");
    TRANSOM_TRY(checkTexts("text", text, 1));
    TRANSOM_TRY(checkRoom("scores", count, scores, capacity));
    TRANSOM_TRY(checkTexts("hypotheses", hypotheses, count));
    bool cut = false;
    TRANSOM_TRY(scoreHypotheses(session, *text, hypotheses, count,
                                independent != 0, scores, cut));
    if (truncated)
      *truncated = cut;
    return {};
  });
}

void transom_answer_options_init(transom_answer_options *options,
                                 size_t struct_size) {
  transom_answer_options defaults = {};
  defaults.overlap = TRANSOM_FROM_MODEL;
  initialize(defaults, options, struct_size);
}

transom_status transom_session_answer(transom_session *handle,
                                      const transom_text *question,
                                      const transom_text *context,
                                      const transom_answer_options *given,
                                      transom_answer *answers, size_t capacity,
                                      size_t *count) {
  return onSession(handle, [&](Session &session) -> Result<void> {
    if (!question || !context || !count)
      return nullArgument(!question  ? "question"
                          : !context ? "context"
                                     : "count");
    TRANSOM_TRY(checkTexts("question", question, 1));
    TRANSOM_TRY(checkTexts("context", context, 1));
    transom_answer_options options = transom_answer_options_default();
    TRANSOM_TRY(readOptions(given, options));
    TRANSOM_ASSIGN(std::vector<transom_answer> found,
                   answerQuestion(session, *question, *context, options));
    *count = found.size();
    TRANSOM_TRY(checkRoom("answers", found.size(), answers, capacity));
    std::copy(found.begin(), found.end(), answers);
    return {};
  });
}

transom_status transom_model_similarity(const transom_model *model,
                                        const float *embeddings, size_t count,
                                        const float *others, size_t numOthers,
                                        size_t size, float *similarities,
                                        size_t capacity) {
  return guarded([&]() -> Result<void> {
    if (!model || (count && !embeddings) || (numOthers && !others))
      return nullArgument(!model                 ? "model"
                          : count && !embeddings ? "embeddings"
                                                 : "others");
    TRANSOM_TRY(checkRoom("similarities", CheckedSize(count) * numOthers,
                          similarities, capacity));
    const CheckedSize bytes = CheckedSize(size) * sizeof(float);
    if (!(bytes * count).signedValue() || !(bytes * numOthers).signedValue())
      return limitError(std::to_string(count) + " and " +
                        std::to_string(numOthers) + " embeddings of " +
                        std::to_string(size) + " numbers are too many");
    if (numOthers == 0)
      return {};
    const std::string function = getSimilarityFunction(*model->model);
    for (size_t i = 0; i != count; ++i)
      for (size_t j = 0; j != numOthers; ++j)
        *similarities++ = float(getSimilarity(function, embeddings + i * size,
                                              others + j * size, size));
    return {};
  });
}
