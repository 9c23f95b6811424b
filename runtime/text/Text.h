// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Texts in, vectors or probabilities out: tokenizes, runs the encoder, pools.
// Each text's result has the same bits in any batch.
#pragma once
#include "runtime/session/Session.h"
#include <string_view>

namespace transom {

/// The bytes of a text.
std::string_view getView(const transom_text &text);

/// The size of an embedding with these options; an error where the model does
/// not embed texts, or not with the options.
Result<size_t> getEmbeddingSize(const Model &model,
                                const transom_embed_options &options);

/// Embeds texts, as transom_session_embed(). `embeddings` holds count times
/// that size.
Result<void> embedTexts(Session &session, const transom_text *texts,
                        size_t count, const transom_embed_options &options,
                        float *embeddings, size_t &cut);

/// The number of labels that the model classifies texts by; `Unsupported` if it
/// does not.
Result<size_t> getTextLabels(const Model &model);

/// Classifies texts or pairs, as transom_session_classify().
Result<void> classifyTexts(Session &session, const transom_text *texts,
                           const transom_text *pairs, size_t count,
                           float *scores, size_t &cut);

/// Classifies the tokens of one text: `scores` gets [tokens, labels].
Result<void> classifyTokens(Session &session, const transom_text &text,
                            Encoding &encoding, std::vector<float> &scores);

/// Whether the model is a table of vectors: texts have no special tokens then,
/// and those without any token have results.
bool isStaticEmbedding(const Model &model);

/// Encodes a text or pair with the model's tokenizer, cut to its maximum
/// unless the options say otherwise.
Result<Encoding> encodeText(const Model &model, const transom_text &text,
                            const transom_text *pair,
                            const transom_tokenize_options &options);

/// How the scores of labels come from their logits: as probabilities of labels
/// that exclude each other, or that are independent; or unchanged, where a
/// label names a quantity.
enum class LabelScores { Softmax, Sigmoid, Raw };

/// The scores of labels from their logits. May work in place.
void computeLabelScores(const float *logits, size_t labels, LabelScores kind,
                        float *scores);

} // namespace transom
