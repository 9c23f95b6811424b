// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Converts pre-tokenizers to runtime steps; splits at characters or patterns
// become programs.
#include "compiler/import/tokenizer/Steps.h"
#include "compiler/import/tokenizer/regex/Regex.h"
#include "compiler/import/tokenizer/regex/RegexTables.h"
#include "runtime/tokenizer/PreTokenizer.h"

namespace transom::tokenizer {

/// GPT-2's words (Radford et al., 2019): contractions, letters, numbers and
/// other characters with a preceding space, and whitespace.
static constexpr std::string_view byteLevelPattern =
    "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+"
    "|\\s+(?!\\S)|\\s+";

static Step &add(Draft &draft, PreTokenizerStep kind) {
  Step step{};
  step.kind = static_cast<uint32_t>(kind);
  draft.preTokenizerSteps.push_back(step);
  return draft.preTokenizerSteps.back();
}

static void addSplit(Draft &draft, std::string_view program, Behavior behavior,
                     bool invert = false) {
  Step &step = add(draft, PreTokenizerStep::Split);
  step.option = static_cast<uint32_t>(behavior);
  step.secondOption = invert;
  step.first = draft.addStepText(program);
}

static Result<Behavior> readBehavior(JsonValue value,
                                     std::optional<Behavior> fallback = {}) {
  std::optional<uint32_t> number;
  if (fallback)
    number = static_cast<uint32_t>(*fallback);
  TRANSOM_ASSIGN(auto index,
                 readName(value, "behavior",
                          {"Removed", "Isolated", "MergedWithPrevious",
                           "MergedWithNext", "Contiguous"},
                          number));
  return static_cast<Behavior>(index);
}

static Result<void> readSplit(JsonValue value, Draft &draft) {
  TRANSOM_ASSIGN(auto program, readPattern(value));
  TRANSOM_ASSIGN(auto behavior, readBehavior(value));
  TRANSOM_ASSIGN(auto invert, readFlag(value, "invert"));
  addSplit(draft, program, behavior, invert);
  return {};
}

static Result<void> readByteLevel(JsonValue value, Draft &draft) {
  TRANSOM_ASSIGN(auto prefix, readFlag(value, "add_prefix_space"));
  TRANSOM_ASSIGN(auto useRegex, readFlag(value, "use_regex", true));
  if (prefix)
    add(draft, PreTokenizerStep::PrefixSpace).first = draft.addStepText(" ");
  if (useRegex)
    addSplit(draft, *compileRegex(byteLevelPattern), Behavior::Isolated);
  add(draft, PreTokenizerStep::ToBytes);
  return {};
}

static Result<void> readMetaspace(JsonValue value, Draft &draft) {
  TRANSOM_ASSIGN(auto replacement, readCharacter(value, "replacement"));
  TRANSOM_ASSIGN(auto split, readFlag(value, "split", true));
  TRANSOM_ASSIGN(auto scheme, readPrependScheme(value));
  Step &rewrite = add(draft, PreTokenizerStep::Rewrite);
  rewrite.first = draft.addStepText(*compileLiteral(" "));
  rewrite.second = draft.addStepText(replacement);
  if (scheme != PrependScheme::Never) {
    Step &prefix = add(draft, PreTokenizerStep::PrefixSpace);
    prefix.first = draft.addStepText(replacement);
    prefix.option = scheme == PrependScheme::First;
  }
  if (split)
    addSplit(draft, *compileLiteral(replacement), Behavior::MergedWithNext);
  return {};
}

static Result<void> readDigits(JsonValue value, Draft &draft) {
  TRANSOM_ASSIGN(auto individual, readFlag(value, "individual_digits"));
  addSplit(draft, *compileSet(CharSet::numeric()),
           individual ? Behavior::Isolated : Behavior::Contiguous);
  return {};
}

static Result<void> readPunctuation(JsonValue value, Draft &draft) {
  TRANSOM_ASSIGN(auto behavior, readBehavior(value, Behavior::Isolated));
  addSplit(draft, *compileSet(CharSet::punctuation()), behavior);
  return {};
}

static Result<void> readDelimiter(JsonValue value, Draft &draft) {
  TRANSOM_ASSIGN(auto delimiter, readCharacter(value, "delimiter"));
  addSplit(draft, *compileLiteral(delimiter), Behavior::Removed);
  return {};
}

static Result<void> readFixedLength(JsonValue value, Draft &draft) {
  int64_t length = 5;
  if (auto member = value.find("length")) {
    TRANSOM_ASSIGN(length, member->asInt(1, INT32_MAX));
  }
  add(draft, PreTokenizerStep::CutByLength).option =
      static_cast<uint32_t>(length);
  return {};
}

/// Words in one script; characters common to all scripts are joined to the
/// previous word, and dropped at the start.
static Result<void> readScripts(JsonValue, Draft &draft) {
  std::vector<CharSet> scripts;
  for (size_t i = 0; i < scriptRunCount; ++i) {
    const size_t script = scriptRuns[i] & 0xFF;
    if (script >= scripts.size())
      scripts.resize(script + 1);
    const uint32_t end =
        i + 1 < scriptRunCount ? scriptRuns[i + 1] >> 8 : CharSet::limit;
    scripts[script].add(CharSet(scriptRuns[i] >> 8, end));
  }
  RegexTree words = makeTree(RegexNode::Kind::Alternatives);
  for (size_t script = 1; script < scripts.size(); ++script) {
    CharSet others = scripts[0];
    others.add(scripts[script]);
    words->parts.push_back(makeTree(
        RegexNode::Kind::Sequence, setTree(std::move(scripts[script])),
        repeatTree(setTree(std::move(others)), 0, RegexNode::unbounded)));
  }
  TRANSOM_ASSIGN(std::string program, compileTree(*words));
  addSplit(draft, program, Behavior::Removed, /*invert=*/true);
  return {};
}

Result<PrependScheme> readPrependScheme(JsonValue value) {
  TRANSOM_ASSIGN(auto scheme,
                 readName(value, "prepend_scheme", {"always", "first", "never"},
                          static_cast<uint32_t>(PrependScheme::Always)));
  auto old = value.find("add_prefix_space");
  if (!old || old->isNull())
    return static_cast<PrependScheme>(scheme);
  TRANSOM_ASSIGN(auto flag, old->asBool());
  if (flag)
    return static_cast<PrependScheme>(scheme);
  if (value.find("prepend_scheme") &&
      scheme != static_cast<uint32_t>(PrependScheme::Never))
    return old->error("contradicts 'prepend_scheme'");
  return PrependScheme::Never;
}

Result<void> readPreTokenizer(JsonValue value, Draft &draft) {
  using Reader = Result<void> (*)(JsonValue, Draft &);
  static constexpr std::pair<const char *, Reader> readers[] = {
      {"ByteLevel", readByteLevel}, {"CharDelimiterSplit", readDelimiter},
      {"Digits", readDigits},       {"FixedLength", readFixedLength},
      {"Metaspace", readMetaspace}, {"Punctuation", readPunctuation},
      {"Split", readSplit},         {"UnicodeScripts", readScripts}};
  TRANSOM_ASSIGN(auto type, readType(value));
  if (type == "Sequence")
    return readEach(value, "pretokenizers", [&](JsonValue element) {
      return readPreTokenizer(element, draft);
    });
  for (auto &[name, reader] : readers)
    if (type == name)
      return reader(value, draft);
  if (type == "BertPreTokenizer") {
    add(draft, PreTokenizerStep::SplitWhitespace);
    add(draft, PreTokenizerStep::IsolatePunctuation);
  } else if (type == "WhitespaceSplit") {
    add(draft, PreTokenizerStep::SplitWhitespace);
  } else if (type == "Whitespace") {
    add(draft, PreTokenizerStep::WordsAndSymbols);
  } else {
    return unsupportedType(
        value, "pre-tokenizer", type,
        "BertPreTokenizer, ByteLevel, CharDelimiterSplit, Digits, FixedLength, "
        "Metaspace, Punctuation, Sequence, Split, UnicodeScripts, Whitespace, "
        "WhitespaceSplit");
  }
  return {};
}

} // namespace transom::tokenizer
