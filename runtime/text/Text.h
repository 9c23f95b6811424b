// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tasks on texts: tokenization, encoder runs, pooling, classification. Each
// text's result has the same bits in any batch.
#pragma once
#include "runtime/session/Session.h"
#include <string_view>

namespace transom {

/// Returns the bytes of a text.
std::string_view getView(const transom_text &text);

/// Returns the embedding size with these options; an error if the model does
/// not embed texts or does not support the options.
Result<size_t> getEmbeddingSize(const Model &model,
                                const transom_embed_options &options);

/// Embeds texts, as transom_session_embed(). `embeddings` has room for count
/// times the embedding size.
Result<void> embedTexts(Session &session, const transom_text *texts,
                        size_t count, const transom_embed_options &options,
                        float *embeddings, size_t &cut);

/// Returns the model's label count for text classification; `Unsupported` if it
/// does not classify texts.
Result<size_t> getTextLabels(const Model &model);

/// Classifies texts or pairs, as transom_session_classify().
Result<void> classifyTexts(Session &session, const transom_text *texts,
                           const transom_text *pairs, size_t count,
                           float *scores, size_t &cut);

/// Classifies the tokens in one text: `scores` receives [tokens, labels].
Result<void> classifyTokens(Session &session, const transom_text &text,
                            Encoding &encoding, std::vector<float> &scores);

/// True if the model is only a table of vectors: texts then have no special
/// tokens, and texts without any token have results.
bool isStaticEmbedding(const Model &model);

/// Encodes a text or pair with the model's tokenizer, truncated to the model's
/// maximum unless disabled by the options.
Result<Encoding> encodeText(const Model &model, const transom_text &text,
                            const transom_text *pair,
                            const transom_tokenize_options &options);

/// Conversion from logits to label scores: probabilities for mutually exclusive
/// or for independent labels; unchanged if labels are quantities.
enum class LabelScores { Softmax, Sigmoid, Raw };

/// Computes label scores from logits. May work in place.
void computeLabelScores(const float *logits, size_t labels, LabelScores kind,
                        float *scores);

} // namespace transom
