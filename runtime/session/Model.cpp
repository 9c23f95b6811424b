// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The entries and arguments for text calls are found by name, once per model.
#include "runtime/session/Model.h"

using namespace transom;

Result<std::unique_ptr<Model>> Model::load(const std::string &path,
                                           const LoadOptions &options) {
  std::unique_ptr<Model> model(new Model());
  TRANSOM_TRY(model->Program::load(path, options));
  TRANSOM_TRY(model->openTexts(model->tokenizerTables(), path));
  return model;
}

Result<std::unique_ptr<Model>>
Model::fromCode(Manifest manifest, std::string manifestText,
                const transom_artifact_code &code,
                std::string_view tokenizerTables, const std::string &forcedIsa,
                const std::string &name) {
  std::unique_ptr<Model> model(new Model());
  TRANSOM_TRY(model->takeCode(std::move(manifest), std::move(manifestText),
                              code, forcedIsa, name));
  TRANSOM_TRY(model->openTexts(tokenizerTables, name));
  return model;
}

Error Model::noTokenizer() const {
  const std::string reason =
      manifest().text ? manifest().text->tokenizerRefusal : "";
  return unsupported("the model has no tokenizer" +
                     (reason.empty() ? "" : ": " + reason));
}

Result<void> Model::openTexts(std::string_view tables,
                              const std::string &name) {
  if (!tables.empty()) {
    Result<Tokenizer> opened = Tokenizer::open(tables);
    if (!opened)
      return rejected(name + ": " + opened.error().message);
    tokenizerValue = std::move(*opened);
  }
  // Text embeddings come from a pipeline entry or from hidden states.
  const Entry *encode = findEntry(EntryKind::Encode);
  if (!manifest().text || !manifest().text->pipeline)
    embed = findTextUse(encode, "last_hidden_state");
  else if (const Entry *entry =
               Program::findEntry(manifest().text->pipeline->entry.c_str());
           entry && !entry->outputs.empty())
    embed = findTextUse(entry, entry->outputs[0].name);
  if (manifest().text && manifest().text->entities)
    entities = findTextUse(encode, "token_embeddings");
  if (manifest().text && manifest().text->pairs)
    if (const Entry *entry =
            Program::findEntry(manifest().text->pairs->entry.c_str());
        entry && !entry->outputs.empty())
      pairUse = findTextUse(entry, entry->outputs[0].name);
  if (!manifest().labels.empty())
    classify = findTextUse(encode, "logits");
  return {};
}

std::optional<Model::TextUse>
Model::findTextUse(const Entry *entry, const std::string &result) const {
  TextUse use;
  use.entry = entry;
  if (!use.entry || !tokenizerValue)
    return std::nullopt;
  use.ids = use.entry->inputIndex("input_ids");
  use.mask = use.entry->inputIndex("attention_mask");
  use.types = use.entry->inputIndex("token_type_ids");
  use.pooled = use.entry->inputIndex("pooling_mask");
  use.expansion = use.entry->inputIndex("expansion_mask");
  use.result = use.entry->outputIndex(result.c_str());
  if (use.ids < 0 || use.mask < 0 || use.result < 0)
    return std::nullopt;
  const Argument &output = use.entry->outputs[use.result];
  size_t rank = output.dims.size();
  std::vector<int64_t> none(use.entry->symbols.size(), 0);
  if (output.dtype != TRANSOM_DTYPE_F32 || rank < 2 || rank > 3 ||
      !output.dims.back().evaluate(none.data(), use.width) || use.width < 0)
    return std::nullopt;
  use.perToken = rank == 3 || use.width == 0;
  if (use.width == 0) // one value per token
    use.width = 1;
  return use;
}

size_t Model::maxTextTokens() const {
  if (!tokenizerValue)
    return 0;
  if (manifest().text && manifest().text->maxLength > 0)
    return size_t(manifest().text->maxLength);
  for (const Entry &entry : entries())
    if (entry.positionInput >= 0 && entry.positionLimit > 0)
      return size_t(entry.positionLimit);
  return 0;
}
