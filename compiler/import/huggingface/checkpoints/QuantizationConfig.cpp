// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each method has a key table: keys that are read, keys that must have one
// value, and keys that were only used to create the checkpoint.
#include "compiler/import/huggingface/checkpoints/QuantizationConfig.h"
#include "runtime/base/Utf8.h"
#include <algorithm>

namespace transom {
namespace {

using Layout = QuantizationConfig::Layout;

/// GPTQModel's key for weights multiplied by a Hadamard matrix.
constexpr const char *turnKey = "rot"
                                "ation";
constexpr int64_t maxGroup = int64_t(1) << 31;

/// Reads one object; unread keys become notes.
class KeyReader {
public:
  explicit KeyReader(JsonValue object) : object(object) {}

  std::optional<JsonValue> find(const char *key) {
    known.emplace_back(key);
    std::optional<JsonValue> value = object.find(key);
    return value && !value->isNull() ? value : std::nullopt;
  }
  Result<std::string> text(const char *key, const std::string &absent) {
    std::optional<JsonValue> value = find(key);
    if (!value)
      return absent;
    TRANSOM_ASSIGN(std::string_view text, value->asString());
    std::string lower(text);
    std::transform(lower.begin(), lower.end(), lower.begin(), [](char c) {
      return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    });
    return lower;
  }
  Result<bool> flag(const char *key, bool absent) {
    std::optional<JsonValue> value = find(key);
    return value ? value->asBool() : Result<bool>(absent);
  }
  /// Reads one of several strings.
  Result<std::string> choose(const char *key, const std::string &absent,
                             const std::vector<std::string> &supported) {
    TRANSOM_ASSIGN(std::string chosen, text(key, absent));
    if (std::find(supported.begin(), supported.end(), chosen) !=
        supported.end())
      return chosen;
    std::string names;
    for (const std::string &name : supported)
      names += (names.empty() ? "" : ", ") + name;
    std::optional<JsonValue> value = object.find(key);
    return (value ? *value : object)
        .error("'" + std::string(key) + "' is '" + utf8::printable(chosen) +
                   "', which is not supported; supported: " + names,
               Status::Unsupported);
  }
  Result<int64_t> bits(const char *key) {
    TRANSOM_ASSIGN(JsonValue value, object.get(key));
    find(key);
    TRANSOM_ASSIGN(const int64_t bits, value.asInt());
    if (bits != 4 && bits != 8)
      return value.error("weights of " + std::to_string(bits) +
                             " bits are not supported; supported: 4, 8",
                         Status::Unsupported);
    return bits;
  }
  /// -1 means a whole row, which is 0 here.
  Result<int64_t> group(const char *key, int64_t absent) {
    std::optional<JsonValue> value = find(key);
    if (!value)
      return absent;
    TRANSOM_ASSIGN(const int64_t group, value->asInt(-1, maxGroup));
    if (group == 0)
      return value->error("expected -1 or at least 1, got 0");
    return group == -1 ? 0 : group;
  }
  /// Rejects a key that is neither off nor empty.
  Result<void> requireOff(const char *key) {
    std::optional<JsonValue> value = find(key);
    if (!value || (value->isBool() && !*value->asBool()) ||
        ((value->isObject() || value->isArray()) && value->size() == 0))
      return {};
    return value->error("is not supported; supported: null",
                        Status::Unsupported);
  }
  void ignore(const std::vector<const char *> &keys) {
    known.insert(known.end(), keys.begin(), keys.end());
  }
  void addNotes(std::vector<std::string> &notes) const {
    for (JsonValue::Member member : object.members())
      if (std::find(known.begin(), known.end(), member.key) == known.end())
        notes.push_back(member.value.where() +
                        ": is not known and was ignored");
  }
  JsonValue value() const { return object; }

private:
  JsonValue object;
  std::vector<std::string> known;
};

Result<QuantizationConfig> readGptq(KeyReader keys) {
  QuantizationConfig config;
  TRANSOM_ASSIGN(config.bits, keys.bits("bits"));
  TRANSOM_ASSIGN(config.group, keys.group("group_size", 128));
  // Either key may specify the version.
  TRANSOM_ASSIGN(std::string format,
                 keys.choose("format", "gptq", {"gptq", "gptq_v2"}));
  TRANSOM_ASSIGN(format,
                 keys.choose("checkpoint_format", format, {"gptq", "gptq_v2"}));
  config.zeroIsLess = format == "gptq";
  TRANSOM_TRY(keys.choose("pack_dtype", "int32", {"int32"}));
  // Reject settings that differ by module.
  TRANSOM_TRY(keys.requireOff("dynamic"));
  // The tensor `g_idx` determines whether groups are in order.
  keys.ignore({"quant_method",
               "desc_act",
               "static_groups",
               "sym",
               "lm_head",
               "damp_percent",
               "damp_auto_increment",
               "true_sequential",
               "meta",
               "model_name_or_path",
               "model_file_base_name",
               "model_seqlen",
               "dataset",
               "tokenizer",
               "block_name_to_quantize",
               "backend",
               "module_name_preceding_first_block",
               "batch_size",
               "pad_token_id",
               "use_exllama",
               "max_input_length",
               "exllama_config",
               "disable_exllama",
               "use_cuda_fp16",
               "cache_block_outputs",
               "modules_in_block_to_quantize",
               "act_group_aware",
               "is_marlin_format",
               "method",
               "mse",
               "quantizer",
               "hyb_act",
               "adapter",
               "offload_to_disk"});
  TRANSOM_TRY(keys.requireOff("is_marlin_format"));
  // Rotated weights need rotated activations.
  TRANSOM_TRY(keys.requireOff(turnKey));
  TRANSOM_TRY(keys.requireOff("adapter"));
  keys.addNotes(config.notes);
  return Result<QuantizationConfig>(std::move(config));
}

Result<QuantizationConfig> readAwq(KeyReader keys) {
  QuantizationConfig config;
  config.layout = Layout::Awq;
  TRANSOM_ASSIGN(config.bits, keys.bits("bits"));
  if (config.bits != 4)
    return keys.value().error("weights of 8 bits are not supported by AWQ; "
                              "supported: 4",
                              Status::Unsupported);
  TRANSOM_ASSIGN(config.group, keys.group("group_size", 128));
  TRANSOM_TRY(keys.choose("version", "gemm", {"gemm"}));
  TRANSOM_TRY(keys.choose("format", "gemm", {"gemm"}));
  TRANSOM_ASSIGN(const bool zeros, keys.flag("zero_point", true));
  if (!zeros)
    return keys.value().error("'zero_point' is false, which is not supported; "
                              "supported: true",
                              Status::Unsupported);
  keys.ignore({"quant_method", "modules_to_not_convert", "do_fuse", "backend",
               "fuse_max_seq_len", "modules_to_fuse", "exllama_config",
               "desc_act", "sym", "meta", "true_sequential", "lm_head"});
  keys.addNotes(config.notes);
  return Result<QuantizationConfig>(std::move(config));
}

/// Reads `weights` in a compressed-tensors group.
Result<void> readScheme(KeyReader keys, QuantizationConfig &config) {
  TRANSOM_TRY(keys.choose("type", "int", {"int"}));
  TRANSOM_ASSIGN(config.bits, keys.bits("num_bits"));
  TRANSOM_ASSIGN(std::string strategy,
                 keys.choose("strategy",
                             keys.find("group_size") ? "group" : "tensor",
                             {"group", "channel", "tensor"}));
  TRANSOM_ASSIGN(const int64_t group, keys.group("group_size", 0));
  if (strategy == "group" && group == 0)
    return keys.value().error("the strategy 'group' needs 'group_size'");
  config.group = strategy == "group" ? group : 0;
  TRANSOM_TRY(keys.requireOff("dynamic"));
  TRANSOM_TRY(keys.requireOff("block_structure"));
  // The tensor `weight_g_idx` determines whether groups are in order;
  // `weight_zero_point` whether there are zero points.
  keys.ignore({"symmetric", "actorder", "observer", "observer_kwargs",
               "scale_dtype", "zp_dtype"});
  keys.addNotes(config.notes);
  return {};
}

/// Activations may be quantized dynamically: the compiler also does this, by
/// group.
Result<void> checkActivations(JsonValue group, QuantizationConfig &config) {
  std::optional<JsonValue> value = group.find("input_activations");
  if (!value || value->isNull())
    return {};
  KeyReader keys(*value);
  TRANSOM_TRY(keys.choose("type", "int", {"int"}));
  std::optional<JsonValue> bits = value->find("num_bits"),
                           dynamic = value->find("dynamic");
  const bool ofBytes = bits && bits->isInteger() && *bits->asInt(0, 64) == 8;
  const bool isDynamic = dynamic && dynamic->isBool() && *dynamic->asBool();
  if (!ofBytes || !isDynamic)
    return value->error("only dynamic activations of 8 bits are supported",
                        Status::Unsupported);
  config.notes.push_back("activations are quantized by groups, not by tokens");
  return {};
}

Result<QuantizationConfig> readCompressed(KeyReader keys) {
  QuantizationConfig config;
  // Check the format and unsupported features.
  TRANSOM_ASSIGN(
      std::string format,
      keys.choose("format", "",
                  {"pack-quantized", "int-quantized", "naive-quantized"}));
  TRANSOM_TRY(keys.choose("quantization_status", "compressed",
                          {"compressed", "frozen"}));
  for (const char *key : {"kv_cache_scheme", "transform_config"})
    TRANSOM_TRY(keys.requireOff(key));
  if (std::optional<JsonValue> sparse = keys.find("sparsity_config");
      sparse && sparse->size() != 0) {
    KeyReader sparsity(*sparse);
    TRANSOM_TRY(sparsity.choose("format", "dense", {"dense"}));
  }
  // Read the groups, which must have equal bits and sizes.
  std::optional<JsonValue> groups = keys.find("config_groups");
  if (!groups || groups->size() == 0)
    return keys.value().error("'config_groups' is missing");
  TRANSOM_TRY(groups->expectObject());
  bool isFirst = true;
  for (JsonValue::Member member : groups->members()) {
    TRANSOM_ASSIGN(JsonValue weights, member.value.get("weights"));
    TRANSOM_TRY(weights.expectObject());
    QuantizationConfig own;
    TRANSOM_TRY(readScheme(KeyReader(weights), own));
    TRANSOM_TRY(checkActivations(member.value, own));
    if (std::optional<JsonValue> outputs =
            member.value.find("output_activations");
        outputs && !outputs->isNull())
      return outputs->error("is not supported; supported: null",
                            Status::Unsupported);
    if (!isFirst && (own.bits != config.bits || own.group != config.group))
      return member.value.error("groups that differ in their bits or sizes are "
                                "not supported; supported: groups alike",
                                Status::Unsupported);
    if (isFirst)
      config = own;
    isFirst = false;
  }
  // Select the layout, and report unknown keys.
  config.layout = format == "pack-quantized" ? Layout::Packed : Layout::Plain;
  keys.ignore(
      {"quant_method", "ignore", "global_compression_ratio", "version"});
  keys.addNotes(config.notes);
  return Result<QuantizationConfig>(std::move(config));
}

} // namespace

Result<QuantizationConfig> readQuantizationConfig(JsonValue value) {
  TRANSOM_TRY(value.expectObject());
  TRANSOM_ASSIGN(JsonValue method, value.get("quant_method"));
  TRANSOM_ASSIGN(std::string_view name, method.asString());
  if (name == "gptq")
    return readGptq(KeyReader(value));
  if (name == "awq")
    return readAwq(KeyReader(value));
  if (name == "compressed-tensors")
    return readCompressed(KeyReader(value));
  return method.error("checkpoints quantized by '" + utf8::printable(name) +
                          "' are not supported; supported: gptq, awq, "
                          "compressed-tensors, or the checkpoint that they "
                          "were made from",
                      Status::Unsupported);
}

} // namespace transom
