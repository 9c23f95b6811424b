// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// transom attention: the weights of a text's attention as a page, a picture or
// JSON.
#include "runtime/base/File.h"
#include "tools/commands/GenerationFlags.h"
#include "tools/commands/Tensors.h"
#include "tools/commands/Texts.h"
#include "tools/commands/attention/AttentionReport.h"
#include <algorithm>
#include <numeric>

using namespace transom;
using namespace transom::tools;

namespace {

constexpr const char *entryName = "attention";
constexpr const char *resultPrefix = "attentions.";
/// Pages above this get a note.
constexpr uint64_t largePage = 20'000'000;

struct AttentionFlags {
  std::string model, text, pair, target, output, layers, heads;
  std::vector<std::string> idLists;
  std::string format = "html";
  bool hasText = false, hasPair = false;
};

/// The tokens of a text as arguments of the entry, and as labels.
struct TokenSequence {
  std::vector<int64_t> ids, types;
  std::vector<std::string> labels;
};

} // namespace

/// The text of a token in the vocabulary, its id where it has none.
static std::string getVocabularyText(const transom_model *model, int64_t id) {
  std::string text(256, '\0');
  size_t size = 0;
  if (transom_model_token_text(model, id, text.data(), text.size(), &size) !=
      TRANSOM_STATUS_OK)
    return std::to_string(id);
  text.resize(size);
  return text;
}

/// What a token is called: what it covers of the text, or its text in the
/// vocabulary where that says more.
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
                                      const AttentionFlags &flags,
                                      const CommonFlags &common) {
  const TextOrPair text{flags.text, flags.hasPair ? std::optional(flags.pair)
                                                  : std::nullopt};
  uint32_t truncated = 0;
  TRANSOM_ASSIGN(
      std::vector<transom_token> tokens,
      tokenizeText(model, text, transom_tokenize_options_default(), truncated));
  if (truncated)
    note(common, "the text was cut to the model's " +
                     std::to_string(tokens.size()) + " tokens");
  TokenSequence sequence;
  for (const transom_token &token : tokens) {
    sequence.ids.push_back(token.id);
    sequence.types.push_back(token.type);
    sequence.labels.push_back(
        getLabel(model, token, token.type ? flags.pair : flags.text));
  }
  return Result<TokenSequence>(std::move(sequence));
}

static Result<TokenSequence> getTokens(const transom_model *model,
                                       const AttentionFlags &flags,
                                       const CommonFlags &common) {
  TRANSOM_ASSIGN(transom_model_info info, getInfo(model));
  if (flags.hasText && info.vocabulary_size == 0)
    return unsupported(quote(flags.model) +
                       " has no tokenizer; give '--ids' in place of '--text'");
  if (flags.hasText)
    return tokenize(model, flags, common);
  TokenSequence sequence;
  TRANSOM_ASSIGN(sequence.ids, parseIds(flags.idLists.front()));
  sequence.types.resize(sequence.ids.size(), 0);
  for (int64_t id : sequence.ids)
    sequence.labels.push_back(getVocabularyText(model, id));
  return Result<TokenSequence>(std::move(sequence));
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

/// The results with weights, in the order of layers.
static std::vector<const transom_tensor *>
findWeights(const std::vector<transom_tensor> &results) {
  std::vector<const transom_tensor *> layers;
  for (;;) {
    const std::string name = resultPrefix + std::to_string(layers.size());
    auto found = std::find_if(
        results.begin(), results.end(),
        [&](const transom_tensor &result) { return result.name == name; });
    if (found == results.end())
      return layers;
    layers.push_back(&*found);
  }
}

/// The chosen layers and heads of the results [1, heads, tokens, tokens].
static Result<AttentionGroup>
makeGroup(const std::vector<transom_tensor> &results,
          const AttentionFlags &flags, const TokenSequence &tokens) {
  const std::vector<const transom_tensor *> layers = findWeights(results);
  size_t heads = 0;
  for (const transom_tensor *layer : layers)
    heads = std::max(heads, size_t(layer->shape[1]));
  AttentionGroup group;
  group.name = "self";
  group.queries = group.keys = tokens.labels;
  TRANSOM_ASSIGN(group.layers,
                 parseSelection("--layers", flags.layers, layers.size()));
  TRANSOM_ASSIGN(group.heads, parseSelection("--heads", flags.heads, heads));
  const size_t size = group.getMatrixSize();
  for (uint32_t layer : group.layers)
    for (uint32_t head : group.heads) {
      if (head >= uint64_t(layers[layer]->shape[1]))
        return unsupported("layers with different numbers of heads are not "
                           "supported; choose some with '--layers'");
      const auto *matrix =
          static_cast<const float *>(layers[layer]->data) + head * size;
      group.weights.insert(group.weights.end(), matrix, matrix + size);
    }
  return Result<AttentionGroup>(std::move(group));
}

/// Runs the entry, and takes what is to be shown.
static Result<AttentionReport> makeReport(const transom_model *model,
                                          const AttentionFlags &flags,
                                          const CommonFlags &common) {
  TRANSOM_ASSIGN(TokenSequence tokens, getTokens(model, flags, common));
  std::vector<transom_tensor> inputs = {makeArgument("input_ids", tokens.ids)};
  if (hasArgument(model, "token_type_ids"))
    inputs.push_back(makeArgument("token_type_ids", tokens.types));
  TRANSOM_ASSIGN(SessionPtr session,
                 sessionFor(model, entryName, inputs, common.threads));
  const CancelOnSignal signals(session.get());
  OutputTensors outputs;
  TRANSOM_TRY(outputs.allocate(model, session.get(), entryName, inputs));
  if (Result<void> ran = check(transom_session_run(
          session.get(), entryName, inputs.data(), inputs.size(),
          outputs.tensors().data(), outputs.tensors().size()));
      !ran)
    return signals.explain(ran.takeError());
  AttentionReport report;
  TRANSOM_ASSIGN(transom_model_info info, getInfo(model));
  report.model = info.name;
  TRANSOM_ASSIGN(AttentionGroup group,
                 makeGroup(outputs.tensors(), flags, tokens));
  report.groups.push_back(std::move(group));
  if (Result<void> good = checkReport(report); !good)
    return good.takeError();
  return Result<AttentionReport>(std::move(report));
}

static Result<void> writeReport(const AttentionReport &report,
                                const AttentionFlags &flags,
                                const CommonFlags &common) {
  auto write = [&](const ByteSink &sink) {
    if (flags.format == "json")
      return writeJson(report, sink);
    return flags.format == "png" ? writePicture(report.groups[0], sink)
                                 : writePage(report, sink);
  };
  if (flags.output == "-")
    return write(
        [](std::string_view bytes) { return writeOut(std::string(bytes)); });
  TRANSOM_ASSIGN(OutputFile file, OutputFile::create(flags.output));
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
  if (flags.hasText == !flags.idLists.empty() || flags.idLists.size() > 1)
    return usageError("give one '--text' or one '--ids'");
  if (flags.hasPair && !flags.hasText)
    return usageError("'--pair' needs '--text'");
  TRANSOM_ASSIGN(ModelPtr model, loadModel(flags.model));
  if (!checkEntry(model.get(), entryName))
    return usageError(quote(flags.model) +
                      " has no entry 'attention'; compile the model with "
                      "'--attention'");
  if (!flags.target.empty())
    return unsupported("'--target' is not supported for " + quote(flags.model) +
                       "; supported: encoder-decoders");
  TRANSOM_ASSIGN(AttentionReport report,
                 makeReport(model.get(), flags, common));
  return writeReport(report, flags, common);
}

/// Flags that say what is shown, and as what.
static void addOutputFlags(CLI::App &app, AttentionFlags &flags) {
  app.add_option("-o,--output", flags.output, "the file to write; - is stdout")
      ->type_name("FILE")
      ->required();
  addChoice(app, "--format", flags.format, {"html", "json", "png"},
            "a page, all weights exactly, or a picture (default html)");
  app.add_option("--layers", flags.layers,
                 "layers to show, such as 0,2-5 (default: all)")
      ->type_name("LIST");
  app.add_option("--heads", flags.heads,
                 "heads to show, such as 0,2-5 (default: all)")
      ->type_name("LIST");
}

void tools::addAttention(CLI::App &app, CommandList &commands) {
  Command &command = addCommand(
      app, commands, "attention",
      "show which tokens of a text attend to which, as a page or a picture");
  auto flags = std::make_shared<AttentionFlags>();
  command.app
      ->add_option("MODEL", flags->model,
                   "a model that was compiled with --attention")
      ->required();
  CLI::Option *text = command.app->add_option("--text", flags->text, "the text")
                          ->type_name("TEXT");
  CLI::Option *pair =
      command.app->add_option("--pair", flags->pair, "a second text")
          ->type_name("TEXT");
  command.app
      ->add_option("--target", flags->target,
                   "what an encoder-decoder makes of the text")
      ->type_name("TEXT");
  addIds(*command.app, flags->idLists);
  addOutputFlags(*command.app, *flags);
  command.run = [flags, text, pair](const CommonFlags &common) {
    flags->hasText = text->count() > 0;
    flags->hasPair = pair->count() > 0;
    return runAttention(*flags, common);
  };
}
