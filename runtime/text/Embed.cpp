// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Text embeddings. A pipeline entry computes them directly; otherwise they
// are pooled here, and sums over the rows for a text run in double, in token
// order.
#include "runtime/text/Embed.h"
#include "runtime/base/Suggest.h"
#include "runtime/text/TextBatches.h"
#include "runtime/text/Windows.h"
#include <algorithm>
#include <cmath>
#include <numeric>

using namespace transom;

namespace {

/// Averages the rows, in token order.
void poolMean(const float *rows, size_t count, size_t width,
              std::vector<double> &sums, float *out) {
  sums.assign(width, 0);
  double *sum = sums.data();
  for (size_t row = 0; row != count; ++row)
    for (size_t i = 0; i != width; ++i)
      sum[i] += double(rows[row * width + i]);
  double divisor = double(std::max<size_t>(1, count));
  for (size_t i = 0; i != width; ++i)
    out[i] = float(sum[i] / divisor);
}

void normalizeLength(float *values, size_t width) {
  double sum = 0;
  for (size_t i = 0; i != width; ++i)
    sum += double(values[i]) * double(values[i]);
  double length = std::max(std::sqrt(sum), 1e-12);
  for (size_t i = 0; i != width; ++i)
    values[i] = float(double(values[i]) / length);
}

} // namespace

/// Returns the model's pipeline, or null.
static const ManifestPipeline *getPipeline(const Model &model) {
  const auto &text = model.manifest().text;
  return text && text->pipeline ? &*text->pipeline : nullptr;
}

static bool isNormalized(const Model &model) {
  const auto &text = model.manifest().text;
  return !text || text->normalize;
}

/// Returns the model's embedding entry for texts.
static Result<const Model::TextUse *> getEmbedding(const Model &model) {
  const ManifestPipeline *pipeline = getPipeline(model);
  if (pipeline && !pipeline->refusal.empty())
    return unsupported(pipeline->refusal);
  if (!model.tokenizer())
    return model.noTokenizer();
  const Model::TextUse *use = model.embedding();
  if (!use || (!pipeline && !use->perToken))
    return unsupported("the model does not embed texts; its head is '" +
                       model.manifest().head + "'");
  if (pipeline && use->perToken)
    return unsupported("the model embeds each token of a text; "
                       "transom_session_embed_tokens() gives their vectors");
  return use;
}

Result<const Model::TextUse *> transom::getTokenEmbedding(const Model &model) {
  const ManifestPipeline *pipeline = getPipeline(model);
  if (pipeline && !pipeline->refusal.empty())
    return unsupported(pipeline->refusal);
  if (!model.tokenizer())
    return model.noTokenizer();
  const Model::TextUse *use = model.embedding();
  if (!pipeline || !use || !use->perToken)
    return unsupported("the model does not embed the tokens of texts");
  return use;
}

Result<size_t> transom::getEmbeddingSize(const Model &model,
                                         const transom_embed_options &options) {
  TRANSOM_ASSIGN(const Model::TextUse *use, getEmbedding(model));
  const auto width = static_cast<size_t>(use->width);
  if (options.dim > width)
    return usageError("embeddings have " + std::to_string(width) +
                      " numbers, fewer than the dim of " +
                      std::to_string(options.dim));
  if (options.dim)
    return size_t(options.dim);
  const ManifestPipeline *pipeline = getPipeline(model);
  return pipeline && pipeline->dim ? std::min(width, size_t(pipeline->dim))
                                   : width;
}

namespace {

/// Settings for one call.
struct EmbedPlan {
  std::string pooling; ///< empty: by the pipeline
  bool normalize = false;
  bool normalizeMean = false; ///< if a text has several windows
  std::string prompt;
};

Result<std::string> getPooling(const Model &model,
                               const transom_embed_options &options) {
  const auto &text = model.manifest().text;
  if (options.pooling == TRANSOM_POOLING_MEAN)
    return std::string("mean");
  if (options.pooling == TRANSOM_POOLING_CLS)
    return std::string("cls");
  if (options.pooling != TRANSOM_POOLING_FROM_MODEL)
    return usageError("pooling is TRANSOM_POOLING_FROM_MODEL, 1 or 2, got " +
                      std::to_string(int(options.pooling)));
  std::string pooling = text && !text->pooling.empty() ? text->pooling : "mean";
  if (pooling != "mean" && pooling != "cls")
    return unsupported("unsupported pooling '" + pooling +
                       "'; supported: mean, cls");
  return pooling;
}

} // namespace

Result<std::string> transom::getPrompt(const Model &model,
                                       const transom_embed_options &options) {
  if (options.prompt)
    return std::string(options.prompt);
  const ManifestPipeline *pipeline = getPipeline(model);
  std::string name = options.prompt_name ? options.prompt_name
                     : pipeline          ? pipeline->defaultPrompt
                                         : "";
  if (name.empty() && !options.prompt_name)
    return std::string();
  std::vector<std::string> names;
  if (pipeline)
    for (const auto &[known, prompt] : pipeline->prompts) {
      if (known == name)
        return prompt;
      names.push_back(known);
    }
  return usageError("the model has no prompt '" + name + "'" +
                    (names.empty() ? "" : "; it has: " + joinNames(names)));
}

namespace {

Result<EmbedPlan> makePlan(const Model &model,
                           const transom_embed_options &options) {
  const bool byModel = options.normalize == TRANSOM_FROM_MODEL;
  if (!byModel && (options.normalize < 0 || options.normalize > 1))
    return usageError("normalize is 0, 1 or TRANSOM_FROM_MODEL, got " +
                      std::to_string(options.normalize));
  EmbedPlan plan;
  plan.normalizeMean = byModel ? isNormalized(model) : options.normalize != 0;
  TRANSOM_ASSIGN(plan.prompt, getPrompt(model, options));
  if (!getPipeline(model)) {
    TRANSOM_ASSIGN(plan.pooling, getPooling(model, options));
    plan.normalize = byModel ? isNormalized(model) : options.normalize != 0;
    return plan;
  }
  if (options.pooling != TRANSOM_POOLING_FROM_MODEL)
    return usageError("the model's pipeline says how tokens are pooled; "
                      "pooling cannot be chosen");
  if (options.normalize == 0 && options.dim == 0)
    return usageError("the model's pipeline says whether embeddings are "
                      "normalized; that can be chosen with a dim only");
  // A truncated vector has another length.
  plan.normalize =
      byModel ? options.dim && isNormalized(model) : options.normalize != 0;
  return plan;
}

/// Returns how many tokens a prompt adds before a text: its token
/// count, without a special or unknown token at the end.
Result<size_t> countPromptTokens(const Model &model,
                                 const std::string &prompt) {
  if (prompt.empty())
    return size_t(0);
  TRANSOM_ASSIGN(Encoding encoding,
                 encodeText(model, {prompt.data(), prompt.size()}, nullptr,
                            transom_tokenize_options{}));
  const std::vector<int64_t> &ids = encoding.ids;
  const auto unknown =
      int64_t(model.tokenizer()->data().parameters().unknownId);
  if (ids.empty() ||
      (!model.tokenizer()->isSpecial(ids.back()) && ids.back() != unknown))
    return ids.size();
  return ids.size() - 1;
}

/// Texts with a common prompt.
class PromptedTexts {
public:
  PromptedTexts(const std::string &prompt, const transom_text *texts,
                size_t count)
      : given(texts) {
    if (prompt.empty())
      return;
    for (size_t i = 0; i != count; ++i) {
      joined.push_back(prompt);
      if (texts[i].size)
        joined.back().append(texts[i].data, texts[i].size);
    }
    for (const std::string &text : joined)
      views.push_back({text.data(), text.size()});
  }
  const transom_text *get() const { return views.empty() ? given : &views[0]; }

private:
  const transom_text *given;
  std::vector<std::string> joined;
  std::vector<transom_text> views;
};

} // namespace

/// Sets all elements to zero except for the `count` largest by magnitude.
static void keepLargest(std::vector<float> &numbers, size_t count) {
  if (count >= numbers.size())
    return;
  std::vector<size_t> order(numbers.size());
  std::iota(order.begin(), order.end(), size_t(0));
  std::nth_element(order.begin(), order.begin() + count, order.end(),
                   [&](size_t a, size_t b) {
                     const float x = std::fabs(numbers[a]);
                     const float y = std::fabs(numbers[b]);
                     return x != y ? x > y : a < b;
                   });
  for (size_t i = count; i != order.size(); ++i)
    numbers[order[i]] = 0;
}

namespace {

/// Embeds the texts in one call.
class TextEmbedder {
public:
  TextEmbedder(Session &session, const Model::TextUse &use,
               const EmbedPlan &plan)
      : session(session), use(use), plan(plan), width(size_t(use.width)) {
    if (const ManifestPipeline *pipeline = getPipeline(session.model()))
      active = size_t(pipeline->maxActive);
  }

  /// Writes the first `size` elements in each text's embedding.
  Result<void> embedWhole(const transom_text *texts, size_t count, size_t size,
                          float *out, size_t &cut);
  Result<void> embedWindows(const transom_text *texts, size_t count,
                            const transom_embed_options &options, size_t size,
                            float *out);

private:
  void takeVector(const TextRows &rows, float *out);
  /// Averages a text's window vectors, weighted by token count.
  void mergeWindows(const std::vector<TextWindow> &windows, size_t begin,
                    size_t end, const float *vectors);
  void finish(bool normalize, size_t size, float *out);

  Session &session;
  const Model::TextUse &use;
  const EmbedPlan &plan;
  const size_t width;
  size_t active = 0;
  std::vector<float> whole;
  std::vector<double> sums;
};

} // namespace

/// Computes the vector for a text or window before truncation.
void TextEmbedder::takeVector(const TextRows &rows, float *out) {
  const float *first = rows.rows[0];
  if (!first)
    std::fill_n(out, width, 0.0f);
  else if (plan.pooling == "mean")
    poolMean(first, rows.count, width, sums, out);
  else
    std::copy_n(first, width, out);
}

void TextEmbedder::finish(bool normalize, size_t size, float *out) {
  if (active)
    keepLargest(whole, active);
  std::copy_n(whole.data(), size, out);
  if (normalize)
    normalizeLength(out, size);
}

Result<void> TextEmbedder::embedWhole(const transom_text *texts, size_t count,
                                      size_t size, float *out, size_t &cut) {
  whole.resize(width);
  return runTexts(session, {use}, texts, nullptr, count, cut,
                  [&](const TextRows &rows) {
                    takeVector(rows, whole.data());
                    finish(plan.normalize, size, out + rows.text * size);
                  });
}

/// Averages in text order for all batch splits.
void TextEmbedder::mergeWindows(const std::vector<TextWindow> &windows,
                                size_t begin, size_t end,
                                const float *vectors) {
  whole.assign(vectors + begin * width, vectors + (begin + 1) * width);
  if (end == begin + 1)
    return;
  sums.assign(width, 0);
  double total = 0;
  for (size_t w = begin; w != end; ++w) {
    const auto weight = double(windows[w].own);
    total += weight;
    for (size_t i = 0; i != width; ++i)
      sums[i] += weight * double(vectors[w * width + i]);
  }
  for (size_t i = 0; i != width; ++i)
    whole[i] = float(sums[i] / total);
}

Result<void> TextEmbedder::embedWindows(const transom_text *texts, size_t count,
                                        const transom_embed_options &options,
                                        size_t size, float *out) {
  // Split the texts; `begins` contains each text's first window.
  std::vector<TextWindow> windows;
  std::vector<size_t> begins = {0};
  transom_tokenize_options uncut = transom_tokenize_options_default();
  uncut.no_truncation = 1;
  for (size_t i = 0; i != count; ++i) {
    auto split = [&]() -> Result<std::vector<TextWindow>> {
      TRANSOM_ASSIGN(const Encoding encoding,
                     encodeText(session.model(), texts[i], nullptr, uncut));
      return splitIntoWindows(encoding, plan.prompt.size(), options.chunk,
                              options.overlap);
    };
    Result<std::vector<TextWindow>> found = split();
    if (!found)
      return inText(i, count, found.takeError());
    std::move(found->begin(), found->end(), std::back_inserter(windows));
    begins.push_back(windows.size());
  }

  // Run all windows.
  std::vector<float> vectors(windows.size() * width);
  size_t cut = 0;
  TRANSOM_TRY(runEncoded(
      session, {use}, windows.size(),
      [&](size_t w) { return Result<Encoding>(windows[w].encoding); }, cut,
      [&](const TextRows &rows) {
        takeVector(rows, &vectors[rows.text * width]);
      }));
  // Average and write each text's windows.
  for (size_t i = 0; i != count; ++i) {
    mergeWindows(windows, begins[i], begins[i + 1], vectors.data());
    const bool isMean = begins[i + 1] != begins[i] + 1;
    finish(isMean ? plan.normalizeMean : plan.normalize, size, out + i * size);
  }
  return {};
}

/// Checks the options for windows.
static Result<void> checkChunk(const Model &model,
                               const transom_embed_options &options) {
  if (!options.chunk)
    return options.overlap
               ? Result<void>(usageError("an overlap needs a chunk"))
               : Result<void>();
  const size_t most = model.maxTextTokens();
  if (most && options.chunk > most)
    return usageError("a chunk of " + std::to_string(options.chunk) +
                      " tokens; the model takes " + std::to_string(most) +
                      " at most");
  const ManifestPipeline *pipeline = getPipeline(model);
  if (pipeline && pipeline->entry == "sparse")
    return usageError("sparse embeddings have no chunks");
  return {};
}

Result<void> transom::embedTexts(Session &session, const transom_text *texts,
                                 size_t count,
                                 const transom_embed_options &options,
                                 float *embeddings, size_t &cut) {
  const Model &model = session.model();
  TRANSOM_ASSIGN(const Model::TextUse *found, getEmbedding(model));
  TRANSOM_ASSIGN(const size_t size, getEmbeddingSize(model, options));
  TRANSOM_ASSIGN(const EmbedPlan plan, makePlan(model, options));
  TRANSOM_TRY(checkChunk(model, options));
  Model::TextUse use = *found;
  if (use.pooled >= 0) {
    TRANSOM_ASSIGN(use.skipped, countPromptTokens(model, plan.prompt));
  }
  const PromptedTexts prompted(plan.prompt, texts, count);
  TextEmbedder embedder(session, use, plan);
  cut = 0;
  return options.chunk ? embedder.embedWindows(prompted.get(), count, options,
                                               size, embeddings)
                       : embedder.embedWhole(prompted.get(), count, size,
                                             embeddings, cut);
}
