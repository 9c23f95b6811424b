// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each window yields candidates with a score that is the product of their start
// and end probabilities. Candidates with the same text, ignoring case, are one
// answer; their scores are added.
#include "runtime/text/Answers.h"
#include "runtime/base/Utf8.h"
#include "runtime/text/Text.h"
#include "runtime/text/TextBatches.h"
#include "runtime/tokenizer/Unicode.h"
#include <algorithm>
#include <cmath>

using namespace transom;

namespace {

bool isContext(const Encoding &window, size_t token) {
  return window.sequence[token] == 1;
}

/// Returns the softmax over the context and the first token; 0 elsewhere.
std::vector<double> getProbabilities(const Encoding &window,
                                     const float *logits) {
  std::vector<double> values(window.ids.size());
  double maximum = -INFINITY, sum = 0;
  auto isCandidate = [&](size_t i) {
    return isContext(window, i) || (i == 0 && window.specialMask[0]);
  };
  for (size_t i = 0; i != values.size(); ++i)
    if (isCandidate(i))
      maximum = std::max(maximum, double(logits[i]));
  for (size_t i = 0; i != values.size(); ++i)
    if (isCandidate(i))
      sum += values[i] = std::exp(double(logits[i]) - maximum);
  for (double &value : values)
    value /= sum;
  return values;
}

bool isBetter(const AnswerSpan &a, const AnswerSpan &b) {
  if (a.score != b.score)
    return a.score > b.score;
  return a.first != b.first ? a.first < b.first : a.last < b.last;
}

} // namespace

std::vector<AnswerSpan> transom::findSpans(const Encoding &window,
                                           const float *start, const float *end,
                                           size_t most, size_t longest,
                                           double &impossible) {
  const std::vector<double> starts = getProbabilities(window, start),
                            ends = getProbabilities(window, end);
  impossible = starts[0] * ends[0];
  std::vector<AnswerSpan> best; // a heap; its worst span is in front
  for (size_t first = 0; first != starts.size(); ++first) {
    if (!isContext(window, first))
      continue;
    for (size_t last = first; last != starts.size() && last - first < longest;
         ++last) {
      if (!isContext(window, last))
        continue;
      const AnswerSpan span = {first, last, starts[first] * ends[last]};
      if (best.size() == most) {
        if (!isBetter(span, best.front()))
          continue;
        std::pop_heap(best.begin(), best.end(), isBetter);
        best.pop_back();
      }
      best.push_back(span);
      std::push_heap(best.begin(), best.end(), isBetter);
    }
  }
  std::sort_heap(best.begin(), best.end(), isBetter);
  return best;
}

/// Returns the encoding without context tokens outside [begin, end), which are
/// indices into the context.
static Encoding takeWindow(const Encoding &pair, size_t begin, size_t end) {
  Encoding window;
  size_t context = 0;
  for (size_t i = 0; i != pair.ids.size(); ++i) {
    if (isContext(pair, i)) {
      const size_t at = context++;
      if (at < begin || at >= end)
        continue;
    }
    window.ids.push_back(pair.ids[i]);
    window.typeIds.push_back(pair.typeIds[i]);
    window.offsets.push_back(pair.offsets[i]);
    window.specialMask.push_back(pair.specialMask[i]);
    window.sequence.push_back(pair.sequence[i]);
    window.words.push_back(pair.words[i]);
  }
  return window;
}

Result<std::vector<Encoding>>
transom::makeWindows(const Encoding &pair, size_t length, size_t overlap) {
  const size_t context =
      size_t(std::count(pair.sequence.begin(), pair.sequence.end(), 1));
  const size_t others = pair.ids.size() - context;
  std::vector<Encoding> windows;
  if (pair.ids.size() <= length) {
    windows.push_back(pair);
    return windows;
  }
  if (others + overlap >= length)
    return limitError(
        "the question and " + std::to_string(overlap) +
        " tokens that windows share leave no room in windows of " +
        std::to_string(length) + " tokens; the question has " +
        std::to_string(others) + " with special tokens");
  const size_t room = length - others;
  for (size_t begin = 0;; begin += room - overlap) {
    const size_t end = std::min(begin + room, context);
    windows.push_back(takeWindow(pair, begin, end));
    if (end == context)
      return windows;
  }
}

/// Returns the byte range of a span, extended to complete words if requested;
/// words end at the window's borders.
static TokenOffsets getBytes(const Encoding &window, const AnswerSpan &span,
                             bool wholeWords) {
  auto isSameWord = [&](size_t a, size_t b) {
    return isContext(window, b) && window.words[a] == window.words[b];
  };
  size_t first = span.first, last = span.last;
  while (wholeWords && first && isSameWord(first, first - 1))
    --first;
  while (wholeWords && last + 1 != window.ids.size() &&
         isSameWord(last, last + 1))
    ++last;
  return {window.offsets[first].begin, window.offsets[last].end};
}

static std::string getLowercase(std::string_view text) {
  std::string lower;
  for (size_t position = 0; position < text.size();) {
    const unicode::Image image =
        unicode::lowercase(utf8::decode(text, position));
    for (unsigned i = 0; i != image.size; ++i)
      utf8::append(lower, image.codes[i]);
  }
  return lower;
}

namespace {
/// Collects the answers from all windows.
class AnswerList {
public:
  AnswerList(std::string_view context, const transom_answer_options &options)
      : context(context), options(options) {}

  void add(const Encoding &window, const float *start, const float *end) {
    const bool wholeWords = !options.cut_words;
    // Request more candidates than answers, since some are joined by words and
    // texts.
    const size_t most = wholeWords ? options.top_k * 2 + 10 : options.top_k;
    double none = 0;
    for (const AnswerSpan &span :
         findSpans(window, start, end, most, options.max_answer_tokens, none)) {
      const TokenOffsets bytes = getBytes(window, span, wholeWords);
      add(bytes, span.score);
    }
    impossible = std::min(impossible, none);
  }

  std::vector<transom_answer> take() {
    if (options.may_be_impossible)
      found.push_back({"", impossible, {0, 0}});
    std::stable_sort(
        found.begin(), found.end(),
        [](const auto &a, const auto &b) { return a.score > b.score; });
    found.resize(std::min(found.size(), options.top_k));
    std::vector<transom_answer> answers;
    for (const Found &each : found)
      answers.push_back({float(each.score), each.bytes.begin, each.bytes.end});
    return answers;
  }

private:
  struct Found {
    std::string text; ///< in lower case
    double score;
    TokenOffsets bytes;
  };

  void add(TokenOffsets bytes, double score) {
    std::string text =
        getLowercase(context.substr(bytes.begin, bytes.end - bytes.begin));
    for (Found &each : found)
      if (each.text == text) {
        each.score += score;
        return;
      }
    found.push_back({std::move(text), score, bytes});
  }

  std::string_view context;
  transom_answer_options options;
  std::vector<Found> found;
  double impossible = INFINITY;
};
} // namespace

/// Replaces zero options with defaults, and checks the window sizes.
static Result<transom_answer_options>
readAnswerOptions(const Model &model, transom_answer_options options) {
  const size_t longest = model.maxTextTokens();
  if (!options.top_k)
    options.top_k = 1;
  if (!options.max_answer_tokens)
    options.max_answer_tokens = 15;
  if (!options.window)
    options.window = longest ? std::min<size_t>(longest, 384) : 384;
  if (longest && options.window > longest)
    return usageError("windows of " + std::to_string(options.window) +
                      " tokens are longer than the model's maximum of " +
                      std::to_string(longest));
  if (options.overlap == TRANSOM_FROM_MODEL)
    options.overlap = int64_t(std::min<size_t>(options.window / 2, 128));
  if (options.overlap < 0 || options.overlap >= int64_t(options.window))
    return usageError("windows of " + std::to_string(options.window) +
                      " tokens cannot share " +
                      std::to_string(options.overlap));
  return options;
}

Result<std::vector<transom_answer>>
transom::answerQuestion(Session &session, const transom_text &question,
                        const transom_text &context,
                        const transom_answer_options &given) {
  const Model &model = session.model();
  if (!model.tokenizer())
    return model.noTokenizer();
  std::optional<Model::TextUse> start = model.findTextUse("start_logits"),
                                end = model.findTextUse("end_logits");
  if (!start || !end || !start->perToken || !end->perToken)
    return unsupported("the model answers no questions; its head is '" +
                       model.manifest().head + "'");
  if (!session.config().holdResults)
    return usageError("texts need a session that holds results");
  TRANSOM_ASSIGN(transom_answer_options options,
                 readAnswerOptions(model, given));
  // Split question and context into windows.
  transom_tokenize_options whole = transom_tokenize_options_default();
  whole.no_truncation = 1;
  TRANSOM_ASSIGN(Encoding pair, encodeText(model, question, &context, whole));
  TRANSOM_ASSIGN(std::vector<Encoding> windows,
                 makeWindows(pair, options.window, size_t(options.overlap)));
  TextBatcher batcher(session, {*start, *end});
  for (size_t i = 0; i != windows.size(); ++i)
    batcher.add(i, windows[i]);
  // Windows arrive in any order; scores are added in context order.
  std::vector<std::vector<float>> logits(windows.size());
  TRANSOM_TRY(batcher.flush([&](const TextRows &found) {
    std::vector<float> &both = logits[found.text];
    for (const float *rows : found.rows)
      both.insert(both.end(), rows, rows + found.count);
  }));
  AnswerList answers(getView(context), options);
  for (size_t i = 0; i != windows.size(); ++i)
    answers.add(windows[i], logits[i].data(),
                logits[i].data() + windows[i].ids.size());
  return answers.take();
}
