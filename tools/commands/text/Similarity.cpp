// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// transom similarity: prints how similar texts are to each other as JSON lines.
#include "runtime/json/Json.h"
#include "tools/commands/Command.h"
#include "tools/commands/text/Texts.h"

using namespace transom;
using namespace transom::tools;

namespace {
struct SimilarityFlags {
  std::string model;
  TextInput input;
};
} // namespace

/// Max texts; a larger matrix is not useful.
static constexpr size_t mostTexts = 4096;

static Result<void> runSimilarity(const SimilarityFlags &flags,
                                  const CommonFlags &common) {
  TRANSOM_TRY(flags.input.validate());
  TRANSOM_ASSIGN(TextModel model, openTextModel(flags.model));
  TRANSOM_ASSIGN(SessionPtr session,
                 createTextSession(model.model.get(), common.threads));
  // A call without texts reports errors about the model.
  TRANSOM_TRY(check(transom_session_embed(session.get(), nullptr, 0, nullptr,
                                          nullptr, 0, nullptr)));
  const size_t size = model.info.embedding_size;
  std::vector<std::string> all;
  std::vector<float> embeddings;
  CutTexts cuts;
  TRANSOM_TRY(forEachBatch(
      flags.input, common,
      [&](const std::vector<std::string> &texts) -> Result<void> {
        if (all.size() + texts.size() > mostTexts)
          return limitError("similarities are those of " +
                            std::to_string(mostTexts) +
                            " texts at most; 'rerank' compares one text with "
                            "any number");
        const std::vector<transom_text> views = getViews(texts);
        embeddings.resize((all.size() + texts.size()) * size);
        size_t cut = 0;
        if (Result<void> done = check(transom_session_embed(
                session.get(), views.data(), views.size(), nullptr,
                &embeddings[all.size() * size],
                texts.size() * size * sizeof(float), &cut));
            !done)
          return inBatch(flags.input, all.size(), texts.size(),
                         done.takeError());
        cuts.count += cut;
        all.insert(all.end(), texts.begin(), texts.end());
        return {};
      }));
  cuts.tell(common, model.info.max_text_tokens);
  std::vector<float> row(all.size());
  for (size_t i = 0; i != all.size(); ++i) {
    TRANSOM_TRY(check(transom_model_similarity(
        model.model.get(), &embeddings[i * size], 1, embeddings.data(),
        all.size(), size, row.data(), row.size() * sizeof(float))));
    std::string line;
    JsonWriter json(line);
    json.beginObject();
    json.member("text", all[i]);
    json.key("similarities");
    json.beginArray();
    for (float value : row)
      json.value(value);
    json.endArray();
    json.endObject();
    TRANSOM_TRY(writeOut(line + "\n"));
  }
  return {};
}

void tools::addSimilarity(CLI::App &app, CommandList &commands) {
  Command &command =
      addCommand(app, commands, "similarity",
                 "print how close each text is to all, a line of JSON each");
  auto flags = std::make_shared<SimilarityFlags>();
  command.app->add_option("MODEL", flags->model, "a compiled model")
      ->required();
  addTextInput(*command.app, flags->input);
  command.run = [flags](const CommonFlags &common) {
    return runSimilarity(*flags, common);
  };
}
