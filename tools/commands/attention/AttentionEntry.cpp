// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// From tokens to the chosen weights.
#include "tools/commands/attention/AttentionEntry.h"
#include "runtime/generate/GenerationConfig.h"
#include "runtime/manifest/Manifest.h"
#include "tools/commands/GenerationFlags.h"
#include "tools/commands/NumberList.h"
#include "tools/commands/Tensors.h"
#include <algorithm>
#include <map>
#include <set>

using namespace transom;
using namespace transom::tools;

static constexpr const char *entryName = "attention";

namespace {

/// One kind of attention in the results of the entry.
struct Kind {
  const char *name, *results; ///< of the group, and of results but the number
  const TokenSequence *queries, *keys;
  /// [1, heads, queries, keys] of each layer, by its number.
  std::map<int64_t, const transom_tensor *> layers;
  std::vector<int64_t> heads; ///< numbers of those of each layer
};

/// Numbers of layers and heads.
struct Selection {
  std::vector<int64_t> layers, heads;
};

} // namespace

Result<void> tools::checkAttentionEntry(const transom_model *model,
                                        const std::string &path) {
  if (!checkEntry(model, entryName))
    return usageError(quote(path) + " has no entry 'attention'; compile the "
                                    "model with '--attention'");
  return {};
}

std::string tools::getVocabularyText(const transom_model *model, int64_t id) {
  std::string text(256, '\0');
  size_t size = 0;
  if (transom_model_token_text(model, id, text.data(), text.size(), &size) !=
      TRANSOM_STATUS_OK)
    return std::to_string(id);
  text.resize(size);
  return text;
}

/// An argument [1, tokens] of the entry.
static transom_tensor makeArgument(const char *name,
                                   std::vector<int64_t> &values) {
  transom_tensor tensor = {};
  tensor.name = name;
  tensor.dtype = TRANSOM_DTYPE_I64;
  tensor.rank = 2;
  tensor.shape[0] = 1;
  tensor.shape[1] = static_cast<int64_t>(values.size());
  tensor.data = values.data();
  tensor.capacity = values.size() * sizeof(int64_t);
  return tensor;
}

static bool hasArgument(const transom_model *model, const char *name) {
  for (size_t i = 0;; ++i) {
    Result<transom_argument_info> argument = getArgument(model, entryName, i);
    if (!argument)
      return false;
    if (std::string_view(argument->name) == name)
      return true;
  }
}

bool tools::takesTarget(const transom_model *model) {
  return hasArgument(model, "decoder_input_ids");
}

Result<TokenSequence> tools::getDecoderInput(const transom_model *model,
                                             int64_t start,
                                             const TokenSequence &target) {
  if (target.ids.empty())
    return rejected("the target has no tokens");
  TokenSequence input;
  input.ids = {start};
  input.labels = {getVocabularyText(model, start)};
  input.ids.insert(input.ids.end(), target.ids.begin(), target.ids.end() - 1);
  input.labels.insert(input.labels.end(), target.labels.begin(),
                      target.labels.end() - 1);
  return Result<TokenSequence>(std::move(input));
}

Result<int64_t> tools::getStartToken(const transom_model *model) {
  TRANSOM_ASSIGN(Manifest manifest, getManifest(model));
  std::optional<int64_t> start;
  if (manifest.decoder) {
    TRANSOM_ASSIGN(GenerationConfig config,
                   GenerationConfig::parse(manifest.decoder->generation));
    start = config.decoderStart ? config.decoderStart : config.beginToken;
  }
  if (!start)
    return rejected("the model's files name no 'decoder_start_token_id' and "
                    "no 'bos_token_id', which a target begins with");
  return *start;
}

Result<int64_t> tools::getStartToken(const transom_model *model,
                                     const TokenSequence &target) {
  TRANSOM_ASSIGN(Manifest manifest, getManifest(model));
  if (manifest.decoder && manifest.decoder->startRule == "last_label" &&
      !target.ids.empty())
    return target.ids.back();
  return getStartToken(model);
}

/// Sets the layers of a kind, and the numbers of its heads: `compiled` are
/// those that the model was compiled with, none for all.
static void findWeights(const std::vector<transom_tensor> &results,
                        const std::vector<int64_t> &compiled, Kind &kind) {
  const std::string prefix = std::string(kind.results) + ".";
  size_t heads = 0;
  for (const transom_tensor &result : results) {
    const std::string_view name = result.name;
    if (name.substr(0, prefix.size()) != prefix)
      continue;
    kind.layers[std::stol(std::string(name.substr(prefix.size())))] = &result;
    heads = std::max(heads, size_t(result.shape[1]));
  }
  for (size_t i = 0; i < heads; ++i)
    kind.heads.push_back(compiled.empty() ? int64_t(i) : compiled[i]);
}

/// The numbers that a list selects of those that some kind has; all for an
/// empty list.
static Result<std::vector<int64_t>> select(const std::string &flag,
                                           const std::string &list,
                                           const std::set<int64_t> &known) {
  TRANSOM_ASSIGN(std::vector<int64_t> chosen, parseNumberList(flag, list));
  if (list.empty())
    chosen.assign(known.begin(), known.end());
  for (int64_t number : chosen)
    if (!known.count(number)) {
      std::string numbers;
      for (int64_t one : known)
        numbers += (numbers.empty() ? "" : ",") + std::to_string(one);
      const bool isRange =
          *known.rbegin() - *known.begin() == int64_t(known.size()) - 1;
      return usageError("'" + flag + "': '" + std::to_string(number) +
                        "' is out of range; supported: " +
                        (isRange ? "numbers from " +
                                       std::to_string(*known.begin()) + " to " +
                                       std::to_string(*known.rbegin())
                                 : numbers));
    }
  return chosen;
}

/// The chosen layers and heads of one kind.
static Result<AttentionGroup> makeGroup(const Kind &kind,
                                        const Selection &selection) {
  AttentionGroup group;
  group.name = kind.name;
  group.queries = kind.queries->labels;
  group.keys = kind.keys->labels;
  for (int64_t layer : selection.layers)
    if (kind.layers.count(layer))
      group.layers.push_back(uint32_t(layer));
  std::vector<size_t> places; // of the heads in a tensor
  for (size_t i = 0; i < kind.heads.size(); ++i)
    if (std::binary_search(selection.heads.begin(), selection.heads.end(),
                           kind.heads[i])) {
      places.push_back(i);
      group.heads.push_back(uint32_t(kind.heads[i]));
    }
  const size_t size = group.getMatrixSize();
  for (uint32_t layer : group.layers)
    for (size_t place : places) {
      const transom_tensor &tensor = *kind.layers.at(layer);
      if (place >= size_t(tensor.shape[1]))
        return unsupported("layers with different numbers of heads are not "
                           "supported; choose some with '--layers'");
      const auto *matrix =
          static_cast<const float *>(tensor.data) + place * size;
      group.weights.insert(group.weights.end(), matrix, matrix + size);
    }
  return Result<AttentionGroup>(std::move(group));
}

/// The groups of all kinds that have some of what is chosen.
static Result<std::vector<AttentionGroup>>
makeGroups(const std::vector<Kind> &kinds, const AttentionChoice &choice) {
  std::set<int64_t> layers, heads;
  for (const Kind &kind : kinds) {
    for (const auto &[layer, tensor] : kind.layers)
      layers.insert(layer);
    heads.insert(kind.heads.begin(), kind.heads.end());
  }
  Selection selection;
  TRANSOM_ASSIGN(selection.layers,
                 select(choice.flagPrefix + "layers", choice.layers, layers));
  TRANSOM_ASSIGN(selection.heads,
                 select(choice.flagPrefix + "heads", choice.heads, heads));
  std::vector<AttentionGroup> groups;
  for (const Kind &kind : kinds) {
    TRANSOM_ASSIGN(AttentionGroup group, makeGroup(kind, selection));
    if (!group.layers.empty() && !group.heads.empty())
      groups.push_back(std::move(group));
  }
  if (groups.empty())
    return usageError("no kind of attention has both the layers '" +
                      choice.layers + "' and the heads '" + choice.heads + "'");
  return Result<std::vector<AttentionGroup>>(std::move(groups));
}

/// The heads that the model was compiled with; none for all.
static Result<std::vector<int64_t>>
getCompiledHeads(const transom_model *model) {
  TRANSOM_ASSIGN(Manifest manifest, getManifest(model));
  for (const auto &[flag, value] : manifest.options)
    if (flag == "attention-heads")
      return parseNumberList("--attention-heads", value);
  return std::vector<int64_t>();
}

/// Makes sure that the session holds inputs of these lengths.
Result<void>
AttentionRunner::prepare(const std::vector<transom_tensor> &inputs) {
  bool fits = bool(session);
  lengths.resize(inputs.size());
  for (size_t i = 0; i < inputs.size(); ++i) {
    fits = fits && inputs[i].shape[1] <= lengths[i];
    lengths[i] = std::max(lengths[i], inputs[i].shape[1]);
  }
  if (fits)
    return {};
  std::vector<std::vector<int64_t>> values;
  std::vector<transom_tensor> largest;
  for (size_t i = 0; i < inputs.size(); ++i)
    values.emplace_back(size_t(lengths[i]));
  for (size_t i = 0; i < inputs.size(); ++i)
    largest.push_back(makeArgument(inputs[i].name, values[i]));
  session.reset();
  TRANSOM_ASSIGN(session, sessionFor(model, entryName, largest, threads));
  return {};
}

Result<std::vector<AttentionGroup>>
AttentionRunner::run(const TokenSequence &source, const TokenSequence *decoder,
                     const AttentionChoice &choice) {
  // Arguments are read only; the C API has one type for those and results.
  TokenSequence text = source, target;
  std::vector<transom_tensor> inputs = {makeArgument("input_ids", text.ids)};
  if (hasArgument(model, "token_type_ids"))
    inputs.push_back(makeArgument("token_type_ids", text.types));
  std::vector<Kind> kinds = {{"self", "attentions", &source, &source, {}, {}}};
  if (decoder) {
    target = *decoder;
    inputs.push_back(makeArgument("decoder_input_ids", target.ids));
    kinds = {{"encoder", "encoder_attentions", &source, &source, {}, {}},
             {"decoder", "decoder_attentions", decoder, decoder, {}, {}},
             {"cross", "cross_attentions", decoder, &source, {}, {}}};
  }

  TRANSOM_TRY(prepare(inputs));
  const CancelOnSignal signals(session.get());
  OutputTensors outputs;
  TRANSOM_TRY(outputs.allocate(model, session.get(), entryName, inputs));
  if (Result<void> ran = check(transom_session_run(
          session.get(), entryName, inputs.data(), inputs.size(),
          outputs.tensors().data(), outputs.tensors().size()));
      !ran)
    return signals.explain(ran.takeError());
  TRANSOM_ASSIGN(std::vector<int64_t> heads, getCompiledHeads(model));
  for (Kind &kind : kinds)
    findWeights(outputs.tensors(), heads, kind);
  return makeGroups(kinds, choice);
}
