// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The C API for models, sessions and tensors: converts structs and errors.
#include "runtime/api/ApiSupport.h"
#include "runtime/execute/Tensor.h"
#include "runtime/text/Embed.h"
#include <cstddef>
#include <cstdlib>

using namespace transom;
using namespace transom::api;

static thread_local char lastError[2048] = "";

transom_status transom::api::fail(Status status, std::string_view message) {
  size_t size = std::min(message.size(), sizeof lastError - 1);
  std::memcpy(lastError, message.data(), size);
  lastError[size] = 0;
  return transom_status(int(status));
}

/// True if a word is 0 or TRANSOM_FROM_MODEL as a 64-bit integer, as a double,
/// or as one or two 32-bit integers.
static bool isDefaultWord(const char *bytes) {
  int64_t whole;
  double real;
  int32_t halves[2];
  std::memcpy(&whole, bytes, sizeof whole);
  std::memcpy(&real, bytes, sizeof real);
  std::memcpy(halves, bytes, sizeof halves);
  auto isDefault = [](int32_t half) {
    return half == 0 || half == TRANSOM_FROM_MODEL;
  };
  return whole == TRANSOM_FROM_MODEL || real == double(TRANSOM_FROM_MODEL) ||
         (isDefault(halves[0]) && isDefault(halves[1]));
}

bool transom::api::areDefaults(const char *bytes, size_t size) {
  // Options have 4 or 8 bytes and are aligned, so words can be checked one by
  // one; an incomplete last word is padded with zeros.
  for (size_t at = 0; at < size; at += sizeof(int64_t)) {
    char word[sizeof(int64_t)] = {};
    std::memcpy(word, bytes + at, std::min(sizeof word, size - at));
    if (!isDefaultWord(word))
      return false;
  }
  return true;
}

#define TRANSOM_TEXT_OF(number) #number
#define TRANSOM_VERSION_TEXT(major, minor, patch)                              \
  TRANSOM_TEXT_OF(major) "." TRANSOM_TEXT_OF(minor) "." TRANSOM_TEXT_OF(patch)

const char *transom_version(void) {
  return TRANSOM_VERSION_TEXT(TRANSOM_VERSION_MAJOR, TRANSOM_VERSION_MINOR,
                              TRANSOM_VERSION_PATCH);
}

const char *transom_last_error(void) { return lastError; }

const char *transom_status_name(transom_status status) {
  switch (status) {
  case TRANSOM_STATUS_OK:
    return "ok";
  case TRANSOM_STATUS_CHECK_FAILED:
    return "check failed";
  case TRANSOM_STATUS_USAGE:
    return "usage";
  case TRANSOM_STATUS_REJECTED:
    return "rejected";
  case TRANSOM_STATUS_UNSUPPORTED:
    return "unsupported";
  case TRANSOM_STATUS_LIMIT:
    return "limit";
  case TRANSOM_STATUS_UNAVAILABLE:
    return "unavailable";
  case TRANSOM_STATUS_INTERNAL:
    return "internal error";
  case TRANSOM_STATUS_CANCELLED:
    return "cancelled";
  }
  return "unknown";
}

const char *transom_dtype_name(transom_dtype dtype) { return dtypeText(dtype); }

size_t transom_dtype_size(transom_dtype dtype) { return getElementSize(dtype); }

void transom_model_options_init(transom_model_options *options,
                                size_t struct_size) {
  initialize(transom_model_options(), options, struct_size);
}

transom_status transom_model_load(const char *path,
                                  const transom_model_options *given,
                                  transom_model **model) {
  return guarded([&]() -> Result<void> {
    if (model)
      *model = nullptr;
    if (!path || !model)
      return nullArgument(path ? "model" : "path");
    transom_model_options options = transom_model_options_default();
    if (Result<void> done = readOptions(given, options); !done)
      return done;
    const char *forced = std::getenv("TRANSOM_FORCE_ISA");
    TRANSOM_ASSIGN(
        std::unique_ptr<Model> loaded,
        Model::load(path, {forced ? forced : "", options.populate != 0,
                           options.verify_weights != 0}));
    *model = new transom_model{std::move(loaded)};
    return {};
  });
}

void transom_model_free(transom_model *model) {
  const HostCall call;
  delete model;
}

void transom_model_info_init(transom_model_info *info, size_t struct_size) {
  initialize(transom_model_info(), info, struct_size);
}

transom_status transom_model_get_info(const transom_model *handle,
                                      transom_model_info *info) {
  return guarded([&]() -> Result<void> {
    if (!handle)
      return nullArgument("model");
    const Model &model = *handle->model;
    const Manifest &manifest = model.manifest();
    // Copy the manifest's fields.
    transom_model_info filled = transom_model_info_default();
    filled.name = manifest.name.c_str();
    filled.family = manifest.family.c_str();
    filled.architecture = manifest.architecture.c_str();
    filled.head = manifest.head.c_str();
    filled.compiler = manifest.compiler.c_str();
    filled.dtype = manifest.dtype.c_str();
    filled.isa = model.isa().name;
    filled.manifest = model.manifestText().c_str();
    filled.manifest_size = model.manifestText().size();
    filled.parameters = manifest.parameters;
    filled.weights_bytes = int64_t(manifest.weightsBytes);
    // Add counts and sizes, if the model has them.
    filled.num_entries = model.entries().size();
    filled.num_labels = manifest.labels.size();
    if (Result<size_t> size =
            getEmbeddingSize(model, transom_embed_options_default()))
      filled.embedding_size = *size;
    if (Result<const Model::TextUse *> use = getTokenEmbedding(model))
      filled.token_embedding_size = size_t((*use)->width);
    if (const Tokenizer *tokenizer = model.tokenizer())
      filled.vocabulary_size = tokenizer->size();
    filled.max_text_tokens = model.maxTextTokens();
    return writeInfo(filled, info);
  });
}

const char *transom_model_label(const transom_model *model, size_t index) {
  if (!model || index >= model->model->manifest().labels.size())
    return nullptr;
  return model->model->manifest().labels[index].c_str();
}

void transom_entry_info_init(transom_entry_info *info, size_t struct_size) {
  initialize(transom_entry_info(), info, struct_size);
}

transom_status transom_model_get_entry(const transom_model *model, size_t index,
                                       transom_entry_info *info) {
  return guarded([&]() -> Result<void> {
    if (!model)
      return nullArgument("model");
    const auto &entries = model->model->entries();
    if (index >= entries.size())
      return usageError("the model has " + std::to_string(entries.size()) +
                        " entries, none of index " + std::to_string(index));
    transom_entry_info filled = transom_entry_info_default();
    filled.name = entries[index].manifest->name.c_str();
    filled.kind = getEntryKindName(entries[index].kind());
    filled.num_inputs = entries[index].inputs.size();
    filled.num_outputs = entries[index].outputs.size();
    if (entries[index].code)
      filled.num_dispatches = size_t(entries[index].code->num_dispatches);
    return writeInfo(filled, info);
  });
}

void transom_argument_info_init(transom_argument_info *info,
                                size_t struct_size) {
  initialize(transom_argument_info(), info, struct_size);
}

transom_status transom_model_get_argument(const transom_model *model,
                                          const char *name, size_t index,
                                          transom_argument_info *info) {
  return guarded([&]() -> Result<void> {
    if (!model)
      return nullArgument("model");
    const Entry *entry = model->model->findEntry(name ? name : "");
    if (!entry)
      return usageError(std::string("the model has no entry '") +
                        (name ? name : "") + "'");
    size_t inputs = entry->inputs.size();
    if (index >= inputs + entry->outputs.size())
      return usageError("entry '" + entry->manifest->name +
                        "' has no argument of index " + std::to_string(index));
    const Argument &argument =
        index < inputs ? entry->inputs[index] : entry->outputs[index - inputs];
    transom_argument_info filled = transom_argument_info_default();
    filled.name = argument.name.c_str();
    filled.dtype = argument.dtype;
    filled.rank = int32_t(argument.dims.size());
    for (size_t i = 0; i != argument.dims.size(); ++i)
      filled.dims[i] = argument.dimTexts[i].c_str();
    filled.optional = argument.fallback.has_value();
    return writeInfo(filled, info);
  });
}

void transom_session_options_init(transom_session_options *options,
                                  size_t struct_size) {
  transom_session_options defaults = {};
  defaults.hold_results = TRANSOM_FROM_MODEL;
  initialize(defaults, options, struct_size);
}

transom_status transom_session_options_fit(const transom_model *model,
                                           const char *entry,
                                           const transom_tensor *inputs,
                                           size_t num_inputs,
                                           transom_session_options *options) {
  return guarded([&]() -> Result<void> {
    if (!model || !options)
      return nullArgument(model ? "options" : "model");
    TRANSOM_TRY(checkArray("inputs", inputs, num_inputs));
    // An older caller's struct may lack the cache and source sizes.
    if (options->struct_size < offsetof(transom_session_options, max_sequences))
      return usageError("the options do not hold max_batch and max_tokens");
    auto limited = [](uint64_t value) {
      return int64_t(std::min<uint64_t>(value, INT64_MAX));
    };
    bool holdsCache =
        options->struct_size >= offsetof(transom_session_options, mem_limit);
    // Raise the capacity that the options contain.
    Capacity capacity{int64_t(options->max_batch),
                      limited(options->max_tokens)};
    const bool holdsSources =
        options->struct_size >
        offsetof(transom_session_options, max_source_tokens);
    if (holdsCache) {
      capacity.maxSequences = int64_t(options->max_sequences);
      capacity.maxKvTokens = limited(options->max_kv_tokens);
    }
    if (holdsSources)
      capacity.maxSourceTokens = limited(options->max_source_tokens);
    if (Result<void> done =
            fitCapacity(*model->model, entry, inputs, num_inputs, capacity);
        !done)
      return done;
    // Write it back to the fields that exist.
    options->max_batch = uint32_t(capacity.maxBatch);
    options->max_tokens = uint64_t(capacity.maxTokens);
    if (holdsCache) {
      options->max_sequences = uint32_t(capacity.maxSequences);
      options->max_kv_tokens = uint64_t(capacity.maxKvTokens);
    }
    if (holdsSources)
      options->max_source_tokens = uint64_t(capacity.maxSourceTokens);
    return {};
  });
}

/// Returns the session configuration for a caller's options.
static Result<SessionConfig> configFor(const transom_model *model,
                                       const transom_session_options *given) {
  transom_session_options options = transom_session_options_default();
  TRANSOM_TRY(readOptions(given, options));
  return SessionConfig::from(*model->model, &options);
}

transom_status transom_model_memory(const transom_model *model,
                                    const transom_session_options *options,
                                    uint64_t *bytes) {
  return guarded([&]() -> Result<void> {
    if (!model || !bytes)
      return nullArgument(model ? "bytes" : "model");
    TRANSOM_ASSIGN(SessionConfig config, configFor(model, options));
    config.memLimit = UINT64_MAX;
    TRANSOM_ASSIGN(SessionLayout layout,
                   SessionLayout::plan(*model->model, config));
    *bytes = layout.total;
    return {};
  });
}

transom_status transom_session_create(const transom_model *model,
                                      const transom_session_options *options,
                                      transom_session **session) {
  return guarded([&]() -> Result<void> {
    if (session)
      *session = nullptr;
    if (!model || !session)
      return nullArgument(model ? "session" : "model");
    TRANSOM_ASSIGN(SessionConfig config, configFor(model, options));
    TRANSOM_ASSIGN(std::unique_ptr<Session> made,
                   Session::create(*model->model, config));
    *session = new transom_session{model->model, std::move(made), {}};
    return {};
  });
}

void transom_session_free(transom_session *session) {
  const HostCall call;
  if (session && session->lock.giveUp([&] { session->session->cancel(); }))
    delete session;
}

transom_status transom_session_shape(const transom_session *handle,
                                     const char *entry,
                                     const transom_tensor *inputs,
                                     size_t num_inputs, const char *name,
                                     transom_tensor *result) {
  return onSession(handle, [&](const Session &session) -> Result<void> {
    if (!result)
      return nullArgument("result");
    TRANSOM_TRY(checkArray("inputs", inputs, num_inputs));
    transom_tensor filled = *result;
    TRANSOM_TRY(session.shape(entry, inputs, num_inputs, name, filled));
    *result = filled;
    return {};
  });
}

transom_status transom_session_run(transom_session *handle, const char *entry,
                                   const transom_tensor *inputs,
                                   size_t num_inputs, transom_tensor *outputs,
                                   size_t num_outputs) {
  return onSession(handle, [&](Session &session) -> Result<void> {
    TRANSOM_TRY(checkArray("inputs", inputs, num_inputs));
    TRANSOM_TRY(checkArray("outputs", outputs, num_outputs));
    return session.run(entry, inputs, num_inputs, outputs, num_outputs);
  });
}

void transom_session_cancel(transom_session *session) {
  if (session)
    session->session->cancel();
}

transom_status transom_session_get_profile(const transom_session *handle,
                                           const int64_t **nanoseconds,
                                           size_t *count) {
  return onSession(handle, [&](const Session &session) -> Result<void> {
    if (!nanoseconds || !count)
      return nullArgument(nanoseconds ? "count" : "nanoseconds");
    size_t dispatches = 0;
    const int64_t *times = session.executor().profile(dispatches);
    if (!times)
      return usageError("the session does not record a profile");
    *nanoseconds = times;
    *count = dispatches;
    return {};
  });
}

transom_status transom_session_get_trace(const transom_session *handle,
                                         const transom_worker_time **times,
                                         size_t *num_dispatches,
                                         size_t *num_workers) {
  return onSession(handle, [&](const Session &session) -> Result<void> {
    if (!times || !num_dispatches || !num_workers)
      return nullArgument(!times            ? "times"
                          : !num_dispatches ? "num_dispatches"
                                            : "num_workers");
    size_t dispatches = 0;
    const transom_worker_time *found =
        session.executor().workerTimes(dispatches);
    if (!found)
      return usageError("the session does not record a trace");
    *times = found;
    *num_dispatches = dispatches;
    *num_workers = session.executor().config().threads;
    return {};
  });
}
