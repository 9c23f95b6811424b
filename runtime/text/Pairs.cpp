// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A template is filled with both texts and tokenized without adding special
// tokens, like a chat.
#include "runtime/text/Pairs.h"
#include "runtime/text/Text.h"
#include <algorithm>

using namespace transom;

static Result<Encoding> encodeFilled(const Model &model,
                                     const std::string &text, bool isCut) {
  transom_tokenize_options options = transom_tokenize_options_default();
  options.no_special = 1;
  options.no_truncation = !isCut;
  return encodeText(model, {text.data(), text.size()}, nullptr, options);
}

Result<PairEncoder> PairEncoder::create(const Model &model, std::string prompt,
                                        const transom_text &query) {
  PairEncoder encoder(model, std::move(prompt), query);
  const auto &text = model.manifest().text;
  if (text && text->pairs) {
    const ManifestPairs &pairs = *text->pairs;
    if (!pairs.refusal.empty())
      return unsupported(pairs.refusal);
    const auto &pattern = encoder.prompt.empty() ? pairs.plain : pairs.prompted;
    if (pattern) {
      encoder.pattern = &*pattern;
      TRANSOM_TRY(encoder.findEnd());
    }
  }
  if (!encoder.pattern)
    encoder.prompted = encoder.prompt + std::string(getView(query));
  return encoder;
}

std::string PairEncoder::fill(std::string_view queryText,
                              std::string_view document) const {
  std::string text;
  for (size_t i = 0; i != pattern->literals.size(); ++i) {
    text += pattern->literals[i];
    if (i == pattern->slots.size())
      break;
    const std::string &slot = pattern->slots[i];
    text += slot == "query"      ? queryText
            : slot == "document" ? document
                                 : std::string_view(prompt);
  }
  return text;
}

/// The common end of two filled templates whose texts share no tokens is the
/// template's end, as in sentence-transformers.
Result<void> PairEncoder::findEnd() {
  TRANSOM_ASSIGN(Encoding first, encodeFilled(model, fill("0", "0"), false));
  TRANSOM_ASSIGN(Encoding second,
                 encodeFilled(model, fill("1 2 3 4", "1 2 3 4"), false));
  const auto [at, other] =
      std::mismatch(first.ids.rbegin(), first.ids.rend(), second.ids.rbegin(),
                    second.ids.rend());
  if (at != first.ids.rend() && other != second.ids.rend())
    end.assign(at.base(), first.ids.end());
  return {};
}

Result<Encoding> PairEncoder::encode(const transom_text &document) const {
  if (!pattern)
    return encodeText(model, {prompted.data(), prompted.size()}, &document,
                      transom_tokenize_options{});
  TRANSOM_ASSIGN(
      Encoding encoding,
      encodeFilled(model, fill(getView(query), getView(document)), true));
  std::vector<int64_t> &ids = encoding.ids;
  if (encoding.truncatedTokens) {
    const size_t kept = std::min(end.size(), ids.size());
    std::copy(end.end() - ptrdiff_t(kept), end.end(),
              ids.end() - ptrdiff_t(kept));
  }
  return encoding;
}
