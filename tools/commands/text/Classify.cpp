// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// transom classify: prints one JSON line with the labels for each text, text
// pair, or token.
#include "runtime/json/Json.h"
#include "tools/commands/Command.h"
#include "tools/commands/text/Texts.h"
#include "tools/commands/text/ZeroShot.h"
#include <algorithm>

using namespace transom;
using namespace transom::tools;

namespace {

struct ClassifyFlags {
  std::string model;
  TextInput input;
  std::vector<std::string> pairs; ///< from `--pair`, in addition to `--text`
  ZeroShotFlags zeroShot;
};

/// A model with labels, and its session.
struct Classifier {
  TextModel text;
  SessionPtr session;
  std::vector<std::string> labels;
  bool tokens = false; ///< labels each token
  CutTexts cuts;

  Result<void> classify(const std::vector<std::string> &texts,
                        const std::vector<std::string> &pairs, bool paired);
  Result<void> classifyTokens(const std::string &text);

private:
  void writeScores(JsonWriter &json, const float *scores) const;
  size_t best(const float *scores) const {
    return static_cast<size_t>(
        std::max_element(scores, scores + labels.size()) - scores);
  }
};

} // namespace

void Classifier::writeScores(JsonWriter &json, const float *scores) const {
  json.member("label", labels[best(scores)]);
  json.member("score", scores[best(scores)]);
}

Result<void> Classifier::classify(const std::vector<std::string> &texts,
                                  const std::vector<std::string> &pairs,
                                  bool paired) {
  // Run the batch; an empty second text means none.
  std::vector<float> scores(texts.size() * labels.size());
  std::vector<transom_text> views = getViews(texts), others = getViews(pairs);
  for (transom_text &other : others)
    if (other.size == 0)
      other.data = nullptr; // no second text
  size_t cut = 0;
  if (Result<void> done = check(transom_session_classify(
          session.get(), views.data(), paired ? others.data() : nullptr,
          views.size(), scores.data(), scores.size() * sizeof(float), &cut));
      !done)
    return done;
  cuts.count += cut;
  // Print a line per text with the best label and all scores.
  for (size_t i = 0; i < texts.size(); ++i) {
    const float *row = &scores[i * labels.size()];
    std::string line;
    JsonWriter json(line);
    json.beginObject();
    json.member("text", texts[i]);
    if (paired && !pairs[i].empty())
      json.member("pair", pairs[i]);
    writeScores(json, row);
    json.key("scores");
    json.beginObject();
    for (size_t label = 0; label < labels.size(); ++label)
      json.member(labels[label], row[label]);
    json.endObject();
    json.endObject();
    if (Result<void> written = writeOut(line + "\n"); !written)
      return written;
  }
  return {};
}

Result<void> Classifier::classifyTokens(const std::string &text) {
  // A text has at most one token per byte, and some special tokens.
  const transom_text view{text.data(), text.size()};
  std::vector<transom_token> tokens(text.size() + 16);
  std::vector<float> scores(tokens.size() * labels.size());
  size_t count = 0;
  uint32_t cut = 0;
  if (Result<void> done = check(transom_session_classify_tokens(
          session.get(), &view, tokens.data(),
          tokens.size() * sizeof(transom_token), scores.data(),
          scores.size() * sizeof(float), &count, &cut));
      !done)
    return done;
  cuts.count += cut;
  // Print the labels for tokens that are part of the text.
  std::string line;
  JsonWriter json(line);
  json.beginObject();
  json.member("text", text);
  json.key("tokens");
  json.beginArray();
  for (size_t i = 0; i < count; ++i) {
    const transom_token &token = tokens[i];
    if (token.special)
      continue;
    json.beginObject();
    json.member("token", std::string_view(text).substr(
                             token.begin, token.end - token.begin));
    json.member("start", static_cast<uint64_t>(token.begin));
    json.member("end", static_cast<uint64_t>(token.end));
    writeScores(json, &scores[i * labels.size()]);
    json.endObject();
  }
  json.endArray();
  json.endObject();
  return writeOut(line + "\n");
}

static Result<Classifier> openClassifier(const ClassifyFlags &flags,
                                         unsigned threads) {
  TRANSOM_ASSIGN(TextModel opened, openTextModel(flags.model));
  Classifier classifier;
  classifier.text = std::move(opened);
  const transom_model *model = classifier.text.model.get();
  const transom_model_info &info = classifier.text.info;
  if (info.num_labels == 0)
    return unsupported(quote(flags.model) +
                       " has no classification head; its head is '" +
                       info.head + "'");
  for (size_t i = 0; i < info.num_labels; ++i)
    classifier.labels.push_back(transom_model_label(model, i));
  classifier.tokens = std::string(info.head) == "token_classification";
  TRANSOM_ASSIGN(SessionPtr session, createTextSession(model, threads));
  classifier.session = std::move(session);
  return Result<Classifier>(std::move(classifier));
}

static Result<void> runClassify(const ClassifyFlags &flags,
                                const CommonFlags &common) {
  TRANSOM_TRY(flags.input.validate());
  TRANSOM_TRY(checkPairs(flags.input, flags.pairs));
  TRANSOM_TRY(flags.zeroShot.validate());
  if (flags.zeroShot.isAskedFor()) {
    if (!flags.pairs.empty())
      return usageError("--candidate and --pair exclude each other");
    return classifyZeroShot(flags.model, flags.input, flags.zeroShot, common);
  }
  TRANSOM_ASSIGN(Classifier opened, openClassifier(flags, common.threads));
  Classifier &classifier = opened;
  size_t first = 0; // index in the batch
  Result<void> done = forEachBatch(
      flags.input, common, [&](std::vector<std::string> texts) -> Result<void> {
        const size_t begin = first;
        first += texts.size();
        std::vector<std::string> pairs = flags.pairs;
        pairs.resize(texts.size());
        bool paired = !flags.pairs.empty();
        if (classifier.tokens) {
          for (size_t i = 0; i < texts.size(); ++i)
            if (Result<void> line = classifier.classifyTokens(texts[i]); !line)
              return inText(flags.input, begin + i, line.takeError());
          return {};
        }
        for (size_t i = 0; i < texts.size() && flags.input.texts.empty(); ++i)
          if (size_t tab = texts[i].find('\t'); tab != std::string::npos) {
            pairs[i] = texts[i].substr(tab + 1);
            texts[i].resize(tab);
            paired = true;
          }
        Result<void> done = classifier.classify(texts, pairs, paired);
        return done ? done
                    : inBatch(flags.input, begin, texts.size(),
                              done.takeError());
      });
  classifier.cuts.tell(common, classifier.text.info.max_text_tokens);
  return done;
}

void tools::addClassify(CLI::App &app, CommandList &commands) {
  Command &command = addCommand(
      app, commands, "classify",
      "print the label of each text, or of its tokens, as a line of JSON");
  auto flags = std::make_shared<ClassifyFlags>();
  command.app->add_option("MODEL", flags->model, "a compiled model")
      ->required();
  addTextInput(*command.app, flags->input);
  addPairs(*command.app, flags->pairs,
           "the second text of a --text (in files: after a tab)");
  addZeroShot(*command.app, flags->zeroShot);
  command.run = [flags](const CommonFlags &common) {
    return runClassify(*flags, common);
  };
}
