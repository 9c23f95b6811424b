// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Embeddings of texts. Sums over the rows of a text run in double, in the order
// of its tokens.
#include "runtime/text/Text.h"
#include "runtime/text/TextBatches.h"
#include <algorithm>
#include <cmath>

using namespace transom;

namespace {

/// Mean of the rows, in the order of the tokens.
void poolMean(const float *rows, size_t count, size_t width,
              std::vector<double> &sums, float *out) {
  sums.assign(width, 0);
  for (size_t row = 0; row != count; ++row)
    for (size_t i = 0; i != width; ++i)
      sums[i] += double(rows[row * width + i]);
  double divisor = double(std::max<size_t>(1, count));
  for (size_t i = 0; i != width; ++i)
    out[i] = float(sums[i] / divisor);
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

Result<void> transom::embedTexts(Session &session, const transom_text *texts,
                                 size_t count,
                                 const transom_embed_options &options,
                                 float *embeddings, size_t &cut) {
  const Model &model = session.model();
  const Model::TextUse *use = model.embedding();
  if (!model.tokenizer())
    return unsupported("the model has no tokenizer");
  if (!use || !use->perToken)
    return unsupported("the model does not embed texts; its head is '" +
                       model.manifest().head + "'");
  const auto &text = model.manifest().text;
  std::string pooling = text && !text->pooling.empty() ? text->pooling : "mean";
  if (options.pooling == TRANSOM_POOLING_MEAN)
    pooling = "mean";
  else if (options.pooling == TRANSOM_POOLING_CLS)
    pooling = "cls";
  else if (options.pooling != TRANSOM_POOLING_FROM_MODEL)
    return usageError("pooling is TRANSOM_POOLING_FROM_MODEL, 1 or 2, got " +
                      std::to_string(int(options.pooling)));
  if (pooling != "mean" && pooling != "cls")
    return unsupported("unsupported pooling '" + pooling +
                       "'; supported: mean, cls");
  const bool byModel = options.normalize == TRANSOM_FROM_MODEL;
  if (!byModel && (options.normalize < 0 || options.normalize > 1))
    return usageError("normalize is 0, 1 or TRANSOM_FROM_MODEL, got " +
                      std::to_string(options.normalize));
  bool normalize = byModel ? !text || text->normalize : options.normalize != 0;
  size_t width = size_t(use->width);
  std::vector<double> sums;
  return runTexts(session, {*use}, texts, nullptr, count, cut,
                  [&](const TextRows &found) {
                    float *out = embeddings + found.text * width;
                    const float *rows = found.rows[0];
                    if (pooling == "cls" && found.count)
                      std::copy_n(rows, width, out);
                    else
                      poolMean(rows, found.count, width, sums, out);
                    if (normalize)
                      normalizeLength(out, width);
                  });
}
