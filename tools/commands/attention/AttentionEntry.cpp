// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Converts tokens to arguments and selects the requested weights.
#include "tools/commands/attention/AttentionEntry.h"
#include "runtime/generate/GenerationConfig.h"
#include "runtime/manifest/Manifest.h"
#include "tools/commands/NumberList.h"
#include "tools/commands/generate/GenerationFlags.h"
#include <algorithm>
#include <cstring>
#include <map>
#include <set>

using namespace transom;
using namespace transom::tools;

static constexpr const char *entryName = "attention";

namespace {

/// One attention kind in the entry's results.
struct Kind {
  const char *name, *results; ///< group; results, without the number
  bool ofDecoder, toDecoder;  ///< tokens that attend, tokens attended to
  /// Index of the result [batch, heads, queries, keys] by layer number.
  std::map<int64_t, size_t> layers;
  std::vector<int64_t> heads; ///< head numbers, equal in all layers
};

/// Selection from one kind.
struct ChosenKind {
  const Kind *kind;
  std::vector<int64_t> layers; ///< numbers
  std::vector<size_t> places;  ///< head indices in a result
};

/// Layer and head numbers.
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

/// Returns an entry argument [rows, tokens].
static transom_tensor makeArgument(const char *name, int64_t rows,
                                   std::vector<int64_t> &values) {
  transom_tensor tensor = {};
  tensor.name = name;
  tensor.dtype = TRANSOM_DTYPE_I64;
  tensor.rank = 2;
  tensor.shape[0] = rows;
  tensor.shape[1] = static_cast<int64_t>(values.size()) / rows;
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

/// Returns the heads that the model was compiled with; empty for all.
static Result<std::vector<int64_t>>
getCompiledHeads(const transom_model *model) {
  TRANSOM_ASSIGN(Manifest manifest, getManifest(model));
  for (const auto &[flag, value] : manifest.options)
    if (flag == "attention-heads")
      return parseNumberList("--attention-heads", value);
  return std::vector<int64_t>();
}

/// Returns the attention kinds that a model's entry has.
static Result<std::vector<Kind>> findKinds(const transom_model *model) {
  TRANSOM_ASSIGN(transom_entry_info entry, getEntry(model, entryName));
  TRANSOM_ASSIGN(std::vector<int64_t> compiled, getCompiledHeads(model));
  std::vector<Kind> kinds = {{"self", "attentions.", false, false, {}, {}}};
  if (takesTarget(model))
    kinds = {{"encoder", "encoder_attentions.", false, false, {}, {}},
             {"decoder", "decoder_attentions.", true, true, {}, {}},
             {"cross", "cross_attentions.", true, false, {}, {}}};
  for (size_t i = 0; i < entry.num_outputs; ++i) {
    TRANSOM_ASSIGN(transom_argument_info result,
                   getArgument(model, entryName, entry.num_inputs + i));
    const std::string name = result.name;
    for (Kind &kind : kinds) {
      if (name.rfind(kind.results, 0) != 0)
        continue;
      kind.layers[std::stol(name.substr(strlen(kind.results)))] = i;
      // Its dimensions are batch, heads, queries and keys.
      const size_t heads = std::stoul(result.dims[1]);
      for (size_t head = kind.heads.size(); head < heads; ++head)
        kind.heads.push_back(compiled.empty() ? int64_t(head) : compiled[head]);
    }
  }
  return Result<std::vector<Kind>>(std::move(kinds));
}

/// Selects the numbers in a list; an empty list selects all. Numbers that no
/// kind has are an error.
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

/// Selects from all requested kinds.
static Result<std::vector<ChosenKind>> choose(const std::vector<Kind> &kinds,
                                              const AttentionChoice &choice) {
  // Collect the known layers and heads.
  auto isAsked = [&](const Kind &kind) {
    return choice.kind.empty() || choice.kind == kind.name;
  };
  std::set<int64_t> layers, heads;
  for (const Kind &kind : kinds)
    if (isAsked(kind)) {
      for (const auto &[layer, result] : kind.layers)
        layers.insert(layer);
      heads.insert(kind.heads.begin(), kind.heads.end());
    }
  if (layers.empty())
    return usageError("the model was compiled without the layers and heads of "
                      "'" +
                      choice.kind + "' attention");
  // Parse the lists.
  Selection selection;
  TRANSOM_ASSIGN(selection.layers,
                 select(choice.flagPrefix + "layers", choice.layers, layers));
  TRANSOM_ASSIGN(selection.heads,
                 select(choice.flagPrefix + "heads", choice.heads, heads));
  // Apply the selection; kinds without selected layers or heads are omitted.
  std::vector<ChosenKind> all;
  for (const Kind &kind : kinds) {
    ChosenKind chosen{&kind, {}, {}};
    for (int64_t layer : selection.layers)
      if (kind.layers.count(layer))
        chosen.layers.push_back(layer);
    for (size_t i = 0; i < kind.heads.size(); ++i)
      if (std::binary_search(selection.heads.begin(), selection.heads.end(),
                             kind.heads[i]))
        chosen.places.push_back(i);
    if (isAsked(kind) && !chosen.layers.empty() && !chosen.places.empty())
      all.push_back(std::move(chosen));
  }
  if (all.empty())
    return usageError("no kind of attention has both the layers '" +
                      choice.layers + "' and the heads '" + choice.heads + "'");
  return Result<std::vector<ChosenKind>>(std::move(all));
}

Result<void> tools::checkAttentionChoice(const transom_model *model,
                                         const AttentionChoice &choice) {
  TRANSOM_ASSIGN(std::vector<Kind> kinds, findKinds(model));
  if (Result<std::vector<ChosenKind>> chosen = choose(kinds, choice); !chosen)
    return chosen.takeError();
  return {};
}

/// Returns the selected layers and heads for one kind and batch row. Results
/// are truncated to the row's tokens.
static Result<AttentionGroup>
makeGroup(const ChosenKind &chosen, const AttentionTokens &tokens, size_t row,
          const std::vector<transom_tensor> &results) {
  const Kind &kind = *chosen.kind;
  // Labels and numbers.
  AttentionGroup group;
  group.name = kind.name;
  group.queries = (kind.ofDecoder ? tokens.decoder : tokens.source)->labels;
  group.keys = (kind.toDecoder ? tokens.decoder : tokens.source)->labels;
  for (int64_t layer : chosen.layers)
    group.layers.push_back(uint32_t(layer));
  for (size_t place : chosen.places)
    group.heads.push_back(uint32_t(kind.heads[place]));
  // Copy the matrices without padding.
  group.weights.reserve(chosen.layers.size() * chosen.places.size() *
                        group.getMatrixSize());
  for (int64_t layer : chosen.layers) {
    const transom_tensor &tensor = results[kind.layers.at(layer)];
    const auto heads = size_t(tensor.shape[1]),
               queries = size_t(tensor.shape[2]),
               keys = size_t(tensor.shape[3]);
    for (size_t place : chosen.places) {
      if (place >= heads)
        return unsupported("layers with different numbers of heads are not "
                           "supported; choose some with '--layers'");
      const float *weights = static_cast<const float *>(tensor.data) +
                             (row * heads + place) * queries * keys;
      for (size_t query = 0; query < group.queries.size(); ++query)
        group.weights.insert(group.weights.end(), weights + query * keys,
                             weights + query * keys + group.keys.size());
    }
  }
  return Result<AttentionGroup>(std::move(group));
}

/// Returns ids as one argument: shorter rows are padded with `fill`, or with
/// their last id if `fill` is not given.
static std::vector<int64_t>
makeRows(const std::vector<const std::vector<int64_t> *> &rows,
         std::optional<int64_t> fill = {}) {
  size_t longest = 0;
  for (const std::vector<int64_t> *row : rows)
    longest = std::max(longest, row->size());
  std::vector<int64_t> values;
  for (const std::vector<int64_t> *row : rows) {
    values.insert(values.end(), row->begin(), row->end());
    values.resize(values.size() + longest - row->size(),
                  fill.value_or(row->empty() ? 0 : row->back()));
  }
  return values;
}

/// Creates a larger session if the inputs do not fit.
Result<void>
AttentionRunner::prepare(const std::vector<transom_tensor> &inputs) {
  bool fits = session && inputs.front().shape[0] <= rows;
  rows = std::max(rows, inputs.front().shape[0]);
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
    values.emplace_back(size_t(rows * lengths[i]));
  for (size_t i = 0; i < inputs.size(); ++i)
    largest.push_back(makeArgument(inputs[i].name, rows, values[i]));
  session.reset();
  TRANSOM_ASSIGN(session, sessionFor(model, entryName, largest, threads));
  return {};
}

Result<std::vector<std::vector<AttentionGroup>>>
AttentionRunner::run(const std::vector<AttentionTokens> &batch,
                     const AttentionChoice &choice) {
  TRANSOM_ASSIGN(std::vector<Kind> kinds, findKinds(model));
  TRANSOM_ASSIGN(std::vector<ChosenKind> chosen, choose(kinds, choice));

  // Shorter sources get padding that the mask hides. Decoder tokens do not
  // attend to the padding that follows them.
  std::vector<const std::vector<int64_t> *> ids, types, targets;
  std::vector<std::vector<int64_t>> ones;
  for (const AttentionTokens &tokens : batch) {
    ids.push_back(&tokens.source->ids);
    types.push_back(&tokens.source->types);
    ones.emplace_back(tokens.source->ids.size(), 1);
    if (tokens.decoder)
      targets.push_back(&tokens.decoder->ids);
  }
  std::vector<const std::vector<int64_t> *> isToken;
  for (const std::vector<int64_t> &row : ones)
    isToken.push_back(&row);
  std::vector<std::pair<const char *, std::vector<int64_t>>> values;
  values.emplace_back("input_ids", makeRows(ids));
  if (batch.size() > 1)
    values.emplace_back("attention_mask", makeRows(isToken, 0));
  if (hasArgument(model, "token_type_ids"))
    values.emplace_back("token_type_ids", makeRows(types));
  if (!targets.empty())
    values.emplace_back("decoder_input_ids", makeRows(targets));
  std::vector<transom_tensor> inputs;
  for (auto &[name, numbers] : values)
    inputs.push_back(makeArgument(name, int64_t(batch.size()), numbers));
  TRANSOM_ASSIGN(OutputTensors outputs, runInputs(inputs));

  std::vector<std::vector<AttentionGroup>> groups(batch.size());
  for (size_t row = 0; row < batch.size(); ++row)
    for (const ChosenKind &kind : chosen) {
      TRANSOM_ASSIGN(AttentionGroup group,
                     makeGroup(kind, batch[row], row, outputs.tensors()));
      groups[row].push_back(std::move(group));
    }
  return Result<std::vector<std::vector<AttentionGroup>>>(std::move(groups));
}

Result<OutputTensors>
AttentionRunner::runInputs(const std::vector<transom_tensor> &inputs) {
  TRANSOM_TRY(prepare(inputs));
  const CancelOnSignal signals(session.get());
  OutputTensors outputs;
  TRANSOM_TRY(outputs.allocate(model, session.get(), entryName, inputs));
  if (Result<void> ran = check(transom_session_run(
          session.get(), entryName, inputs.data(), inputs.size(),
          outputs.tensors().data(), outputs.tensors().size()));
      !ran)
    return signals.explain(ran.takeError());
  return Result<OutputTensors>(std::move(outputs));
}
