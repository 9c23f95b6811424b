// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Same rules as AutoTokenizer.from_pretrained: the class named in files is
// used, except for model types with folders that are known to name a wrong
// class.
#include "compiler/import/tokenizer/classes/TokenizerClass.h"
#include <algorithm>
#include <iterator>

namespace transom::tokenizer {

/// Classes for model types whose folders may lack `tokenizer_class`. For the
/// types in the next list, tokenizer.json uses other classes.
static constexpr std::pair<const char *, const char *> classesOfTypes[] = {
    {"albert", "AlbertTokenizer"},
    {"bart", "BartTokenizer"},
    {"bert", "BertTokenizer"},
    {"blenderbot", "BlenderbotTokenizer"},
    {"camembert", "CamembertTokenizer"},
    {"cohere", "CohereTokenizer"},
    {"deberta", "DebertaTokenizer"},
    {"deberta-v2", "DebertaV2Tokenizer"},
    {"distilbert", "BertTokenizer"},
    {"electra", "BertTokenizer"},
    {"gemma", "GemmaTokenizer"},
    {"gemma2", "GemmaTokenizer"},
    {"gemma3", "GemmaTokenizer"},
    {"gemma3_text", "GemmaTokenizer"},
    {"gpt2", "GPT2Tokenizer"},
    {"gpt_neox", "GPTNeoXTokenizer"},
    {"gte", "XLMRobertaTokenizer"},
    {"jina_embeddings_v3", "XLMRobertaTokenizer"},
    {"llama", "LlamaTokenizer"},
    {"m2m_100", "M2M100Tokenizer"},
    {"marian", "MarianTokenizer"},
    {"mbart", "MBartTokenizer"},
    {"mistral", "LlamaTokenizer"},
    {"mixtral", "LlamaTokenizer"},
    {"mpnet", "MPNetTokenizer"},
    {"mt5", "T5Tokenizer"},
    {"nllb-moe", "NllbTokenizer"},
    {"nomic_bert", "BertTokenizer"},
    {"opt", "GPT2Tokenizer"},
    {"pegasus", "PegasusTokenizer"},
    {"phi", "GPT2Tokenizer"},
    {"phi3", "LlamaTokenizer"},
    {"qwen2", "Qwen2Tokenizer"},
    {"qwen3", "Qwen2Tokenizer"},
    {"roberta", "RobertaTokenizer"},
    {"starcoder2", "GPT2Tokenizer"},
    {"t5", "T5Tokenizer"},
    {"xlm-roberta", "XLMRobertaTokenizer"},
    {"xlm-roberta-xl", "XLMRobertaTokenizer"}};

/// Model types whose tokenizer.json is read unchanged, whatever class a file
/// names.
static constexpr std::string_view generalTypes[] = {
    "granite",       "mistral", "mixtral",  "modernbert", "modernbert-decoder",
    "nystromformer", "olmo2",   "stablelm", "umt5",       "xlm-roberta-xl"};

/// Model types without their own class for tokenizer.json.
static constexpr std::string_view typesWithoutClass[] = {"llama"};

/// Model types whose class is used even if a file names another one.
static constexpr std::pair<std::string_view, std::string_view> fixedClasses[] =
    {{"phi3", generalClass}, {"qwen2", "Qwen2Tokenizer"}};

/// Classes without token types.
static constexpr std::string_view classesWithoutTypes[] = {
    "AlbertTokenizer",     "BartTokenizer",    "BlenderbotTokenizer",
    "CamembertTokenizer",  "CohereTokenizer",  "DistilBertTokenizer",
    "GPT2Tokenizer",       "GPTNeoXTokenizer", "GemmaTokenizer",
    "LlamaTokenizer",      "MBart50Tokenizer", "MBartTokenizer",
    "MPNetTokenizer",      "NllbTokenizer",    "PegasusTokenizer",
    "PreTrainedTokenizer", "Qwen2Tokenizer",   "RobertaTokenizer",
    "T5Tokenizer",         generalClass,       "XLMRobertaTokenizer"};

template <size_t Size>
static bool contains(const std::string_view (&names)[Size],
                     std::string_view name) {
  return std::find(std::begin(names), std::end(names), name) != std::end(names);
}

static std::string getClassOfType(std::string_view modelType) {
  for (auto &[type, name] : classesOfTypes)
    if (modelType == type)
      return name;
  return {};
}

static std::string withoutFast(std::string name) {
  const size_t end = name.size() - std::min<size_t>(name.size(), 4);
  if (name.compare(end, 4, "Fast") == 0)
    name.resize(end);
  return name == "PreTrainedTokenizer" ? std::string(generalClass) : name;
}

std::string getFilesClass(const ClassHints &hints) {
  for (const std::string &given : {hints.settings, hints.config})
    if (std::string name = withoutFast(given);
        !name.empty() && name != generalClass)
      return name;
  return getClassOfType(hints.modelType);
}

/// Returns the class that transformers lists for a model type; empty without
/// one.
static std::string getListedClass(std::string_view modelType) {
  for (auto &[type, name] : fixedClasses)
    if (modelType == type)
      return std::string(name);
  if (contains(generalTypes, modelType))
    return std::string(generalClass);
  return contains(typesWithoutClass, modelType) ? std::string()
                                                : getClassOfType(modelType);
}

std::string getSerializedClass(const ClassHints &hints, bool hasByteLevel) {
  const std::string named =
      withoutFast(hints.settings.empty() ? hints.config : hints.settings);
  const std::string listed = getListedClass(hints.modelType);
  if (listed == generalClass)
    return listed;
  for (auto &[type, name] : fixedClasses)
    if (hints.modelType == type)
      return std::string(name);
  // Llama 3 folders name Llama 2's class.
  if (named == "LlamaTokenizer" && hasByteLevel)
    return std::string(generalClass);
  if (!named.empty())
    return named;
  return listed.empty() ? std::string(generalClass) : listed;
}

bool hasTypes(std::string_view className) {
  return !contains(classesWithoutTypes, className);
}

} // namespace transom::tokenizer
