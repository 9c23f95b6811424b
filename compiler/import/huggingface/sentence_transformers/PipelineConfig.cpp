// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reads modules in the order given in modules.json, which determines each
// module's input.
#include "compiler/import/huggingface/sentence_transformers/PipelineReader.h"
#include "runtime/base/File.h"
#include "runtime/base/Suggest.h"
#include "runtime/base/Utf8.h"
#include "runtime/json/JsonParser.h"
#include <algorithm>
#include <unordered_set>

using namespace transom;

bool PipelineConfig::endsNormalized() const {
  for (auto module = modules.rbegin(); module != modules.rend(); ++module)
    if (module->kind != PipelineKind::Unchanged)
      return module->kind == PipelineKind::Normalize;
  return false;
}

const PipelineModule *PipelineConfig::getStaticEmbedding() const {
  const bool isFirst =
      !modules.empty() && modules.front().kind == PipelineKind::StaticEmbedding;
  return isFirst ? &modules.front() : nullptr;
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

Result<std::optional<JsonDocument>>
PipelineReader::json(const std::string &name) {
  const std::string path = joinPath(folder, name);
  if (!fileExists(path))
    return std::optional<JsonDocument>();
  TRANSOM_ASSIGN(JsonDocument document,
                 parseJsonFile(path, JsonNumbers::Python));
  TRANSOM_TRY(document.root().expectObject());
  if (std::find(result.files.begin(), result.files.end(), name) ==
      result.files.end())
    result.files.push_back(name);
  return std::optional<JsonDocument>(document);
}

std::optional<JsonValue> transom::findValue(JsonValue config, const char *key) {
  std::optional<JsonValue> value = config.find(key);
  return value && !value->isNull() ? value : std::nullopt;
}

Result<bool> PipelineReader::flag(JsonValue config, const char *key,
                                  bool absent) {
  std::optional<JsonValue> value = findValue(config, key);
  return value ? value->asBool() : Result<bool>(absent);
}

Result<std::string> PipelineReader::text(JsonValue config, const char *key,
                                         const std::string &absent) {
  std::optional<JsonValue> value = findValue(config, key);
  if (!value)
    return absent;
  TRANSOM_ASSIGN(std::string_view found, value->asString());
  return std::string(found);
}

void PipelineReader::checkKeys(JsonValue object, const std::string &file,
                               const PipelineWords &known) {
  for (JsonValue::Member member : object.members())
    if (!member.value.isNull() &&
        std::find(known.begin(), known.end(), member.key) == known.end())
      result.refuse(file + ": key '" + utf8::printable(member.key) +
                    "' is not known; known: " + joinNames(known));
}

/// Refuses a key's value.
void PipelineReader::refuseValue(JsonValue value,
                                 const std::string &supported) {
  std::string shown =
      value.isString() ? std::string(*value.asString()) : value.kindText();
  result.refuse(value.where() + ": '" + utf8::printable(shown) +
                "' is not supported; supported: " + supported);
}

//===----------------------------------------------------------------------===//
// modules.json
//===----------------------------------------------------------------------===//

/// Reads a module by its class and config.
Result<void> PipelineReader::readModule(PipelineModule &module,
                                        const std::string &type) {
  const std::string word = type.substr(type.rfind('.') + 1);
  const bool isLate = type.rfind("pylate.models.", 0) == 0;
  const ModuleKindEntry *kind = nullptr;
  PipelineWords supported;
  for (const ModuleKindEntry &entry : getModuleKinds()) {
    supported.emplace_back(entry.name);
    if (word == entry.name)
      kind = &entry;
  }
  if (!kind || (!isLate && type.rfind("sentence_transformers.", 0) != 0)) {
    result.refuse("modules.json: module '" + utf8::printable(type) +
                  "' is not supported; supported of sentence_transformers: " +
                  joinNames(supported));
    return {};
  }
  module.kind = kind->kind;
  module.readsTokens = isLate || (ofTokens && word == "Dense");
  ofTokens |= isLate || word == "MultiVectorMask";
  if (word == "MLMTransformer")
    result.hasLogits = true;
  if (!kind->file)
    return (this->*kind->read)(module, parseJson("{}", "config")->root());
  const std::string file = kind->kind == PipelineKind::Transformer
                               ? getTransformerFile(folder)
                               : kind->file;
  const std::string name =
      module.path.empty() ? file : module.path + "/" + file;
  TRANSOM_ASSIGN(std::optional<JsonDocument> config, json(name));
  if (!config && kind->needsFile) {
    result.refuse("modules.json: module '" + module.name + "' has no " + name);
    return {};
  }
  if (!config)
    config = *parseJson("{}", name);
  if (!kind->ignoresOthers)
    checkKeys(config->root(), name, kind->keys);
  if (kind->kind == PipelineKind::Transformer)
    TRANSOM_TRY(arguments(*config));
  return (this->*kind->read)(module, config->root());
}

/// Returns an error for a module that reads a value that no previous module
/// writes.
Result<void> PipelineReader::order(const PipelineModule &module,
                                   JsonValue entry) {
  const bool isStatic = module.kind == PipelineKind::StaticEmbedding;
  if (isStatic || module.kind == PipelineKind::Transformer) {
    if (!result.modules.empty())
      return entry.error("module '" + module.name + "' is a " +
                         (isStatic ? "StaticEmbedding" : "Transformer") +
                         " after another module; it comes first");
    hasSentence = isStatic;
    return {};
  }
  if (module.kind == PipelineKind::LogitScore) {
    if (!hasLogits)
      return entry.error("module '" + module.name + "' reads '" + logitFeature +
                         "', which no module before it makes");
    hasScores = true;
    return {};
  }
  if (module.kind != PipelineKind::Unchanged &&
      !(module.readsTokens ? hasTokens : hasSentence))
    return entry.error("module '" + module.name + "' reads '" +
                       (module.readsTokens ? tokenFeature : sentenceFeature) +
                       "', which no module before it makes");
  if (module.kind != PipelineKind::Unchanged && !module.writesTokens)
    hasSentence = true;
  return {};
}

Result<void> PipelineReader::module(JsonValue entry) {
  TRANSOM_TRY(entry.expectObject());
  TRANSOM_ASSIGN(JsonValue type, entry.get("type"));
  TRANSOM_ASSIGN(std::string_view typeName, type.asString());
  TRANSOM_ASSIGN(JsonValue path, entry.get("path"));
  TRANSOM_ASSIGN(std::string_view folderName, path.asString());
  checkKeys(entry, "modules.json", {"idx", "name", "path", "type", "kwargs"});
  if (auto kwargs = findValue(entry, "kwargs"); kwargs && kwargs->size())
    result.refuse(kwargs->where() +
                  ": arguments of a module are not supported");
  PipelineModule module;
  module.path = folderName == "." ? "" : folderName;
  const std::string word(typeName.substr(typeName.rfind('.') + 1));
  module.name = module.path.empty() ? word : module.path;
  if (!module.path.empty())
    TRANSOM_TRY(checkPlainFileName(module.path, path.where() + ": path"));
  const bool wasRefused = !result.refusal.empty();
  TRANSOM_TRY(readModule(module, std::string(typeName)));
  // The output of an unknown module is unknown, too.
  if (!wasRefused && result.refusal.empty())
    TRANSOM_TRY(order(module, entry));
  if (module.kind == PipelineKind::Transformer && !module.path.empty())
    result.refuse("modules.json: the Transformer is in the folder '" +
                  module.path +
                  "'; compile that folder, or move its files to "
                  "the folder of modules.json");
  result.modules.push_back(std::move(module));
  return {};
}

//===----------------------------------------------------------------------===//
// config_sentence_transformers.json
//===----------------------------------------------------------------------===//

Result<void> PipelineReader::prompts(JsonValue config) {
  std::unordered_set<std::string> known;
  for (const auto &[name, prompt] : result.prompts)
    known.insert(name);
  auto add = [&](std::string name, std::string prompt) {
    if (known.insert(name).second)
      result.prompts.emplace_back(std::move(name), std::move(prompt));
  };
  if (auto values = findValue(config, "prompts")) {
    TRANSOM_TRY(values->expectObject());
    for (JsonValue::Member member : values->members()) {
      std::string prompt;
      if (!member.value.isNull()) {
        TRANSOM_ASSIGN(prompt, member.value.asString());
      }
      add(std::string(member.key), std::move(prompt));
    }
  }
  TRANSOM_ASSIGN(result.defaultPrompt, text(config, "default_prompt_name", ""));
  // Every model has these two.
  add("query", "");
  add("document", "");
  for (const auto &[name, prompt] : result.prompts)
    if (name == result.defaultPrompt)
      return {};
  if (result.defaultPrompt.empty())
    return {};
  PipelineWords names;
  for (const auto &[name, prompt] : result.prompts)
    names.push_back(name);
  return config.find("default_prompt_name")
      ->error("no prompt '" + utf8::printable(result.defaultPrompt) +
              "'; known: " + joinNames(names));
}

Result<void> PipelineReader::model(JsonValue config) {
  checkKeys(config, "config_sentence_transformers.json",
            {"__version__", "model_type", "activation_fn",
             "keep_in_fp32_modules", "prompts", "default_prompt_name",
             "similarity_fn_name", "truncate_dim", "max_active_dims",
             "requirements", "query_prefix", "document_prefix", "query_length",
             "document_length", "attend_to_expansion_tokens", "skiplist_words",
             "do_query_expansion", "query_expansion"});
  // Read prompts, similarity and truncation.
  TRANSOM_TRY(prompts(config));
  TRANSOM_ASSIGN(result.similarity, text(config, "similarity_fn_name", ""));
  if (auto dim = findValue(config, "truncate_dim")) {
    TRANSOM_ASSIGN(result.dim, dim->asInt(1, INT32_MAX));
  }
  if (auto active = findValue(config, "max_active_dims")) {
    TRANSOM_ASSIGN(result.maxActive, active->asInt(1, INT32_MAX));
  }
  // Read the model type.
  TRANSOM_ASSIGN(std::string type,
                 text(config, "model_type", "SentenceTransformer"));
  if (type == "ColBERT" || type == "MultiVectorEncoder")
    ofTokens = true;
  else if (type == "CrossEncoder")
    result.pairs.emplace();
  else if (type != "SentenceTransformer" && type != "SparseEncoder")
    refuseValue(*config.find("model_type"),
                "SentenceTransformer, SparseEncoder, ColBERT, CrossEncoder, "
                "MultiVectorEncoder");
  TRANSOM_ASSIGN(result.activation, text(config, "activation_fn", ""));
  return lateInteraction(config);
}

//===----------------------------------------------------------------------===//
// The pipeline
//===----------------------------------------------------------------------===//

void PipelineReader::chooseEntry() {
  if (!result.refusal.empty())
    return;
  if (result.pairs) {
    if (!hasScores)
      result.refuse("modules.json: no module makes 'scores', as LogitScore "
                    "does");
    else if (!result.scoreTokens.empty())
      result.entry = result.pairs->entry = "rerank";
    return;
  }
  if (hasSentence) {
    result.entry = isSparse ? "sparse" : "embed";
    return;
  }
  for (const PipelineModule &module : result.modules)
    ofTokens |= module.kind != PipelineKind::Transformer &&
                module.kind != PipelineKind::Unchanged && module.writesTokens;
  if (!ofTokens) {
    result.refuse("modules.json: no module makes a 'sentence_embedding', as "
                  "Pooling does");
    return;
  }
  // Texts are compared by unit vectors, even without a normalization module.
  result.entry = tokenFeature;
  if (result.endsNormalized())
    return;
  PipelineModule normalize;
  normalize.kind = PipelineKind::Normalize;
  normalize.name = "Normalize";
  normalize.readsTokens = normalize.writesTokens = true;
  result.modules.push_back(normalize);
}

Result<void> PipelineReader::read(const JsonDocument &modules) {
  result.files.emplace_back("modules.json");
  TRANSOM_TRY(modules.root().expectArray());
  // The model's keys are defaults for absent module keys.
  TRANSOM_ASSIGN(std::optional<JsonDocument> config,
                 json("config_sentence_transformers.json"));
  if (config)
    TRANSOM_TRY(model(config->root()));
  else
    TRANSOM_TRY(prompts(parseJson("{}", "config")->root()));
  for (JsonValue entry : modules.root().elements())
    TRANSOM_TRY(module(entry));
  if (result.modules.empty() ||
      (result.refusal.empty() &&
       result.modules.front().kind != PipelineKind::Transformer &&
       !result.getStaticEmbedding()))
    return modules.root().error("the first module is not a Transformer");
  chooseEntry();
  return {};
}

std::string transom::getTransformerFile(const std::string &folder) {
  constexpr const char *names[] = {"bert",      "roberta", "distilbert",
                                   "camembert", "albert",  "xlm-roberta",
                                   "xlnet"};
  for (const char *name : names) {
    std::string file = "sentence_" + std::string(name) + "_config.json";
    if (fileExists(joinPath(folder, file)))
      return file;
  }
  return "sentence_bert_config.json";
}

std::string transom::getFirstModule(const std::string &folder) {
  const std::string path = joinPath(folder, "modules.json");
  if (!fileExists(path))
    return "";
  Result<JsonDocument> document = parseJsonFile(path, JsonNumbers::Python);
  if (!document || !document->root().isArray() || !document->root().size())
    return "";
  const JsonValue first = document->root()[0];
  auto type =
      first.isObject() ? first.find("type") : std::optional<JsonValue>();
  if (!type || !type->isString())
    return "";
  const std::string name(*type->asString());
  return name.substr(name.rfind('.') + 1);
}

Result<std::optional<PipelineConfig>>
transom::readPipelineConfig(const std::string &folder) {
  const std::string path = joinPath(folder, "modules.json");
  if (!fileExists(path))
    return std::optional<PipelineConfig>();
  TRANSOM_ASSIGN(JsonDocument modules,
                 parseJsonFile(path, JsonNumbers::Python));
  PipelineConfig config;
  TRANSOM_TRY(PipelineReader(folder, config).read(modules));
  return std::optional<PipelineConfig>(std::move(config));
}
