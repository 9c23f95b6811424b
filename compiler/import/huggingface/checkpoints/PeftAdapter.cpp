// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An adapter's tensors determine the changed modules; the config determines the
// scale. A tensor that the class ties to others is changed separately, as in
// PEFT: wrapped modules are no longer tied.
#include "compiler/import/huggingface/checkpoints/PeftAdapter.h"
#include "compiler/import/huggingface/checkpoints/AdapterTensors.h"
#include "dialects/weights/RowNorms.h"
#include "runtime/base/Utf8.h"
#include <algorithm>
#include <map>

namespace transom {
namespace {

/// Merges one adapter.
class AdapterMerger {
public:
  AdapterMerger(ModelFiles &files, const std::string &folder,
                const AdapterBase &base, const PeftConfig &config)
      : files(files), folder(folder), base(base), config(config) {}

  Result<void> run() {
    TRANSOM_ASSIGN(tensors, readAdapterTensors(files, folder));
    for (const TiedTensors &ties : base.ties)
      if (changesAny(ties))
        TRANSOM_TRY(untie(ties));
    // Modules trained as a whole may have factors, too.
    for (const bool saved : {false, true})
      for (const WholeTensor &whole : tensors.wholes)
        if (config.isSaved(whole.module) == saved)
          TRANSOM_TRY(replace(whole, saved));
    for (const auto &[module, change] : tensors.modules)
      if (!change.tokens.empty())
        TRANSOM_TRY(replaceTokens(module, change.tokens));
    for (const auto &[module, change] : tensors.modules)
      if (change.hasFactors())
        TRANSOM_TRY(mergeFactors(module, change));
    return {};
  }

private:
  Error fail(const std::string &name, const std::string &text,
             Status status = Status::Rejected) const {
    return getAdapterError(folder, name, text, status);
  }

  /// Returns the error for a module that the model does not have.
  Error failForeign(const std::string &name, const std::string &module) const {
    std::string text = "is of the module '" + utf8::printable(module) +
                       "', which '" + base.architecture + "' does not have";
    if (!config.task.empty() && config.task != "CAUSAL_LM")
      text += "; 'task_type' of " + std::string(adapterConfig) + " is '" +
              utf8::printable(config.task) +
              "': 'architectures' of the model's config.json has to name the "
              "class that the adapter was trained with";
    return fail(name, text);
  }

  /// Finds a tensor by its spellings: files may omit or add the class prefix,
  /// and old ones have other names for norm parameters.
  std::optional<std::string> find(const std::string &name) const {
    std::vector<std::string> spellings = {name, base.prefix + name};
    if (!base.prefix.empty() && name.rfind(base.prefix, 0) == 0)
      spellings.push_back(name.substr(base.prefix.size()));
    for (const auto &[end, old] :
         {std::pair(".weight", ".gamma"), std::pair(".bias", ".beta")}) {
      const std::string norm = std::string("Norm") + end;
      if (name.size() > norm.size() &&
          name.compare(name.size() - norm.size(), norm.size(), norm) == 0)
        for (size_t i = 0, count = spellings.size(); i < count; ++i)
          spellings.push_back(spellings[i].substr(0, spellings[i].rfind('.')) +
                              old);
    }
    for (const std::string &spelling : spellings)
      if (files.find(spelling))
        return spelling;
    return std::nullopt;
  }

  //===--- Tied tensors --------------------------------------------------===//

  bool changesAny(const TiedTensors &ties) const {
    return std::any_of(
        ties.names.begin(), ties.names.end(), [&](const std::string &name) {
          return tensors.changes(name) ||
                 (name.rfind(base.prefix, 0) == 0 &&
                  tensors.changes(name.substr(base.prefix.size())));
        });
  }

  /// Returns whether two stored tensors have the same elements.
  bool areEqual(const std::string &a, const std::string &b) const {
    const SafetensorsTensor *first = files.find(a), *second = files.find(b);
    return a == b ||
           (first->dtype == second->dtype && first->shape == second->shape &&
            !first->stored && !second->stored && files.getStoredName(a) == a &&
            files.getStoredName(b) == b &&
            files.getData(a) == files.getData(b));
  }

  /// Copies each tied tensor to its own name.
  Result<void> untie(const TiedTensors &ties) {
    std::string source, sourceName;
    for (const std::string &name : ties.names)
      if (std::optional<std::string> own = find(name)) {
        source = *own;
        sourceName = name;
        break;
      }
    if (source.empty())
      return {};
    Tied tied = {{}, ties.input};
    for (const std::string &name : ties.names) {
      std::optional<std::string> own = find(name);
      if (own && !areEqual(source, *own))
        continue;
      if (!own) {
        own = source == sourceName || name.rfind(base.prefix, 0) != 0
                  ? name
                  : name.substr(base.prefix.size());
        TRANSOM_TRY(files.addDerived(*own,
                                     files.resolve(WeightExpr::file(source)),
                                     files.getStoredName(source)));
      }
      tied.names.push_back(*own);
    }
    tiedTensors.push_back(std::move(tied));
    return {};
  }

  /// Returns all tensors that are tied to this one, including itself.
  std::vector<std::string> getTied(const std::string &name) const {
    for (const Tied &tied : tiedTensors)
      if (std::count(tied.names.begin(), tied.names.end(), name))
        return tied.names;
    return {name};
  }

  //===--- Changes -------------------------------------------------------===//

  /// Replaces a tensor that was trained as a whole, or that PEFT saved next to
  /// factors. If its module was not saved, all tied tensors are replaced.
  Result<void> replace(const WholeTensor &whole, bool saved) {
    const std::optional<std::string> own =
        find(whole.module + "." + whole.parameter);
    if (!own)
      return failForeign(whole.name, whole.module);
    const std::vector<int64_t> &shape = files.find(*own)->shape;
    if (files.find(whole.name)->shape != shape)
      return fail(whole.name, "has shape " +
                                  shapeText(files.find(whole.name)->shape) +
                                  ", but the model's is " + shapeText(shape));
    if (!isFloat(files.find(whole.name)->dtype))
      return fail(whole.name, "is no tensor of floats");
    for (const std::string &name :
         saved ? std::vector<std::string>{*own} : getTied(*own))
      TRANSOM_TRY(files.replaceDerived(name, WeightExpr::file(whole.name)));
    return {};
  }

  /// Replaces table rows. Rows of the model's input embedding apply to all
  /// tables that are tied to it, unless one has its own rows.
  Result<void> replaceTokens(const std::string &module,
                             const std::string &rows) {
    const std::optional<std::string> own = find(module + ".weight");
    if (!own)
      return failForeign(rows, module);
    const TrainedTokens *trained = config.findTokens(module);
    if (!trained)
      return fail(rows, "is of a table that 'trainable_token_indices' of " +
                            std::string(adapterConfig) + " does not name");
    const std::vector<int64_t> &shape = files.find(*own)->shape;
    const auto count = static_cast<int64_t>(trained->ids.size());
    const std::vector<int64_t> expected = {count, shape.back()};
    if (shape.size() != 2 || files.find(rows)->shape != expected)
      return fail(rows, "has shape " + shapeText(files.find(rows)->shape) +
                            ", expected " + shapeText(expected) +
                            " by 'trainable_token_indices' of " +
                            adapterConfig);
    for (const int64_t id : trained->ids)
      if (id >= shape[0])
        return fail(rows, "has a row for token " + std::to_string(id) +
                              ", but '" + utf8::printable(*own) + "' has " +
                              std::to_string(shape[0]) + " rows");
    for (const std::string &name : getTablesOfTokens(module, *own))
      TRANSOM_TRY(files.replaceDerived(
          name, replaceRows(files.resolve(WeightExpr::file(name)), shape[0],
                            rows, trained->ids)));
    return {};
  }

  std::vector<std::string> getTablesOfTokens(const std::string &module,
                                             const std::string &own) const {
    for (const Tied &tied : tiedTensors) {
      const bool isInput =
          !tied.input.empty() &&
          (module == tied.input || base.prefix + module == tied.input);
      if (!isInput)
        continue;
      const auto others = std::count_if(
          tied.names.begin(), tied.names.end(), [&](const std::string &name) {
            return name != own && tensors.replacesRows(name);
          });
      if (others == 0)
        return tied.names;
    }
    return {own};
  }

  /// W + scale * B A; for DoRA its rows are rescaled to the stored magnitudes.
  Result<void> mergeFactors(const std::string &module,
                            const ModuleChange &change) {
    TRANSOM_TRY(checkFactors(change));
    const std::optional<std::string> own = find(module + ".weight");
    if (!own)
      return failForeign(change.a, module);
    const std::vector<int64_t> &shape = files.find(*own)->shape;
    // An embedding table is [vocabulary, width], its factors give the
    // transpose.
    const bool transposed =
        change.isTable || (isTransposed(*own) && !config.isParameter(module));
    TRANSOM_TRY(checkShapes(module, change, *own, transposed));
    const double scale = config.getScale(module);
    WeightExpr product = WeightExpr::matmul(WeightExpr::file(change.b),
                                            WeightExpr::file(change.a));
    if (transposed)
      product = WeightExpr::transpose(std::move(product), {1, 0});
    WeightExpr merged =
        WeightExpr::add(files.resolve(WeightExpr::file(*own)),
                        WeightExpr::scale(std::move(product), scale));
    if (!change.magnitude.empty())
      merged = setNorms(std::move(merged), change.magnitude, transposed);
    TRANSOM_TRY(files.replaceDerived(*own, merged));
    return change.bias.empty()
               ? Result<void>()
               : addBias(module, change.bias, shape[transposed], scale);
  }

  static WeightExpr setNorms(WeightExpr weight, const std::string &magnitude,
                             bool transposed) {
    if (!transposed)
      return transom::withNorms(std::move(weight), WeightExpr::file(magnitude));
    return WeightExpr::transpose(
        transom::withNorms(WeightExpr::transpose(std::move(weight), {1, 0}),
                           WeightExpr::file(magnitude)),
        {1, 0});
  }

  bool isTransposed(const std::string &tensor) const {
    const bool prefixed = tensor.rfind(base.prefix, 0) == 0;
    return !base.transposed.empty() &&
           tensor.compare(prefixed ? base.prefix.size() : 0,
                          base.transposed.size(), base.transposed) == 0;
  }

  /// Checks that a module's tensors form a change and agree with the config.
  Result<void> checkFactors(const ModuleChange &change) const {
    const std::string some = change.a.empty() ? change.b : change.a;
    if (change.a.empty() || change.b.empty()) {
      const std::string kind = change.isTable ? "lora_embedding_" : "lora_";
      return fail(some.empty() ? change.getAny() : some,
                  "has no '" + kind + (change.a.empty() ? "A" : "B") +
                      (change.isTable ? "'" : ".weight'"));
    }
    if (config.hasMagnitudes == change.magnitude.empty())
      return config.hasMagnitudes
                 ? fail(some, "has no 'lora_magnitude_vector', but 'use_dora' "
                              "of " +
                                  std::string(adapterConfig) + " is true")
                 : fail(change.magnitude, "is there, but 'use_dora' of " +
                                              std::string(adapterConfig) +
                                              " is not true");
    for (const std::string &name :
         {change.a, change.b, change.magnitude, change.bias})
      if (!name.empty() && !isFloat(files.find(name)->dtype))
        return fail(name, "is no tensor of floats");
    return {};
  }

  Result<void> checkShapes(const std::string &module,
                           const ModuleChange &change, const std::string &own,
                           bool transposed) const {
    const std::vector<int64_t> &shape = files.find(own)->shape;
    const std::vector<int64_t> &sizesA = files.find(change.a)->shape,
                               &sizesB = files.find(change.b)->shape;
    if (shape.size() != 2 || sizesA.size() != 2 || sizesB.size() != 2)
      return fail(change.a,
                  "is of shape " + shapeText(sizesA) +
                      "; supported: adapters of matrices",
                  Status::Unsupported);
    const int64_t out = shape[transposed], in = shape[!transposed];
    const int64_t rank = config.getRank(module);
    if (sizesA != std::vector<int64_t>{rank, in} ||
        sizesB != std::vector<int64_t>{out, rank})
      return fail(change.a, "and its B have the shapes " + shapeText(sizesA) +
                                " and " + shapeText(sizesB) + ", expected " +
                                shapeText({rank, in}) + " and " +
                                shapeText({out, rank}) + " for '" +
                                utf8::printable(own) + "' by the rank of " +
                                adapterConfig);
    for (const std::string &name : {change.magnitude, change.bias})
      if (!name.empty() && files.find(name)->shape != std::vector<int64_t>{out})
        return fail(name, "has shape " + shapeText(files.find(name)->shape) +
                              ", expected " + shapeText({out}) + " for '" +
                              utf8::printable(own) + "'");
    return {};
  }

  /// Adds B's bias to the module's bias, or creates one.
  Result<void> addBias(const std::string &module, const std::string &bias,
                       int64_t size, double scale) {
    const WeightExpr added = WeightExpr::scale(WeightExpr::file(bias), scale);
    const std::optional<std::string> own = find(module + ".bias");
    if (!own) {
      std::string name = *find(module + ".weight");
      name.replace(name.rfind('.') + 1, std::string::npos, adapterBias);
      return files.addDerived(name, added, bias);
    }
    if (files.find(*own)->shape != std::vector<int64_t>{size})
      return fail(bias, "is for '" + utf8::printable(*own) + "', which has " +
                            "shape " + shapeText(files.find(*own)->shape));
    return files.replaceDerived(
        *own, WeightExpr::add(files.resolve(WeightExpr::file(*own)), added));
  }

  /// Tensors that have their own names now.
  struct Tied {
    std::vector<std::string> names;
    std::string input;
  };

  ModelFiles &files;
  const std::string &folder;
  const AdapterBase &base;
  const PeftConfig &config;
  AdapterTensors tensors;
  std::vector<Tied> tiedTensors;
};

} // namespace

Result<std::vector<std::string>> mergeAdapter(ModelFiles &files,
                                              const std::string &folder,
                                              const AdapterBase &base) {
  if (!isFolder(folder))
    return unavailable("'" + utf8::printable(folder, 400) +
                       "': no such folder; expected one with '" +
                       adapterConfig + "' and '" + adapterWeights + "'");
  TRANSOM_ASSIGN(PeftConfig config,
                 readPeftConfig(joinPath(folder, adapterConfig)));
  for (const char *other : {"adapter_model.bin", "adapter_model.pt"})
    if (!fileExists(joinPath(folder, adapterWeights)) &&
        fileExists(joinPath(folder, other)))
      return unsupported("'" + utf8::printable(folder, 400) + "' has no '" +
                         adapterWeights + "', only '" + other +
                         "', which is not read; save the adapter again with "
                         "save_pretrained(..., safe_serialization=True)");
  TRANSOM_TRY(AdapterMerger(files, folder, base, config).run());
  return Result<std::vector<std::string>>(std::move(config.notes));
}

} // namespace transom
