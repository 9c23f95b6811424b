// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Options that affect passes are module attributes, so a module that is written
// and read back is compiled in the same way.
#include "compiler/options/ModuleOptions.h"
#include "compiler/codegen/TargetMachine.h"
#include "compiler/pipeline/PassRange.h"
#include "dialects/attn/Attn.h"
#include "dialects/kern/Kern.h"
#include "dialects/weights/StoredGroups.h"
#include "dialects/weights/Weights.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include <array>
#include <set>

using namespace mlir;
using namespace transom;

std::string transom::getCacheType(const CompileOptions &options) {
  if (!options.kvDtype.empty())
    return options.kvDtype;
  return parseCacheOption(options.dtype) ? options.dtype : "f32";
}

namespace {
/// A `--quantize` value.
struct QuantizedType {
  StringLiteral option;
  StorageType type;
  int64_t group; ///< unless `--group-size` specifies another size
};
} // namespace

static constexpr QuantizedType kQuantizedTypes[] = {
    {"int8", StorageType::I8, 128}, {"int4", StorageType::I4, 32}};

static const QuantizedType *findQuantizedType(StringRef option) {
  for (const QuantizedType &known : kQuantizedTypes)
    if (known.option == option)
      return &known;
  return nullptr;
}

/// The `--quantize` value that dequantizes stored integers.
static constexpr const char *keepsNoWholeNumbers = "none";

/// The `--activations` value that disables quantization.
static constexpr const char *keepsActivations = "f32";

/// Returns the weight format for an option value, or nullopt.
static std::optional<OperandFormat> getQuantizedFormat(StringRef option,
                                                       unsigned groupSize) {
  const QuantizedType *found = findQuantizedType(option);
  if (!found)
    return std::nullopt;
  return OperandFormat::getQuantized(found->type,
                                     groupSize ? groupSize : found->group)
      .withScales(StorageType::F16);
}

/// Returns the `--quantize-embeddings` value, or its default.
static StringRef getTableOption(const CompileOptions &options) {
  if (options.quantizeEmbeddings.empty() && findQuantizedType(options.quantize))
    return kQuantizedTypes[0].option;
  return options.quantizeEmbeddings;
}

/// The other quantization flags and their values.
static std::array<std::pair<std::string, std::string>, 3>
getFlagsBeside(const CompileOptions &options) {
  return {{{"--quantize-head", options.quantizeHead},
           {"--quantize-embeddings", options.quantizeEmbeddings},
           {"--activations", options.activations}}};
}

/// Checks `--quantize` and the other quantization flags.
static Result<void> checkQuantizedTypes(const CompileOptions &options) {
  auto check = [](const std::string &flag,
                  const std::string &value) -> Result<void> {
    if (value.empty() || value == keepsNoWholeNumbers ||
        findQuantizedType(value))
      return {};
    return unsupported("'" + flag + " " + value +
                       "' is not supported; supported: int8, int4, none");
  };
  TRANSOM_TRY(check("--quantize", options.quantize));
  TRANSOM_TRY(check("--quantize-head", options.quantizeHead));
  TRANSOM_TRY(check("--quantize-embeddings", options.quantizeEmbeddings));
  if (!llvm::is_contained({"", "int8", keepsActivations}, options.activations))
    return unsupported("'--activations " + options.activations +
                       "' is not supported; supported: int8, f32");
  for (const auto &[flag, value] : getFlagsBeside(options)) {
    if (!value.empty() && options.quantize == keepsNoWholeNumbers)
      return usageError("'" + flag + "' excludes '--quantize none'");
  }
  return {};
}

/// Checks that the combination with `--quantize` is supported.
static Result<void> checkQuantize(const CompileOptions &options) {
  TRANSOM_TRY(checkQuantizedTypes(options));
  const bool quantizes = findQuantizedType(options.quantize) ||
                         findQuantizedType(options.quantizeHead) ||
                         findQuantizedType(options.quantizeEmbeddings);
  if (options.groupSize != 0 && !quantizes)
    return options.quantize == keepsNoWholeNumbers
               ? usageError("'--group-size' excludes '--quantize none'")
               : usageError("'--group-size' needs '--quantize'");
  if (options.quantize.empty() && !options.calibrate.empty())
    return usageError("'--calibrate' needs '--quantize'");
  if (!quantizes)
    return {};
  if (options.groupSize != 0 &&
      !llvm::is_contained(quantizedGroups, options.groupSize))
    return usageError(
        "a group of " + std::to_string(options.groupSize) +
        " numbers is not supported; supported: " + quantizedGroupNames);
  if (options.quantize.empty())
    return {}; // in a model with quantized weights
  if (options.backend != "native")
    return unsupported("'--quantize' with '--backend " + options.backend +
                       "' is not supported; supported: native");
  return {};
}

Result<void>
transom::checkCachesBesideAttention(const CompileOptions &options) {
  if (!options.attention || options.kvDtype.empty() ||
      options.kvDtype == options.dtype)
    return {};
  return unsupported("'--attention' with '--kv-dtype " + options.kvDtype +
                     "' is not supported for '--dtype " + options.dtype +
                     "'; supported: '--kv-dtype " + options.dtype + "'");
}

void transom::setModuleOptions(ModuleOp module, const CompileOptions &options) {
  Builder builder(module.getContext());
  auto setText = [&](StringRef name, StringRef value, StringRef unset) {
    if (value != unset)
      module->setAttr(name, builder.getStringAttr(value));
  };
  setText("transom.dtype", options.dtype, "f32");
  setText("transom.kv_dtype", getCacheType(options), "f32");
  auto setFormat = [&](StringRef name, StringRef option) {
    if (auto format = getQuantizedFormat(option, options.groupSize))
      module->setAttr(
          name, kern::OperandFormatAttr::get(module.getContext(), *format));
    else
      setText(name, option, "");
  };
  setFormat("transom.quantize", options.quantize);
  setFormat("transom.quantize_head", options.quantizeHead);
  setFormat("transom.quantize_embeddings", getTableOption(options));
  if (options.activations == keepsActivations)
    setText("transom.activations", options.activations, "");
  setText("transom.backend", options.backend, "");
  if (options.attentionSchedule != "auto")
    module->setAttr("transom.attention_schedule",
                    kern::ScheduleAttr::get(module.getContext(),
                                            *kern::AttentionSchedule::parse(
                                                options.attentionSchedule)));

  // The layers and heads for the attention weights entry.
  if (options.attention)
    module->setAttr("transom.attention", builder.getUnitAttr());
  if (!options.attentionLayers.empty())
    module->setAttr("transom.attention_layers",
                    builder.getDenseI64ArrayAttr(options.attentionLayers));
  if (!options.attentionHeads.empty())
    module->setAttr("transom.attention_heads",
                    builder.getDenseI64ArrayAttr(options.attentionHeads));

  // Passes that are disabled or added.
  auto setTexts = [&](StringRef name, ArrayRef<std::string> values) {
    if (values.empty())
      module->removeAttr(name);
    else
      module->setAttr(name, builder.getStrArrayAttr(SmallVector<StringRef>(
                                values.begin(), values.end())));
  };
  const std::set<std::string> disabled(options.disabledPasses.begin(),
                                       options.disabledPasses.end());
  setTexts("transom.disabled_passes",
           std::vector(disabled.begin(), disabled.end()));
  std::vector<std::string> plugins;
  for (const auto &[flag, value] : options.flags)
    if (flag == "load-pass-plugin")
      plugins.push_back(value);
  setTexts("transom.pass_plugins", plugins);
}

/// The option attributes and their flags.
static constexpr std::pair<StringLiteral, StringLiteral> kOptionAttributes[] = {
    {"transom.dtype", "--dtype"},
    {"transom.kv_dtype", "--kv-dtype"},
    {"transom.quantize", "--quantize"},
    {"transom.quantize_head", "--quantize-head"},
    {"transom.quantize_embeddings", "--quantize-embeddings"},
    {"transom.activations", "--activations"},
    {"transom.backend", "--backend"},
    {"transom.attention_schedule", "--attention-schedule"},
    {"transom.attention", "--attention"},
    {"transom.attention_layers", "--attention-layers"},
    {"transom.attention_heads", "--attention-heads"},
    {"transom.disabled_passes", "--disable-pass"},
    {"transom.pass_plugins", "--load-pass-plugin"},
};

/// Returns the `--quantize` value for a format.
static std::string getQuantizeOption(const OperandFormat &format) {
  for (const QuantizedType &known : kQuantizedTypes)
    if (known.type == format.element)
      return known.option.str();
  return getStorageName(format.element);
}

/// `with '--dtype bf16'`, `with '--attention'`, `without '--dtype'`.
static std::string describeOption(Attribute value, StringRef flag) {
  if (!value)
    return ("without '" + flag + "'").str();
  std::string text;
  if (auto name = dyn_cast<StringAttr>(value))
    text = name.getValue();
  else if (auto schedule = dyn_cast<kern::ScheduleAttr>(value))
    text = schedule.getValue().str();
  else if (auto format = dyn_cast<kern::OperandFormatAttr>(value))
    text = getQuantizeOption(format.getStorage()) + "' and '--group-size " +
           std::to_string(format.getStorage().group);
  else if (auto numbers = dyn_cast<DenseI64ArrayAttr>(value))
    text =
        llvm::join(llvm::map_range(numbers.asArrayRef(),
                                   [](int64_t n) { return std::to_string(n); }),
                   ",");
  else if (auto names = dyn_cast<ArrayAttr>(value))
    text =
        llvm::join(llvm::map_range(names.getAsValueRange<StringAttr>(),
                                   [](StringRef name) { return name.str(); }),
                   ",");
  return ("with '" + flag + (text.empty() ? "" : " ") + text + "'").str();
}

/// Returns a pass list without passes that run only after `stage`.
static Attribute getPassesUntil(Attribute passes, Stage stage) {
  auto names = dyn_cast_or_null<ArrayAttr>(passes);
  if (!names)
    return passes;
  SmallVector<Attribute> ran;
  for (Attribute name : names)
    if (llvm::any_of(getPasses(), [&](const transom::PassInfo &pass) {
          return pass.stage <= stage &&
                 name == StringAttr::get(name.getContext(), pass.flag);
        }))
      ran.push_back(name);
  return ran.empty() ? Attribute() : ArrayAttr::get(passes.getContext(), ran);
}

Result<void> transom::checkModuleOptions(ModuleOp module, Stage stage,
                                         const CompileOptions &options,
                                         const std::string &file) {
  if (!module->hasAttr("transom.backend"))
    return rejected(file + ": no 'transom.backend' on the module; expected one "
                           "that 'transom compile --stages' has written");
  OwningOpRef<ModuleOp> expected(ModuleOp::create(module.getLoc()));
  setModuleOptions(*expected, options);
  for (const auto &[name, flag] : kOptionAttributes) {
    Attribute made = module->getAttr(name), given = (*expected)->getAttr(name);
    if (name == "transom.disabled_passes") {
      made = getPassesUntil(made, stage);
      given = getPassesUntil(given, stage);
    }
    if (made != given)
      return usageError("'" + file + "' was compiled " +
                        describeOption(made, flag) + ", this compile is " +
                        describeOption(given, flag) +
                        "; expected the options of the stage");
  }
  return {};
}

Result<void> transom::checkAttentionEntry(ModuleOp module,
                                          const CompileOptions &options) {
  auto entry = module.lookupSymbol<func::FuncOp>("attention");
  if (!entry)
    return unsupported("weights of attention are not supported for this "
                       "model; supported: encoders, decoders and "
                       "encoder-decoders of token ids");
  // Results have names such as `attentions.0` and a head dimension.
  std::set<int64_t> layers;
  int64_t heads = 0;
  for (unsigned i = 0; i < entry.getNumResults(); ++i) {
    auto name = entry.getResultAttrOfType<StringAttr>(i, "attn.name");
    int64_t layer = 0;
    if (!name || !name.getValue().contains("attentions.") ||
        name.getValue().rsplit('.').second.getAsInteger(10, layer))
      continue;
    layers.insert(layer);
    auto type = cast<RankedTensorType>(entry.getResultTypes()[i]);
    heads = std::max(heads, type.getDimSize(1));
  }
  if (heads < static_cast<int64_t>(options.attentionHeads.size()))
    return usageError(
        "'--attention-heads': the model has no layer with head '" +
        std::to_string(options.attentionHeads.back()) + "'");
  for (int64_t layer : options.attentionLayers)
    if (!layers.count(layer))
      return usageError("'--attention-layers': the model has no layer '" +
                        std::to_string(layer) + "' with these heads");
  return {};
}

bool transom::hasStoredWeights(ModuleOp module) {
  return llvm::any_of(module.getOps<attn::WeightOp>(),
                      [](attn::WeightOp weight) {
                        return readsStored(weight.getExpr().getExpr());
                      }) ||
         llvm::any_of(module.getOps<kern::WeightOp>(),
                      [](kern::WeightOp weight) {
                        return readsStored(weight.getExpr().getExpr());
                      });
}

/// Rejects quantization flags if nothing is quantized.
static Result<void> checkNeedsQuantize(const CompileOptions &options) {
  if (options.quantize.empty())
    for (const auto &[flag, value] : getFlagsBeside(options))
      if (!value.empty())
        return usageError("'" + flag +
                          "' needs '--quantize', or a model with quantized "
                          "weights");
  return {};
}

Result<void> transom::prepareStoredWeights(ModuleOp module,
                                           const CompileOptions &options) {
  if (!hasStoredWeights(module))
    return checkNeedsQuantize(options);
  if (options.quantize == keepsNoWholeNumbers) {
    for (auto weight : module.getOps<attn::WeightOp>())
      weight.setExprAttr(weights::ExprAttr::get(
          module.getContext(),
          weight.getExpr().getExpr().replaceFiles(
              [](const std::string &name) { return WeightExpr::file(name); })));
    return {};
  }
  if (options.backend != "native")
    return unsupported("'--backend " + options.backend +
                       "' is not supported for a model with quantized weights; "
                       "supported: native, or '--quantize none', which makes "
                       "floats of them");
  return {};
}

Result<void> transom::checkOptions(const CompileOptions &options) {
  if (Result<void> known = checkDisabledPasses(
          {options.disabledPasses.begin(), options.disabledPasses.end()});
      !known)
    return known;
  // Names that must be known: targets, types, schedule and backend.
  TRANSOM_ASSIGN(std::vector<const InstructionSet *> isas,
                 selectTargets(options.targets));
  if (options.dtype != "f32" && options.dtype != "bf16")
    return usageError("unknown dtype '" + options.dtype +
                      "'; supported: f32, bf16");
  if (!parseCacheOption(getCacheType(options)))
    return usageError("unknown dtype of caches '" + options.kvDtype +
                      "'; supported: " + llvm::join(getCacheOptions(), ", "));
  TRANSOM_TRY(checkQuantize(options));
  if (!kern::AttentionSchedule::parse(options.attentionSchedule))
    return usageError(
        "unknown attention schedule '" + options.attentionSchedule +
        "'; supported: " + kern::AttentionSchedule::getSupported().str());
  if (!parseBackend(options.backend))
    return usageError("unknown backend '" + options.backend +
                      "'; supported: native, onednn");
  // Combinations that are not supported.
  if (options.backend == "onednn" && options.dtype != "f32")
    return unsupported("'--backend onednn' with '--dtype " + options.dtype +
                       "' is not supported; supported: f32");
  if (options.debugInfo && options.emit != Stage::So &&
      options.emit != Stage::Obj)
    return usageError("'--debug-info' is for '--emit so' and '--emit obj', got "
                      "'--emit " +
                      std::string(getStageInfo(options.emit).name) + "'");
  if (options.optLevel != 0 && options.optLevel != 2)
    return usageError("unknown level of optimization " +
                      std::to_string(options.optLevel) + "; supported: 0, 2");
  if (!options.stagesFolder.empty() && !options.resumeFrom.empty())
    return usageError("'--stages' and '--resume-from' exclude each other; a "
                      "compile that goes on from a stage prints the others "
                      "with '--emit'");
  // Binary stages need an output file.
  if (options.output.empty() &&
      (options.emit == Stage::So || options.emit == Stage::Obj))
    return usageError("'" + std::string(getStageInfo(options.emit).name) +
                      "' needs an output file, '-o FILE'");
  return {};
}
