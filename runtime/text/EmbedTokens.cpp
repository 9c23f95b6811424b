// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Token embeddings for late interaction (ColBERT), and hidden states. A query
// is padded with expansion tokens, which have embeddings but are attended to
// only if the model's rules enable it; tokens in the skiplist have no
// embedding.
#include "runtime/text/EmbedTokens.h"
#include "runtime/base/Suggest.h"
#include "runtime/text/Embed.h"
#include "runtime/text/TextBatches.h"
#include <algorithm>
#include <set>

using namespace transom;

namespace {

/// Encodes queries or documents, and determines which tokens have embeddings.
class InteractionTokens {
public:
  InteractionTokens(const Model &model, const ManifestTokens &rules,
                    std::string prompt, bool isQuery)
      : model(model), rules(rules), tokenizer(*model.tokenizer()),
        prompt(std::move(prompt)), isQuery(isQuery) {
    const auto unknown = int64_t(tokenizer.data().parameters().unknownId);
    for (const std::string &word : rules.skiplist)
      if (std::optional<int64_t> id = tokenizer.getId(word);
          id && (*id != unknown || tokenizer.token(*id) == word))
        skipped.insert(*id);
  }

  Result<Encoding> encode(std::string_view text) const;
  bool isSkipped(int64_t id) const;

private:
  size_t getLimit() const;
  /// Returns the single token with which the prompt begins, and its byte count.
  std::optional<std::pair<int64_t, size_t>> findPrefix() const;
  Result<Encoding> encodeAfter(int64_t prefix, const std::string &text,
                               size_t limit) const;

  const Model &model;
  const ManifestTokens &rules;
  const Tokenizer &tokenizer;
  const std::string prompt;
  const bool isQuery;
  std::set<int64_t> skipped; ///< ids in the skiplist
};

} // namespace

/// Returns the max token count for a text; 0: no limit.
size_t InteractionTokens::getLimit() const {
  const size_t most = model.maxTextTokens();
  int64_t own = isQuery ? rules.queryLength : rules.documentLength;
  if (isQuery && rules.expansion > 0)
    own = rules.keepsLongQueries ? (own ? std::max(own, rules.expansion) : 0)
                                 : rules.expansion;
  if (own == 0)
    return most;
  return most ? std::min(most, size_t(own)) : size_t(own);
}

/// A prefix such as `[Q] ` may be a single token, with or without the part
/// after its first word. Tokenized as text it would be split.
std::optional<std::pair<int64_t, size_t>>
InteractionTokens::findPrefix() const {
  for (const std::string &prefix : rules.prefixes) {
    if (prefix.empty() || prompt.compare(0, prefix.size(), prefix) != 0)
      continue;
    const size_t begin = prefix.find_first_not_of(' ');
    if (begin == std::string::npos)
      continue;
    const size_t end = std::min(prefix.find(' ', begin), prefix.size());
    if (std::optional<int64_t> id = tokenizer.getId(prefix))
      return std::pair(*id, prefix.size());
    if (begin == 0)
      if (std::optional<int64_t> id = tokenizer.getId(prefix.substr(0, end)))
        return std::pair(*id, end);
  }
  return std::nullopt;
}

/// Encodes a text and inserts a token after the template's initial tokens.
Result<Encoding> InteractionTokens::encodeAfter(int64_t prefix,
                                                const std::string &text,
                                                size_t limit) const {
  EncodeOptions how;
  how.maxLength = limit ? limit - 1 : 0;
  TRANSOM_ASSIGN(Encoding encoding, tokenizer.encode(text, how));
  // The prompt has at least one token, whose position is the start of the text.
  TRANSOM_ASSIGN(Encoding probe, tokenizer.encode(prompt));
  const auto first =
      std::find(probe.specialMask.begin(), probe.specialMask.end(), 0);
  const size_t at =
      std::min(size_t(first - probe.specialMask.begin()), encoding.ids.size());
  encoding.ids.insert(encoding.ids.begin() + at, prefix);
  return encoding;
}

Result<Encoding> InteractionTokens::encode(std::string_view text) const {
  const size_t limit = getLimit();
  const auto prefix = findPrefix();
  const std::string rest =
      prompt.substr(prefix ? prefix->second : 0) + std::string(text);
  EncodeOptions how;
  how.maxLength = limit;
  TRANSOM_ASSIGN(Encoding encoding,
                 prefix ? encodeAfter(prefix->first, rest, limit)
                        : tokenizer.encode(rest, how));
  const size_t own = encoding.ids.size();
  // Pad a query with expansion tokens.
  if (isQuery && rules.expansion > 0) {
    const std::optional<int64_t> filler = tokenizer.getId(rules.expansionToken);
    if (!filler)
      return rejected("the tokenizer has no token '" + rules.expansionToken +
                      "' to expand queries by");
    size_t width = size_t(rules.expansion);
    if (const size_t most = model.maxTextTokens())
      width = std::min(width, most);
    encoding.ids.resize(std::max(own, width), *filler);
  }
  encoding.expansionTokens = encoding.ids.size() - own;
  encoding.typeIds.assign(encoding.ids.size(), 0);
  return encoding;
}

bool InteractionTokens::isSkipped(int64_t id) const {
  const std::vector<std::string> &tasks = rules.skiplistTasks;
  return skipped.count(id) != 0 &&
         std::find(tasks.begin(), tasks.end(),
                   isQuery ? "query" : "document") != tasks.end();
}

//===-- Hidden states -----------------------------------------------------===//

/// The name of the entry that `compile --layers` adds, and the prefix of its
/// result names.
static const std::string statesEntry = "hidden_states",
                         stateResult = "hidden_state_";

/// Returns the result for a layer, counted from the start or from the end.
static Result<Model::TextUse> findLayer(const Model &model, const Entry &entry,
                                        int64_t layer) {
  std::vector<std::string> known;
  for (const ManifestTensor &output : entry.manifest->outputs) {
    // "hidden_state_4" and, counted from the end, "hidden_state_4_of_6".
    const std::string number = output.name.substr(stateResult.size());
    const size_t mark = number.find("_of_");
    const int64_t from = std::stoll(number.substr(0, mark)),
                  count = std::stoll(number.substr(mark + 4));
    known.push_back(std::to_string(from));
    if (layer != from && layer != from - count)
      continue;
    if (auto use = model.findTextUse(&entry, output.name))
      return *use;
  }
  return usageError("'--layers': the model was compiled without layer '" +
                    std::to_string(layer) + "'; it has: " + joinNames(known));
}

/// Returns the hidden-state results for the layers, or for the last layer.
static Result<TextUses> findStates(const Model &model,
                                   const std::vector<int64_t> &layers) {
  // Without layers, the encoder's own result is used.
  if (!model.tokenizer())
    return model.noTokenizer();
  if (layers.empty()) {
    if (auto use = model.findTextUse("last_hidden_state"))
      return TextUses{*use};
    return unsupported("the model gives no hidden states; compile it with "
                       "'--layers -1' and use 'embed --layers -1'");
  }
  const Entry *entry = model.findEntry(statesEntry.c_str());
  if (!entry) {
    std::string list;
    for (int64_t layer : layers)
      list += (list.empty() ? "" : ",") + std::to_string(layer);
    return unsupported("the model gives no hidden states of layers; compile "
                       "it with '--layers " +
                       list + "'");
  }
  // All layers must have the same width.
  TextUses uses;
  for (int64_t layer : layers) {
    TRANSOM_ASSIGN(Model::TextUse use, findLayer(model, *entry, layer));
    uses.push_back(use);
    if (use.width != uses.front().width)
      return unsupported("the model's layers have vectors of several sizes");
  }
  return uses;
}

//===-- Texts -------------------------------------------------------------===//

/// Copies the vectors for one text, except for skipped tokens.
static TokenVectors takeRows(const TextRows &rows, size_t width,
                             const InteractionTokens *tokens) {
  TokenVectors out;
  out.width = width;
  out.isCut = rows.encoding.truncatedTokens != 0;
  std::vector<size_t> chosen;
  for (size_t i = 0; i != rows.count; ++i)
    if (!tokens || !tokens->isSkipped(rows.encoding.ids[i]))
      chosen.push_back(i);
  for (size_t i : chosen)
    out.ids.push_back(rows.encoding.ids[i]);
  for (const float *first : rows.rows)
    for (size_t i : chosen)
      out.vectors.insert(out.vectors.end(), first + i * width,
                         first + (i + 1) * width);
  return out;
}

Result<void> transom::embedTokens(Session &session, const transom_text *texts,
                                  size_t count,
                                  const transom_embed_options &given,
                                  const std::vector<int64_t> &layers,
                                  const TakeTokenVectors &take) {
  const Model &model = session.model();
  if (given.pooling != TRANSOM_POOLING_FROM_MODEL ||
      given.normalize != TRANSOM_FROM_MODEL || given.dim || given.chunk ||
      given.overlap)
    return usageError("embeddings of tokens have no pooling, normalize, dim or "
                      "chunk");

  // Select the results to compute.
  transom_embed_options options = given;
  Result<const Model::TextUse *> ofTokens = getTokenEmbedding(model);
  const bool interacts = layers.empty() && ofTokens;
  TextUses uses;
  if (interacts) {
    uses = {**ofTokens};
  } else {
    TRANSOM_ASSIGN(uses, findStates(model, layers));
  }

  // Late-interaction texts are documents unless the query prompt is requested.
  if (interacts && !options.prompt && !options.prompt_name)
    options.prompt_name = "document";
  const bool isQuery =
      options.prompt_name && std::string(options.prompt_name) == "query";
  TRANSOM_ASSIGN(const std::string prompt, getPrompt(model, options));
  ManifestTokens rules;
  std::optional<InteractionTokens> tokens;
  if (interacts) {
    rules = model.manifest().text->pipeline->tokens.value_or(rules);
    uses.front().attends = rules.attends;
    tokens.emplace(model, rules, prompt, isQuery);
  }
  auto encode = [&](size_t i) -> Result<Encoding> {
    if (tokens)
      return tokens->encode(getView(texts[i]));
    const std::string text = prompt + std::string(getView(texts[i]));
    return encodeText(model, {text.data(), text.size()}, nullptr,
                      transom_tokenize_options{});
  };
  size_t cut = 0;
  return runEncoded(session, uses, count, encode, cut,
                    [&](const TextRows &rows) {
                      take(rows.text, takeRows(rows, size_t(uses[0].width),
                                               tokens ? &*tokens : nullptr));
                    });
}

Result<TokenVectors>
transom::embedTokens(Session &session, const transom_text &text,
                     const transom_embed_options &options) {
  TRANSOM_TRY(getTokenEmbedding(session.model()));
  TokenVectors found;
  TRANSOM_TRY(embedTokens(
      session, &text, 1, options, {},
      [&](size_t, TokenVectors vectors) { found = std::move(vectors); }));
  return found;
}
