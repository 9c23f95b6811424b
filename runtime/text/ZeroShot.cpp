// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// With independent labels, each score is a softmax over entailment and its
// opposite; otherwise a softmax over the entailment logits of all hypotheses.
#include "runtime/text/ZeroShot.h"
#include "runtime/text/Text.h"
#include "runtime/text/TextBatches.h"
#include <algorithm>

using namespace transom;

/// Returns the entailment label: the first that begins with 'entail', ignoring
/// case.
static std::optional<size_t>
findEntailment(const std::vector<std::string> &labels) {
  const std::string_view stem = "entail";
  for (size_t i = 0; i != labels.size(); ++i)
    if (labels[i].size() >= stem.size() &&
        std::equal(stem.begin(), stem.end(), labels[i].begin(),
                   [](char a, char b) { return a == (b | 0x20); }))
      return i;
  return std::nullopt;
}

Result<void> transom::scoreHypotheses(Session &session,
                                      const transom_text &text,
                                      const transom_text *hypotheses,
                                      size_t count, bool independent,
                                      float *scores, bool &cut) {
  const Model &model = session.model();
  const Model::TextUse *use = model.classification();
  if (!model.tokenizer())
    return model.noTokenizer();
  const std::vector<std::string> &labels = model.manifest().labels;
  const std::optional<size_t> entailment = findEntailment(labels);
  if (!use || use->perToken || labels.size() < 2 || !entailment)
    return unsupported(
        "zero-shot classification needs a model that classifies texts with a "
        "label 'entailment'; this one's head is '" +
        model.manifest().head + "'");
  // The opposite label: the first one, or the last one if entailment is the
  // first.
  const size_t contradiction = *entailment == 0 ? labels.size() - 1 : 0;

  // Run the text with each hypothesis.
  const std::vector<transom_text> texts(count, text);
  std::vector<float> logits(count);
  independent |= count == 1;
  size_t cutPairs = 0;
  TRANSOM_TRY(
      runTexts(session, {*use}, texts.data(), hypotheses, count, cutPairs,
               [&](const TextRows &found) {
                 if (!found.count)
                   return;
                 const float *row = found.rows[0];
                 logits[found.text] = row[*entailment];
                 if (independent) {
                   const float both[] = {row[*entailment], row[contradiction]};
                   float pair[2];
                   computeLabelScores(both, 2, LabelScores::Softmax, pair);
                   scores[found.text] = pair[0];
                 }
               }));
  cut = cutPairs != 0;
  if (!independent && count)
    computeLabelScores(logits.data(), count, LabelScores::Softmax, scores);
  return {};
}
