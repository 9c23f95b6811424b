// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Late interaction: query and document lengths, query expansion and tokens
// without a vector. sentence-transformers stores the keys in module configs,
// PyLate in the model's config, whose values are defaults for modules.
#include "compiler/import/huggingface/sentence_transformers/PipelineReader.h"
#include <algorithm>

using namespace transom;

/// PyLate's default query length.
static constexpr int64_t usualExpansion = 32;

/// Tokens that PyLate skips by default.
static constexpr char punctuation[] = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~";

/// `query_expansion`; null disables it.
Result<void> PipelineReader::expansion(JsonValue value) {
  ManifestTokens &rules = tokens();
  rules.expansion = 0;
  if (value.isNull())
    return {};
  TRANSOM_TRY(value.expectOnlyKeys({"strategy", "attend", "token", "length"}));
  TRANSOM_ASSIGN(std::string strategy, text(value, "strategy", ""));
  if (strategy != "fixed" && strategy != "min")
    return value.error("unknown strategy '" + strategy +
                       "'; known: fixed, min");
  rules.keepsLongQueries = strategy == "min";
  TRANSOM_ASSIGN(rules.attends, flag(value, "attend", false));
  TRANSOM_ASSIGN(rules.expansionToken, text(value, "token", ""));
  TRANSOM_ASSIGN(JsonValue length, value.get("length"));
  TRANSOM_ASSIGN(rules.expansion, length.asInt(1, INT32_MAX));
  return {};
}

/// Reads the keys shared by Transformers and PyLate models.
Result<void> PipelineReader::lengths(JsonValue config) {
  if (auto length = findValue(config, "query_length")) {
    TRANSOM_ASSIGN(tokens().queryLength, length->asInt(1, INT32_MAX));
  }
  if (auto length = findValue(config, "document_length")) {
    TRANSOM_ASSIGN(tokens().documentLength, length->asInt(1, INT32_MAX));
  }
  if (auto value = config.find("query_expansion"))
    TRANSOM_TRY(expansion(*value));
  return {};
}

Result<void> PipelineReader::lateInteraction(JsonValue config) {
  bool hasKey = false;
  for (const char *key : {"query_length", "document_length", "query_expansion",
                          "do_query_expansion", "attend_to_expansion_tokens",
                          "query_prefix", "document_prefix", "skiplist_words"})
    hasKey |= config.find(key).has_value();
  TRANSOM_ASSIGN(std::string type, text(config, "model_type", ""));
  if (!hasKey && type != "ColBERT")
    return {};
  TRANSOM_TRY(lengths(config));
  ManifestTokens &rules = tokens();

  // PyLate pads queries to their length.
  TRANSOM_ASSIGN(const bool expands, flag(config, "do_query_expansion", true));
  if (hasKey && expands && !config.find("query_expansion")) {
    TRANSOM_ASSIGN(rules.attends,
                   flag(config, "attend_to_expansion_tokens", false));
    rules.expansion = rules.queryLength ? rules.queryLength : usualExpansion;
    rules.queryLength = 0;
  }

  // Its folders have no module for tokens without a vector.
  if (type == "ColBERT") {
    rules.skiplistTasks = {"document"};
    for (const char *c = punctuation; *c; ++c)
      rules.skiplist.emplace_back(1, *c);
  }
  if (auto words = findValue(config, "skiplist_words")) {
    TRANSOM_ASSIGN(rules.skiplist, words->asStringArray());
  }

  // A prefix is prepended once to the prompt with its name.
  for (const char *task : {"query", "document"}) {
    TRANSOM_ASSIGN(std::string prefix,
                   text(config, (task + std::string("_prefix")).c_str(), ""));
    if (prefix.empty())
      continue;
    rules.prefixes.push_back(prefix);
    for (auto &[name, prompt] : result.prompts)
      if (name == task && prompt.compare(0, prefix.size(), prefix) != 0)
        prompt = prefix + prompt;
  }
  return {};
}

/// `MultiVectorMask`.
Result<void> PipelineReader::tokenMask(PipelineModule &, JsonValue config) {
  ManifestTokens &rules = tokens();
  rules.skiplist.clear();
  rules.skiplistTasks = {"document"};
  if (auto words = findValue(config, "skiplist_words")) {
    TRANSOM_ASSIGN(rules.skiplist, words->asStringArray());
  }
  if (auto tasks = findValue(config, "skiplist_tasks")) {
    if (tasks->isString()) {
      rules.skiplistTasks = {std::string(*tasks->asString())};
    } else {
      TRANSOM_ASSIGN(rules.skiplistTasks, tasks->asStringArray());
    }
  }
  if (auto ids = findValue(config, "keep_only_token_ids"); ids && ids->size())
    result.refuse(ids->where() + ": 'keep_only_token_ids' is not supported");
  return {};
}
