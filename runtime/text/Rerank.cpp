// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/text/Rerank.h"
#include "runtime/text/Text.h"
#include "runtime/text/TextBatches.h"
#include <cmath>

using namespace transom;

/// Runs the pairs of query and document.
static Result<void> rerankPairs(Session &session, const Model::TextUse &use,
                                const transom_text &query,
                                const transom_text *documents, size_t count,
                                float *scores, size_t &cut) {
  const Manifest &manifest = session.model().manifest();
  if (use.width != 1)
    return unsupported("a model that reranks gives one number for a pair; this "
                       "one has " +
                       std::to_string(use.width) + " labels");
  const std::string activation = manifest.scoreActivation.value_or("sigmoid");
  if (activation != "sigmoid" && activation != "identity")
    return unsupported("unsupported activation of scores '" + activation +
                       "'; supported: sigmoid, identity");
  const std::vector<transom_text> queries(count, query);
  return runTexts(session, {use}, queries.data(), documents, count, cut,
                  [&](const TextRows &found) {
                    scores[found.text] = 0;
                    if (found.count)
                      computeLabelScores(found.rows[0], 1,
                                         activation == "identity"
                                             ? LabelScores::Raw
                                             : LabelScores::Sigmoid,
                                         &scores[found.text]);
                  });
}

/// The cosine of the angle between two vectors; 0 where one is zero.
static double getCosine(const float *a, const float *b, size_t width) {
  double product = 0, first = 0, second = 0;
  for (size_t i = 0; i != width; ++i) {
    product += double(a[i]) * double(b[i]);
    first += double(a[i]) * double(a[i]);
    second += double(b[i]) * double(b[i]);
  }
  const double length = std::sqrt(first) * std::sqrt(second);
  return length > 0 ? product / length : 0;
}

/// Compares the embeddings of query and documents.
static Result<void> rerankEmbeddings(Session &session, size_t width,
                                     const transom_text &query,
                                     const transom_text *documents,
                                     size_t count, float *scores, size_t &cut) {
  std::vector<transom_text> texts = {query};
  texts.insert(texts.end(), documents, documents + count);
  std::vector<float> embeddings(texts.size() * width);
  TRANSOM_TRY(embedTexts(session, texts.data(), texts.size(),
                         transom_embed_options_default(), embeddings.data(),
                         cut));
  for (size_t i = 0; i != count; ++i)
    scores[i] = float(
        getCosine(embeddings.data(), &embeddings[(i + 1) * width], width));
  return {};
}

Result<void> transom::rerankTexts(Session &session, const transom_text &query,
                                  const transom_text *documents, size_t count,
                                  float *scores, size_t &cut) {
  const Model &model = session.model();
  cut = 0;
  if (!model.tokenizer())
    return unsupported("the model has no tokenizer");
  if (const Model::TextUse *use = model.classification(); use && !use->perToken)
    return rerankPairs(session, *use, query, documents, count, scores, cut);
  if (const Model::TextUse *use = model.embedding(); use && use->perToken)
    return rerankEmbeddings(session, size_t(use->width), query, documents,
                            count, scores, cut);
  return unsupported("the model scores no pairs and embeds no texts; its head "
                     "is '" +
                     model.manifest().head + "'");
}
