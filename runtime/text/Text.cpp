// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tokenization and classification of texts.
#include "runtime/text/Text.h"
#include "runtime/base/Utf8.h"
#include "runtime/text/TextBatches.h"
#include <algorithm>
#include <cmath>

using namespace transom;

std::string_view transom::getView(const transom_text &text) {
  return text.size ? std::string_view(text.data, text.size)
                   : std::string_view();
}

bool transom::isStaticEmbedding(const Model &model) {
  const auto &text = model.manifest().text;
  return text && text->pipeline && text->pipeline->isStatic;
}

/// Returns an error if a part of the texts became the unknown token.
static Result<void> checkKnown(const Tokenizer &tokenizer,
                               const Encoding &encoding, std::string_view text,
                               std::optional<std::string_view> pair) {
  const uint32_t unknown = tokenizer.data().parameters().unknownId;
  for (size_t i = 0; i != encoding.ids.size(); ++i) {
    if (encoding.ids[i] != int64_t(unknown) || encoding.specialMask[i])
      continue;
    const TokenOffsets &place = encoding.offsets[i];
    const std::string_view whole = encoding.sequence[i] ? *pair : text;
    const std::string unknownText(
        whole.substr(place.begin, place.end - place.begin));
    return rejected("the tokenizer has no token for '" +
                    utf8::printable(unknownText) + "'");
  }
  return {};
}

Result<Encoding> transom::encodeText(const Model &model,
                                     const transom_text &text,
                                     const transom_text *pair,
                                     const transom_tokenize_options &options) {
  if (!model.tokenizer())
    return model.noTokenizer();
  EncodeOptions how;
  how.addSpecial = !options.no_special && !isStaticEmbedding(model);
  how.maxLength = options.no_truncation ? 0 : model.maxTextTokens();
  std::optional<std::string_view> second;
  if (pair && pair->data)
    second = getView(*pair);
  if (options.language) {
    TRANSOM_ASSIGN(how.language,
                   model.tokenizer()->findLanguage(options.language));
  }
  const Tokenizer &tokenizer =
      options.target ? model.tokenizer()->getTarget() : *model.tokenizer();
  TRANSOM_ASSIGN(Encoding encoding,
                 tokenizer.encode(getView(text), second, how));
  if (const auto &text = model.manifest().text; text && !text->givesTypes)
    encoding.typeIds.assign(encoding.ids.size(), 0);
  if (options.refuse_unknown)
    TRANSOM_TRY(checkKnown(tokenizer, encoding, getView(text), second));
  return encoding;
}

void transom::computeLabelScores(const float *logits, size_t labels,
                                 LabelScores kind, float *scores) {
  if (kind == LabelScores::Raw) {
    std::copy_n(logits, labels, scores);
    return;
  }
  double maximum = *std::max_element(logits, logits + labels);
  double sum = 0;
  for (size_t i = 0; i != labels; ++i)
    sum += std::exp(double(logits[i]) - maximum);
  for (size_t i = 0; i != labels; ++i) {
    double value = logits[i];
    scores[i] =
        float(kind == LabelScores::Sigmoid ? 1 / (1 + std::exp(-value))
                                           : std::exp(value - maximum) / sum);
  }
}

static LabelScores getLabelScores(const Model &model) {
  std::string problem = model.manifest().problemType.value_or("");
  if (problem == "regression")
    return LabelScores::Raw;
  return model.classification()->width == 1 ||
                 problem == "multi_label_classification"
             ? LabelScores::Sigmoid
             : LabelScores::Softmax;
}

Result<size_t> transom::getTextLabels(const Model &model) {
  const Model::TextUse *use = model.classification();
  if (!model.tokenizer())
    return model.noTokenizer();
  if (!use || use->perToken)
    return unsupported("the model does not classify texts; its head is '" +
                       model.manifest().head + "'");
  return size_t(use->width);
}

Result<void> transom::classifyTexts(Session &session, const transom_text *texts,
                                    const transom_text *pairs, size_t count,
                                    float *scores, size_t &cut) {
  const Model &model = session.model();
  TRANSOM_ASSIGN(const size_t labels, getTextLabels(model));
  LabelScores kind = getLabelScores(model);
  return runTexts(session, {*model.classification()}, texts, pairs, count, cut,
                  [&](const TextRows &found) {
                    float *out = scores + found.text * labels;
                    if (found.count)
                      computeLabelScores(found.rows[0], labels, kind, out);
                    else
                      std::fill_n(out, labels, 0.0f);
                  });
}

Result<void> transom::classifyTokens(Session &session, const transom_text &text,
                                     Encoding &encoding,
                                     std::vector<float> &scores) {
  const Model &model = session.model();
  const Model::TextUse *use = model.classification();
  if (!model.tokenizer())
    return model.noTokenizer();
  if (!use || !use->perToken)
    return unsupported("the model does not classify tokens; its head is '" +
                       model.manifest().head + "'");
  TRANSOM_ASSIGN(Encoding encoded,
                 encodeText(model, text, nullptr, transom_tokenize_options{}));
  encoding = std::move(encoded);
  size_t labels = size_t(use->width);
  LabelScores kind = getLabelScores(model);
  scores.assign(encoding.ids.size() * labels, 0);
  size_t cut;
  return runTexts(session, {*use}, &text, nullptr, 1, cut,
                  [&](const TextRows &found) {
                    for (size_t i = 0; i != found.count; ++i)
                      computeLabelScores(found.rows[0] + i * labels, labels,
                                         kind, &scores[i * labels]);
                  });
}
