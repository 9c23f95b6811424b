// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The vocabulary is sorted by id, so only its end is read.
#include "compiler/import/tokenizer/CheckIds.h"
#include "runtime/base/Utf8.h"
#include "runtime/tokenizer/Tables.h"

namespace transom {

using namespace tokenizer;

/// Returns `NAME has id 7, but the model's embedding has 5 rows`.
static std::string describe(const std::string &name, uint32_t id,
                            int64_t rows) {
  return name + " has id " + std::to_string(id) +
         ", but the model's embedding has " + std::to_string(rows) + " rows";
}

Result<void> checkTokenIds(ImportedTokenizer &imported, int64_t rows,
                           std::optional<int64_t> paddingToken) {
  TRANSOM_ASSIGN(const Tables tables, Tables::open(imported.tables));
  auto getName = [&](const VocabularyEntry &entry) {
    return "token '" + utf8::printable(tables.text(entry.text)) + "'";
  };

  // Find the first token without a row.
  auto entries = tables.array<VocabularyEntry>(Section::Vocabulary);
  std::optional<VocabularyEntry> first;
  for (size_t i = entries.size(); i-- > 0 && entries[i].id >= rows;)
    if (int64_t(entries[i].id) != paddingToken)
      first = entries[i];
    else
      imported.notes.push_back(
          describe("padding " + getName(entries[i]), entries[i].id, rows) +
          "; a text with this token is refused");
  if (first)
    return rejected(describe(getName(*first), first->id, rows) +
                    "; supported: ids below that");

  // Templates may contain ids without a token.
  for (Section section : {Section::SingleTemplate, Section::PairTemplate}) {
    auto items = tables.array<TemplateItem>(section);
    for (size_t i = 0; i < items.size(); ++i)
      if (isToken(items[i].kind) && items[i].id >= rows &&
          int64_t(items[i].id) != paddingToken)
        return rejected(
            describe("a token of 'post_processor'", items[i].id, rows) +
            "; supported: ids below that");
  }
  return {};
}

} // namespace transom
