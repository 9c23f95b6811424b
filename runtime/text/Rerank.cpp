// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The task is selected by the model: a classifier or pipeline that scores
// pairs, then token embeddings, then text embeddings.
#include "runtime/text/Rerank.h"
#include "runtime/base/Suggest.h"
#include "runtime/base/TorchActivation.h"
#include "runtime/text/Embed.h"
#include "runtime/text/EmbedTokens.h"
#include "runtime/text/Pairs.h"
#include "runtime/text/Similarity.h"
#include "runtime/text/Text.h"
#include "runtime/text/TextBatches.h"
#include <algorithm>
#include <cmath>

using namespace transom;

/// Converts the prompt in a call to embedding options.
static transom_embed_options getAsked(const transom_rerank_options &given) {
  transom_embed_options options = transom_embed_options_default();
  options.prompt = given.prompt;
  options.prompt_name = given.prompt_name;
  return options;
}

/// Returns the activation for pair logits.
static Result<TorchActivation> getScoreActivation(const Manifest &manifest) {
  const std::string name = manifest.scoreActivation.value_or("sigmoid");
  if (name == "sigmoid")
    return TorchActivation::Sigmoid;
  if (name == "identity")
    return TorchActivation::Identity;
  if (const std::optional<TorchActivation> kind = parseTorchActivation(name))
    return *kind;
  return unsupported("unsupported activation of scores '" + name +
                     "'; supported: of torch.nn " +
                     joinNames(getTorchActivationNames()));
}

/// Scores query and document pairs with a cross-encoder.
static Result<void> rerankPairs(Session &session, const Model::TextUse &use,
                                const transom_rerank_options &given,
                                const transom_text &query,
                                const transom_text *documents, size_t count,
                                float *scores, size_t &cut) {
  const Manifest &manifest = session.model().manifest();
  // A pipeline may also return the logit for a false token.
  const bool isPipeline = &use == session.model().pairs();
  if (use.width != 1 && !isPipeline)
    return unsupported("a model that reranks gives one number for a pair; this "
                       "one has " +
                       std::to_string(use.width) + " labels");
  TRANSOM_ASSIGN(const TorchActivation activation,
                 getScoreActivation(manifest));
  TRANSOM_ASSIGN(std::string prompt,
                 getPrompt(session.model(), getAsked(given)));
  TRANSOM_ASSIGN(
      const PairEncoder encoder,
      PairEncoder::create(session.model(), std::move(prompt), query));
  return runEncoded(
      session, {use}, count,
      [&](size_t i) { return encoder.encode(documents[i]); }, cut,
      [&](const TextRows &found) {
        scores[found.text] = 0;
        if (!found.count)
          return;
        const float *logits = found.rows[0];
        const float logit = use.width == 1 ? logits[0] : logits[0] - logits[1];
        scores[found.text] = float(applyTorchActivation(activation, logit));
      });
}

/// Returns options with the first of these prompts that the model has.
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

/// Scores documents by embedding similarity; query and documents have their own
/// prompts.
static Result<void> rerankEmbeddings(Session &session,
                                     const transom_rerank_options &options,
                                     const transom_text &query,
                                     const transom_text *documents,
                                     size_t count, float *scores, size_t &cut) {
  const Model &model = session.model();
  const auto &text = model.manifest().text;
  const ManifestPipeline *pipeline =
      text && text->pipeline ? &*text->pipeline : nullptr;
  transom_embed_options asked = usePrompt(pipeline, {"query"});
  if (options.prompt || options.prompt_name)
    asked = getAsked(options);
  const transom_embed_options given =
      usePrompt(pipeline, {"document", "passage", "corpus"});
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

/// Late interaction: each query token contributes its best similarity with a
/// document token.
static Result<void> rerankTokens(Session &session, size_t width,
                                 const transom_rerank_options &given,
                                 const transom_text &query,
                                 const transom_text *documents, size_t count,
                                 float *scores, size_t &cut) {
  if (given.prompt || given.prompt_name)
    return usageError("a model of late interaction has its own prompts for "
                      "queries and documents; it takes no other prompt");
  transom_embed_options options = transom_embed_options_default();
  options.prompt_name = "query";
  TRANSOM_ASSIGN(TokenVectors asked, embedTokens(session, query, options));
  cut += asked.isCut;
  options.prompt_name = "document";
  auto take = [&](size_t i, const TokenVectors &found) {
    cut += found.isCut;
    double score = 0;
    for (size_t q = 0; q != asked.ids.size(); ++q) {
      double best = found.ids.empty() ? 0 : -INFINITY;
      for (size_t d = 0; d != found.ids.size(); ++d)
        best = std::max(best, getSimilarity("dot", &asked.vectors[q * width],
                                            &found.vectors[d * width], width));
      score += best;
    }
    scores[i] = float(score);
  };
  return embedTokens(session, documents, count, options, {}, take);
}

Result<void> transom::rerankTexts(Session &session, const transom_text &query,
                                  const transom_text *documents, size_t count,
                                  const transom_rerank_options &options,
                                  float *scores, size_t &cut) {
  const Model &model = session.model();
  cut = 0;
  if (!model.tokenizer())
    return model.noTokenizer();
  if (const Model::TextUse *use = model.classification(); use && !use->perToken)
    return rerankPairs(session, *use, options, query, documents, count, scores,
                       cut);
  if (const auto &text = model.manifest().text; text && text->pairs) {
    if (!text->pairs->refusal.empty())
      return unsupported(text->pairs->refusal);
    if (model.pairs())
      return rerankPairs(session, *model.pairs(), options, query, documents,
                         count, scores, cut);
  }
  if (Result<const Model::TextUse *> use = getTokenEmbedding(model))
    return rerankTokens(session, size_t((*use)->width), options, query,
                        documents, count, scores, cut);
  if (model.embedding() ||
      (model.manifest().text && model.manifest().text->pipeline))
    return rerankEmbeddings(session, options, query, documents, count, scores,
                            cut);
  return unsupported("the model scores no pairs and embeds no texts; its head "
                     "is '" +
                     model.manifest().head + "'");
}
