// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The C API: converts structs and errors, lets no exception out. Option structs
// of an older caller are shorter than ours and keep our defaults; of a newer
// one they may only be longer by zeros.
#include "runtime/Model.h"
#include "runtime/Session.h"
#include "runtime/Tensor.h"
#include "runtime/Text.h"
#include "runtime/include/transom/transom.h"
#include "runtime/support/Checked.h"
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>

using namespace transom;

/// A loaded model, behind the handle.
struct transom_model {
  std::unique_ptr<Model> model;
};

/// A session, behind the handle.
struct transom_session {
  std::unique_ptr<Session> session;
};

static thread_local char lastError[2048] = "";

static transom_status fail(Status status, const std::string &message) {
  size_t size = std::min(message.size(), sizeof lastError - 1);
  std::memcpy(lastError, message.data(), size);
  lastError[size] = 0;
  return transom_status(int(status));
}

/// Runs the body of an API function, which gives a Result<void>.
template <typename Body> static transom_status guarded(Body body) {
  try {
    Result<void> result = body();
    if (result)
      return TRANSOM_OK;
    return fail(result.error().status, result.error().message);
  } catch (const std::bad_alloc &) {
    return fail(Status::Unavailable, "out of memory");
  } catch (...) {
    return fail(Status::Internal, "an unexpected exception");
  }
}

/// Copies the caller's options over the defaults.
template <typename T>
static Result<void> readOptions(const T *given, T &options) {
  if (!given)
    return {};
  size_t size = given->struct_size;
  if (size <= sizeof(size_t) || size > 65536)
    return usageError("struct_size is " + std::to_string(size) +
                      "; start from the struct's _default() function");
  auto bytes = reinterpret_cast<const char *>(given);
  if (size > sizeof(T) &&
      std::any_of(bytes + sizeof(T), bytes + size, [](char c) { return c; }))
    return usageError("the options are those of a newer version of transom");
  std::memcpy(&options, given, std::min(size, sizeof(T)));
  options.struct_size = sizeof(T);
  return {};
}

/// Gives the caller as much of `filled` as it knows of.
template <typename T> static Result<void> writeInfo(T filled, T *out) {
  size_t size = out ? out->struct_size : 0;
  if (size <= sizeof(size_t))
    return usageError("the info struct is missing or its struct_size is " +
                      std::to_string(size));
  filled.struct_size = size;
  std::memcpy(out, &filled, std::min(size, sizeof(T)));
  return {};
}

static Error nullArgument(const char *what) {
  return usageError(std::string("the argument '") + what + "' is NULL");
}

/// Copies text of any length, or says how long it is.
static Result<void> writeText(std::string_view from, char *to, size_t capacity,
                              size_t *size) {
  if (size)
    *size = from.size();
  if (from.size() > capacity || (!to && !from.empty()))
    return limitError(std::to_string(from.size()) +
                      " bytes of text do not fit into " +
                      std::to_string(capacity));
  std::copy(from.begin(), from.end(), to);
  return {};
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
  case TRANSOM_OK:
    return "ok";
  case TRANSOM_CHECK_FAILED:
    return "check failed";
  case TRANSOM_USAGE:
    return "usage";
  case TRANSOM_REJECTED:
    return "rejected";
  case TRANSOM_UNSUPPORTED:
    return "unsupported";
  case TRANSOM_LIMIT:
    return "limit";
  case TRANSOM_UNAVAILABLE:
    return "unavailable";
  case TRANSOM_INTERNAL:
    return "internal error";
  case TRANSOM_CANCELLED:
    return "cancelled";
  }
  return "unknown";
}

const char *transom_dtype_name(transom_dtype dtype) { return dtypeText(dtype); }

size_t transom_dtype_size(transom_dtype dtype) {
  switch (dtype) {
  case TRANSOM_I64:
    return 8;
  case TRANSOM_F32:
  case TRANSOM_I32:
    return 4;
  case TRANSOM_BF16:
  case TRANSOM_F16:
    return 2;
  case TRANSOM_BOOL:
    return 1;
  case TRANSOM_DTYPE_NONE:
    break;
  }
  return 0;
}

/// A zeroed struct that knows its size.
template <typename T> static T sized() {
  T value{};
  value.struct_size = sizeof(T);
  return value;
}

transom_model_options transom_model_options_default(void) {
  return sized<transom_model_options>();
}

transom_status transom_model_load(const char *path,
                                  const transom_model_options *given,
                                  transom_model **model) {
  return guarded([&]() -> Result<void> {
    if (!path || !model)
      return nullArgument(path ? "model" : "path");
    *model = nullptr;
    transom_model_options options = transom_model_options_default();
    if (Result<void> done = readOptions(given, options); !done)
      return done;
    const char *forced = std::getenv("TRANSOM_FORCE_ISA");
    Result<std::unique_ptr<Model>> loaded =
        Model::load(path, forced ? forced : "", options.populate != 0);
    if (!loaded)
      return loaded.takeError();
    *model = new transom_model{std::move(*loaded)};
    return {};
  });
}

void transom_model_free(transom_model *model) { delete model; }

transom_model_info transom_model_info_default(void) {
  return sized<transom_model_info>();
}

transom_status transom_model_get_info(const transom_model *handle,
                                      transom_model_info *info) {
  return guarded([&]() -> Result<void> {
    if (!handle)
      return nullArgument("model");
    const Model &model = *handle->model;
    const Manifest &manifest = model.manifest();
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
    filled.entry_count = model.entries().size();
    filled.label_count = manifest.labels.size();
    if (const Model::TextUse *use = model.embedding())
      filled.embedding_size = use->perToken ? size_t(use->width) : 0;
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

transom_entry_info transom_entry_info_default(void) {
  return sized<transom_entry_info>();
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
    filled.input_count = entries[index].inputs.size();
    filled.output_count = entries[index].outputs.size();
    filled.step_count = size_t(entries[index].code->step_count);
    return writeInfo(filled, info);
  });
}

transom_argument_info transom_argument_info_default(void) {
  return sized<transom_argument_info>();
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

transom_session_options transom_session_options_default(void) {
  auto options = sized<transom_session_options>();
  options.hold_results = -1;
  return options;
}

/// The session's configuration for a caller's options.
static Result<SessionConfig> configFor(const transom_model *model,
                                       const transom_session_options *given) {
  transom_session_options options = transom_session_options_default();
  if (Result<void> done = readOptions(given, options); !done)
    return done.takeError();
  return SessionConfig::from(*model->model, &options);
}

transom_status transom_memory(const transom_model *model,
                              const transom_session_options *options,
                              uint64_t *bytes) {
  return guarded([&]() -> Result<void> {
    if (!model || !bytes)
      return nullArgument(model ? "bytes" : "model");
    Result<SessionConfig> config = configFor(model, options);
    if (!config)
      return config.takeError();
    config->memLimit = UINT64_MAX;
    Result<SessionLayout> layout = SessionLayout::plan(*model->model, *config);
    if (!layout)
      return layout.takeError();
    *bytes = layout->total;
    return {};
  });
}

transom_status transom_session_create(const transom_model *model,
                                      const transom_session_options *options,
                                      transom_session **session) {
  return guarded([&]() -> Result<void> {
    if (!model || !session)
      return nullArgument(model ? "session" : "model");
    *session = nullptr;
    Result<SessionConfig> config = configFor(model, options);
    if (!config)
      return config.takeError();
    Result<std::unique_ptr<Session>> made =
        Session::create(*model->model, *config);
    if (!made)
      return made.takeError();
    *session = new transom_session{std::move(*made)};
    return {};
  });
}

void transom_session_free(transom_session *session) { delete session; }

transom_status transom_shape(const transom_session *session, const char *entry,
                             const transom_tensor *inputs, size_t input_count,
                             const char *name, transom_tensor *result) {
  return guarded([&]() -> Result<void> {
    if (!session || !result || (input_count && !inputs))
      return nullArgument(!session ? "session" : !result ? "result" : "inputs");
    return session->session->shape(entry, inputs, input_count, name, *result);
  });
}

transom_status transom_run(transom_session *session, const char *entry,
                           const transom_tensor *inputs, size_t input_count,
                           transom_tensor *outputs, size_t output_count) {
  return guarded([&]() -> Result<void> {
    if (!session || (input_count && !inputs) || (output_count && !outputs))
      return nullArgument(!session                   ? "session"
                          : (input_count && !inputs) ? "inputs"
                                                     : "outputs");
    return session->session->run(entry, inputs, input_count, outputs,
                                 output_count);
  });
}

void transom_cancel(transom_session *session) {
  if (session)
    session->session->cancel();
}

transom_status transom_session_profile(const transom_session *session,
                                       const int64_t **nanoseconds,
                                       size_t *count) {
  return guarded([&]() -> Result<void> {
    if (!session || !nanoseconds || !count)
      return nullArgument(!session ? "session" : "nanoseconds");
    *nanoseconds = session->session->profile(*count);
    if (!*nanoseconds)
      return usageError("the session does not record a profile");
    return {};
  });
}

transom_tokenize_options transom_tokenize_options_default(void) {
  return sized<transom_tokenize_options>();
}

/// Gives the caller an encoding's tokens.
static Result<void> writeTokens(const Encoding &encoding, transom_token *tokens,
                                size_t capacity, size_t *count) {
  size_t size = encoding.ids.size();
  *count = size;
  if (size > capacity || (size && !tokens))
    return limitError(std::to_string(size) + " tokens do not fit into " +
                      std::to_string(capacity));
  for (size_t i = 0; i != size; ++i)
    tokens[i] = {encoding.ids[i], encoding.typeIds[i],
                 encoding.offsets[i].begin, encoding.offsets[i].end,
                 encoding.specialMask[i]};
  return {};
}

transom_status transom_tokenize(const transom_model *model,
                                const transom_text *text,
                                const transom_text *pair,
                                const transom_tokenize_options *given,
                                transom_token *tokens, size_t capacity,
                                size_t *count, uint32_t *cut) {
  return guarded([&]() -> Result<void> {
    if (!model || !text || !count)
      return nullArgument(!model ? "model" : !text ? "text" : "count");
    transom_tokenize_options options = transom_tokenize_options_default();
    if (Result<void> done = readOptions(given, options); !done)
      return done;
    Result<Encoding> encoding = encodeText(*model->model, *text, pair, options);
    if (!encoding)
      return encoding.takeError();
    if (cut)
      *cut = encoding->truncatedTokens != 0;
    return writeTokens(*encoding, tokens, capacity, count);
  });
}

transom_status transom_detokenize(const transom_model *model,
                                  const int64_t *ids, size_t count,
                                  uint32_t skip_special, char *text,
                                  size_t capacity, size_t *size) {
  return guarded([&]() -> Result<void> {
    if (!model || !size || (count && !ids))
      return nullArgument(!model ? "model" : !size ? "size" : "ids");
    if (!model->model->tokenizer())
      return unsupported("the model has no tokenizer");
    std::vector<int64_t> list(ids, ids + count);
    Result<std::string> decoded =
        model->model->tokenizer()->decode(list, skip_special != 0);
    if (!decoded)
      return decoded.takeError();
    return writeText(*decoded, text, capacity, size);
  });
}

transom_status transom_token_text(const transom_model *model, int64_t id,
                                  char *text, size_t capacity, size_t *size) {
  return guarded([&]() -> Result<void> {
    if (!model || !size)
      return nullArgument(model ? "size" : "model");
    if (!model->model->tokenizer())
      return unsupported("the model has no tokenizer");
    auto token = model->model->tokenizer()->token(id);
    if (!token)
      return rejected("the tokenizer has no token of id " + std::to_string(id));
    return writeText(*token, text, capacity, size);
  });
}

transom_embed_options transom_embed_options_default(void) {
  auto options = sized<transom_embed_options>();
  options.normalize = -1;
  return options;
}

/// Checks that `count` rows of `width` floats fit.
static Result<void> checkRoom(const char *what, size_t count, size_t width,
                              const float *data, size_t capacity) {
  CheckedSize bytes = CheckedSize(count) * width * sizeof(float);
  if (!bytes.value() || *bytes.value() > capacity || (count && !data))
    return rejected(std::string(what) + " need " + std::to_string(count) +
                    " times " + std::to_string(width) + " floats, room for " +
                    std::to_string(data ? capacity / sizeof(float) : 0) +
                    " is given");
  return {};
}

transom_status transom_embed_texts(transom_session *session,
                                   const transom_text *texts, size_t count,
                                   const transom_embed_options *given,
                                   float *embeddings, size_t capacity,
                                   size_t *cut) {
  return guarded([&]() -> Result<void> {
    if (!session || (count && !texts))
      return nullArgument(session ? "texts" : "session");
    transom_embed_options options = transom_embed_options_default();
    if (Result<void> done = readOptions(given, options); !done)
      return done;
    const Model::TextUse *use = session->session->model().embedding();
    if (Result<void> done =
            checkRoom("embeddings", count, use ? size_t(use->width) : 0,
                      embeddings, capacity);
        !done)
      return done;
    size_t cutTexts = 0;
    Result<void> done = embedTexts(*session->session, texts, count, options,
                                   embeddings, cutTexts);
    if (cut)
      *cut = cutTexts;
    return done;
  });
}

transom_status transom_classify_texts(transom_session *session,
                                      const transom_text *texts,
                                      const transom_text *pairs, size_t count,
                                      float *scores, size_t capacity,
                                      size_t *cut) {
  return guarded([&]() -> Result<void> {
    if (!session || (count && !texts))
      return nullArgument(session ? "texts" : "session");
    const Model::TextUse *use = session->session->model().classification();
    if (Result<void> done = checkRoom(
            "scores", count, use ? size_t(use->width) : 0, scores, capacity);
        !done)
      return done;
    size_t cutTexts = 0;
    Result<void> done =
        classifyTexts(*session->session, texts, pairs, count, scores, cutTexts);
    if (cut)
      *cut = cutTexts;
    return done;
  });
}

transom_status transom_classify_tokens(transom_session *session,
                                       const transom_text *text,
                                       transom_token *tokens,
                                       size_t token_capacity, float *scores,
                                       size_t *token_count, uint32_t *cut) {
  return guarded([&]() -> Result<void> {
    if (!session || !text || !token_count)
      return nullArgument(!session ? "session"
                          : !text  ? "text"
                                   : "token_count");
    Encoding encoding;
    std::vector<float> values;
    if (Result<void> done =
            classifyTokens(*session->session, *text, encoding, values);
        !done)
      return done;
    if (cut)
      *cut = encoding.truncatedTokens != 0;
    if (Result<void> done =
            writeTokens(encoding, tokens, token_capacity, token_count);
        !done)
      return done;
    if (!scores && !values.empty())
      return nullArgument("scores");
    std::copy(values.begin(), values.end(), scores);
    return {};
  });
}
