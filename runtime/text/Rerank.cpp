// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/text/Rerank.h"
#include "runtime/text/Embed.h"
#include "runtime/text/EmbedTokens.h"
#include "runtime/text/Similarity.h"
#include "runtime/text/Text.h"
#include "runtime/text/TextBatches.h"
#include <algorithm>
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

/// Options with the first of these prompts that the model has.
static transom_embed_options
usePrompt(const ManifestPipeline *pipeline,
          std::initializer_list<const char *> names) {
  transom_embed_options options = transom_embed_options_default();
  for (const char *name : names)
    for (size_t i = 0; pipeline && i != pipeline->prompts.size(); ++i)
      if (!options.prompt_name && pipeline->prompts[i].first == name)
        options.prompt_name = name;
  return options;
}

/// Compares the embeddings of query and documents, each with its prompt.
static Result<void> rerankEmbeddings(Session &session,
                                     const transom_text &query,
                                     const transom_text *documents,
                                     size_t count, float *scores, size_t &cut) {
  const Model &model = session.model();
  const auto &text = model.manifest().text;
  const ManifestPipeline *pipeline =
      text && text->pipeline ? &*text->pipeline : nullptr;
  const transom_embed_options asked = usePrompt(pipeline, {"query"}),
                              given = usePrompt(
                                  pipeline, {"document", "passage", "corpus"});
  TRANSOM_ASSIGN(size_t width, getEmbeddingSize(model, asked));
  std::vector<float> first(width), others(count * width);
  size_t cutQueries = 0;
  TRANSOM_TRY(embedTexts(session, &query, 1, asked, first.data(), cutQueries));
  TRANSOM_TRY(embedTexts(session, documents, count, given, others.data(), cut));
  cut += cutQueries;
  const std::string function = getSimilarityFunction(model);
  for (size_t i = 0; i != count; ++i)
    scores[i] =
        float(getSimilarity(function, first.data(), &others[i * width], width));
  return {};
}

/// Late interaction: each token of the query counts by its closest token of the
/// document.
static Result<void> rerankTokens(Session &session, size_t width,
                                 const transom_text &query,
                                 const transom_text *documents, size_t count,
                                 float *scores, size_t &cut) {
  transom_embed_options options = transom_embed_options_default();
  options.prompt_name = "query";
  TRANSOM_ASSIGN(TokenVectors asked, embedTokens(session, query, options));
  cut += asked.isCut;
  options.prompt_name = "document";
  for (size_t i = 0; i != count; ++i) {
    TRANSOM_ASSIGN(TokenVectors given,
                   embedTokens(session, documents[i], options));
    cut += given.isCut;
    double score = 0;
    for (size_t q = 0; q != asked.ids.size(); ++q) {
      double best = given.ids.empty() ? 0 : -INFINITY;
      for (size_t d = 0; d != given.ids.size(); ++d)
        best = std::max(best, getSimilarity("dot", &asked.vectors[q * width],
                                            &given.vectors[d * width], width));
      score += best;
    }
    scores[i] = float(score);
  }
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
  if (Result<const Model::TextUse *> use = getTokenEmbedding(model))
    return rerankTokens(session, size_t((*use)->width), query, documents, count,
                        scores, cut);
  if (model.embedding() ||
      (model.manifest().text && model.manifest().text->pipeline))
    return rerankEmbeddings(session, query, documents, count, scores, cut);
  return unsupported("the model scores no pairs and embeds no texts; its head "
                     "is '" +
                     model.manifest().head + "'");
}
