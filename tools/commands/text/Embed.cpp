// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// transom embed: prints one JSON line per text with its embedding, the heaviest
// terms of a sparse embedding, or its token embeddings; or writes an array to a
// file.
#include "runtime/base/Suggest.h"
#include "runtime/json/Json.h"
#include "runtime/manifest/Manifest.h"
#include "tools/commands/Command.h"
#include "tools/commands/NumberList.h"
#include "tools/commands/text/EmbedOutput.h"
#include "tools/commands/text/EmbedStates.h"
#include "tools/commands/text/Texts.h"
#include <algorithm>
#include <numeric>

using namespace transom;
using namespace transom::tools;

namespace {

struct EmbedFlags {
  std::string model, pooling, promptName, prompt, precision, output, layers;
  TextInput input;
  bool noNormalize = false, resume = false, tokens = false;
  unsigned dim = 0, chunk = 0, overlap = 0;
  std::optional<unsigned> topK;
  bool hasPrompt = false, hasPromptName = false;
};

/// One run of the command.
class Embedder {
public:
  Embedder(const EmbedFlags &flags, const CommonFlags &common)
      : flags(flags), common(common) {}
  Result<void> run();

private:
  Result<void> prepare();
  Result<void> embed(std::vector<std::string> texts);
  Result<void> openOutput();
  /// Prepares for token vectors instead of embeddings.
  Result<void> openTokens();
  /// Removes leading texts that the output already contains.
  Result<void> skip(std::vector<std::string> &texts);
  std::string makeLine(const std::string &text, const float *embedding) const;
  Result<void> embedTokens(const std::vector<std::string> &texts);
  Result<void> writeQuantized(const std::vector<std::string> &texts,
                              const std::vector<float> &embeddings);
  Error withSuspended(Error error);
  void writeNumbers(JsonWriter &json, const float *embedding) const;
  void writeTerms(JsonWriter &json, const float *embedding) const;

  const EmbedFlags &flags;
  const CommonFlags &common;
  TextModel opened;
  SessionPtr session;
  transom_embed_options options = transom_embed_options_default();
  transom_precision precision = {};
  bool isSparse = false, ofTokens = false;
  size_t size = 0;             ///< elements per embedding
  std::vector<int64_t> layers; ///< requested hidden states
  CutTexts cuts;
  size_t first = 0; ///< index of the batch's first text
  std::unique_ptr<EmbedOutput> output;
  /// Collected until all texts are embedded, for the int8 ranges.
  std::vector<std::string> kept;
  std::vector<float> keptEmbeddings;
};

} // namespace

static transom_precision getPrecision(const std::string &name) {
  if (name == "int8")
    return TRANSOM_PRECISION_INT8;
  if (name == "binary")
    return TRANSOM_PRECISION_BINARY;
  return name == "ubinary" ? TRANSOM_PRECISION_UBINARY : transom_precision{};
}

/// Checks the flags, and opens model and session.
Result<void> Embedder::prepare() {
  TRANSOM_TRY(flags.input.validate());
  if (flags.hasPrompt && flags.hasPromptName)
    return usageError("'--prompt' and '--prompt-name' are one too many");
  TRANSOM_ASSIGN(opened, openTextModel(flags.model));
  TRANSOM_ASSIGN(session,
                 createTextSession(opened.model.get(), common.threads));
  if (!flags.pooling.empty())
    options.pooling =
        flags.pooling == "cls" ? TRANSOM_POOLING_CLS : TRANSOM_POOLING_MEAN;
  if (flags.noNormalize)
    options.normalize = 0;
  options.dim = flags.dim;
  options.chunk = flags.chunk;
  options.overlap = flags.overlap;
  if (flags.hasPrompt)
    options.prompt = flags.prompt.c_str();
  if (flags.hasPromptName)
    options.prompt_name = flags.promptName.c_str();
  precision = getPrecision(flags.precision);

  ofTokens =
      !flags.layers.empty() || flags.tokens || opened.info.token_embedding_size;
  if (ofTokens)
    return openTokens();
  // A call without texts reports errors about the model or the options.
  TRANSOM_TRY(check(transom_session_embed(session.get(), nullptr, 0, &options,
                                          nullptr, 0, nullptr)));
  size = flags.dim ? flags.dim : opened.info.embedding_size;
  TRANSOM_ASSIGN(
      Manifest manifest,
      Manifest::parse({opened.info.manifest, opened.info.manifest_size}));
  isSparse = manifest.text && manifest.text->pipeline &&
             manifest.text->pipeline->entry == "sparse";
  if (isSparse && (flags.dim || precision))
    return usageError("'--dim' and '--precision' are for dense embeddings; the "
                      "model's are sparse");
  if (!isSparse && flags.topK)
    return usageError("'--top-k' is for sparse embeddings; the model's are "
                      "dense");
  return openOutput();
}

Result<void> Embedder::openTokens() {
  if (flags.dim || precision || flags.topK || flags.chunk || flags.overlap ||
      !flags.pooling.empty() || flags.noNormalize)
    return usageError(
        std::string("'--dim', '--precision', '--top-k', '--chunk', "
                    "'--overlap', '--pooling' and '--no-normalize' are for "
                    "embeddings of texts, ") +
        (flags.tokens || !flags.layers.empty()
             ? "not for '--tokens' or '--layers'"
             : "the model's are of tokens"));
  TRANSOM_ASSIGN(layers, parseLayerList("--layers", flags.layers));
  TRANSOM_TRY(getTokenLines(session.get(), {}, options, layers, cuts));
  return openOutput();
}

void Embedder::writeNumbers(JsonWriter &json, const float *embedding) const {
  json.key("embedding");
  json.beginArray();
  for (size_t i = 0; i < size; ++i)
    json.value(embedding[i]);
  json.endArray();
}

/// Writes the terms with the largest weights, in descending order.
void Embedder::writeTerms(JsonWriter &json, const float *embedding) const {
  std::vector<size_t> terms;
  for (size_t i = 0; i < size; ++i)
    if (embedding[i] != 0)
      terms.push_back(i);
  std::stable_sort(terms.begin(), terms.end(), [&](size_t a, size_t b) {
    return embedding[a] > embedding[b];
  });
  terms.resize(std::min(terms.size(), size_t(flags.topK.value_or(UINT32_MAX))));
  json.key("terms");
  json.beginArray();
  for (size_t id : terms) {
    json.beginObject();
    json.member("id", int64_t(id));
    json.member("token",
                getToken(opened.model.get(), int64_t(id)).value_or(""));
    json.member("weight", embedding[id]);
    json.endObject();
  }
  json.endArray();
}

std::string Embedder::makeLine(const std::string &text,
                               const float *embedding) const {
  std::string line;
  JsonWriter json(line);
  json.beginObject();
  json.member("text", text);
  if (isSparse)
    writeTerms(json, embedding);
  else
    writeNumbers(json, embedding);
  json.endObject();
  return line + "\n";
}

/// Opens the `--output` file, or stdout.
Result<void> Embedder::openOutput() {
  if (flags.resume && flags.output.empty())
    return usageError("'--resume' needs the '--output' that is continued");
  if (flags.resume && precision == TRANSOM_PRECISION_INT8)
    return usageError("'--resume' cannot continue int8, whose ranges are those "
                      "of all texts");
  if ((isSparse || ofTokens) && EmbedOutput::isArray(flags.output))
    return usageError(
        std::string(isSparse ? "sparse embeddings" : "embeddings of tokens") +
        " are lines of JSON, not an array as in " + quote(flags.output));
  EmbeddingRows rows = {"F32", size, size * sizeof(float)};
  if (precision == TRANSOM_PRECISION_INT8)
    rows = {"I8", size, size};
  else if (precision)
    rows = {precision == TRANSOM_PRECISION_BINARY ? "I8" : "U8", (size + 7) / 8,
            (size + 7) / 8};
  TRANSOM_ASSIGN(output, EmbedOutput::open(flags.output, rows, flags.resume));
  return {};
}

Result<void> Embedder::skip(std::vector<std::string> &texts) {
  const size_t done = output->getCount();
  if (first >= done)
    return {};
  const size_t count = std::min(texts.size(), done - first);
  if (first + count == done)
    TRANSOM_TRY(output->checkLast(texts[count - 1]));
  texts.erase(texts.begin(), texts.begin() + ptrdiff_t(count));
  first += count;
  return {};
}

Result<void> Embedder::writeQuantized(const std::vector<std::string> &texts,
                                      const std::vector<float> &embeddings) {
  // Quantize the batch.
  const bool isBytes = precision == TRANSOM_PRECISION_INT8;
  const size_t bytes = isBytes ? size : (size + 7) / 8;
  std::vector<uint8_t> out(texts.size() * bytes);
  TRANSOM_TRY(check(transom_quantize_embeddings(embeddings.data(), texts.size(),
                                                size, precision, nullptr,
                                                out.data(), out.size())));
  // Arrays take the bytes, other outputs get JSON lines.
  if (output->isArray())
    return output->append(
        {reinterpret_cast<const char *>(out.data()), out.size()}, texts.size());
  std::string lines;
  for (size_t i = 0; i != texts.size(); ++i) {
    std::string line;
    JsonWriter json(line);
    json.beginObject();
    json.member("text", texts[i]);
    json.key("embedding");
    json.beginArray();
    for (size_t j = 0; j != bytes; ++j) {
      const uint8_t byte = out[i * bytes + j];
      json.value(precision == TRANSOM_PRECISION_UBINARY ? int(byte)
                                                        : int(int8_t(byte)));
    }
    json.endArray();
    json.endObject();
    lines += line + "\n";
  }
  return output->append(lines, texts.size());
}

/// Writes a line for each text with its tokens and their vectors.
Result<void> Embedder::embedTokens(const std::vector<std::string> &texts) {
  for (size_t begin = 0; begin < texts.size(); begin += tokenVectorBatch) {
    const size_t count = std::min(tokenVectorBatch, texts.size() - begin);
    const auto from = texts.begin() + ptrdiff_t(begin);
    Result<std::vector<std::string>> lines = getTokenLines(
        session.get(), {from, from + ptrdiff_t(count)}, options, layers, cuts);
    if (!lines)
      return inBatch(flags.input, first, count, lines.takeError());
    first += count;
    for (const std::string &line : *lines)
      TRANSOM_TRY(output->append(line, 1));
  }
  return {};
}

/// Embeds a batch and writes its lines.
Result<void> Embedder::embed(std::vector<std::string> texts) {
  TRANSOM_TRY(skip(texts));
  if (texts.empty())
    return {};
  if (ofTokens)
    return embedTokens(texts);
  std::vector<float> embeddings(texts.size() * size);
  std::vector<transom_text> views = getViews(texts);
  size_t cut = 0;
  if (Result<void> done = check(transom_session_embed(
          session.get(), views.data(), views.size(), &options,
          embeddings.data(), embeddings.size() * sizeof(float), &cut));
      !done)
    return inBatch(flags.input, first, texts.size(), done.takeError());
  first += texts.size();
  cuts.count += cut;
  if (precision == TRANSOM_PRECISION_INT8) {
    kept.insert(kept.end(), texts.begin(), texts.end());
    keptEmbeddings.insert(keptEmbeddings.end(), embeddings.begin(),
                          embeddings.end());
    return {};
  }
  if (precision)
    return writeQuantized(texts, embeddings);
  if (output->isArray())
    return output->append({reinterpret_cast<const char *>(embeddings.data()),
                           embeddings.size() * sizeof(float)},
                          texts.size());
  std::string lines;
  for (size_t i = 0; i < texts.size(); ++i)
    lines += makeLine(texts[i], &embeddings[i * size]);
  return output->append(lines, texts.size());
}

/// Adds a note on how to continue to an error.
Error Embedder::withSuspended(Error error) {
  if (std::optional<std::string> how = output->suspend())
    error.notes.push_back(*how);
  return error;
}

Result<void> Embedder::run() {
  TRANSOM_TRY(prepare());
  Result<void> done =
      forEachBatch(flags.input, common, [&](std::vector<std::string> texts) {
        return embed(std::move(texts));
      });
  if (done && !kept.empty())
    done = writeQuantized(kept, keptEmbeddings);
  if (done && first < output->getCount())
    done = rejected(flags.output + ": there are " +
                    std::to_string(output->getCount()) +
                    " embeddings, more than texts; continue with the input "
                    "that the file was begun with");
  if (done)
    done = output->commit();
  cuts.tell(common, opened.info.max_text_tokens);
  return done ? done : withSuspended(done.takeError());
}

void tools::addEmbed(CLI::App &app, CommandList &commands) {
  Command &command =
      addCommand(app, commands, "embed",
                 "print the embedding of each text as a line of JSON");
  auto flags = std::make_shared<EmbedFlags>();
  // Model, texts and prompt.
  command.app->add_option("MODEL", flags->model, "a compiled model")
      ->required();
  addTextInput(*command.app, flags->input);
  CLI::Option *prompt = command.app->add_option(
      "--prompt", flags->prompt, "a prompt to put before each text");
  CLI::Option *promptName = command.app->add_option(
      "--prompt-name", flags->promptName,
      "the model's prompt to put before each text, such as query or document");
  // Output file.
  command.app
      ->add_option("-o,--output", flags->output,
                   "write to a file instead of stdout: an array as .npy or "
                   ".safetensors, else lines of JSON")
      ->type_name("F");
  command.app->add_flag("--resume", flags->resume,
                        "continue the --output of a run that was interrupted");
  // Size, windows and precision of embeddings.
  command.app
      ->add_option("--dim", flags->dim, "the numbers of an embedding to keep")
      ->check(CLI::Range(1u, unsigned(INT32_MAX)));
  command.app
      ->add_option("--chunk", flags->chunk,
                   "split longer texts into windows of at most N tokens and "
                   "take the mean of their embeddings (default: cut texts)")
      ->check(wholeNumber(1))
      ->type_name("N");
  command.app
      ->add_option("--overlap", flags->overlap,
                   "with --chunk: tokens that neighboring windows share")
      ->type_name("N");
  addChoice(*command.app, "--precision", flags->precision,
            {"f32", "int8", "binary", "ubinary"},
            "type of the numbers; int8 takes their ranges from all texts");
  command.app->add_option("--top-k", flags->topK,
                          "terms of a sparse embedding to print (default: all "
                          "with a weight)");
  // Token vectors and hidden states.
  command.app->add_flag("--tokens", flags->tokens,
                        "print the vectors of all tokens, not of texts");
  command.app
      ->add_option("--layers", flags->layers,
                   "print the vectors of all tokens after these layers of a "
                   "model that was compiled with '--layers'")
      ->type_name("LIST");
  addChoice(
      *command.app, "--pooling", flags->pooling, {"mean", "cls"},
      "how the vectors of tokens become one (default: as the model says)");
  command.app->add_flag("--no-normalize", flags->noNormalize,
                        "do not scale embeddings to length 1");
  command.run = [flags, prompt, promptName](const CommonFlags &common) {
    flags->hasPrompt = prompt->count() != 0;
    flags->hasPromptName = promptName->count() != 0;
    return Embedder(*flags, common).run();
  };
}
