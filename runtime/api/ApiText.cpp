// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The C API for texts: tokens, embeddings, labels. Capacities are in bytes and
// are checked before anything runs if the size is known.
#include "runtime/api/ApiSupport.h"
#include "runtime/text/EmbedTokens.h"
#include "runtime/text/Quantize.h"
#include "runtime/text/Text.h"

using namespace transom;
using namespace transom::api;

void transom_tokenize_options_init(transom_tokenize_options *options,
                                   size_t struct_size) {
  initialize(transom_tokenize_options(), options, struct_size);
}

/// Copies an encoding's tokens if they fit, and sets their count in any case.
static Result<void> writeTokens(const Encoding &encoding, transom_token *tokens,
                                size_t capacity, size_t *count) {
  size_t size = encoding.ids.size();
  *count = size;
  if (size > capacity / sizeof *tokens || (size && !tokens))
    return limitError(std::to_string(size) + " tokens do not fit into " +
                      std::to_string(capacity) + " bytes");
  for (size_t i = 0; i != size; ++i)
    tokens[i] = {encoding.ids[i], encoding.typeIds[i],
                 encoding.offsets[i].begin, encoding.offsets[i].end,
                 encoding.specialMask[i]};
  return {};
}

transom_status transom_model_tokenize(const transom_model *model,
                                      const transom_text *text,
                                      const transom_text *pair,
                                      const transom_tokenize_options *given,
                                      transom_token *tokens, size_t capacity,
                                      size_t *count, uint32_t *cut) {
  return guarded([&]() -> Result<void> {
    if (!model || !text || !count)
      return nullArgument(!model ? "model" : !text ? "text" : "count");
    if (capacity && !tokens)
      return nullArgument("tokens");
    TRANSOM_TRY(checkTexts("text", text, 1));
    TRANSOM_TRY(checkTexts("pair", pair, pair ? 1 : 0));
    transom_tokenize_options options = transom_tokenize_options_default();
    TRANSOM_TRY(readOptions(given, options));
    TRANSOM_ASSIGN(Encoding encoding,
                   encodeText(*model->model, *text, pair, options));
    if (cut)
      *cut = encoding.truncatedTokens != 0;
    return writeTokens(encoding, tokens, capacity, count);
  });
}

/// Returns the model's tokenizer, or an error.
static Result<const Tokenizer *> getTokenizer(const transom_model *model) {
  if (!model->model->tokenizer())
    return model->model->noTokenizer();
  return &*model->model->tokenizer();
}

transom_status transom_model_language_token(const transom_model *model,
                                            const char *language, int64_t *id) {
  return guarded([&]() -> Result<void> {
    if (!model || !language || !id)
      return nullArgument(!model ? "model" : !language ? "language" : "id");
    TRANSOM_ASSIGN(const Tokenizer *tokenizer, getTokenizer(model));
    TRANSOM_ASSIGN(*id, tokenizer->findLanguage(language));
    return {};
  });
}

transom_status transom_model_language_name(const transom_model *model,
                                           size_t index, char *text,
                                           size_t capacity, size_t *size) {
  return guarded([&]() -> Result<void> {
    if (!model || !size)
      return nullArgument(model ? "size" : "model");
    TRANSOM_ASSIGN(const Tokenizer *tokenizer, getTokenizer(model));
    const std::vector<TokenizerLanguage> languages = tokenizer->getLanguages();
    if (index >= languages.size())
      return usageError("language " + std::to_string(index) + " of " +
                        std::to_string(languages.size()));
    return writeText(languages[index].name, text, capacity, size);
  });
}

transom_status transom_model_detokenize(const transom_model *model,
                                        const int64_t *ids, size_t count,
                                        uint32_t flags, char *text,
                                        size_t capacity, size_t *size) {
  return guarded([&]() -> Result<void> {
    if (!model || !size)
      return nullArgument(model ? "size" : "model");
    TRANSOM_TRY(checkArray("ids", ids, count));
    constexpr uint32_t known =
        TRANSOM_DETOKENIZE_SKIP_SPECIAL | TRANSOM_DETOKENIZE_KEEP_SPACES;
    if (flags & ~known)
      return usageError("flags are transom_detokenize_flags, got " +
                        std::to_string(flags));
    if (!model->model->tokenizer())
      return model->model->noTokenizer();
    std::vector<int64_t> list(ids, ids + count);
    TRANSOM_ASSIGN(std::string decoded,
                   model->model->tokenizer()->decode(
                       list, flags & TRANSOM_DETOKENIZE_SKIP_SPECIAL,
                       flags & TRANSOM_DETOKENIZE_KEEP_SPACES));
    return writeText(decoded, text, capacity, size);
  });
}

transom_status transom_model_token_text(const transom_model *model, int64_t id,
                                        char *text, size_t capacity,
                                        size_t *size) {
  return guarded([&]() -> Result<void> {
    if (!model || !size)
      return nullArgument(model ? "size" : "model");
    if (!model->model->tokenizer())
      return model->model->noTokenizer();
    auto token = model->model->tokenizer()->token(id);
    if (!token)
      return rejected("the tokenizer has no token of id " + std::to_string(id));
    return writeText(*token, text, capacity, size);
  });
}

void transom_embed_options_init(transom_embed_options *options,
                                size_t struct_size) {
  transom_embed_options defaults = {};
  defaults.pooling = TRANSOM_POOLING_FROM_MODEL;
  defaults.normalize = TRANSOM_FROM_MODEL;
  initialize(defaults, options, struct_size);
}

/// Checks texts for which each result has `size` elements. The capacity is
/// checked before any text is read, and at most one text is read if the model
/// has no such results.
template <typename T>
static Result<void> checkBatch(const transom_text *texts, size_t count,
                               const Result<size_t> &size, const char *what,
                               const T *results, size_t capacity) {
  if (count && !texts)
    return nullArgument("texts");
  if (size)
    TRANSOM_TRY(checkRoom(what, CheckedSize(count) * *size, results, capacity));
  TRANSOM_TRY(checkArray("texts", texts, count));
  TRANSOM_TRY(
      checkTexts("texts", texts, size ? count : std::min<size_t>(count, 1)));
  return size ? Result<void>() : Result<void>(size.error());
}

transom_status transom_session_embed(transom_session *handle,
                                     const transom_text *texts, size_t count,
                                     const transom_embed_options *given,
                                     float *embeddings, size_t capacity,
                                     size_t *cut) {
  return onSession(handle, [&](Session &session) -> Result<void> {
    transom_embed_options options = transom_embed_options_default();
    TRANSOM_TRY(readOptions(given, options));
    TRANSOM_TRY(checkBatch(texts, count,
                           getEmbeddingSize(session.model(), options),
                           "embeddings", embeddings, capacity));
    size_t cutTexts = 0;
    TRANSOM_TRY(
        embedTexts(session, texts, count, options, embeddings, cutTexts));
    if (cut)
      *cut = cutTexts;
    return {};
  });
}

transom_status transom_session_embed_tokens(transom_session *handle,
                                            const transom_text *text,
                                            const transom_embed_options *given,
                                            float *embeddings, size_t capacity,
                                            int64_t *ids, size_t idsCapacity,
                                            size_t *count, uint32_t *cut) {
  return onSession(handle, [&](Session &session) -> Result<void> {
    if (!text || !count)
      return nullArgument(text ? "count" : "text");
    TRANSOM_TRY(checkTexts("text", text, 1));
    transom_embed_options options = transom_embed_options_default();
    TRANSOM_TRY(readOptions(given, options));
    TRANSOM_ASSIGN(const TokenVectors found,
                   embedTokens(session, *text, options));
    *count = found.ids.size();
    if (cut)
      *cut = found.isCut;
    TRANSOM_TRY(
        checkRoom("embeddings", found.vectors.size(), embeddings, capacity));
    if (ids && idsCapacity / sizeof *ids < found.ids.size())
      return limitError(std::to_string(found.ids.size()) +
                        " ids do not fit into " + std::to_string(idsCapacity) +
                        " bytes");
    std::copy(found.vectors.begin(), found.vectors.end(), embeddings);
    if (ids)
      std::copy(found.ids.begin(), found.ids.end(), ids);
    return {};
  });
}

transom_status transom_session_embed_tokens_batch(
    transom_session *handle, const transom_text *texts, size_t count,
    const transom_embed_options *given, const int64_t *layers, size_t numLayers,
    transom_token_vectors_callback callback, void *context) {
  return onSession(handle, [&](Session &session) -> Result<void> {
    if (count && !callback)
      return nullArgument("callback");
    TRANSOM_TRY(checkArray("layers", layers, numLayers));
    TRANSOM_TRY(checkTexts("texts", texts, count));
    transom_embed_options options = transom_embed_options_default();
    TRANSOM_TRY(readOptions(given, options));
    auto take = [&](size_t text, const TokenVectors &found) {
      const transom_token_vectors vectors = {
          text,        found.ids.size(),     found.ids.data(),
          found.width, found.vectors.data(), found.isCut};
      callHost([&] { callback(context, &vectors); });
    };
    return embedTokens(session, texts, count, options,
                       {layers, layers + numLayers}, take);
  });
}

transom_status transom_quantize_embeddings(const float *embeddings,
                                           size_t count, size_t size,
                                           transom_precision precision,
                                           const float *ranges, void *out,
                                           size_t capacity) {
  return guarded([&]() -> Result<void> {
    if (count && size && (!embeddings || !out))
      return nullArgument(embeddings ? "out" : "embeddings");
    TRANSOM_ASSIGN(const size_t bytes, getQuantizedSize(precision, size));
    const std::optional<uint64_t> all = (CheckedSize(count) * bytes).value();
    if (!(CheckedSize(count) * size * sizeof(float)).signedValue() ||
        !(CheckedSize(size) * 2 * sizeof(float)).signedValue())
      return limitError(std::to_string(count) + " embeddings of " +
                        std::to_string(size) + " numbers are too many");
    if (!all || *all > capacity)
      return limitError("the quantized embeddings need " +
                        (all ? std::to_string(*all) : "too many") +
                        " bytes, got a capacity of " +
                        std::to_string(capacity));
    return quantizeEmbeddings(embeddings, count, size, precision, ranges,
                              static_cast<uint8_t *>(out));
  });
}

transom_status transom_session_classify(transom_session *handle,
                                        const transom_text *texts,
                                        const transom_text *pairs, size_t count,
                                        float *scores, size_t capacity,
                                        size_t *cut) {
  return onSession(handle, [&](Session &session) -> Result<void> {
    TRANSOM_TRY(checkBatch(texts, count, getTextLabels(session.model()),
                           "scores", scores, capacity));
    TRANSOM_TRY(checkTexts("pairs", pairs, pairs ? count : 0));
    size_t cutTexts = 0;
    TRANSOM_TRY(classifyTexts(session, texts, pairs, count, scores, cutTexts));
    if (cut)
      *cut = cutTexts;
    return {};
  });
}

transom_status transom_session_classify_tokens(
    transom_session *handle, const transom_text *text, transom_token *tokens,
    size_t tokensCapacity, float *scores, size_t scoresCapacity, size_t *count,
    uint32_t *cut) {
  return onSession(handle, [&](Session &session) -> Result<void> {
    if (!text || !count)
      return nullArgument(text ? "count" : "text");
    if ((tokensCapacity && !tokens) || (scoresCapacity && !scores))
      return nullArgument(tokensCapacity && !tokens ? "tokens" : "scores");
    TRANSOM_TRY(checkTexts("text", text, 1));
    Encoding encoding;
    std::vector<float> values;
    if (Result<void> done = classifyTokens(session, *text, encoding, values);
        !done)
      return done;
    if (cut)
      *cut = encoding.truncatedTokens != 0;
    *count = encoding.ids.size();
    TRANSOM_TRY(checkRoom("scores", values.size(), scores, scoresCapacity));
    TRANSOM_TRY(writeTokens(encoding, tokens, tokensCapacity, count));
    std::copy(values.begin(), values.end(), scores);
    return {};
  });
}
