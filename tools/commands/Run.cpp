// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// transom run: runs any entry on the tensors in a safetensors file.
#include "runtime/json/Json.h"
#include "tools/commands/Command.h"
#include "tools/commands/Tensors.h"
#include "tools/commands/generate/GenerationFlags.h"
#include <cmath>
#include <cstdlib>

using namespace transom;
using namespace transom::tools;

namespace {
struct RunFlags {
  std::string model, entry, in, out;
  GenerationFlags generation; ///< for the entry `generate`
  std::vector<CLI::Option *> generationOptions;
};
} // namespace

/// Returns the names, types and shapes of results.
static std::string toJson(const std::vector<transom_tensor> &tensors) {
  std::string line;
  JsonWriter json(line);
  json.beginArray();
  for (const transom_tensor &tensor : tensors) {
    json.beginObject();
    json.member("name", tensor.name);
    json.member("dtype", transom_dtype_name(tensor.dtype));
    json.key("shape");
    json.array(std::vector<int64_t>(tensor.shape, tensor.shape + tensor.rank));
    json.endObject();
  }
  json.endArray();
  return line + "\n";
}

/// Creates a session that generates for these inputs; the run reports invalid
/// inputs.
static Result<SessionPtr>
generationSession(const transom_model *model, const RunFlags &flags,
                  const std::vector<transom_tensor> &inputs, unsigned threads) {
  std::vector<size_t> lengths;
  for (const transom_tensor &input : inputs)
    if (input.name == std::string("input_ids") && input.rank == 2)
      lengths.assign(size_t(input.shape[0]), size_t(input.shape[1]));
  transom_session_options options = transom_session_options_default();
  options.threads = threads;
  TRANSOM_TRY(check(transom_session_options_fit_generate(
      model, lengths.data(), lengths.size(), flags.generation.options(),
      &options)));
  return createSession(model, options);
}

/// Reads a generation result and allocates its memory. `read` is called twice:
/// an empty tensor returns the size, which suffices for an empty result.
using ReadResult = transom_status (*)(const transom_generation *,
                                      transom_tensor *);
static Result<void> readResult(const transom_generation *generation,
                               ReadResult read, transom_tensor &result,
                               std::vector<int64_t> &memory) {
  transom_status status = read(generation, &result);
  memory.resize(result.capacity / sizeof(int64_t) + 1);
  result.data = memory.data();
  if (status == TRANSOM_STATUS_LIMIT)
    status = read(generation, &result);
  return status == TRANSOM_STATUS_OK ? Result<void>() : lastError(status);
}

/// Returns true for beam search results.
static bool hasScores(const transom_generation *generation) {
  transom_continuation first = transom_continuation_default();
  return transom_generation_get(generation, 0, &first) == TRANSOM_STATUS_OK &&
         !std::isnan(first.score);
}

/// Generates with the flags, and writes `output_ids`, with beams also `scores`.
static Result<void> runGeneration(const transom_model *model,
                                  const RunFlags &flags,
                                  const CommonFlags &common,
                                  const std::vector<transom_tensor> &inputs,
                                  OutputFile file) {
  TRANSOM_ASSIGN(SessionPtr session,
                 generationSession(model, flags, inputs, common.threads));
  const CancelOnSignal signals(session.get());
  transom_generation *generation = nullptr;
  Result<void> done = check(transom_session_generate_tensors(
      session.get(), inputs.data(), inputs.size(), flags.generation.options(),
      &generation));
  const std::unique_ptr<transom_generation, void (*)(transom_generation *)>
      owner(generation, transom_generation_free);
  if (!done)
    return signals.explain(done.takeError());
  transom_tensor ids = {}, scores = {};
  std::vector<int64_t> idMemory, scoreMemory;
  ids.name = "output_ids";
  TRANSOM_TRY(
      readResult(generation, transom_generation_output_ids, ids, idMemory));
  std::vector<transom_tensor> results = {ids};
  std::vector<TensorView> views = {
      {ids.name, DType::I64, {ids.shape, ids.shape + ids.rank}, ids.data}};
  if (hasScores(generation)) {
    scores.name = "scores";
    TRANSOM_TRY(
        readResult(generation, transom_generation_scores, scores, scoreMemory));
    results.push_back(scores);
    views.push_back({scores.name, DType::F32, {scores.shape[0]}, scores.data});
  }
  TRANSOM_TRY(writeSafetensors(std::move(file), views));
  return common.json ? writeOut(toJson(results)) : Result<void>();
}

/// Returns true if an entry generates text.
static bool generates(const transom_model *model, const std::string &entry) {
  for (size_t i = 0;; ++i) {
    transom_entry_info info = transom_entry_info_default();
    if (transom_model_get_entry(model, i, &info) != TRANSOM_STATUS_OK)
      return false;
    if (entry == info.name)
      return std::string_view(info.kind) == "generate";
  }
}

/// Rejects generation flags for other entries. Environment variables are
/// ignored here, since they may be meant for other commands.
static Result<void> checkFlags(const RunFlags &flags) {
  for (const CLI::Option *option : flags.generationOptions)
    if (option->count() && !getenv(option->get_envname().c_str()))
      return usageError("'--" + option->get_lnames().front() +
                        "' is a flag of the entry 'generate', not of '" +
                        flags.entry + "'");
  return {};
}

static Result<void> runEntry(RunFlags &flags, const CommonFlags &common) {
  // Check the flags against the model.
  if (Result<void> finished = flags.generation.finish(); !finished)
    return finished;
  TRANSOM_ASSIGN(ModelPtr model, loadModel(flags.model));
  if (Result<void> known = checkEntry(model.get(), flags.entry); !known)
    return known;
  const bool isGeneration = generates(model.get(), flags.entry);
  if (!isGeneration)
    TRANSOM_TRY(checkFlags(flags));

  // Read the inputs; generated results have a known length only afterwards.
  TRANSOM_ASSIGN(InputTensors inputs, InputTensors::read(flags.in));
  TRANSOM_ASSIGN(OutputFile file, OutputFile::create(flags.out));
  if (isGeneration)
    return runGeneration(model.get(), flags, common, inputs.tensors(),
                         std::move(file));

  // Run the entry, and write the results.
  TRANSOM_ASSIGN(
      SessionPtr session,
      sessionFor(model.get(), flags.entry, inputs.tensors(), common.threads));
  OutputTensors outputs;
  if (Result<void> ready = outputs.allocate(model.get(), session.get(),
                                            flags.entry, inputs.tensors());
      !ready)
    return ready;
  if (Result<void> ran = check(transom_session_run(
          session.get(), flags.entry.c_str(), inputs.tensors().data(),
          inputs.tensors().size(), outputs.tensors().data(),
          outputs.tensors().size()));
      !ran)
    return ran;
  if (Result<void> written = outputs.write(std::move(file)); !written)
    return written;
  return common.json ? writeOut(toJson(outputs.tensors())) : Result<void>();
}

void tools::addRun(CLI::App &app, CommandList &commands) {
  Command &command =
      addCommand(app, commands, "run", "run an entry point on tensors");
  auto flags = std::make_shared<RunFlags>();
  command.app->add_option("MODEL", flags->model, "a compiled model")
      ->required();
  command.app->add_option("ENTRY", flags->entry, "the entry point")->required();
  command.app
      ->add_option("--in", flags->in,
                   "safetensors file with the entry's arguments by name")
      ->type_name("FILE")
      ->required();
  command.app
      ->add_option("--out", flags->out, "safetensors file for the results")
      ->type_name("FILE")
      ->required();
  const size_t before = command.app->get_options().size();
  addGenerationFlags(*command.app, flags->generation);
  flags->generationOptions = command.app->get_options();
  flags->generationOptions.erase(flags->generationOptions.begin(),
                                 flags->generationOptions.begin() +
                                     int64_t(before));
  command.run = [flags](const CommonFlags &common) {
    return runEntry(*flags, common);
  };
}
