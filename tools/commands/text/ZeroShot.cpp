// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tools/commands/text/ZeroShot.h"
#include "runtime/json/Json.h"
#include <algorithm>
#include <numeric>

using namespace transom;
using namespace transom::tools;

static constexpr std::string_view place = "{}";

Result<void> ZeroShotFlags::validate() const {
  if (candidates.empty() && (independent || !hypothesis.empty()))
    return usageError(
        std::string(independent ? "--multi-label" : "--hypothesis") +
        " needs labels; give each with --candidate");
  if (!hypothesis.empty() && hypothesis.find(place) == std::string::npos)
    return usageError("--hypothesis " + quote(hypothesis) +
                      " has no {} where the label is put");
  return {};
}

void tools::addZeroShot(CLI::App &command, ZeroShotFlags &flags) {
  command
      .add_option("--candidate", flags.candidates,
                  "zero-shot: choose among labels that are given here, with a "
                  "model of natural language inference; once for each label")
      ->type_name("LABEL")
      ->allow_extra_args(false);
  command
      .add_option("--hypothesis", flags.hypothesis,
                  "what a --candidate means, which is put in place of {} "
                  "(default: 'This example is {}.')")
      ->type_name("TEXT");
  command.add_flag("--multi-label", flags.independent,
                   "several --candidate may be true at once");
}

/// Returns the hypotheses for all candidates.
static std::vector<std::string> makeHypotheses(const ZeroShotFlags &flags) {
  const std::string pattern =
      flags.hypothesis.empty() ? "This example is {}." : flags.hypothesis;
  std::vector<std::string> hypotheses;
  for (const std::string &candidate : flags.candidates) {
    std::string hypothesis = pattern;
    hypothesis.replace(hypothesis.find(place), place.size(), candidate);
    hypotheses.push_back(std::move(hypothesis));
  }
  return hypotheses;
}

static std::string formatLine(const std::string &text,
                              const std::vector<std::string> &candidates,
                              const std::vector<float> &scores) {
  std::vector<size_t> order(candidates.size());
  std::iota(order.begin(), order.end(), size_t(0));
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return scores[a] > scores[b]; });
  std::string line;
  JsonWriter json(line);
  json.beginObject();
  json.member("text", text);
  json.member("label", candidates[order[0]]);
  json.member("score", scores[order[0]]);
  json.key("scores");
  json.beginObject();
  for (size_t i : order)
    json.member(candidates[i], scores[i]);
  json.endObject();
  json.endObject();
  return line + "\n";
}

Result<void> tools::classifyZeroShot(const std::string &path,
                                     const TextInput &input,
                                     const ZeroShotFlags &flags,
                                     const CommonFlags &common) {
  TRANSOM_ASSIGN(TextModel model, openTextModel(path));
  TRANSOM_ASSIGN(SessionPtr session,
                 createTextSession(model.model.get(), common.threads));
  const std::vector<std::string> hypotheses = makeHypotheses(flags);
  const std::vector<transom_text> views = getViews(hypotheses);
  std::vector<float> scores(views.size());
  CutTexts cuts;
  size_t number = 0;
  Result<void> done = forEachBatch(
      input, common,
      [&](const std::vector<std::string> &texts) -> Result<void> {
        for (const std::string &text : texts) {
          const transom_text view{text.data(), text.size()};
          uint32_t truncated = 0;
          if (Result<void> scored = check(transom_session_zero_shot(
                  session.get(), &view, views.data(), views.size(),
                  flags.independent, scores.data(),
                  scores.size() * sizeof(float), &truncated));
              !scored)
            return inText(input, number, scored.takeError());
          cuts.count += truncated;
          ++number;
          TRANSOM_TRY(writeOut(formatLine(text, flags.candidates, scores)));
        }
        return {};
      });
  cuts.tell(common, model.info.max_text_tokens);
  return done;
}
