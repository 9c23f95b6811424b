// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The encoder returns states for type and word tokens; the scores entry
// processes limited word and type ranges, so its memory is
// bounded.
#include "runtime/text/Entities.h"
#include "runtime/base/Utf8.h"
#include "runtime/text/EntitySpans.h"
#include "runtime/text/Text.h"
#include "runtime/text/TextBatches.h"
#include "runtime/text/Words.h"
#include <algorithm>
#include <tuple>

using namespace transom;

Result<EntityPrompt> transom::encodeEntityPrompt(
    const Tokenizer &tokenizer, const ManifestEntities &rules,
    const std::vector<std::string_view> &types,
    const std::vector<std::string_view> &words, size_t maxTokens) {
  // Each type follows its type token; the separator precedes the words.
  std::vector<std::string_view> all;
  for (std::string_view type : types)
    all.insert(all.end(), {rules.typeToken, type});
  all.push_back(rules.separator);
  const size_t before = all.size();
  all.insert(all.end(), words.begin(), words.end());
  EncodeOptions how;
  how.maxLength = maxTokens;
  EntityPrompt prompt;
  TRANSOM_ASSIGN(prompt.encoding, tokenizer.encodeWords(all, how));
  prompt.encoding.typeIds.assign(prompt.encoding.ids.size(), 0);

  // Count words with tokens, including the types', as the gliner package does:
  // if a word has no token, each later one gets the next one's tokens.
  prompt.words.resize(words.size());
  size_t count = 0;
  uint32_t previous = UINT32_MAX;
  for (size_t i = 0; i != prompt.encoding.ids.size(); ++i) {
    const uint32_t word = prompt.encoding.words[i];
    if (prompt.encoding.ids[i] == rules.typeTokenId &&
        prompt.types.size() != types.size() &&
        i + rules.readsName != prompt.encoding.ids.size())
      prompt.types.push_back(i + rules.readsName);
    if (word != UINT32_MAX) {
      count += word != previous;
      if (count > before)
        prompt.words[count - before - 1].push_back(i);
    }
    previous = word;
  }
  return prompt;
}

namespace {

/// Word and type states for a text.
struct EntityStates {
  std::vector<float> words, types; ///< [words, width], [types, width]
};

/// Finds the entities in texts, one by one.
class EntityFinder {
public:
  EntityFinder(Session &session, const ManifestEntities &rules,
               const EntityChoice &choice)
      : session(session), rules(rules), choice(choice),
        width(size_t(session.model().entityStates()->width)) {}

  /// Resolves the scores entry; returns an error if it has unexpected
  /// arguments.
  Result<void> open();
  /// Pools token states into word and type states for a text.
  EntityStates pool(const EntityPrompt &prompt, const float *states) const;
  Result<std::vector<EntitySpan>> find(EntityStates states);

private:
  void poolWord(const float *states, const std::vector<size_t> &tokens,
                float *out) const;
  /// Runs the scores entry on a word range and a type range.
  Result<const float *> run(size_t word, size_t numWords, size_t type,
                            size_t numTypes);
  Result<void> findSpans(size_t word, size_t numWords, bool isLast);
  Result<void> scoreWords(size_t word, size_t numWords);
  /// Returns the max size for the input's first dimension in one call.
  size_t getLimit(int input) const;

  Session &session;
  const ManifestEntities &rules;
  const EntityChoice &choice;
  const size_t width;
  const Entry *entry = nullptr;
  int wordInput = -1, typeInput = -1, result = -1;
  size_t numWords = 0, numTypes = 0;
  EntityStates states; ///< for the current text
  std::vector<EntitySpan> spans;
  std::vector<float> logits; ///< [words, types, 3]
};

} // namespace

Result<void> EntityFinder::open() {
  entry = session.model().findEntry(rules.entry.c_str());
  if (entry) {
    wordInput = entry->inputIndex("words");
    typeInput = entry->inputIndex("types");
    result = entry->outputIndex("scores");
  }
  // Inputs have the shape [rows, width].
  auto isRows = [&](int input) {
    const Argument &argument = entry->inputs[size_t(input)];
    return argument.dtype == TRANSOM_DTYPE_F32 && argument.dims.size() == 2 &&
           argument.dims[0].onlySymbol() >= 0 &&
           argument.dimTexts[1] == std::to_string(width);
  };
  if (wordInput >= 0 && typeInput >= 0 && result >= 0 &&
      entry->inputs.size() == 2 && isRows(wordInput) && isRows(typeInput)) {
    const Argument &scores = entry->outputs[size_t(result)];
    const std::string &words = entry->inputs[size_t(wordInput)].dimTexts[0],
                      &types = entry->inputs[size_t(typeInput)].dimTexts[0];
    const std::vector<std::string> ofSpans = {words, words, types},
                                   ofWords = {words, types, "3"};
    if (scores.dtype == TRANSOM_DTYPE_F32 &&
        scores.dimTexts == (rules.maxWidth ? ofSpans : ofWords))
      return {};
  }
  return rejected("the model has no entry '" + rules.entry +
                  "' that scores words of " + std::to_string(width) +
                  " numbers");
}

size_t EntityFinder::getLimit(int input) const {
  const int symbol = entry->inputs[size_t(input)].dims[0].onlySymbol();
  const int64_t most = session.config().maxTokens;
  return size_t(std::min(most, entry->maxima[size_t(symbol)].value_or(most)));
}

void EntityFinder::poolWord(const float *states,
                            const std::vector<size_t> &tokens,
                            float *out) const {
  std::fill_n(out, width, 0.0f);
  if (tokens.empty())
    return;
  if (rules.pooling == "first" || rules.pooling == "last") {
    const size_t token =
        rules.pooling == "first" ? tokens.front() : tokens.back();
    std::copy_n(states + token * width, width, out);
    return;
  }
  // Mean or max pooling, by dimension.
  const bool isMean = rules.pooling == "mean";
  for (size_t i = 0; i != width; ++i) {
    double sum = 0;
    float largest = states[tokens[0] * width + i];
    for (size_t token : tokens) {
      sum += double(states[token * width + i]);
      largest = std::max(largest, states[token * width + i]);
    }
    out[i] = isMean ? float(sum / double(tokens.size())) : largest;
  }
}

EntityStates EntityFinder::pool(const EntityPrompt &prompt,
                                const float *tokens) const {
  EntityStates pooled;
  pooled.words.resize(prompt.words.size() * width);
  pooled.types.resize(prompt.types.size() * width);
  for (size_t i = 0; i != prompt.words.size(); ++i)
    poolWord(tokens, prompt.words[i], &pooled.words[i * width]);
  for (size_t i = 0; i != prompt.types.size(); ++i)
    std::copy_n(tokens + prompt.types[i] * width, width,
                &pooled.types[i * width]);
  return pooled;
}

Result<const float *> EntityFinder::run(size_t word, size_t wordCount,
                                        size_t type, size_t typeCount) {
  transom_tensor inputs[2] = {};
  auto fill = [&](transom_tensor &tensor, const char *name, float *data,
                  size_t rows) {
    tensor.name = name;
    tensor.dtype = TRANSOM_DTYPE_F32;
    tensor.rank = 2;
    tensor.shape[0] = int64_t(rows);
    tensor.shape[1] = int64_t(width);
    tensor.data = data;
    tensor.capacity = rows * width * sizeof(float);
  };
  fill(inputs[0], "words", &states.words[word * width], wordCount);
  fill(inputs[1], "types", &states.types[type * width], typeCount);
  TRANSOM_TRY(session.run(rules.entry.c_str(), inputs, 2, nullptr, 0));
  return static_cast<const float *>(
      session.executor().heldResult(*entry, size_t(result), 1));
}

Result<void> EntityFinder::findSpans(size_t word, size_t count, bool isLast) {
  // Spans that begin near the end are scored with the next words.
  const size_t starts = isLast ? count : count - size_t(rules.maxWidth) + 1;
  const size_t most = getLimit(typeInput);
  for (size_t type = 0; type < numTypes; type += most) {
    const size_t typeCount = std::min(most, numTypes - type);
    TRANSOM_ASSIGN(const float *scores, run(word, count, type, typeCount));
    for (size_t first = 0; first != starts; ++first)
      for (size_t last = first;
           last != std::min(count, first + size_t(rules.maxWidth)); ++last)
        for (size_t i = 0; i != typeCount; ++i) {
          const float score =
              getProbability(scores[(first * count + last) * typeCount + i]);
          if (score > float(choice.threshold))
            spans.push_back({word + first, word + last, type + i, score});
        }
  }
  return {};
}

Result<void> EntityFinder::scoreWords(size_t word, size_t count) {
  const size_t most = getLimit(typeInput);
  for (size_t type = 0; type < numTypes; type += most) {
    const size_t typeCount = std::min(most, numTypes - type);
    TRANSOM_ASSIGN(const float *scores, run(word, count, type, typeCount));
    for (size_t i = 0; i != count; ++i)
      std::copy_n(scores + i * typeCount * 3, typeCount * 3,
                  &logits[((word + i) * numTypes + type) * 3]);
  }
  return {};
}

Result<std::vector<EntitySpan>> EntityFinder::find(EntityStates ofText) {
  states = std::move(ofText);
  numWords = states.words.size() / width;
  numTypes = states.types.size() / width;
  spans.clear();
  const size_t most = getLimit(wordInput), spanWidth = size_t(rules.maxWidth);
  if (most < std::min(numWords, std::max<size_t>(spanWidth, 1)))
    return limitError("entities of " + std::to_string(spanWidth) +
                      " words need a session of as many max_tokens, got " +
                      std::to_string(session.config().maxTokens));
  // Score overlapping word ranges, so each span is complete in one range.
  logits.resize(spanWidth ? 0 : numWords * numTypes * 3);
  for (size_t word = 0; word < numWords;) {
    const size_t count = std::min(most, numWords - word);
    const bool isLast = word + count == numWords;
    if (Result<void> done = spanWidth ? findSpans(word, count, isLast)
                                      : scoreWords(word, count);
        !done)
      return done.takeError();
    word += isLast || !spanWidth ? count : count - spanWidth + 1;
  }
  if (!spanWidth)
    return chooseSpans(joinWords(logits, numWords, numTypes, choice.threshold),
                       choice);
  // The order must not depend on the ranges.
  std::sort(spans.begin(), spans.end(),
            [](const EntitySpan &a, const EntitySpan &b) {
              return std::tie(a.first, a.last, a.type) <
                     std::tie(b.first, b.last, b.type);
            });
  return chooseSpans(spans, choice);
}

/// Returns the distinct types, and their indices among the given ones.
static Result<std::vector<std::string_view>>
getTypes(const transom_text *types, size_t count,
         std::vector<size_t> &numbers) {
  std::vector<std::string_view> names;
  for (size_t i = 0; i != count; ++i) {
    const std::string_view name = getView(types[i]);
    if (name.empty())
      return usageError("type " + std::to_string(i) + " of entities is empty");
    if (std::find(names.begin(), names.end(), name) != names.end())
      continue;
    names.push_back(name);
    numbers.push_back(i);
  }
  if (names.empty())
    return usageError("no type of entities; give one or more");
  return names;
}

namespace {

/// A text and its intermediate results.
struct EntityText {
  std::vector<TextWord> words;
  EntityPrompt prompt;
  EntityStates states;
  bool isCut = false;
};

} // namespace

/// Splits a text into words, and encodes the model's input tokens.
static Result<EntityText>
prepareText(const Model &model, const transom_text &text,
            const std::vector<std::string_view> &types) {
  const ManifestEntities &rules = *model.manifest().text->entities;
  const std::string_view view = getView(text);
  if (const size_t invalid = utf8::firstInvalid(view);
      invalid != std::string_view::npos)
    return rejected("text is not UTF-8 at byte " + std::to_string(invalid));
  EntityText made;
  // Truncate to the max word count.
  made.words = splitWords(view);
  made.isCut = made.words.size() > size_t(rules.maxWords);
  made.words.resize(std::min(made.words.size(), size_t(rules.maxWords)));
  if (made.words.empty())
    return made;
  std::vector<std::string_view> texts;
  for (const TextWord &word : made.words)
    texts.push_back(view.substr(word.begin, word.end - word.begin));
  TRANSOM_ASSIGN(made.prompt,
                 encodeEntityPrompt(*model.tokenizer(), rules, types, texts,
                                    model.maxTextTokens()));
  made.isCut |= made.prompt.encoding.truncatedTokens != 0;
  return made;
}

Result<void> transom::findEntities(Session &session, const transom_text *texts,
                                   size_t count, const transom_text *types,
                                   size_t numTypes,
                                   const transom_entity_options &options,
                                   const TakeEntities &take) {
  // Check the arguments.
  const Model &model = session.model();
  if (!model.entityStates())
    return unsupported("the model finds no entities of given types; its head "
                       "is '" +
                       model.manifest().head + "'");
  if (!session.config().holdResults)
    return usageError("texts need a session that holds results");
  if (!(options.threshold >= 0 && options.threshold <= 1))
    return usageError("the threshold of entities is from 0 to 1, got " +
                      std::to_string(options.threshold));
  std::vector<size_t> numbers;
  TRANSOM_ASSIGN(std::vector<std::string_view> names,
                 getTypes(types, numTypes, numbers));
  const ManifestEntities &rules = *model.manifest().text->entities;
  const EntityChoice choice = {options.threshold, options.nested != 0,
                               options.multi_label != 0};
  EntityFinder finder(session, rules, choice);
  TRANSOM_TRY(finder.open());

  // Run several texts together, then find the entities in each text.
  TextBatcher batcher(session, {*model.entityStates()});
  for (size_t begin = 0; begin < count; begin += batcher.window()) {
    const size_t end = std::min(count, begin + batcher.window());
    std::vector<EntityText> window;
    for (size_t i = begin; i != end; ++i) {
      Result<EntityText> made = prepareText(model, texts[i], names);
      if (!made)
        return inText(i, count, made.takeError());
      window.push_back(std::move(*made));
      if (!window.back().words.empty())
        batcher.add(i - begin, std::move(window.back().prompt.encoding));
    }
    TRANSOM_TRY(batcher.flush([&](const TextRows &rows) {
      EntityText &own = window[rows.text];
      own.states = finder.pool(own.prompt, rows.rows[0]);
    }));
    for (size_t i = begin; i != end; ++i) {
      EntityText &own = window[i - begin];
      TextEntities found;
      found.isCut = own.isCut;
      if (!own.words.empty()) {
        Result<std::vector<EntitySpan>> spans =
            finder.find(std::move(own.states));
        if (!spans)
          return inText(i, count, spans.takeError());
        for (const EntitySpan &span : *spans)
          found.entities.push_back({numbers[span.type], span.score,
                                    own.words[span.first].begin,
                                    own.words[span.last].end});
      }
      take(i, std::move(found));
    }
  }
  return {};
}
