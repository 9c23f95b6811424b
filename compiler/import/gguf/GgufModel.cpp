// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reads container, architecture, config, tokenizer and tensors, in this order.
#include "compiler/import/gguf/GgufModel.h"
#include "runtime/base/Utf8.h"

namespace transom::gguf {

bool isGguf(const std::string &path) {
  if (isFolder(path))
    return false;
  if (path.size() > 5 && path.substr(path.size() - 5) == ".gguf")
    return true;
  Result<MappedFile> file = MappedFile::open(path);
  return file && file->bytes().substr(0, 4) == "GGUF";
}

Result<Model> readModel(const std::string &path) {
  TRANSOM_ASSIGN(File file, File::open(path));
  TRANSOM_ASSIGN(const Architecture *row, getArchitecture(file));
  TRANSOM_ASSIGN(ConfigText config, makeConfig(file, *row));
  TRANSOM_ASSIGN(TokenizerTexts tokenizer,
                 makeTokenizer(file, config.vocabulary));
  TRANSOM_ASSIGN(JsonDocument document,
                 parseJson(config.json, utf8::printable(path, 400)));
  TRANSOM_ASSIGN(ModelFiles files, openTensors(std::move(file), *row, config));
  Model model = {document.withOrigins(config.origins), std::move(files)};
  model.texts = std::move(tokenizer.texts);
  model.tokenizerRefusal = std::move(tokenizer.refusal);
  model.pooling = std::move(config.pooling);
  model.notes = std::move(config.notes);
  model.notes.insert(model.notes.end(), tokenizer.notes.begin(),
                     tokenizer.notes.end());
  return model;
}

} // namespace transom::gguf
