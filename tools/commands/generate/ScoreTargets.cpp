// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Batches pairs with similar lengths; padding is not computed.
#include "tools/commands/generate/ScoreTargets.h"
#include "runtime/json/Json.h"
#include "tools/commands/generate/GenerationFlags.h"
#include <algorithm>
#include <cmath>

using namespace transom;
using namespace transom::tools;

namespace {

/// Max pairs per entry run.
constexpr size_t mostPairs = 32;

/// A pair and its result.
struct Pair {
  std::string source, target;
  std::vector<int64_t> ids, targetIds;
  std::vector<double> logprobs; ///< for the target's tokens
};

/// Scores pairs with one model; its session grows with them.
class TargetScorer {
public:
  TargetScorer(const TargetTexts &texts, const CommonFlags &common,
               const TextModel &model)
      : texts(texts), common(common), model(model) {}

  Result<void> open() { return targets.open(texts.path); }
  Result<void> run(std::vector<std::string> sources, TextProgress &progress);
  Result<void> finish() { return targets.checkEnd(); }

private:
  Result<std::vector<int64_t>> getTokens(const std::string &text,
                                         bool isTarget) const;
  Result<Pair> makePair(std::string source);
  Result<void> createSessionFor(const std::vector<Pair *> &pairs);
  Result<void> score(const std::vector<Pair *> &pairs);
  Error inPairs(const std::vector<Pair *> &some, const Pair *first,
                Error error) const;

  const TargetTexts &texts;
  const CommonFlags &common;
  const TextModel &model;
  LinePartner targets;
  SessionPtr session;
  size_t longest = 0, longestTarget = 0, most = 0; ///< session capacity
  size_t done = 0;                                 ///< pairs in previous calls
};

} // namespace

/// Returns an argument for the entry `score`, of which only the shape is read.
static transom_tensor makeArgument(const char *name, size_t rows,
                                   size_t columns) {
  transom_tensor tensor{};
  tensor.name = name;
  tensor.dtype = TRANSOM_DTYPE_I64;
  tensor.rank = 2;
  tensor.shape[0] = int64_t(rows);
  tensor.shape[1] = int64_t(columns);
  return tensor;
}

static transom_prompt getPrompt(const std::vector<int64_t> &ids) {
  static const int64_t none = 0;
  return {ids.empty() ? &none : ids.data(), ids.size(), {}};
}

Result<std::vector<int64_t>> TargetScorer::getTokens(const std::string &text,
                                                     bool isTarget) const {
  transom_tokenize_options how = texts.languages.getOptions(isTarget);
  how.no_special = texts.noSpecial;
  how.no_truncation = 1;
  uint32_t truncated = 0;
  TRANSOM_ASSIGN(
      std::vector<transom_token> tokens,
      tokenizeText(model.model.get(), {text, std::nullopt}, how, truncated));
  return getIds(tokens);
}

/// Pairs a source with the next target.
Result<Pair> TargetScorer::makePair(std::string source) {
  Pair pair;
  pair.source = std::move(source);
  TRANSOM_ASSIGN(pair.target, targets.next());
  TRANSOM_ASSIGN(pair.ids, getTokens(pair.source, false));
  if (pair.ids.empty())
    return rejected("the text has no tokens; a source has 1 or more");
  TRANSOM_ASSIGN(pair.targetIds, getTokens(pair.target, true));
  return pair;
}

/// Creates a session for these pairs, unless the current one has room.
Result<void> TargetScorer::createSessionFor(const std::vector<Pair *> &pairs) {
  const size_t before = longest + longestTarget + most;
  for (const Pair *pair : pairs) {
    longest = std::max(longest, pair->ids.size());
    longestTarget = std::max(longestTarget, pair->targetIds.size());
  }
  most = std::max(most, pairs.size());
  if (session && longest + longestTarget + most == before)
    return {};
  session.reset();
  const transom_tensor inputs[] = {
      makeArgument("input_ids", most, longest),
      makeArgument("labels", most, std::max<size_t>(1, longestTarget))};
  transom_session_options options = transom_session_options_default();
  options.threads = common.threads;
  TRANSOM_TRY(check(transom_session_options_fit(model.model.get(), "score",
                                                inputs, 2, &options)));
  TRANSOM_ASSIGN(session, createSession(model.model.get(), options));
  return {};
}

/// Scores a few pairs together.
Result<void> TargetScorer::score(const std::vector<Pair *> &pairs) {
  TRANSOM_TRY(createSessionFor(pairs));
  std::vector<transom_prompt> sources, expected;
  size_t tokens = 0;
  for (const Pair *pair : pairs) {
    sources.push_back(getPrompt(pair->ids));
    expected.push_back(getPrompt(pair->targetIds));
    tokens += pair->targetIds.size();
  }
  std::vector<double> logprobs(tokens);
  std::vector<size_t> counts(pairs.size());
  const CancelOnSignal signals(session.get());
  Result<void> scored = check(transom_session_score_targets(
      session.get(), sources.data(), expected.data(), pairs.size(),
      logprobs.data(), tokens * sizeof(double), counts.data(), nullptr));
  if (!scored)
    return signals.explain(scored.takeError());
  auto next = logprobs.begin();
  for (size_t i = 0; i != pairs.size(); ++i) {
    pairs[i]->logprobs.assign(next, next + int64_t(counts[i]));
    next += int64_t(counts[i]);
  }
  return {};
}

/// Adds the pair's line number to an error about its source or target.
Error TargetScorer::inPairs(const std::vector<Pair *> &some, const Pair *first,
                            Error error) const {
  for (const char *kind : {"source", "target", "row"})
    if (std::optional<NumberedError> one = findNumber(error, kind);
        one && one->number < some.size())
      return inText(texts.sources, done + size_t(some[one->number] - first),
                    std::move(one->error));
  return error;
}

static std::string formatPair(const Pair &pair) {
  double sum = 0;
  for (double logprob : pair.logprobs)
    sum += logprob;
  const size_t count = pair.logprobs.size();
  std::string line;
  JsonWriter json(line);
  json.beginObject();
  json.member("source", pair.source);
  json.member("target", pair.target);
  json.key("ids");
  json.array(pair.targetIds);
  json.key("logprobs");
  json.array(pair.logprobs);
  json.member("tokens", uint64_t(count));
  json.member("sum", sum);
  json.key("perplexity");
  if (count)
    json.value(std::exp(-sum / double(count)));
  else
    json.null();
  json.endObject();
  return line + "\n";
}

Result<void> TargetScorer::run(std::vector<std::string> sources,
                               TextProgress &progress) {
  std::vector<Pair> pairs(sources.size());
  std::vector<Pair *> sorted;
  for (size_t i = 0; i != pairs.size(); ++i) {
    Result<Pair> pair = makePair(std::move(sources[i]));
    if (!pair)
      return inText(texts.sources, done + i, pair.takeError());
    pairs[i] = std::move(*pair);
    sorted.push_back(&pairs[i]);
  }
  std::sort(sorted.begin(), sorted.end(), [](Pair *a, Pair *b) {
    const size_t first = a->ids.size(), second = b->ids.size();
    return first != second ? first > second : a < b;
  });
  for (size_t begin = 0; begin < sorted.size(); begin += mostPairs) {
    const size_t end = std::min(sorted.size(), begin + mostPairs);
    const std::vector<Pair *> some(sorted.begin() + int64_t(begin),
                                   sorted.begin() + int64_t(end));
    if (Result<void> scored = score(some); !scored)
      return inPairs(some, pairs.data(), scored.takeError());
    progress.add(some.size());
  }
  for (const Pair &pair : pairs)
    TRANSOM_TRY(writeOut(formatPair(pair)));
  done += pairs.size();
  return {};
}

Result<void> tools::scoreTargets(const TargetTexts &texts,
                                 const CommonFlags &common,
                                 const TextModel &model) {
  TRANSOM_TRY(texts.languages.check(model.model.get()));
  TargetScorer scorer(texts, common, model);
  TRANSOM_TRY(scorer.open());
  TRANSOM_TRY(forEachBatch(
      texts.sources, common, textBatch,
      [&](std::vector<std::string> sources, TextProgress &progress) {
        return scorer.run(std::move(sources), progress);
      }));
  return scorer.finish();
}
