// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// transom attention: writes attention weights for a text as a page, a picture
// or JSON.
#include "runtime/base/OutputFile.h"
#include "tools/commands/attention/AttentionEntry.h"
#include "tools/commands/generate/GenerationFlags.h"
#include "tools/commands/text/Texts.h"

using namespace transom;
using namespace transom::tools;

namespace {

/// Pages above this size get a note.
constexpr uint64_t largePage = 20'000'000;

struct AttentionFlags {
  std::string model, text, pair, target, output;
  std::vector<std::string> idLists, targetIdLists;
  AttentionChoice choice;
  Languages languages;
  std::string format = "html";
  bool hasText = false, hasPair = false, hasTarget = false;
  bool alignments = false;
};

} // namespace

/// Returns a token's label: the text that it covers, or its vocabulary string
/// if that is more specific.
static std::string getLabel(const transom_model *model,
                            const transom_token &token,
                            const std::string &text) {
  std::string known = getVocabularyText(model, token.id);
  const bool continues = known.size() > 2 && known.compare(0, 2, "##") == 0;
  if (token.special || token.begin == token.end || continues)
    return known;
  return text.substr(token.begin, token.end - token.begin);
}

static Result<TokenSequence> tokenize(const transom_model *model,
                                      const TextOrPair &text,
                                      const Languages &languages, bool isTarget,
                                      const CommonFlags &common) {
  const transom_tokenize_options how = languages.getOptions(isTarget);
  uint32_t truncated = 0;
  TRANSOM_ASSIGN(std::vector<transom_token> tokens,
                 tokenizeText(model, text, how, truncated));
  if (truncated)
    note(common, std::string(isTarget ? "the target" : "the text") +
                     " was cut to the model's " +
                     std::to_string(tokens.size()) + " tokens");
  TokenSequence sequence;
  for (const transom_token &token : tokens) {
    sequence.ids.push_back(token.id);
    sequence.types.push_back(token.type);
    sequence.labels.push_back(
        getLabel(model, token, token.type ? *text.pair : text.first));
    TextSpan span{size_t(token.begin), size_t(token.end)};
    sequence.spans.push_back(token.special ? TextSpan() : span);
  }
  return Result<TokenSequence>(std::move(sequence));
}

static Result<TokenSequence> getGivenTokens(const transom_model *model,
                                            const std::string &list) {
  TokenSequence sequence;
  TRANSOM_ASSIGN(sequence.ids, parseIds(list));
  sequence.types.resize(sequence.ids.size(), 0);
  for (int64_t id : sequence.ids)
    sequence.labels.push_back(getVocabularyText(model, id));
  return Result<TokenSequence>(std::move(sequence));
}

static Result<TokenSequence> getSource(const transom_model *model,
                                       const AttentionFlags &flags,
                                       const CommonFlags &common) {
  if (!flags.hasText)
    return getGivenTokens(model, flags.idLists.front());
  const TextOrPair text{flags.text, flags.hasPair ? std::optional(flags.pair)
                                                  : std::nullopt};
  return tokenize(model, text, flags.languages, false, common);
}

static Result<TokenSequence> getTarget(const transom_model *model,
                                       const AttentionFlags &flags,
                                       const CommonFlags &common) {
  if (!flags.hasTarget)
    return getGivenTokens(model, flags.targetIdLists.front());
  return tokenize(model, {flags.target, std::nullopt}, flags.languages, true,
                  common);
}

/// Checks flag combinations that do not depend on the model.
static Result<void> checkFlags(const AttentionFlags &flags) {
  if (flags.hasText == !flags.idLists.empty() || flags.idLists.size() > 1)
    return usageError("give one '--text' or one '--ids'");
  if (flags.hasPair && !flags.hasText)
    return usageError("'--pair' needs '--text'");
  if (flags.targetIdLists.size() + (flags.hasTarget ? 1 : 0) > 1)
    return usageError("give one '--target' or one '--target-ids'");
  if (flags.alignments && !(flags.hasText && flags.hasTarget))
    return usageError("'--alignments' needs '--text' and '--target'");
  if (flags.alignments && flags.format == "png")
    return usageError("'--alignments' is not supported with '--format png'; "
                      "supported: html, json");
  return {};
}

/// Checks that the model supports the flags.
static Result<void> checkModel(const transom_model *model,
                               const AttentionFlags &flags) {
  TRANSOM_TRY(checkAttentionEntry(model, flags.model));
  const bool hasTarget = flags.hasTarget || !flags.targetIdLists.empty();
  if (hasTarget && !takesTarget(model))
    return unsupported("'--target' is not supported for " + quote(flags.model) +
                       "; supported: encoder-decoders");
  if (!hasTarget && takesTarget(model))
    return usageError(quote(flags.model) +
                      " is an encoder-decoder; give '--target', or "
                      "'--target-ids' without a tokenizer");
  TRANSOM_TRY(flags.languages.check(model));
  TRANSOM_ASSIGN(transom_model_info info, getInfo(model));
  if ((flags.hasText || flags.hasTarget) && info.vocabulary_size == 0)
    return noTokenizer(model, quote(flags.model),
                       "; give '--ids' in place of '--text'");
  return {};
}

/// Runs the entry and collects the weights to show.
static Result<AttentionReport> makeReport(const transom_model *model,
                                          const AttentionFlags &flags,
                                          const CommonFlags &common) {
  // Tokenize the source, and the target of an encoder-decoder.
  TRANSOM_ASSIGN(TokenSequence source, getSource(model, flags, common));
  TokenSequence target, decoder;
  const bool hasDecoder = takesTarget(model);
  if (hasDecoder) {
    TRANSOM_ASSIGN(target, getTarget(model, flags, common));
    TRANSOM_ASSIGN(int64_t start, getStartToken(model, target));
    TRANSOM_ASSIGN(decoder, getDecoderInput(model, start, target));
  }
  // Run the entry and check its results.
  AttentionReport report;
  TRANSOM_ASSIGN(transom_model_info info, getInfo(model));
  report.model = info.name;
  AttentionRunner runner(model, common.threads);
  const AttentionTokens tokens{&source, hasDecoder ? &decoder : nullptr};
  TRANSOM_ASSIGN(std::vector<std::vector<AttentionGroup>> groups,
                 runner.run({tokens}, flags.choice));
  report.groups = std::move(groups.front());
  if (Result<void> good = checkReport(report); !good)
    return good.takeError();
  // Align words by cross-attention.
  if (flags.alignments) {
    if (report.groups.back().name != "cross")
      return usageError("'--alignments' needs layers and heads of the decoder");
    report.alignment =
        alignWords(report.groups.back(), findWords(flags.text, source.spans),
                   findWords(flags.target, target.spans));
  }
  return Result<AttentionReport>(std::move(report));
}

static Result<void> writeReport(const AttentionReport &report,
                                const AttentionFlags &flags, OutputFile &file,
                                const CommonFlags &common) {
  auto write = [&](const ByteSink &sink) {
    if (flags.format == "json")
      return writeJson(report, sink);
    return flags.format == "png" ? writePicture(report, sink)
                                 : writePage(report, sink);
  };
  if (!file.isOpen())
    return write(
        [](std::string_view bytes) { return writeOut(std::string(bytes)); });
  TRANSOM_TRY(
      write([&](std::string_view bytes) { return file.append(bytes); }));
  const uint64_t size = file.appended();
  TRANSOM_TRY(file.commit());
  if (flags.format == "html" && size > largePage)
    note(common, "the page has " + formatBytes(size) +
                     "; '--layers' and '--heads' make it smaller");
  return {};
}

static Result<void> runAttention(const AttentionFlags &flags,
                                 const CommonFlags &common) {
  TRANSOM_TRY(checkFlags(flags));
  TRANSOM_ASSIGN(ModelPtr model, loadModel(flags.model));
  TRANSOM_TRY(checkModel(model.get(), flags));
  OutputFile file;
  if (flags.output != "-") {
    TRANSOM_ASSIGN(file, OutputFile::create(flags.output));
  }
  TRANSOM_ASSIGN(AttentionReport report,
                 makeReport(model.get(), flags, common));
  return writeReport(report, flags, file, common);
}

/// Adds flags that select the contents and the format.
static void addOutputFlags(CLI::App &app, AttentionFlags &flags) {
  app.add_option("-o,--output", flags.output, "the file to write; - is stdout")
      ->type_name("FILE")
      ->required();
  addChoice(app, "--format", flags.format, {"html", "json", "png"},
            "a page, all weights exactly, or a picture (default html)");
  app.add_option("--layers", flags.choice.layers,
                 "layers to show, such as 0,2-5 (default: all)")
      ->type_name("LIST");
  app.add_option("--heads", flags.choice.heads,
                 "heads to show, such as 0,2-5 (default: all)")
      ->type_name("LIST");
  app.add_flag(
      "--alignments", flags.alignments,
      "also align the words of text and target, by the mean weights of "
      "the chosen layers and heads");
}

void tools::addAttention(CLI::App &app, CommandList &commands) {
  Command &command = addCommand(
      app, commands, "attention",
      "show which tokens of a text attend to which, as a page or a picture");
  auto flags = std::make_shared<AttentionFlags>();
  // Model and texts.
  command.app
      ->add_option("MODEL", flags->model,
                   "a model that was compiled with --attention")
      ->required();
  auto addText = [&](const char *name, std::string &text, const char *help) {
    return command.app->add_option(name, text, help)->type_name("TEXT");
  };
  CLI::Option *text = addText("--text", flags->text, "the text"),
              *pair = addText("--pair", flags->pair, "a second text"),
              *target = addText("--target", flags->target,
                                "what an encoder-decoder makes of the text");
  // Token ids, languages and output.
  addIds(*command.app, flags->idLists);
  command.app
      ->add_option("--target-ids", flags->targetIdLists,
                   "token ids in place of --target")
      ->type_name("ID,...");
  addLanguages(*command.app, flags->languages);
  addOutputFlags(*command.app, *flags);
  command.run = [flags, text, pair, target](const CommonFlags &common) {
    flags->hasText = text->count() > 0;
    flags->hasPair = pair->count() > 0;
    flags->hasTarget = target->count() > 0;
    return runAttention(*flags, common);
  };
}
