// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// transom answer: prints the answers to a question in each context as one JSON
// line.
#include "runtime/json/Json.h"
#include "tools/commands/Command.h"
#include "tools/commands/text/Texts.h"

using namespace transom;
using namespace transom::tools;

namespace {
struct AnswerFlags {
  std::string model, question;
  TextInput input;
  uint64_t topK = 1, maxAnswerTokens = 15, window = 0;
  int64_t overlap = TRANSOM_FROM_MODEL;
  bool mayBeImpossible = false, cutWords = false;
};
} // namespace

static transom_answer_options getOptions(const AnswerFlags &flags) {
  transom_answer_options options = transom_answer_options_default();
  options.top_k = flags.topK;
  options.max_answer_tokens = flags.maxAnswerTokens;
  options.window = flags.window;
  options.overlap = flags.overlap;
  options.may_be_impossible = flags.mayBeImpossible;
  options.cut_words = flags.cutWords;
  return options;
}

/// Splits a line into question, tab, context; with `--question`, the line is
/// the context.
static Result<TextOrPair> splitLine(const AnswerFlags &flags,
                                    const std::string &line) {
  if (!flags.question.empty())
    return TextOrPair{flags.question, line};
  const size_t tab = line.find('\t');
  if (tab == std::string::npos)
    return rejected("expected a question, a tab and the text that answers it; "
                    "or give the question of all lines with --question");
  return TextOrPair{line.substr(0, tab), line.substr(tab + 1)};
}

static Result<void> answerLine(transom_session *session,
                               const TextOrPair &asked,
                               const transom_answer_options &options) {
  // Search the answers.
  if (isBlank(asked.first))
    return rejected("the question is empty");
  const std::string &context = *asked.pair;
  const transom_text question{asked.first.data(), asked.first.size()},
      view{context.data(), context.size()};
  std::vector<transom_answer> answers(options.top_k);
  size_t count = 0;
  TRANSOM_TRY(check(transom_session_answer(
      session, &question, &view, &options, answers.data(),
      answers.size() * sizeof(transom_answer), &count)));
  // Print them with their byte ranges in the context.
  std::string line;
  JsonWriter json(line);
  json.beginObject();
  json.member("question", asked.first);
  json.member("text", context);
  json.key("answers");
  json.beginArray();
  for (size_t i = 0; i != count; ++i) {
    const transom_answer &answer = answers[i];
    json.beginObject();
    json.member("score", answer.score);
    json.member("start", static_cast<uint64_t>(answer.begin));
    json.member("end", static_cast<uint64_t>(answer.end));
    json.member("answer",
                context.substr(answer.begin, answer.end - answer.begin));
    json.endObject();
  }
  json.endArray();
  json.endObject();
  return writeOut(line + "\n");
}

static Result<void> runAnswer(const AnswerFlags &flags,
                              const CommonFlags &common) {
  TRANSOM_TRY(flags.input.validate());
  if (!flags.input.texts.empty() && isBlank(flags.question))
    return usageError("--text needs a --question");
  TRANSOM_ASSIGN(TextModel model, openTextModel(flags.model));
  TRANSOM_ASSIGN(SessionPtr session,
                 createTextSession(model.model.get(), common.threads));
  const transom_answer_options options = getOptions(flags);
  size_t number = 0;
  return forEachBatch(
      flags.input, common,
      [&](const std::vector<std::string> &lines) -> Result<void> {
        for (const std::string &line : lines) {
          Result<TextOrPair> asked = splitLine(flags, line);
          Result<void> done = asked ? answerLine(session.get(), *asked, options)
                                    : Result<void>(asked.takeError());
          if (!done)
            return inText(flags.input, number, done.takeError());
          ++number;
        }
        return {};
      });
}

void tools::addAnswer(CLI::App &app, CommandList &commands) {
  Command &command =
      addCommand(app, commands, "answer",
                 "print the parts of each text that answer a question as JSON");
  auto flags = std::make_shared<AnswerFlags>();
  // Model, question and contexts.
  CLI::App &flagged = *command.app;
  flagged.add_option("MODEL", flags->model, "a compiled model")->required();
  flagged
      .add_option("--question", flags->question,
                  "what is asked of all texts (default: each line has its "
                  "question, then a tab)")
      ->type_name("TEXT");
  addTextInput(flagged, flags->input);
  // Number and length of answers.
  flagged.add_option("--top-k", flags->topK, "answers of a text (default: 1)")
      ->check(wholeNumber(1, 65536))
      ->type_name("N");
  flagged
      .add_option("--max-answer-tokens", flags->maxAnswerTokens,
                  "tokens of an answer at most (default: 15)")
      ->check(wholeNumber(1, 65536))
      ->type_name("N");
  // Windows over long contexts.
  flagged
      .add_option("--window", flags->window,
                  "tokens of the windows that a long text is read in, question "
                  "included (default: 384, or the model's maximum)")
      ->check(wholeNumber(1))
      ->type_name("N");
  flagged
      .add_option("--overlap", flags->overlap,
                  "tokens that neighbouring windows share (default: 128, or "
                  "half a window)")
      ->check(wholeNumber(0))
      ->type_name("N");
  flagged.add_flag("--may-be-impossible", flags->mayBeImpossible,
                   "that there is no answer is an answer, the empty one");
  flagged.add_flag("--cut-words", flags->cutWords,
                   "answers may begin and end within words");
  command.run = [flags](const CommonFlags &common) {
    return runAnswer(*flags, common);
  };
}
