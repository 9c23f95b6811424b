// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// From tokens to the chosen weights.
#include "tools/commands/attention/AttentionEntry.h"
#include "runtime/generate/GenerationConfig.h"
#include "runtime/manifest/Manifest.h"
#include "tools/commands/GenerationFlags.h"
#include "tools/commands/Tensors.h"
#include <algorithm>
#include <numeric>

using namespace transom;
using namespace transom::tools;

static constexpr const char *entryName = "attention";

namespace {

/// One kind of attention in the results of the entry.
struct Kind {
  const char *name, *results; ///< of the group, and of results but the number
  const TokenSequence *queries, *keys;
  /// [1, heads, queries, keys] of each layer.
  std::vector<const transom_tensor *> layers;

  size_t countHeads() const {
    size_t heads = 0;
    for (const transom_tensor *layer : layers)
      heads = std::max(heads, size_t(layer->shape[1]));
    return heads;
  }
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

/// The results with weights, in the order of layers.
static std::vector<const transom_tensor *>
findWeights(const std::vector<transom_tensor> &results,
            const std::string &prefix) {
  std::vector<const transom_tensor *> layers;
  for (;;) {
    const std::string name = prefix + "." + std::to_string(layers.size());
    auto found = std::find_if(
        results.begin(), results.end(),
        [&](const transom_tensor &result) { return result.name == name; });
    if (found == results.end())
      return layers;
    layers.push_back(&*found);
  }
}

/// The numbers that a list such as `0,2-5` selects of 0 to `count` - 1, in
/// order, each once; all for an empty list.
static Result<std::vector<uint32_t>>
parseSelection(const std::string &flag, const std::string &list, size_t count) {
  std::vector<uint32_t> chosen(count);
  std::iota(chosen.begin(), chosen.end(), 0);
  if (list.empty())
    return Result<std::vector<uint32_t>>(std::move(chosen));
  chosen.clear();
  auto wrong = [&](const std::string &what) {
    return usageError("'" + flag + "': " + what + "; supported: numbers from " +
                      "0 to " + std::to_string(count - 1) +
                      " and ranges, as in '0,2-5'");
  };
  for (size_t begin = 0; begin <= list.size();) {
    const size_t end = std::min(list.find(',', begin), list.size());
    const std::string item = list.substr(begin, end - begin);
    const size_t dash = item.find('-');
    const std::string low = item.substr(0, dash),
                      high = dash == std::string::npos ? low
                                                       : item.substr(dash + 1);
    for (const std::string &number : {low, high})
      if (number.empty() || number.size() > 6 ||
          number.find_first_not_of("0123456789") != std::string::npos)
        return wrong(quote(item) + " is not a number or a range");
    const unsigned long first = std::stoul(low), last = std::stoul(high);
    if (first > last || last >= count)
      return wrong(quote(item) + " is out of range");
    for (unsigned long i = first; i <= last; ++i)
      chosen.push_back(static_cast<uint32_t>(i));
    begin = end + 1;
  }
  std::sort(chosen.begin(), chosen.end());
  chosen.erase(std::unique(chosen.begin(), chosen.end()), chosen.end());
  return Result<std::vector<uint32_t>>(std::move(chosen));
}

/// Those of the chosen numbers that are below a count.
static std::vector<uint32_t> getBelow(const std::vector<uint32_t> &chosen,
                                      size_t count) {
  return {chosen.begin(),
          std::lower_bound(chosen.begin(), chosen.end(), uint32_t(count))};
}

/// The chosen layers and heads of one kind.
static Result<AttentionGroup> makeGroup(const Kind &kind,
                                        const std::vector<uint32_t> &layers,
                                        const std::vector<uint32_t> &heads) {
  AttentionGroup group;
  group.name = kind.name;
  group.queries = kind.queries->labels;
  group.keys = kind.keys->labels;
  group.layers = getBelow(layers, kind.layers.size());
  group.heads = getBelow(heads, kind.countHeads());
  const size_t size = group.getMatrixSize();
  for (uint32_t layer : group.layers)
    for (uint32_t head : group.heads) {
      if (head >= uint64_t(kind.layers[layer]->shape[1]))
        return unsupported("layers with different numbers of heads are not "
                           "supported; choose some with '--layers'");
      const auto *matrix =
          static_cast<const float *>(kind.layers[layer]->data) + head * size;
      group.weights.insert(group.weights.end(), matrix, matrix + size);
    }
  return Result<AttentionGroup>(std::move(group));
}

/// The groups of all kinds that have some of what is chosen.
static Result<std::vector<AttentionGroup>>
makeGroups(const std::vector<Kind> &kinds, const AttentionChoice &choice) {
  size_t mostLayers = 0, mostHeads = 0;
  for (const Kind &kind : kinds) {
    mostLayers = std::max(mostLayers, kind.layers.size());
    mostHeads = std::max(mostHeads, kind.countHeads());
  }
  TRANSOM_ASSIGN(std::vector<uint32_t> layers,
                 parseSelection("--layers", choice.layers, mostLayers));
  TRANSOM_ASSIGN(std::vector<uint32_t> heads,
                 parseSelection("--heads", choice.heads, mostHeads));
  std::vector<AttentionGroup> groups;
  for (const Kind &kind : kinds) {
    TRANSOM_ASSIGN(AttentionGroup group, makeGroup(kind, layers, heads));
    if (!group.layers.empty() && !group.heads.empty())
      groups.push_back(std::move(group));
  }
  if (groups.empty())
    return usageError("no kind of attention has both the layers '" +
                      choice.layers + "' and the heads '" + choice.heads + "'");
  return Result<std::vector<AttentionGroup>>(std::move(groups));
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
  std::vector<Kind> kinds = {{"self", "attentions", &source, &source, {}}};
  if (decoder) {
    target = *decoder;
    inputs.push_back(makeArgument("decoder_input_ids", target.ids));
    kinds = {{"encoder", "encoder_attentions", &source, &source, {}},
             {"decoder", "decoder_attentions", decoder, decoder, {}},
             {"cross", "cross_attentions", decoder, &source, {}}};
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
  for (Kind &kind : kinds)
    kind.layers = findWeights(outputs.tensors(), kind.results);
  return makeGroups(kinds, choice);
}
