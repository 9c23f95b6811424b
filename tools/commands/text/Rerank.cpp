// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// transom rerank: prints documents by relevance to a query, best first, as JSON
// lines.
#include "runtime/json/Json.h"
#include "tools/commands/Command.h"
#include "tools/commands/text/Texts.h"
#include <algorithm>

using namespace transom;
using namespace transom::tools;

namespace {

struct RerankFlags {
  std::string model, query, prompt, promptName;
  bool hasPrompt = false, hasPromptName = false;
  uint64_t topK = 0; ///< 0: all
  TextInput input;
};

struct RankedDocument {
  std::string text;
  size_t index;
  float score;
};

} // namespace

/// Returns the documents in input order, with their scores.
static Result<std::vector<RankedDocument>>
scoreDocuments(const RerankFlags &flags, const CommonFlags &common,
               const TextModel &model, transom_session *session) {
  const transom_text query{flags.query.data(), flags.query.size()};
  std::vector<RankedDocument> documents;
  transom_rerank_options options = transom_rerank_options_default();
  options.prompt = flags.hasPrompt ? flags.prompt.c_str() : nullptr;
  options.prompt_name =
      flags.hasPromptName ? flags.promptName.c_str() : nullptr;
  // A call without documents reports errors about the model or the options.
  TRANSOM_TRY(check(transom_session_rerank_prompted(
      session, &query, nullptr, 0, &options, nullptr, 0, nullptr)));
  CutTexts cuts;
  TRANSOM_TRY(forEachBatch(
      flags.input, common, [&](std::vector<std::string> texts) -> Result<void> {
        const std::vector<transom_text> views = getViews(texts);
        std::vector<float> scores(texts.size());
        size_t cut = 0;
        if (Result<void> done = check(transom_session_rerank_prompted(
                session, &query, views.data(), views.size(), &options,
                scores.data(), scores.size() * sizeof(float), &cut));
            !done)
          return inBatch(flags.input, documents.size(), texts.size(),
                         done.takeError());
        cuts.count += cut;
        for (size_t i = 0; i != texts.size(); ++i)
          documents.push_back(
              {std::move(texts[i]), documents.size(), scores[i]});
        return {};
      }));
  cuts.tell(common, model.info.max_text_tokens);
  return documents;
}

static Result<void> runRerank(const RerankFlags &flags,
                              const CommonFlags &common) {
  // Check the flags.
  TRANSOM_TRY(flags.input.validate());
  if (isBlank(flags.query))
    return usageError("--query is empty; expected the text that documents are "
                      "compared with");
  if (flags.hasPrompt && flags.hasPromptName)
    return usageError("'--prompt' and '--prompt-name' are one too many");
  // Score all documents.
  TRANSOM_ASSIGN(TextModel model, openTextModel(flags.model));
  TRANSOM_ASSIGN(SessionPtr session,
                 createTextSession(model.model.get(), common.threads));
  TRANSOM_ASSIGN(std::vector<RankedDocument> documents,
                 scoreDocuments(flags, common, model, session.get()));
  if (documents.empty())
    return rejected(
        (flags.input.getPath() == "-" ? "stdin" : flags.input.getPath()) +
        ": no documents; expected one a line");
  // Sort, and print the best ones.
  std::stable_sort(documents.begin(), documents.end(),
                   [](const RankedDocument &a, const RankedDocument &b) {
                     return a.score > b.score;
                   });
  if (flags.topK)
    documents.resize(std::min<size_t>(documents.size(), flags.topK));
  for (const RankedDocument &document : documents) {
    std::string line;
    JsonWriter json(line);
    json.beginObject();
    json.member("index", static_cast<uint64_t>(document.index));
    json.member("score", document.score);
    json.member("text", document.text);
    json.endObject();
    TRANSOM_TRY(writeOut(line + "\n"));
  }
  return {};
}

void tools::addRerank(CLI::App &app, CommandList &commands) {
  Command &command = addCommand(
      app, commands, "rerank",
      "print documents by their relevance to a query, a line of JSON each");
  auto flags = std::make_shared<RerankFlags>();
  command.app->add_option("MODEL", flags->model, "a compiled model")
      ->required();
  // Query and documents.
  command.app
      ->add_option("--query", flags->query,
                   "the text that documents are compared with")
      ->required()
      ->type_name("TEXT");
  addTextInput(*command.app, flags->input);
  // Prompts for the query, and the output size.
  CLI::Option *prompt = command.app->add_option(
      "--prompt,--instruction", flags->prompt,
      "a prompt for the query, such as what the documents are searched for");
  CLI::Option *promptName = command.app->add_option(
      "--prompt-name", flags->promptName, "the model's prompt for the query");
  command.app
      ->add_option("--top-k", flags->topK,
                   "print the best N documents only (default: all)")
      ->check(wholeNumber(1))
      ->type_name("N");
  command.run = [flags, prompt, promptName](const CommonFlags &common) {
    flags->hasPrompt = prompt->count() != 0;
    flags->hasPromptName = promptName->count() != 0;
    return runRerank(*flags, common);
  };
}
