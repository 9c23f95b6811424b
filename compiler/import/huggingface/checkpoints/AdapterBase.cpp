// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The token embedding is tied to the other half's tables and the head's weight;
// a vocabulary bias may have two names.
#include "compiler/import/huggingface/checkpoints/AdapterBase.h"
#include "compiler/import/huggingface/ModelConfig.h"
#include "compiler/import/huggingface/ModelFamily.h"
#include "llvm/ADT/STLExtras.h"

using namespace transom;

/// Adds missing names to a list.
static void addNames(std::vector<std::string> &names,
                     const std::vector<std::string> &more) {
  for (const std::string &name : more)
    if (!llvm::is_contained(names, name))
      names.push_back(name);
}

/// Returns the tables in one half that are tied to its token embedding; the
/// first ones take precedence.
static TiedTensors getTiedWords(const ModelFamily &half,
                                const ModelConfig &model,
                                const std::string &prefix) {
  const FamilyModules &m = half.modules;
  std::vector<const char *> modules = {m.word};
  if (model.sharedWord)
    modules.insert(modules.end(), m.sharedWord.begin(), m.sharedWord.end());
  const bool isShared = modules.size() > 1;
  if (isShared)
    std::swap(modules[0], modules[1]);
  TiedTensors ties;
  for (const char *module : modules)
    ties.names.push_back(prefix + module + ".weight");
  ties.input = prefix + modules.front();
  return ties;
}

AdapterBase transom::getAdapterBase(const ModelFamily &family,
                                    const FamilyHead &head,
                                    const std::vector<ModelConfig> &models) {
  AdapterBase base;
  base.architecture = std::string(family.className) + head.suffix;
  base.prefix = family.prefix ? family.prefix : "";
  llvm::ArrayRef<ModelFamily> halves(family);
  if (!family.halves.empty())
    halves = family.halves;

  // The decoder's names come first, since the head uses its table.
  for (size_t i = halves.size(); i-- > 0;) {
    const ModelFamily &half = halves[i];
    TiedTensors words = getTiedWords(half, models[i], base.prefix);
    if (half.kind == ModelKind::Decoder && halves.size() > 1 &&
        !(models[i].sharedWord && !half.modules.sharedWord.empty()))
      words.input.clear(); // the model's input embedding is the encoder's
    if (i + 1 == halves.size() && models[i].tied)
      for (const HeadResult &result : head.results)
        for (const HeadStep &step : result.steps)
          if (step.kind == HeadStep::Kind::Vocabulary)
            addNames(words.names, {std::string(step.module) + ".weight"});
    auto same = llvm::find_if(base.ties, [&](const TiedTensors &ties) {
      return llvm::is_contained(ties.names, words.names.front());
    });
    if (same == base.ties.end())
      base.ties.push_back(std::move(words));
    else
      addNames(same->names, words.names);
    if (half.transposedWeights) {
      const std::string layer = half.modules.layer;
      base.transposed = layer.substr(0, layer.find("{i}"));
    }
  }

  // Add the names for a bias.
  for (const HeadResult &result : head.results)
    for (const HeadStep &step : result.steps)
      if (step.biases.size() > 1)
        base.ties.push_back({{step.biases.begin(), step.biases.end()}, ""});
  return base;
}
