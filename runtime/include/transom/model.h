/* Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Compiled models: loading, properties, entry points and their arguments.
 */
#ifndef TRANSOM_MODEL_H
#define TRANSOM_MODEL_H
#include "transom/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

/** A compiled model. It is immutable; threads may share it. */
typedef struct transom_model transom_model;

/** Options for transom_model_load(). */
typedef struct transom_model_options {
  /** set by transom_model_options_default() */
  size_t struct_size;
  /** 1: read all weights from the file at load; 0 (default): at first use */
  uint32_t populate;
  /** 1: check the weights against the SHA-256 in the manifest, which reads them
   * all; 0 (default): trust the weights. All other data is always checked. */
  uint32_t verify_weights;
} transom_model_options;

/** Initializes options of `struct_size` bytes, as
 * transom_model_options_default() does. */
TRANSOM_API void transom_model_options_init(transom_model_options *options,
                                            size_t struct_size);

/** Returns the default options. */
static inline transom_model_options transom_model_options_default(void) {
  transom_model_options options;
  transom_model_options_init(&options, sizeof options);
  return options;
}

/** Loads a compiled model from a file. The file contains code that runs in this
 * process: like any shared library, load it only from sources that you trust.
 * Its structure, size, digest, ABI and manifest are checked before, which
 * detects damage and other versions but not malicious files. To replace the
 * file while a model is loaded, rename a new file over it; never write to it in
 * place, because the process maps its pages. The model uses the best
 * instruction set that the file contains and this CPU supports, or the one in
 * the environment variable TRANSOM_FORCE_ISA. `options` may be NULL. On error
 * `model` is set to NULL.
 * Errors: UNAVAILABLE (the file is missing or unreadable, or memory runs out),
 * REJECTED (truncated, damaged, not a model, or another ABI version),
 * UNSUPPORTED (no code for this CPU). */
TRANSOM_API transom_status
transom_model_load(const char *path, const transom_model_options *options,
                   transom_model **model);

/** Frees a model; NULL is allowed. Sessions share ownership of its data, so
 * they may be freed before or after the model. Strings that the model owns are
 * freed with its last session. */
TRANSOM_API void transom_model_free(transom_model *model);

/** Model properties. The model owns all strings. */
typedef struct transom_model_info {
  /** set by transom_model_info_default() */
  size_t struct_size;
  /** model name */
  const char *name;
  /** model family, such as "bert" */
  const char *family;
  /** Hugging Face architecture, such as "BertModel" */
  const char *architecture;
  /** "none", "masked_lm", "sequence_classification", ... */
  const char *head;
  /** compiler version */
  const char *compiler;
  /** weight and GEMM type, the value of `--dtype`, such as "f32" */
  const char *dtype;
  /** instruction set in use, such as "avx512" */
  const char *isa;
  /** the whole manifest as JSON */
  const char *manifest;
  /** manifest size in bytes */
  size_t manifest_size;
  /** weight elements in the model */
  int64_t parameters;
  /** packed weight size in bytes */
  int64_t weights_bytes;
  /** entry point count */
  size_t num_entries;
  /** label count; 0 without a classification head */
  size_t num_labels;
  /** text embedding size in elements; 0 if the model does not embed texts */
  size_t embedding_size;
  /** tokenizer vocabulary size in tokens; 0 without a tokenizer */
  size_t vocabulary_size;
  /** maximum text length in tokens, longer texts are truncated; 0 without a
   * tokenizer */
  size_t max_text_tokens;
  /** token embedding size in elements; 0 if the model does not embed the tokens
   * of texts */
  size_t token_embedding_size;
} transom_model_info;

/** Initializes an info struct of `struct_size` bytes, as
 * transom_model_info_default() does. */
TRANSOM_API void transom_model_info_init(transom_model_info *info,
                                         size_t struct_size);

/** Returns an info struct to be filled in. */
static inline transom_model_info transom_model_info_default(void) {
  transom_model_info info;
  transom_model_info_init(&info, sizeof info);
  return info;
}

/** Fills in the model properties. */
TRANSOM_API transom_status transom_model_get_info(const transom_model *model,
                                                  transom_model_info *info);

/** Returns the name of label `index`, or NULL if it does not exist. */
TRANSOM_API const char *transom_model_label(const transom_model *model,
                                            size_t index);

/** Entry point properties. */
typedef struct transom_entry_info {
  /** set by transom_entry_info_default() */
  size_t struct_size;
  /** entry name */
  const char *name;
  /** argument count */
  size_t num_inputs;
  /** result count */
  size_t num_outputs;
  /** dispatches per run, see transom_session_get_profile() */
  size_t num_dispatches;
  /** computation: "run", "encode", "embed", "rerank", "step", "logits", "score"
   * or "generate" */
  const char *kind;
} transom_entry_info;

/** Initializes an info struct of `struct_size` bytes, as
 * transom_entry_info_default() does. */
TRANSOM_API void transom_entry_info_init(transom_entry_info *info,
                                         size_t struct_size);

/** Returns an info struct to be filled in. */
static inline transom_entry_info transom_entry_info_default(void) {
  transom_entry_info info;
  transom_entry_info_init(&info, sizeof info);
  return info;
}

/** Fills in the properties for entry `index`. USAGE if it is out of range. */
TRANSOM_API transom_status transom_model_get_entry(const transom_model *model,
                                                   size_t index,
                                                   transom_entry_info *info);

/** Properties of an entry's argument or result. */
typedef struct transom_argument_info {
  /** set by transom_argument_info_default() */
  size_t struct_size;
  /** argument name */
  const char *name;
  /** element type; I64 arguments also accept I32 */
  transom_dtype dtype;
  /** tensor rank */
  int32_t rank;
  /** each dimension: an integer, a symbol or a polynomial in symbols */
  const char *dims[TRANSOM_MAX_RANK];
  /** 1: the argument may be omitted */
  uint32_t optional;
} transom_argument_info;

/** Initializes an info struct of `struct_size` bytes, as
 * transom_argument_info_default() does. */
TRANSOM_API void transom_argument_info_init(transom_argument_info *info,
                                            size_t struct_size);

/** Returns an info struct to be filled in. */
static inline transom_argument_info transom_argument_info_default(void) {
  transom_argument_info info;
  transom_argument_info_init(&info, sizeof info);
  return info;
}

/** Fills in the properties of an entry's argument `index`. Results follow the
 * arguments: result i has index num_inputs + i. USAGE if `index` is out of
 * range. */
TRANSOM_API transom_status
transom_model_get_argument(const transom_model *model, const char *entry,
                           size_t index, transom_argument_info *info);

#ifdef __cplusplus
}
#endif
#endif
