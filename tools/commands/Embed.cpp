// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// transom embed: one JSON line with the embedding of each text.
#include "runtime/json/Json.h"
#include "tools/commands/Command.h"
#include "tools/commands/Texts.h"

using namespace transom;
using namespace transom::tools;

namespace {
struct EmbedFlags {
  std::string model, pooling;
  TextInput input;
  bool noNormalize = false;
};
} // namespace

static transom_embed_options getOptions(const EmbedFlags &flags) {
  transom_embed_options options = transom_embed_options_default();
  if (!flags.pooling.empty())
    options.pooling =
        flags.pooling == "cls" ? TRANSOM_POOLING_CLS : TRANSOM_POOLING_MEAN;
  if (flags.noNormalize)
    options.normalize = 0;
  return options;
}

static std::string formatLine(const std::string &text, const float *embedding,
                              size_t size) {
  std::string line;
  JsonWriter json(line);
  json.beginObject();
  json.member("text", text);
  json.key("embedding");
  json.beginArray();
  for (size_t i = 0; i < size; ++i)
    json.value(embedding[i]);
  json.endArray();
  json.endObject();
  return line + "\n";
}

static Result<void> runEmbed(const EmbedFlags &flags,
                             const CommonFlags &common) {
  TRANSOM_TRY(flags.input.validate());
  TRANSOM_ASSIGN(TextModel opened, openTextModel(flags.model));
  const transom_model_info &info = opened.info;
  if (info.embedding_size == 0)
    return unsupported(quote(flags.model) + " has no embeddings of texts");
  TRANSOM_ASSIGN(SessionPtr session,
                 createTextSession(opened.model.get(), common.threads));
  const transom_embed_options options = getOptions(flags);
  CutTexts cuts;
  size_t first = 0; // of the batch
  Result<void> done = forEachBatch(
      flags.input, common, [&](std::vector<std::string> texts) -> Result<void> {
        std::vector<float> embeddings(texts.size() * info.embedding_size);
        std::vector<transom_text> views = getViews(texts);
        size_t cut = 0;
        if (Result<void> embedded = check(transom_session_embed(
                session.get(), views.data(), views.size(), &options,
                embeddings.data(), embeddings.size() * sizeof(float), &cut));
            !embedded)
          return inBatch(flags.input, first, texts.size(),
                         embedded.takeError());
        first += texts.size();
        cuts.count += cut;
        for (size_t i = 0; i < texts.size(); ++i)
          TRANSOM_TRY(writeOut(formatLine(texts[i],
                                          &embeddings[i * info.embedding_size],
                                          info.embedding_size)));
        return {};
      });
  cuts.tell(common, info.max_text_tokens);
  return done;
}

void tools::addEmbed(CLI::App &app, CommandList &commands) {
  Command &command =
      addCommand(app, commands, "embed",
                 "print the embedding of each text as a line of JSON");
  auto flags = std::make_shared<EmbedFlags>();
  command.app->add_option("MODEL", flags->model, "a compiled model")
      ->required();
  addTextInput(*command.app, flags->input);
  addChoice(
      *command.app, "--pooling", flags->pooling, {"mean", "cls"},
      "how the vectors of tokens become one (default: as the model says)");
  command.app->add_flag("--no-normalize", flags->noNormalize,
                        "do not scale embeddings to length 1");
  command.run = [flags](const CommonFlags &common) {
    return runEmbed(*flags, common);
  };
}
