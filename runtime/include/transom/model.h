/* Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Compiled models: load a model, and ask for its properties, entry points and
 * their arguments.
 */
#ifndef TRANSOM_MODEL_H
#define TRANSOM_MODEL_H
#include "transom/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

/** A compiled model. It is immutable; many threads may use it at once. */
typedef struct transom_model transom_model;

/** Options of transom_model_load(). */
typedef struct transom_model_options {
  /** set by transom_model_options_default() */
  size_t struct_size;
  /** 1: read all weights from the file at load; 0 (default): at first use */
  uint32_t populate;
  /** 1: compare the weights with the SHA-256 in the manifest, which reads all
   * of them; 0 (default): trust them. Everything but the weights is always
   * compared. */
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

/** Loads a compiled model from a file, which runs its code: load files from
 * sources that you trust, as any shared library. The file's structure, size,
 * digest, ABI and manifest are checked before, which finds damage and other
 * versions, but not a file that is made to do harm. To replace the file of a
 * loaded model, rename a new file over it, and never write to it in place: the
 * process maps its pages. The model uses the best instruction set that the file
 * holds and this CPU runs, or the one that the environment variable
 * TRANSOM_FORCE_ISA names. `options` may be NULL. On error `model` is set to
 * NULL.
 * Errors: UNAVAILABLE (file missing or unreadable), REJECTED (truncated,
 * damaged, not a model, or of another ABI), UNSUPPORTED (no code for this
 * CPU). UNAVAILABLE also if memory runs out. */
TRANSOM_API transom_status
transom_model_load(const char *path, const transom_model_options *options,
                   transom_model **model);

/** Frees a model; NULL is allowed. Its sessions keep what they need of it, so
 * they may be freed before or after. Text that the model owns is freed with its
 * last session. */
TRANSOM_API void transom_model_free(transom_model *model);

/** Properties of a model. The model owns all text. */
typedef struct transom_model_info {
  /** set by transom_model_info_default() */
  size_t struct_size;
  /** name of the model */
  const char *name;
  /** model family, such as "bert" */
  const char *family;
  /** Hugging Face architecture, such as "BertModel" */
  const char *architecture;
  /** "none", "masked_lm", "sequence_classification", ... */
  const char *head;
  /** version of the compiler */
  const char *compiler;
  /** type of weights and products, the value of `--dtype`, such as "f32" */
  const char *dtype;
  /** instruction set in use, such as "avx512" */
  const char *isa;
  /** the whole manifest, JSON text */
  const char *manifest;
  /** size of the manifest in bytes */
  size_t manifest_size;
  /** number of weights */
  int64_t parameters;
  /** size of the packed weights in bytes */
  int64_t weights_bytes;
  /** number of entry points */
  size_t num_entries;
  /** number of labels; 0 without a classification head */
  size_t num_labels;
  /** floats of one text embedding; 0 if the model does not embed texts */
  size_t embedding_size;
  /** number of tokens of the tokenizer; 0 without one */
  size_t vocabulary_size;
  /** maximum number of tokens of a text, longer texts are truncated; 0 without
   * a tokenizer */
  size_t max_text_tokens;
  /** floats of the embedding of one token; 0 if the model does not embed the
   * tokens of texts */
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

/** Fills in the properties of a model. */
TRANSOM_API transom_status transom_model_get_info(const transom_model *model,
                                                  transom_model_info *info);

/** Returns the name of label `index`, or NULL if it does not exist. */
TRANSOM_API const char *transom_model_label(const transom_model *model,
                                            size_t index);

/** Properties of an entry point. */
typedef struct transom_entry_info {
  /** set by transom_entry_info_default() */
  size_t struct_size;
  /** name of the entry */
  const char *name;
  /** number of arguments */
  size_t num_inputs;
  /** number of results */
  size_t num_outputs;
  /** number of dispatches of a run, see transom_session_get_profile() */
  size_t num_dispatches;
  /** what it computes: "run", "encode", "embed", "rerank", "step", "logits",
   * "score" or "generate" */
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

/** Fills in the properties of entry `index`. USAGE if it does not exist. */
TRANSOM_API transom_status transom_model_get_entry(const transom_model *model,
                                                   size_t index,
                                                   transom_entry_info *info);

/** Properties of an argument or result of an entry. */
typedef struct transom_argument_info {
  /** set by transom_argument_info_default() */
  size_t struct_size;
  /** name of the argument */
  const char *name;
  /** element type; I64 arguments may also be given as I32 */
  transom_dtype dtype;
  /** number of dimensions */
  int32_t rank;
  /** each dimension: a number, a symbol or a polynomial in symbols */
  const char *dims[TRANSOM_MAX_RANK];
  /** 1: the argument may be left out */
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

/** Fills in the properties of argument `index` of an entry. The results follow
 * the arguments: result i has index num_inputs + i. USAGE if it does not exist.
 */
TRANSOM_API transom_status
transom_model_get_argument(const transom_model *model, const char *entry,
                           size_t index, transom_argument_info *info);

#ifdef __cplusplus
}
#endif
#endif
