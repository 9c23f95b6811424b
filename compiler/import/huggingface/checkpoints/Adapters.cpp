// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Config keys used by XLM-RoBERTa with FlashAttention: the task names are in
// the order of the adapters in the files.
#include "compiler/import/huggingface/checkpoints/Adapters.h"
#include "runtime/base/Suggest.h"
#include <algorithm>

using namespace transom;

/// Returns a task's text prefix; may be empty.
static std::string getTextPrefix(Config &config, const FamilyKeys &keys,
                                 const std::string &task) {
  std::optional<JsonValue> prefixes = config.find(keys.taskPrefixes);
  if (!prefixes || !prefixes->isObject())
    return "";
  std::optional<JsonValue> prefix = prefixes->find(task.c_str());
  return prefix && prefix->isString() ? std::string(*prefix->asString()) : "";
}

Result<std::optional<Adapter>>
transom::readAdapter(Config &config, const FamilyKeys &keys,
                     const std::string &task, std::vector<std::string> &notes) {
  // Read the config keys.
  config.ignore(keys.taskPrefixes);
  std::optional<JsonValue> listed = config.find(keys.tasks);
  int64_t rank = config.integer(keys.taskRank, 4, 1, 1 << 16);
  double alpha = config.number(keys.taskAlpha, 1);
  if (config.failed() || (!listed && task.empty()))
    return std::optional<Adapter>();
  if (!listed)
    return usageError("'--task " + task +
                      "': config.json names no tasks with adapters");
  // Without a task no adapter is merged.
  TRANSOM_ASSIGN(std::vector<std::string> tasks, listed->asStringArray());
  if (task.empty()) {
    notes.push_back("config.json: no adapter is merged; '--task' merges that "
                    "of a task: " +
                    joinNames(tasks));
    return std::optional<Adapter>();
  }
  // Find the task.
  auto found = std::find(tasks.begin(), tasks.end(), task);
  if (found == tasks.end())
    return usageError("'--task " + task + "': the tasks of config.json are " +
                      joinNames(tasks) + suggest(task, tasks));
  if (std::string prefix = getTextPrefix(config, keys, task); !prefix.empty())
    notes.push_back("config.json: texts of task '" + task + "' begin with '" +
                    prefix + "'");
  return std::optional<Adapter>(
      Adapter{found - tasks.begin(), static_cast<int64_t>(tasks.size()), rank,
              alpha / static_cast<double>(rank)});
}
