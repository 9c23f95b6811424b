// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Keys that change results are read or rejected; training keys are ignored.
#include "compiler/import/huggingface/checkpoints/PeftConfig.h"
#include "runtime/base/Utf8.h"
#include "runtime/json/Json.h"
#include <cmath>
#include <set>

namespace transom {
namespace {

/// Keys that change results; they must be absent or off.
constexpr const char *offKeys[] = {
    "use_qalora",        "use_bdlora",     "layer_replication",
    "arrow_config",      "kasa_config",    "alora_invocation_tokens",
    "monteclora_config", "megatron_config"};
/// Keys for training, or whose content is repeated in the tensors and module
/// classes.
constexpr const char *ignoredKeys[] = {
    "auto_mapping",      "peft_version",   "revision",
    "inference_mode",    "target_modules", "base_model_name_or_path",
    "exclude_modules",   "lora_dropout",   "layers_to_transform",
    "layers_pattern",    "megatron_core",  "loftq_config",
    "eva_config",        "corda_config",   "lora_ga_config",
    "qalora_group_size", "runtime_config", "ensure_weight_tying",
    "fan_in_fan_out",    "init_weights",   "velora_config"};
/// Keys that are read here.
constexpr const char *readKeys[] = {
    "peft_type",       "r",
    "lora_alpha",      "bias",
    "use_rslora",      "rank_pattern",
    "alpha_pattern",   "init_lora_weights",
    "use_dora",        "lora_bias",
    "modules_to_save", "target_parameters",
    "task_type",       "trainable_token_indices",
    "token_indices"};
/// Adapter initializations that do not change the model.
constexpr const char *plainInits[] = {"gaussian", "eva", "orthogonal", "mica"};

/// Max rank.
constexpr int64_t maxRank = 1 << 16;

/// Returns true for a value that turns a feature off.
bool isOff(JsonValue value) {
  if (value.isNull() ||
      ((value.isArray() || value.isObject()) && !value.size()))
    return true;
  return value.isBool() && !*value.asBool();
}

/// Returns a key's value; nullopt if it is absent or null.
std::optional<JsonValue> findSet(JsonValue root, const char *key) {
  std::optional<JsonValue> value = root.find(key);
  return value && value->isNull() ? std::nullopt : value;
}

/// Adds a value's location to an error without one.
Error at(JsonValue value, const Error &error) {
  return value.error(error.message, error.status);
}

Result<double> readFinite(JsonValue value) {
  TRANSOM_ASSIGN(const double number, value.asDouble());
  if (!std::isfinite(number))
    return value.error("expected a finite number");
  return number;
}

/// Reads patterns; ranks are integers, alphas any finite numbers.
Result<std::vector<ModuleNumber>> readPatterns(JsonValue root, const char *key,
                                               bool isRank) {
  std::vector<ModuleNumber> patterns;
  std::optional<JsonValue> listed = findSet(root, key);
  if (!listed)
    return patterns;
  TRANSOM_TRY(listed->expectObject());
  for (JsonValue::Member member : listed->members()) {
    Result<ModulePattern> pattern = ModulePattern::parse(member.key);
    if (!pattern)
      return at(member.value, pattern.error());
    if (isRank)
      TRANSOM_TRY(member.value.asInt(1, maxRank));
    TRANSOM_ASSIGN(const double value, readFinite(member.value));
    patterns.push_back({std::move(*pattern), value});
  }
  return patterns;
}

/// Reads a list of strings; empty if the key is absent.
Result<std::vector<std::string>> readTexts(JsonValue root, const char *key) {
  std::optional<JsonValue> listed = findSet(root, key);
  return listed ? listed->asStringArray()
                : Result<std::vector<std::string>>(std::vector<std::string>());
}

/// Reads targeted parameters; parameters with other names are expert tables
/// with rank 3.
Result<std::vector<std::string>> readParameters(JsonValue root) {
  TRANSOM_ASSIGN(std::vector<std::string> names,
                 readTexts(root, "target_parameters"));
  for (const std::string &name : names) {
    const size_t dot = name.rfind('.');
    if (dot == name.npos || name.substr(dot) != ".weight")
      return root.find("target_parameters")
          ->error("parameter '" + utf8::printable(name) +
                      "' is not supported; supported: the weights of modules, "
                      "'MODULE.weight'",
                  Status::Unsupported);
  }
  return names;
}

/// Reads ids for the model's input embedding, or for tables by name suffix.
Result<std::vector<TrainedTokens>> readTokens(JsonValue root) {
  std::vector<TrainedTokens> tokens;
  std::optional<JsonValue> listed = findSet(root, "trainable_token_indices");
  if (!listed) // an adapter with only token rows
    listed = findSet(root, "token_indices");
  if (!listed)
    return tokens;
  constexpr int64_t largest = INT32_MAX;
  if (listed->isArray()) {
    TRANSOM_ASSIGN(std::vector<int64_t> ids, listed->asIntArray(0, largest));
    if (!ids.empty())
      tokens.push_back({"", std::move(ids)});
    return tokens;
  }
  TRANSOM_TRY(listed->expectObject());
  for (JsonValue::Member member : listed->members()) {
    TRANSOM_ASSIGN(std::vector<int64_t> ids,
                   member.value.asIntArray(0, largest));
    tokens.push_back({std::string(member.key), std::move(ids)});
  }
  return tokens;
}

Result<void> checkInit(JsonValue root) {
  std::optional<JsonValue> init = findSet(root, "init_lora_weights");
  if (!init || init->isBool())
    return {};
  TRANSOM_ASSIGN(std::string_view name, init->asString());
  for (const char *plain : plainInits)
    if (name == plain)
      return {};
  return init->error(
      "'" + utf8::printable(name) +
          "' changes the model's own weights, which is not "
          "supported; supported: true, false, gaussian, eva, "
          "orthogonal, mica, or an adapter that "
          "save_pretrained(..., "
          "path_initial_model_for_weight_conversion=...) of PEFT "
          "converted to LoRA",
      Status::Unsupported);
}

Result<void> checkBias(JsonValue root) {
  std::optional<JsonValue> bias = root.find("bias");
  if (!bias)
    return {};
  TRANSOM_ASSIGN(std::string_view which, bias->asString());
  if (which == "none" || which == "all" || which == "lora_only")
    return {};
  return bias->error("unknown bias '" + utf8::printable(which) +
                     "'; expected none, all or lora_only");
}

Result<bool> readFlag(JsonValue root, const char *key) {
  std::optional<JsonValue> value = findSet(root, key);
  return value ? value->asBool() : Result<bool>(false);
}

/// Rejects adapters other than LoRA, and unsupported variants.
Result<void> checkKind(JsonValue root) {
  TRANSOM_ASSIGN(JsonValue kind, root.get("peft_type"));
  TRANSOM_ASSIGN(std::string_view name, kind.asString());
  if (name != "LORA" && name != "TRAINABLE_TOKENS")
    return kind.error("adapters of the kind '" + utf8::printable(name) +
                          "' are not supported; supported: LORA, "
                          "TRAINABLE_TOKENS",
                      Status::Unsupported);
  for (const char *key : offKeys)
    if (std::optional<JsonValue> value = root.find(key);
        value && !isOff(*value))
      return value->error("is not supported; supported: null or false",
                          Status::Unsupported);
  TRANSOM_TRY(checkInit(root));
  TRANSOM_TRY(readFlag(root, "lora_bias")); // its tensors determine the rest
  return checkBias(root);
}

std::vector<std::string> getUnknownKeys(JsonValue root) {
  std::set<std::string_view> known(std::begin(readKeys), std::end(readKeys));
  known.insert(std::begin(offKeys), std::end(offKeys));
  known.insert(std::begin(ignoredKeys), std::end(ignoredKeys));
  std::vector<std::string> notes;
  for (JsonValue::Member member : root.members())
    if (!known.count(member.key) && !member.value.isNull())
      notes.push_back(std::string(adapterConfig) + ": key '" +
                      utf8::printable(member.key) +
                      "' is not known and was ignored");
  return notes;
}

bool endsWith(const std::string &text, const std::string &end) {
  return text.size() >= end.size() &&
         text.compare(text.size() - end.size(), end.size(), end) == 0;
}

/// Returns the value for the first matching pattern.
double findNumber(const std::vector<ModuleNumber> &numbers,
                  const std::string &module, double absent) {
  for (const auto &[pattern, value] : numbers)
    if (pattern.matches(module))
      return value;
  return absent;
}

} // namespace

/// Returns the name that patterns match: the parameter name if a parameter was
/// targeted.
std::string PeftConfig::getTarget(const std::string &module) const {
  return isParameter(module) ? module + ".weight" : module;
}

int64_t PeftConfig::getRank(const std::string &module) const {
  return static_cast<int64_t>(
      findNumber(ranks, getTarget(module), double(rank)));
}

double PeftConfig::getScale(const std::string &module) const {
  const auto of = static_cast<double>(getRank(module));
  return findNumber(alphas, getTarget(module), alpha) /
         (stabilized ? std::sqrt(of) : of);
}

bool PeftConfig::isSaved(const std::string &module) const {
  for (size_t end = module.size(); end != module.npos && end > 0;
       end = module.rfind('.', end - 1))
    for (const std::string &name : saved)
      if (endsWith(module.substr(0, end), name))
        return true;
  return false;
}

bool PeftConfig::isParameter(const std::string &module) const {
  for (const std::string &name : parameters)
    if (endsWith("." + module + ".weight", "." + name))
      return true;
  return false;
}

const TrainedTokens *PeftConfig::findTokens(const std::string &module) const {
  for (const TrainedTokens &table : tokens)
    if (endsWith(module, table.module))
      return &table;
  return nullptr;
}

Result<PeftConfig> readPeftConfig(const std::string &path) {
  TRANSOM_ASSIGN(JsonDocument document, parseJsonFile(path));
  const JsonValue root = document.root();
  TRANSOM_TRY(root.expectObject());
  TRANSOM_TRY(checkKind(root));
  PeftConfig config;

  // Read the scale's inputs.
  if (std::optional<JsonValue> rank = root.find("r")) {
    TRANSOM_ASSIGN(config.rank, rank->asInt(1, maxRank));
  }
  if (std::optional<JsonValue> alpha = root.find("lora_alpha")) {
    TRANSOM_ASSIGN(config.alpha, readFinite(*alpha));
  }
  TRANSOM_ASSIGN(config.stabilized, readFlag(root, "use_rslora"));
  TRANSOM_ASSIGN(config.ranks, readPatterns(root, "rank_pattern", true));
  TRANSOM_ASSIGN(config.alphas, readPatterns(root, "alpha_pattern", false));

  // Read the other keys that change the model.
  TRANSOM_ASSIGN(config.hasMagnitudes, readFlag(root, "use_dora"));
  TRANSOM_ASSIGN(config.saved, readTexts(root, "modules_to_save"));
  TRANSOM_ASSIGN(config.parameters, readParameters(root));
  TRANSOM_ASSIGN(config.tokens, readTokens(root));
  if (std::optional<JsonValue> task = findSet(root, "task_type")) {
    TRANSOM_ASSIGN(config.task, task->asString());
  }
  config.notes = getUnknownKeys(root);
  return Result<PeftConfig>(std::move(config));
}

} // namespace transom
