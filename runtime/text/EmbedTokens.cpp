// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Embeddings of tokens for late interaction (ColBERT). A query is filled up
// with expansion tokens, which have embeddings but, unless the model says so,
// are not attended to; tokens of the skiplist have no embedding.
#include "runtime/text/EmbedTokens.h"
#include "runtime/text/Embed.h"
#include <algorithm>
#include <set>

using namespace transom;

namespace {

/// The tokens of one text as the entry gets them.
struct TokenRow {
  std::vector<int64_t> ids;
  size_t real = 0; ///< tokens of the text; expansion tokens follow
  bool isCut = false;
};

/// Embeds one text.
class TokenEmbedder {
public:
  TokenEmbedder(Session &session, const Model::TextUse &use,
                const ManifestTokens &rules)
      : session(session), use(use), rules(rules),
        tokenizer(*session.model().tokenizer()) {
    const auto unknown = int64_t(tokenizer.data().parameters().unknownId);
    for (const std::string &word : rules.skiplist)
      if (std::optional<int64_t> id = tokenizer.getId(word);
          id && (*id != unknown || tokenizer.token(*id) == word))
        skipped.insert(*id);
  }

  Result<TokenRow> encode(const std::string &prompt, std::string_view text,
                          bool isQuery) const;
  Result<void> run(const TokenRow &row, bool isQuery, TokenVectors &out);

private:
  size_t getLimit(bool isQuery) const;
  /// The token that a prompt begins with as a whole, and its bytes.
  std::optional<std::pair<int64_t, size_t>>
  findPrefix(const std::string &prompt) const;
  Result<Encoding> encodeAfter(int64_t prefix, const std::string &prompt,
                               const std::string &text, size_t limit) const;
  bool isSkipped(int64_t id, bool isQuery) const;

  Session &session;
  const Model::TextUse &use;
  const ManifestTokens &rules;
  const Tokenizer &tokenizer;
  std::set<int64_t> skipped; ///< ids of the skiplist
};

} // namespace

/// The most tokens of a text, 0 for any number.
size_t TokenEmbedder::getLimit(bool isQuery) const {
  const size_t model = session.model().maxTextTokens();
  int64_t own = isQuery ? rules.queryLength : rules.documentLength;
  if (isQuery && rules.expansion > 0)
    own = rules.keepsLongQueries ? (own ? std::max(own, rules.expansion) : 0)
                                 : rules.expansion;
  if (own == 0)
    return model;
  return model ? std::min(model, size_t(own)) : size_t(own);
}

/// A prefix such as `[Q] ` may be a token of its own, with or without what
/// follows its first word. Its text alone would be split.
std::optional<std::pair<int64_t, size_t>>
TokenEmbedder::findPrefix(const std::string &prompt) const {
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

/// Encodes a text with a token before its own, after those of the template.
Result<Encoding> TokenEmbedder::encodeAfter(int64_t prefix,
                                            const std::string &prompt,
                                            const std::string &text,
                                            size_t limit) const {
  EncodeOptions how;
  how.maxLength = limit ? limit - 1 : 0;
  TRANSOM_ASSIGN(Encoding encoding, tokenizer.encode(text, how));
  // The prompt has a token of its own at least, which tells where texts begin.
  TRANSOM_ASSIGN(Encoding probe, tokenizer.encode(prompt));
  const auto first =
      std::find(probe.specialMask.begin(), probe.specialMask.end(), 0);
  const size_t at =
      std::min(size_t(first - probe.specialMask.begin()), encoding.ids.size());
  encoding.ids.insert(encoding.ids.begin() + at, prefix);
  return encoding;
}

Result<TokenRow> TokenEmbedder::encode(const std::string &prompt,
                                       std::string_view text,
                                       bool isQuery) const {
  const size_t limit = getLimit(isQuery);
  const auto prefix = findPrefix(prompt);
  const std::string rest =
      prompt.substr(prefix ? prefix->second : 0) + std::string(text);
  EncodeOptions how;
  how.maxLength = limit;
  TRANSOM_ASSIGN(Encoding encoding,
                 prefix ? encodeAfter(prefix->first, prompt, rest, limit)
                        : tokenizer.encode(rest, how));
  TokenRow row;
  row.ids = std::move(encoding.ids);
  row.real = row.ids.size();
  row.isCut = encoding.truncatedTokens != 0;
  if (!isQuery || rules.expansion == 0)
    return row;
  const std::optional<int64_t> filler = tokenizer.getId(rules.expansionToken);
  if (!filler)
    return rejected("the tokenizer has no token '" + rules.expansionToken +
                    "' to expand queries by");
  size_t width = size_t(rules.expansion);
  if (const size_t most = session.model().maxTextTokens())
    width = std::min(width, most);
  row.ids.resize(std::max(row.real, width), *filler);
  return row;
}

bool TokenEmbedder::isSkipped(int64_t id, bool isQuery) const {
  const std::vector<std::string> &tasks = rules.skiplistTasks;
  return skipped.count(id) != 0 &&
         std::find(tasks.begin(), tasks.end(),
                   isQuery ? "query" : "document") != tasks.end();
}

Result<void> TokenEmbedder::run(const TokenRow &row, bool isQuery,
                                TokenVectors &out) {
  const size_t count = row.ids.size(), width = size_t(use.width);
  if (count == 0)
    return {};
  std::vector<int64_t> ids = row.ids, types(count, 0), mask(count, 1),
                       expansion(count, 0);
  std::fill(expansion.begin() + row.real, expansion.end(), 1);
  if (!rules.attends)
    std::fill(mask.begin() + row.real, mask.end(), 0);
  std::vector<transom_tensor> inputs;
  for (auto [index, data] : {std::pair(use.ids, &ids),
                             {use.mask, &mask},
                             {use.types, &types},
                             {use.expansion, &expansion}}) {
    if (index < 0)
      continue;
    transom_tensor tensor = {};
    tensor.name = use.entry->inputs[size_t(index)].name.c_str();
    tensor.dtype = TRANSOM_DTYPE_I64;
    tensor.rank = 2;
    tensor.shape[0] = 1;
    tensor.shape[1] = int64_t(count);
    tensor.data = data->data();
    tensor.capacity = count * sizeof(int64_t);
    inputs.push_back(tensor);
  }
  TRANSOM_TRY(session.run(use.entry->manifest->name.c_str(), inputs.data(),
                          inputs.size(), nullptr, 0));
  auto rows = static_cast<const float *>(
      session.executor().heldResult(*use.entry, size_t(use.result), 1));
  for (size_t i = 0; i != count; ++i)
    if (!isSkipped(ids[i], isQuery)) {
      out.ids.push_back(ids[i]);
      out.vectors.insert(out.vectors.end(), rows + i * width,
                         rows + (i + 1) * width);
    }
  return {};
}

Result<TokenVectors> transom::embedTokens(Session &session,
                                          const transom_text &text,
                                          const transom_embed_options &given) {
  const Model &model = session.model();
  TRANSOM_ASSIGN(const Model::TextUse *use, getTokenEmbedding(model));
  if (!session.config().holdResults)
    return usageError("texts need a session that holds results");
  if (given.pooling != TRANSOM_POOLING_FROM_MODEL ||
      given.normalize != TRANSOM_FROM_MODEL || given.dim || given.chunk ||
      given.overlap)
    return usageError("embeddings of tokens have no pooling, normalize, dim or "
                      "chunk");
  const ManifestPipeline &pipeline = *model.manifest().text->pipeline;
  // Texts are documents unless their prompt is that of queries.
  transom_embed_options options = given;
  if (!options.prompt && !options.prompt_name)
    options.prompt_name = "document";
  const bool isQuery =
      options.prompt_name && std::string(options.prompt_name) == "query";
  TRANSOM_ASSIGN(const std::string prompt, getPrompt(model, options));
  const ManifestTokens rules = pipeline.tokens.value_or(ManifestTokens());
  TokenEmbedder embedder(session, *use, rules);
  const std::string_view view =
      text.size ? std::string_view(text.data, text.size) : std::string_view();
  TRANSOM_ASSIGN(const TokenRow row, embedder.encode(prompt, view, isQuery));
  TokenVectors out;
  out.isCut = row.isCut;
  TRANSOM_TRY(embedder.run(row, isQuery, out));
  return out;
}
