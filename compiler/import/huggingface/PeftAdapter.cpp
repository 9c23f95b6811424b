// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The tensors of an adapter say what it changes; the config says how much.
// Keys of the config that change results are read or refused.
#include "compiler/import/huggingface/PeftAdapter.h"
#include "runtime/base/Utf8.h"
#include "runtime/json/Json.h"
#include <algorithm>
#include <cmath>
#include <cstring>
#include <set>

namespace transom {
namespace {

/// Keys whose value changes results, with what PEFT has without them.
constexpr const char *offKeys[] = {
    "use_dora",       "lora_bias",         "use_qalora",
    "use_bdlora",     "layer_replication", "alora_invocation_tokens",
    "arrow_config",   "target_parameters", "trainable_token_indices",
    "kasa_config",    "monteclora_config", "velora_config",
    "megatron_config"};
/// Keys that were for the training, or that the tensors repeat.
constexpr const char *ignoredKeys[] = {
    "task_type",       "auto_mapping",        "peft_version",
    "revision",        "inference_mode",      "base_model_name_or_path",
    "target_modules",  "exclude_modules",     "lora_dropout",
    "modules_to_save", "layers_to_transform", "layers_pattern",
    "megatron_core",   "loftq_config",        "eva_config",
    "corda_config",    "lora_ga_config",      "qalora_group_size",
    "runtime_config",  "ensure_weight_tying"};
/// Ways to initialize an adapter that do not change the model.
constexpr const char *plainInits[] = {"gaussian", "eva", "orthogonal", "mica"};

/// A file of an adapter is never over this.
constexpr int64_t maxRank = 1 << 16;

/// True for a value that turns a feature off.
bool isOff(JsonValue value) {
  if (value.isNull() ||
      ((value.isArray() || value.isObject()) && !value.size()))
    return true;
  return value.isBool() && !*value.asBool();
}

/// Ranks or alphas of modules whose names end with a pattern.
struct Pattern {
  std::string end;
  double value;
};

/// The config of an adapter.
struct AdapterConfig {
  int64_t rank = 8;
  double alpha = 8;
  bool stabilized = false; ///< alpha is divided by the root of the rank
  bool transposed = false; ///< weights are [in, out]
  std::vector<Pattern> ranks, alphas;
  std::vector<std::string> notes;

  static double find(const std::vector<Pattern> &patterns,
                     const std::string &module, double absent);
};

/// A pattern matches a name from a dot on, as in PEFT.
double AdapterConfig::find(const std::vector<Pattern> &patterns,
                           const std::string &module, double absent) {
  for (const auto &[end, value] : patterns) {
    const bool ends = module.size() >= end.size() &&
                      module.substr(module.size() - end.size()) == end;
    if (ends && (module.size() == end.size() ||
                 module[module.size() - end.size() - 1] == '.'))
      return value;
  }
  return absent;
}

/// Ranks are integers, alphas any finite numbers.
Result<std::vector<Pattern>> readPatterns(JsonValue root, const char *key,
                                          bool isRank) {
  std::vector<Pattern> patterns;
  std::optional<JsonValue> listed = root.find(key);
  if (!listed || listed->isNull())
    return patterns;
  TRANSOM_TRY(listed->expectObject());
  for (JsonValue::Member member : listed->members()) {
    // A dot of a pattern may be any character, but names have dots there.
    if (member.key.find_first_of("^$*+?()[]{}|\\") != std::string_view::npos)
      return member.value.error("patterns of regular expressions are not "
                                "supported; supported: ends of names",
                                Status::Unsupported);
    TRANSOM_ASSIGN(const double value, member.value.asDouble());
    if (isRank)
      TRANSOM_TRY(member.value.asInt(1, maxRank));
    if (!std::isfinite(value))
      return member.value.error("expected a finite number");
    patterns.push_back({std::string(member.key), value});
  }
  return patterns;
}

Result<void> checkInit(JsonValue root) {
  std::optional<JsonValue> init = root.find("init_lora_weights");
  if (!init || init->isNull() || init->isBool())
    return {};
  TRANSOM_ASSIGN(std::string_view name, init->asString());
  for (const char *plain : plainInits)
    if (name == plain)
      return {};
  return init->error("'" + utf8::printable(name) +
                         "' changes the model's own weights, which is not "
                         "supported; supported: true, false, gaussian, eva, "
                         "orthogonal, or an adapter that was converted to LoRA",
                     Status::Unsupported);
}

Result<bool> readFlag(JsonValue root, const char *key) {
  std::optional<JsonValue> value = root.find(key);
  return value && !value->isNull() ? value->asBool() : Result<bool>(false);
}

Result<AdapterConfig> readConfig(const std::string &path) {
  TRANSOM_ASSIGN(JsonDocument document, parseJsonFile(path));
  const JsonValue root = document.root();
  TRANSOM_TRY(root.expectObject());
  TRANSOM_ASSIGN(JsonValue kind, root.get("peft_type"));
  TRANSOM_ASSIGN(std::string_view name, kind.asString());
  if (name != "LORA")
    return kind.error("adapters of the kind '" + utf8::printable(name) +
                          "' are not supported; supported: LORA",
                      Status::Unsupported);
  for (const char *key : offKeys)
    if (std::optional<JsonValue> value = root.find(key);
        value && !isOff(*value))
      return value->error("is not supported; supported: null or false",
                          Status::Unsupported);
  TRANSOM_TRY(checkInit(root));

  AdapterConfig config;
  if (std::optional<JsonValue> rank = root.find("r")) {
    TRANSOM_ASSIGN(config.rank, rank->asInt(1, maxRank));
  }
  if (std::optional<JsonValue> alpha = root.find("lora_alpha")) {
    TRANSOM_ASSIGN(config.alpha, alpha->asDouble());
    if (!std::isfinite(config.alpha))
      return alpha->error("expected a finite number");
  }
  if (std::optional<JsonValue> bias = root.find("bias")) {
    TRANSOM_ASSIGN(std::string_view which, bias->asString());
    if (which != "none" && which != "all" && which != "lora_only")
      return bias->error("unknown bias '" + utf8::printable(which) +
                         "'; expected none, all or lora_only");
  }
  TRANSOM_ASSIGN(config.stabilized, readFlag(root, "use_rslora"));
  TRANSOM_ASSIGN(config.transposed, readFlag(root, "fan_in_fan_out"));
  TRANSOM_ASSIGN(config.ranks, readPatterns(root, "rank_pattern", true));
  TRANSOM_ASSIGN(config.alphas, readPatterns(root, "alpha_pattern", false));

  std::set<std::string_view> known = {"peft_type",        "r",
                                      "lora_alpha",       "bias",
                                      "use_rslora",       "rank_pattern",
                                      "alpha_pattern",    "fan_in_fan_out",
                                      "init_lora_weights"};
  known.insert(std::begin(offKeys), std::end(offKeys));
  known.insert(std::begin(ignoredKeys), std::end(ignoredKeys));
  for (JsonValue::Member member : root.members())
    if (!known.count(member.key))
      config.notes.push_back(std::string(adapterConfig) + ": key '" +
                             utf8::printable(member.key) +
                             "' is not known and was ignored");
  return Result<AdapterConfig>(std::move(config));
}

/// The names of the two factors, of products and of tables.
constexpr std::pair<const char *, const char *> factorEnds[] = {
    {".lora_A.weight", ".lora_B.weight"},
    {".lora_embedding_A", ".lora_embedding_B"}};

/// Merges one adapter.
class AdapterMerger {
public:
  AdapterMerger(ModelFiles &files, const std::string &folder,
                const std::string &modelPrefix, const AdapterConfig &config)
      : files(files), folder(folder), modelPrefix(modelPrefix), config(config) {
  }

  Result<void> run() {
    const std::vector<std::string> before = files.names();
    TRANSOM_TRY(files.addAdapter(folder, adapterWeights, adapterPrefix));
    std::vector<std::string> own;
    for (const std::string &name : files.names())
      if (startsWith(name, adapterPrefix) &&
          !std::binary_search(before.begin(), before.end(), name))
        own.push_back(name);
    if (own.empty())
      return rejected(where() + ": the adapter has no tensors");
    // What was trained as a whole may have factors, too.
    for (const std::string &name : own)
      if (name.find(".lora_") == std::string::npos)
        TRANSOM_TRY(replace(name));
    for (const std::string &name : own)
      if (name.find(".lora_") != std::string::npos)
        TRANSOM_TRY(merge(name));
    return {};
  }

private:
  static bool startsWith(const std::string &text, const std::string &start) {
    return text.compare(0, start.size(), start) == 0;
  }
  static bool endsWith(const std::string &text, const std::string &end) {
    return text.size() >= end.size() &&
           text.compare(text.size() - end.size(), end.size(), end) == 0;
  }
  std::string where() const { return joinPath(folder, adapterWeights); }
  Error fail(const std::string &name, const std::string &text,
             Status status = Status::Rejected) const {
    return {
        status,
        where() + ": tensor '" +
            utf8::printable(name.substr(std::string(adapterPrefix).size())) +
            "' " + text,
        {}};
  }

  Result<void> merge(const std::string &name) {
    for (auto [a, b] : factorEnds) {
      const bool isTable = b == factorEnds[1].second;
      if (endsWith(name, a)) {
        const std::string module = name.substr(0, name.size() - strlen(a));
        return files.find(module + b) ? mergeFactors(module, a, b, isTable)
                                      : fail(name, "has no '" + shown(b) + "'");
      }
      if (endsWith(name, b))
        return files.find(name.substr(0, name.size() - strlen(b)) + a)
                   ? Result<void>()
                   : fail(name, "has no '" + shown(a) + "'");
    }
    return fail(name, "is of a kind of adapter that is not supported",
                Status::Unsupported);
  }
  static std::string shown(const char *end) {
    return std::string(end).substr(1);
  }

  /// The name that the model has for a module of the adapter, nothing for one
  /// that it does not have.
  std::optional<std::string> findOwn(std::string name) const {
    name = name.substr(std::string(adapterPrefix).size());
    for (const char *start : {"base_model.model.", "base_model."})
      if (startsWith(name, start)) {
        name = name.substr(strlen(start));
        break;
      }
    if (const size_t at = name.find(".base_layer"); at != name.npos)
      name.erase(at, strlen(".base_layer"));
    for (const char *inner : {".modules_to_save", ".default"})
      if (const size_t at = name.find(inner); at != name.npos)
        name.erase(at, strlen(inner));
    // Files leave out or add what names of the class begin with.
    std::vector<std::string> candidates = {name, modelPrefix + name};
    if (!modelPrefix.empty() && startsWith(name, modelPrefix))
      candidates.push_back(name.substr(modelPrefix.size()));
    for (const std::string &candidate : candidates)
      if (files.find(candidate))
        return candidate;
    return std::nullopt;
  }

  /// W + scale * B A.
  Result<void> mergeFactors(const std::string &module, const char *a,
                            const char *b, bool isTable) {
    const std::string nameA = module + a, nameB = module + b;
    const std::optional<std::string> own = findOwn(module + ".weight");
    if (!own)
      return fail(nameA, "changes a module that the model does not have; "
                         "expected an adapter of this model");
    const std::vector<int64_t> &shape = files.find(*own)->shape;
    const std::vector<int64_t> &sizesA = files.find(nameA)->shape,
                               &sizesB = files.find(nameB)->shape;
    if (shape.size() != 2 || sizesA.size() != 2 || sizesB.size() != 2)
      return fail(nameA,
                  "is of shape " + shapeText(sizesA) +
                      "; supported: adapters of matrices",
                  Status::Unsupported);
    for (const std::string &name : {nameA, nameB})
      if (!isFloat(files.find(name)->dtype))
        return fail(name, "is no tensor of floats");
    // A table of words is [vocabulary, width], its factors give the transpose.
    const bool transposed = isTable || config.transposed;
    const int64_t out = shape[transposed], in = shape[!transposed];
    const std::string path = moduleName(module);
    const int64_t rank = static_cast<int64_t>(
        AdapterConfig::find(config.ranks, path, double(config.rank)));
    if (sizesA != std::vector<int64_t>{rank, in} ||
        sizesB != std::vector<int64_t>{out, rank})
      return fail(nameA, "and its B have the shapes " + shapeText(sizesA) +
                             " and " + shapeText(sizesB) + ", expected " +
                             shapeText({rank, in}) + " and " +
                             shapeText({out, rank}) + " for '" +
                             utf8::printable(*own) + "' by the rank of " +
                             adapterConfig);
    const double alpha = AdapterConfig::find(config.alphas, path, config.alpha);
    const double scale =
        alpha / (config.stabilized ? std::sqrt(double(rank)) : double(rank));
    WeightExpr product =
        WeightExpr::matmul(WeightExpr::file(nameB), WeightExpr::file(nameA));
    if (transposed)
      product = WeightExpr::transpose(std::move(product), {1, 0});
    return files.replaceDerived(
        *own, WeightExpr::add(files.resolve(WeightExpr::file(*own)),
                              WeightExpr::scale(std::move(product), scale)));
  }

  /// The module as PEFT names it in patterns.
  static std::string moduleName(const std::string &module) {
    const std::string start = std::string(adapterPrefix) + "base_model.model.";
    return startsWith(module, start) ? module.substr(start.size()) : module;
  }

  /// A tensor that was trained as a whole.
  Result<void> replace(const std::string &name) {
    const std::optional<std::string> own = findOwn(name);
    if (!own)
      return fail(name, "is of a module that the model does not have; expected "
                        "an adapter of this model");
    const std::vector<int64_t> &shape = files.find(*own)->shape;
    if (files.find(name)->shape != shape)
      return fail(name, "has shape " + shapeText(files.find(name)->shape) +
                            ", but the model's is " + shapeText(shape));
    if (!isFloat(files.find(name)->dtype))
      return fail(name, "is no tensor of floats");
    return files.replaceDerived(*own, WeightExpr::file(name));
  }

  ModelFiles &files;
  const std::string &folder, &modelPrefix;
  const AdapterConfig &config;
};

} // namespace

Result<std::vector<std::string>> mergeAdapter(ModelFiles &files,
                                              const std::string &folder,
                                              const std::string &modelPrefix) {
  if (!isFolder(folder))
    return unavailable("'" + utf8::printable(folder, 400) +
                       "': no such folder; expected one with '" +
                       adapterConfig + "' and '" + adapterWeights + "'");
  TRANSOM_ASSIGN(AdapterConfig config,
                 readConfig(joinPath(folder, adapterConfig)));
  TRANSOM_TRY(AdapterMerger(files, folder, modelPrefix, config).run());
  return Result<std::vector<std::string>>(std::move(config.notes));
}

} // namespace transom
