// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Converts decoders to stages for the runtime's stream. An unsupported decoder
// becomes one stage with its name: an error only if text is decoded.
#include "compiler/import/tokenizer/Steps.h"
#include "runtime/base/Utf8.h"

namespace transom::tokenizer {

Step &addStep(Draft &draft, DecoderStep kind) {
  Step step{};
  step.kind = static_cast<uint32_t>(kind);
  draft.decoderSteps.push_back(step);
  return draft.decoderSteps.back();
}

static void addUnsupported(Draft &draft, std::string_view name) {
  addStep(draft, DecoderStep::Unsupported).first = draft.addStepText(name);
}

static Result<void> readWordPiece(JsonValue value, Draft &draft) {
  TRANSOM_ASSIGN(auto cleanup, readFlag(value, "cleanup"));
  TRANSOM_ASSIGN(auto prefix, readText(value, "prefix"));
  Step &step = addStep(draft, DecoderStep::WordPiece);
  step.first = draft.addStepText(prefix);
  step.option = cleanup;
  return {};
}

static Result<void> readReplace(JsonValue value, Draft &draft) {
  TRANSOM_ASSIGN(auto content, readText(value, "content"));
  TRANSOM_ASSIGN(auto pattern, value.get("pattern"));
  auto literal = pattern.find("String");
  const bool isText =
      literal && literal->isString() && !literal->asString()->empty();

  // A regular expression, or the empty string, is a program.
  std::string first;
  if (isText) {
    first = *literal->asString();
  } else {
    auto program = readPattern(value);
    if (!program && program.error().status == Status::Unsupported) {
      addUnsupported(draft, "Replace of a regular expression");
      return {};
    }
    TRANSOM_ASSIGN(first, std::move(program));
  }
  Step &step = addStep(draft, DecoderStep::Replace);
  step.option = !isText;
  step.first = draft.addStepText(first);
  step.second = draft.addStepText(content);
  return {};
}

static Result<void> readStrip(JsonValue value, Draft &draft) {
  TRANSOM_ASSIGN(auto content, readCharacter(value, "content"));
  Step &step = addStep(draft, DecoderStep::Strip);
  step.first = draft.addStepText(content);
  const std::pair<const char *, uint32_t *> counts[] = {
      {"start", &step.option}, {"stop", &step.secondOption}};
  for (auto &[key, target] : counts) {
    TRANSOM_ASSIGN(auto count, value.get(key));
    TRANSOM_ASSIGN(auto number, count.asInt(0, INT32_MAX));
    *target = static_cast<uint32_t>(number);
  }
  return {};
}

static Result<void> readMetaspace(JsonValue value, Draft &draft) {
  TRANSOM_ASSIGN(auto replacement, readCharacter(value, "replacement"));
  TRANSOM_ASSIGN(auto scheme, readPrependScheme(value));
  Step &step = addStep(draft, DecoderStep::Metaspace);
  step.first = draft.addStepText(replacement);
  step.option = scheme != PrependScheme::Never;
  return {};
}

static Result<void> readWordEnd(JsonValue value, Draft &draft) {
  TRANSOM_ASSIGN(auto suffix, readText(value, "suffix"));
  addStep(draft, DecoderStep::WordEnd).first = draft.addStepText(suffix);
  return {};
}

static Result<void> readOne(JsonValue value, Draft &draft) {
  using Reader = Result<void> (*)(JsonValue, Draft &);
  static constexpr std::pair<const char *, Reader> readers[] = {
      {"BPEDecoder", readWordEnd},
      {"Metaspace", readMetaspace},
      {"Replace", readReplace},
      {"Strip", readStrip},
      {"WordPiece", readWordPiece}};
  TRANSOM_ASSIGN(auto type, readType(value));
  if (type == "Sequence")
    return readEach(value, "decoders",
                    [&](JsonValue element) { return readOne(element, draft); });
  for (auto &[name, reader] : readers)
    if (type == name)
      return reader(value, draft);
  if (type == "ByteLevel")
    addStep(draft, DecoderStep::ByteLevel);
  else if (type == "ByteFallback")
    addStep(draft, DecoderStep::ByteFallback);
  else if (type == "Fuse")
    addStep(draft, DecoderStep::Fuse);
  else
    addUnsupported(draft, type);
  return {};
}

/// Stages that need a whole token are not supported after a stage that fuses
/// tokens; ByteFallback returns two tokens at once, which a Fuse must join.
static void refuseUnusualOrder(Draft &draft) {
  bool fused = false;
  const std::vector<Step> steps = draft.decoderSteps;
  for (size_t i = 0; i < steps.size(); ++i) {
    auto kind = static_cast<DecoderStep>(steps[i].kind);
    bool last = i + 1 == steps.size();
    if (kind == DecoderStep::ByteFallback && !last &&
        steps[i + 1].kind != static_cast<uint32_t>(DecoderStep::Fuse))
      return addUnsupported(draft, "ByteFallback without Fuse after it");
    bool works = kind == DecoderStep::Fuse || kind == DecoderStep::Strip ||
                 kind == DecoderStep::Unsupported ||
                 (kind == DecoderStep::Replace && steps[i].option == 0 &&
                  utf8::length(std::string_view(draft.stepTexts)
                                   .substr(steps[i].first.offset,
                                           steps[i].first.length)) == 1);
    if (fused && !works)
      return addUnsupported(draft, "Sequence with this order");
    fused |= kind == DecoderStep::Fuse || kind == DecoderStep::ByteLevel;
  }
}

Result<void> readDecoder(std::optional<JsonValue> value, Draft &draft) {
  if (!value || value->isNull()) {
    addStep(draft, DecoderStep::JoinWithSpaces);
    return {};
  }
  TRANSOM_TRY(readOne(*value, draft));
  refuseUnusualOrder(draft);
  return {};
}

/// For a `tokenizers` BPE the setting only applies in addition to another one.
Result<void> addCleanUp(const TokenizerSettings &settings, Draft &draft,
                        bool isPython) {
  TRANSOM_ASSIGN(bool cleansUp,
                 settings.getFlag("clean_up_tokenization_spaces", false));
  TRANSOM_ASSIGN(bool ofBpe,
                 settings.getFlag("clean_up_tokenization_spaces_for_bpe_even_"
                                  "though_it_will_corrupt_output",
                                  false));
  const bool isBpe = draft.parameters.model == ModelKind::Bpe && !isPython;
  if (cleansUp && (!isBpe || ofBpe))
    addStep(draft, DecoderStep::CleanUp);
  return {};
}

} // namespace transom::tokenizer
