// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Texts are taken in windows, sorted by length within one, and put into batches
// whose columns are those of the longest. Sums over the rows of a text run in
// double, in the order of its tokens.
#include "runtime/text/Text.h"
#include "runtime/base/Utf8.h"
#include <algorithm>
#include <cmath>
#include <numeric>

using namespace transom;

static std::string_view getView(const transom_text &text) {
  return text.size ? std::string_view(text.data, text.size)
                   : std::string_view();
}

/// An error if the unknown token stands for anything in the texts.
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
    return unsupported("the model has no tokenizer");
  EncodeOptions how;
  how.addSpecial = !options.no_special;
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

namespace {

/// Takes the encoder's rows of one text: the first of them, their number (1 for
/// a result without a token dimension).
using TakeRows =
    std::function<void(size_t text, const float *rows, size_t count)>;

/// Runs one window of texts through the encoder.
class TextBatcher {
public:
  TextBatcher(Session &session, const Model::TextUse &use)
      : session(session), use(use) {
    const auto &limit = use.entry->manifest->positionLimit;
    if (limit && limit->rule == "nonpad_rank")
      padding = limit->pad;
  }

  void add(size_t text, Encoding encoding) {
    texts.push_back(text);
    encodings.push_back(std::move(encoding));
  }
  size_t size() const { return texts.size(); }

  /// Runs all that were added, and forgets them.
  Result<void> flush(const TakeRows &take) {
    std::vector<size_t> order(texts.size());
    std::iota(order.begin(), order.end(), size_t(0));
    std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
      size_t first = encodings[a].ids.size(), second = encodings[b].ids.size();
      return first != second ? first > second : a < b;
    });
    const SessionConfig &config = session.config();
    for (size_t at = 0; at != order.size();) {
      size_t columns = encodings[order[at]].ids.size();
      if (columns == 0) { // nothing but texts without any token is left
        for (; at != order.size(); ++at)
          take(texts[order[at]], nullptr, 0);
        break;
      }
      size_t batch = std::clamp<size_t>(size_t(config.maxTokens) / columns, 1,
                                        size_t(config.maxBatch));
      batch = std::min(batch, order.size() - at);
      while (encodings[order[at + batch - 1]].ids.empty())
        --batch;
      if (Result<void> done = runBatch(&order[at], batch, columns, take); !done)
        return done;
      at += batch;
    }
    texts.clear();
    encodings.clear();
    return {};
  }

private:
  Result<void> runBatch(const size_t *order, size_t batch, size_t columns,
                        const TakeRows &take);

  Session &session;
  const Model::TextUse &use;
  int64_t padding = 0;
  std::vector<size_t> texts;
  std::vector<Encoding> encodings;
  std::vector<int64_t> ids, mask, types;
};

Result<void> TextBatcher::runBatch(const size_t *order, size_t batch,
                                   size_t columns, const TakeRows &take) {
  ids.assign(batch * columns, padding);
  mask.assign(batch * columns, 0);
  types.assign(batch * columns, 0);
  for (size_t b = 0; b != batch; ++b) {
    const Encoding &encoding = encodings[order[b]];
    size_t begin = b * columns;
    std::copy(encoding.ids.begin(), encoding.ids.end(), ids.begin() + begin);
    std::copy(encoding.typeIds.begin(), encoding.typeIds.end(),
              types.begin() + begin);
    std::fill_n(mask.begin() + begin, encoding.ids.size(), 1);
  }
  transom_tensor inputs[3];
  size_t count = 0;
  for (auto [index, data] :
       {std::pair(use.ids, &ids), {use.mask, &mask}, {use.types, &types}})
    if (index >= 0) {
      transom_tensor &tensor = inputs[count++];
      tensor = {};
      tensor.name = use.entry->inputs[size_t(index)].name.c_str();
      tensor.dtype = TRANSOM_DTYPE_I64;
      tensor.rank = 2;
      tensor.shape[0] = int64_t(batch);
      tensor.shape[1] = int64_t(columns);
      tensor.data = data->data();
      tensor.capacity = data->size() * sizeof(int64_t);
    }
  Result<void> done =
      session.run(use.entry->manifest->name.c_str(), inputs, count, nullptr, 0);
  if (!done)
    return done;
  auto rows = static_cast<const float *>(
      session.executor().heldResult(*use.entry, size_t(use.result), 1));
  size_t stride = size_t(use.width) * (use.perToken ? columns : 1);
  for (size_t b = 0; b != batch; ++b)
    take(texts[order[b]], rows + b * stride,
         use.perToken ? encodings[order[b]].ids.size() : 1);
  return {};
}

Error inText(size_t index, size_t count, Error error) {
  if (count > 1)
    error.message = "text " + std::to_string(index) + ": " + error.message;
  return error;
}

/// Encodes all texts and hands each one's rows to `take`.
Result<void> runTexts(Session &session, const Model::TextUse &use,
                      const transom_text *texts, const transom_text *pairs,
                      size_t count, size_t &cut, const TakeRows &take) {
  if (!session.config().holdResults)
    return usageError("texts need a session that holds results");
  constexpr size_t batchesPerWindow = 16;
  size_t window = size_t(session.config().maxBatch) * batchesPerWindow;
  TextBatcher batcher(session, use);
  cut = 0;
  for (size_t i = 0; i != count; ++i) {
    Result<Encoding> encoding =
        encodeText(session.model(), texts[i], pairs ? &pairs[i] : nullptr,
                   transom_tokenize_options{});
    if (!encoding)
      return inText(i, count, encoding.takeError());
    cut += encoding->truncatedTokens != 0;
    batcher.add(i, std::move(*encoding));
    if (batcher.size() < window)
      continue;
    if (Result<void> done = batcher.flush(take); !done)
      return done;
  }
  return batcher.flush(take);
}

LabelScores getLabelScores(const Model &model) {
  std::string problem = model.manifest().problemType.value_or("");
  if (problem == "regression")
    return LabelScores::Raw;
  return model.classification()->width == 1 ||
                 problem == "multi_label_classification"
             ? LabelScores::Sigmoid
             : LabelScores::Softmax;
}

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
  return runTexts(session, *use, texts, nullptr, count, cut,
                  [&](size_t index, const float *rows, size_t tokens) {
                    float *out = embeddings + index * width;
                    if (pooling == "cls" && tokens)
                      std::copy_n(rows, width, out);
                    else
                      poolMean(rows, tokens, width, sums, out);
                    if (normalize)
                      normalizeLength(out, width);
                  });
}

Result<void> transom::classifyTexts(Session &session, const transom_text *texts,
                                    const transom_text *pairs, size_t count,
                                    float *scores, size_t &cut) {
  const Model &model = session.model();
  const Model::TextUse *use = model.classification();
  if (!model.tokenizer())
    return unsupported("the model has no tokenizer");
  if (!use || use->perToken)
    return unsupported("the model does not classify texts; its head is '" +
                       model.manifest().head + "'");
  size_t labels = size_t(use->width);
  LabelScores kind = getLabelScores(model);
  return runTexts(session, *use, texts, pairs, count, cut,
                  [&](size_t index, const float *logits, size_t rows) {
                    float *out = scores + index * labels;
                    if (rows)
                      computeLabelScores(logits, labels, kind, out);
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
    return unsupported("the model has no tokenizer");
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
  return runTexts(session, *use, &text, nullptr, 1, cut,
                  [&](size_t, const float *rows, size_t tokens) {
                    for (size_t i = 0; i != tokens; ++i)
                      computeLabelScores(rows + i * labels, labels, kind,
                                         &scores[i * labels]);
                  });
}
