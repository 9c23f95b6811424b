/* Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The C API of transom: load a compiled model, make a session, run its entry
 * points on tensors or texts. Plain C99, also for C++. Every call that can fail
 * returns a transom_status and leaves one line of text in transom_last_error().
 * Within one major version things are only ever added at the end.
 */
#ifndef TRANSOM_TRANSOM_H
#define TRANSOM_TRANSOM_H
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define TRANSOM_API __attribute__((visibility("default")))
#else
#define TRANSOM_API
#endif

/** Version of this header. */
#define TRANSOM_VERSION_MAJOR 0
#define TRANSOM_VERSION_MINOR 1
#define TRANSOM_VERSION_PATCH 0

/** Most dimensions that a tensor has. */
#define TRANSOM_MAX_RANK 8

/** What a call came to; the numbers are also the exit codes of the tool. */
typedef enum transom_status {
  /** done */
  TRANSOM_OK = 0,
  /** a check failed */
  TRANSOM_CHECK_FAILED = 1,
  /** a wrong argument, or an entry that the model does not have */
  TRANSOM_USAGE = 2,
  /** malformed or inconsistent file, tensor or text */
  TRANSOM_REJECTED = 3,
  /** well-formed but not built; no code for this CPU; no tokenizer */
  TRANSOM_UNSUPPORTED = 4,
  /** refused, nothing was changed: over a maximum or the planned memory */
  TRANSOM_LIMIT = 5,
  /** file missing or unreadable, memory not to be had */
  TRANSOM_UNAVAILABLE = 6,
  /** a bug of transom */
  TRANSOM_INTERNAL = 70,
  /** transom_cancel() was called */
  TRANSOM_CANCELLED = 130
} transom_status;

/** Element types. */
typedef enum transom_dtype {
  /** not given */
  TRANSOM_DTYPE_NONE = 0,
  /** 32-bit float */
  TRANSOM_F32 = 1,
  /** bfloat16 */
  TRANSOM_BF16 = 2,
  /** IEEE half */
  TRANSOM_F16 = 3,
  /** signed 64-bit integer */
  TRANSOM_I64 = 4,
  /** signed 32-bit integer */
  TRANSOM_I32 = 5,
  /** one byte, 0 or 1 */
  TRANSOM_BOOL = 6
} transom_dtype;

/** A compiled model; immutable, may be used by many threads at once. */
typedef struct transom_model transom_model;

/** Memory and threads to run a model with; used by one thread at a time. */
typedef struct transom_session transom_session;

/** A tensor in the caller's memory. */
typedef struct transom_tensor {
  /** name of the entry's argument or result */
  const char *name;
  /** element type; of a result NONE is also right, and is filled in */
  transom_dtype dtype;
  /** number of dimensions; of a result it is filled in */
  int32_t rank;
  /** dimensions; of a result they are filled in */
  int64_t shape[TRANSOM_MAX_RANK];
  /** in elements, not negative; all 0: dense, row-major */
  int64_t strides[TRANSOM_MAX_RANK];
  /** first element; inputs are only read */
  void *data;
  /** bytes that may be used from `data` on */
  size_t capacity;
} transom_tensor;

/** A piece of UTF-8 text. */
typedef struct transom_text {
  /** first byte; need not end with 0 */
  const char *data;
  /** bytes */
  size_t size;
} transom_text;

/* --- about this library ------------------------------------------------ */

/** The version of the library, such as "0.1.0". */
TRANSOM_API const char *transom_version(void);

/** One line about what went wrong in the last call of this thread that failed;
 * "" when none did. Valid until the thread's next call. */
TRANSOM_API const char *transom_last_error(void);

/** A status in a word or two, such as "rejected". */
TRANSOM_API const char *transom_status_name(transom_status status);

/** A dtype's name, such as "f32"; "none" when it is none. */
TRANSOM_API const char *transom_dtype_name(transom_dtype dtype);

/** Bytes of one element, 0 when the dtype is none. */
TRANSOM_API size_t transom_dtype_size(transom_dtype dtype);

/* --- models ------------------------------------------------------------ */

/** How to load a model. */
typedef struct transom_model_options {
  /** set by transom_model_options_default() */
  size_t struct_size;
  /** 1: read all weights from the file now and not at first use */
  uint32_t populate;
} transom_model_options;

/** The options that suit most. */
TRANSOM_API transom_model_options transom_model_options_default(void);

/** Loads a compiled model. The file's structure, size, ABI and manifest are
 * checked before anything of it is mapped as code. The instruction set is the
 * best that the file holds and this CPU runs, or the one that the environment
 * variable TRANSOM_FORCE_ISA names. `options` may be NULL.
 * Errors: UNAVAILABLE (no such file), REJECTED (truncated, not a model, another
 * ABI), UNSUPPORTED (no code for this CPU). */
TRANSOM_API transom_status
transom_model_load(const char *path, const transom_model_options *options,
                   transom_model **model);

/** Frees a model (NULL is fine). Its sessions must have been freed before. */
TRANSOM_API void transom_model_free(transom_model *model);

/** What a model is. All text belongs to the model. */
typedef struct transom_model_info {
  /** set by transom_model_info_default() */
  size_t struct_size;
  /** the model's name */
  const char *name;
  /** such as "bert" */
  const char *family;
  /** such as "BertModel" */
  const char *architecture;
  /** "none", "masked_lm", "sequence_classification", ... */
  const char *head;
  /** version of the compiler */
  const char *compiler;
  /** type of the arithmetic, such as "f32" */
  const char *dtype;
  /** instruction set in use, such as "avx512" */
  const char *isa;
  /** the whole manifest, JSON text */
  const char *manifest;
  /** its bytes */
  size_t manifest_size;
  /** number of weights */
  int64_t parameters;
  /** bytes of the packed weights */
  int64_t weights_bytes;
  /** number of entry points */
  size_t entry_count;
  /** number of labels, 0 without such a head */
  size_t label_count;
  /** floats of one embedding, 0 where texts cannot be embedded */
  size_t embedding_size;
  /** tokens of the tokenizer, 0 without one */
  size_t vocabulary_size;
  /** texts are cut to so many tokens; 0 without a tokenizer */
  size_t max_text_tokens;
} transom_model_info;

/** An info struct to be filled. */
TRANSOM_API transom_model_info transom_model_info_default(void);

/** Fills in what a model is. */
TRANSOM_API transom_status transom_model_get_info(const transom_model *model,
                                                  transom_model_info *info);

/** The name of label `index`, NULL when there is none. */
TRANSOM_API const char *transom_model_label(const transom_model *model,
                                            size_t index);

/** What an entry point is. */
typedef struct transom_entry_info {
  /** set by transom_entry_info_default() */
  size_t struct_size;
  /** its name */
  const char *name;
  /** number of arguments */
  size_t input_count;
  /** number of results */
  size_t output_count;
  /** number of steps of a run, as counted by transom_session_profile() */
  size_t step_count;
} transom_entry_info;

/** An info struct to be filled. */
TRANSOM_API transom_entry_info transom_entry_info_default(void);

/** Fills in what entry `index` is. */
TRANSOM_API transom_status transom_model_get_entry(const transom_model *model,
                                                   size_t index,
                                                   transom_entry_info *info);

/** What an argument or result of an entry is. */
typedef struct transom_argument_info {
  /** set by transom_argument_info_default() */
  size_t struct_size;
  /** its name */
  const char *name;
  /** its type; I64 arguments may also be given as I32 */
  transom_dtype dtype;
  /** number of dimensions */
  int32_t rank;
  /** each dimension: a number, a symbol or a polynomial in symbols */
  const char *dims[TRANSOM_MAX_RANK];
  /** 1: an argument that may be left out */
  uint32_t optional;
} transom_argument_info;

/** An info struct to be filled. */
TRANSOM_API transom_argument_info transom_argument_info_default(void);

/** Fills in what argument `index` of an entry is; results follow the arguments.
 */
TRANSOM_API transom_status
transom_model_get_argument(const transom_model *model, const char *entry,
                           size_t index, transom_argument_info *info);

/* --- sessions ---------------------------------------------------------- */

/** Work that a host runs: share `index` of `count`. */
typedef void (*transom_task)(void *arg, size_t index);

/** A host's way to run work: calls `task(arg, i)` once for each i below
 * `count`, in any order and on any number of threads, and returns when all
 * calls have returned. */
typedef void (*transom_parallel)(void *context, size_t count, transom_task task,
                                 void *arg);

/** What a session may be asked to do. 0 means the default. */
typedef struct transom_session_options {
  /** set by transom_session_options_default() */
  size_t struct_size;
  /** threads, the caller's among them, but never more than there are CPUs in
   * the affinity mask; with `parallel`, shares per step. Default: physical
   * cores in the affinity mask within the cgroup's quota */
  uint32_t threads;
  /** most sequences of one run; default 8 */
  uint32_t max_batch;
  /** most rows of one run, all sequences together. Rows are real tokens where
   * the model removes padding, else positions. Default: max_batch times the
   * model's maximum length, at most 4096. For models with a cache: rows that
   * are computed at once, which bounds no call; default 1024 */
  uint64_t max_tokens;
  /** for models with a cache: sequences in it; default max_batch */
  uint32_t max_sequences;
  /** for models with a cache: positions in it, of all sequences together. Each
   * sequence has blocks of 256 of its own, and shares blocks with its copies.
   * Layers with a sliding window take the positions of the windows only.
   * Default: max_sequences times the model's context, or times 4096 where the
   * model has no limit. Memory of the cache is counted at once and taken from
   * the system as it is used */
  uint64_t max_kv_tokens;
  /** most bytes the session may take; default: no limit */
  uint64_t mem_limit;
  /** the host's threads; then none are started */
  transom_parallel parallel;
  /** handed to `parallel` */
  void *parallel_context;
  /** 1: keep room for results with strides and for results that a run leaves
   * out; 0: no; -1 (default): where texts can be embedded or classified */
  int32_t hold_results;
  /** 1: record the time of each step; 2: also of each share of a step */
  uint32_t profile;
} transom_session_options;

/** The options that suit most. */
TRANSOM_API transom_session_options transom_session_options_default(void);

/** Raises max_batch and max_tokens of `options`, and for models with a cache
 * max_sequences and max_kv_tokens, as far as a run of `entry` on inputs of
 * these shapes needs (of `generate` without its new tokens); their data is not
 * read. Call it for each kind of run. Errors as of transom_run() for wrong
 * inputs. */
TRANSOM_API transom_status transom_session_options_fit(
    const transom_model *model, const char *entry, const transom_tensor *inputs,
    size_t input_count, transom_session_options *options);

/** The bytes that a session with these options takes: exactly what
 * transom_session_create() maps (stacks of threads apart, and
 * what oneDNN takes by itself in a model of that backend). */
TRANSOM_API transom_status
transom_memory(const transom_model *model,
               const transom_session_options *options, uint64_t *bytes);

/** Makes a session: takes all its memory and starts its threads. `options` may
 * be NULL. Errors: USAGE (numbers that make no sense), LIMIT (over mem_limit,
 * or more than the system gives), UNAVAILABLE (threads not to be had). */
TRANSOM_API transom_status transom_session_create(
    const transom_model *model, const transom_session_options *options,
    transom_session **session);

/** Ends the session's threads and frees it (NULL is fine). */
TRANSOM_API void transom_session_free(transom_session *session);

/* --- running ----------------------------------------------------------- */

/** The shape of result `name` of `entry` for inputs of these shapes; their data
 * is not read. Fills `result`'s dtype, rank and shape, and `capacity` with the
 * bytes that it needs dense. */
TRANSOM_API transom_status transom_shape(const transom_session *session,
                                         const char *entry,
                                         const transom_tensor *inputs,
                                         size_t input_count, const char *name,
                                         transom_tensor *result);

/** Runs an entry. Inputs are found by name, in any order; results too. A result
 * may be left out when the session holds results. On success each result's
 * dtype, rank and shape are filled in. On an error no result was touched, but
 * for CANCELLED, and for a decoder whose logits turn out to be no numbers.
 * Allocates nothing. Entries of a decoder take sequences of the cache for the
 * time of the call. */
TRANSOM_API transom_status transom_run(
    transom_session *session, const char *entry, const transom_tensor *inputs,
    size_t input_count, transom_tensor *outputs, size_t output_count);

/* --- steps of a decoder ------------------------------------------------ */

/* A sequence that is not open, and a model that is no decoder, is USAGE in all
 * of these calls. What is refused changes nothing. */

/** What the decoder of a session holds. */
typedef struct transom_decoder_info {
  /** set by transom_decoder_info_default() */
  size_t struct_size;
  /** most positions of a sequence, 0 where the model has no limit */
  int64_t context;
  /** ids are below it */
  int64_t vocabulary;
  /** floats of one row of logits */
  int64_t width;
  /** sequences of the session */
  int64_t max_sequences;
  /** those that are not in use */
  int64_t free_sequences;
  /** positions in the cache's blocks */
  int64_t positions;
  /** positions in blocks that no sequence uses */
  int64_t free_positions;
} transom_decoder_info;

/** An info struct to be filled. */
TRANSOM_API transom_decoder_info transom_decoder_info_default(void);

/** Fills in what a session's decoder holds; USAGE when its model has none. */
TRANSOM_API transom_status transom_session_decoder(
    const transom_session *session, transom_decoder_info *info);

/** Begins a sequence: a past of tokens in the session's cache, empty at first.
 * LIMIT when all max_sequences are in use. */
TRANSOM_API transom_status transom_sequence_create(transom_session *session,
                                                   int32_t *sequence);

/** Ends a sequence; what it has in the cache is free again, and its number may
 * stand for a new one. */
TRANSOM_API transom_status transom_sequence_free(transom_session *session,
                                                 int32_t sequence);

/** Begins a sequence with the past of another. They share memory until one goes
 * on, and even then all but the last block. LIMIT when all max_sequences are in
 * use. */
TRANSOM_API transom_status transom_sequence_copy(transom_session *session,
                                                 int32_t sequence,
                                                 int32_t *copy);

/** The number of tokens of a sequence. */
TRANSOM_API transom_status transom_sequence_length(
    const transom_session *session, int32_t sequence, int64_t *length);

/** Drops all tokens of a sequence but the first `length`, which is 0 to all of
 * them (else USAGE). LIMIT where a sliding window has dropped what would be
 * seen again. Back to 0 is always right; so is back to the length before the
 * last step unless that was cut (max_tokens), or the cache ran full or the
 * sequence came from a file since. */
TRANSOM_API transom_status transom_sequence_rewind(transom_session *session,
                                                   int32_t sequence,
                                                   int64_t length);

/** Writes a sequence to a file, whole or not at all. UNAVAILABLE when it cannot
 * be written. */
TRANSOM_API transom_status transom_sequence_save(const transom_session *session,
                                                 int32_t sequence,
                                                 const char *path);

/** Begins a sequence with the past that a file holds, for the same model
 * compiled by the same version. REJECTED when the file is that of another model
 * or broken, LIMIT when there is no room, UNAVAILABLE when it cannot be read.
 */
TRANSOM_API transom_status transom_sequence_load(transom_session *session,
                                                 const char *path,
                                                 int32_t *sequence);

/** New tokens of one sequence. */
typedef struct transom_step_rows {
  /** which stands once in a step */
  int32_t sequence;
  /** ids [count] */
  const int64_t *tokens;
  /** 1 or more */
  int64_t count;
  /** logits of so many of the last tokens are wanted, 0 to count */
  int64_t wanted;
} transom_step_rows;

/** Appends tokens to sequences and computes logits: `logits` gets a row of
 * `width` floats for each wanted token, in the order of `rows`; `capacity` is
 * in bytes. A token's logits have the same bits however its past was cut into
 * steps and whatever else is in the step; once a token gives no numbers, those
 * beside it in the step may not either. Allocates nothing. REJECTED: no tokens,
 * ids out of range, a sequence twice, logits that do not fit `capacity`; LIMIT:
 * over the model's context, or the cache is full; CANCELLED: sequences are as
 * they were, `logits` may be written. */
TRANSOM_API transom_status transom_step(transom_session *session,
                                        const transom_step_rows *rows,
                                        size_t count, float *logits,
                                        size_t capacity);

/** Makes the call in progress, or else the next one, return CANCELLED at its
 * next step. The only call that another thread may make on a session. */
TRANSOM_API void transom_cancel(transom_session *session);

/** The nanoseconds that each step of the last run took, in the manifest's
 * order; needs `profile`. They belong to the session. */
TRANSOM_API transom_status transom_session_profile(
    const transom_session *session, const int64_t **nanoseconds, size_t *count);

/** When a share of a step began and ended: nanoseconds of CLOCK_MONOTONIC. */
typedef struct transom_share {
  /** its begin */
  int64_t begin;
  /** its end */
  int64_t end;
} transom_share;

/** The shares of the last run: share `p` of step `s` is shares[s * parts + p].
 * Needs `profile` 2. They belong to the session. */
TRANSOM_API transom_status transom_session_trace(const transom_session *session,
                                                 const transom_share **shares,
                                                 size_t *steps, size_t *parts);

/* --- texts ------------------------------------------------------------- */

/** One token of a text. */
typedef struct transom_token {
  /** its id */
  int64_t id;
  /** 0, or 1 in the second text of a pair */
  int64_t type;
  /** first byte in its text */
  size_t begin;
  /** byte behind its last; begin == end where it stands for no byte */
  size_t end;
  /** 1: added by the tokenizer's template */
  uint32_t special;
} transom_token;

/** How to turn a text into tokens. */
typedef struct transom_tokenize_options {
  /** set by transom_tokenize_options_default() */
  size_t struct_size;
  /** 1: without the tokens of the template */
  uint32_t no_special;
  /** 1: never cut */
  uint32_t no_truncation;
} transom_tokenize_options;

/** The options that suit most. */
TRANSOM_API transom_tokenize_options transom_tokenize_options_default(void);

/** Turns a text, or a pair of texts (`pair` may be NULL), into tokens. Writes
 * at most `capacity` of them and always the true number into `count`; LIMIT
 * when they do not fit. `cut` (may be NULL) is set to 1 when the text was cut.
 */
TRANSOM_API transom_status transom_tokenize(
    const transom_model *model, const transom_text *text,
    const transom_text *pair, const transom_tokenize_options *options,
    transom_token *tokens, size_t capacity, size_t *count, uint32_t *cut);

/** Turns ids into text. Writes at most `capacity` bytes (no 0 behind them) and
 * always the true number into `size`; LIMIT when they do not fit. Tokens of the
 * template are left out when `skip_special` is 1. */
TRANSOM_API transom_status transom_detokenize(const transom_model *model,
                                              const int64_t *ids, size_t count,
                                              uint32_t skip_special, char *text,
                                              size_t capacity, size_t *size);

/** The spelling of one token in the vocabulary. As transom_detokenize(). */
TRANSOM_API transom_status transom_token_text(const transom_model *model,
                                              int64_t id, char *text,
                                              size_t capacity, size_t *size);

/** How the rows of a text become one vector. */
typedef enum transom_pooling {
  /** as the model says */
  TRANSOM_POOLING_MODEL = 0,
  /** mean of all its tokens */
  TRANSOM_POOLING_MEAN = 1,
  /** its first token */
  TRANSOM_POOLING_CLS = 2
} transom_pooling;

/** How to embed texts. */
typedef struct transom_embed_options {
  /** set by transom_embed_options_default() */
  size_t struct_size;
  /** default: as the model says */
  transom_pooling pooling;
  /** 1: to length one, 0: not, -1 (default): as the model says */
  int32_t normalize;
} transom_embed_options;

/** The options that suit most. */
TRANSOM_API transom_embed_options transom_embed_options_default(void);

/** Embeds texts: `embeddings` is [count, embedding_size], dense. Texts are cut
 * to the model's maximum; `cut` (may be NULL) counts those that were. A text's
 * embedding has the same bits alone and in any company. */
TRANSOM_API transom_status
transom_embed_texts(transom_session *session, const transom_text *texts,
                    size_t count, const transom_embed_options *options,
                    float *embeddings, size_t capacity, size_t *cut);

/** Classifies texts, or pairs of texts (`pairs` may be NULL, and so may a
 * pair's data): `scores` is [count, label_count], dense; probabilities by
 * softmax, by sigmoid where labels are independent of each other; of a
 * regression the values themselves. Capacity is in bytes. */
TRANSOM_API transom_status transom_classify_texts(transom_session *session,
                                                  const transom_text *texts,
                                                  const transom_text *pairs,
                                                  size_t count, float *scores,
                                                  size_t capacity, size_t *cut);

/** Classifies the tokens of one text: `tokens` gets the tokens as from
 * transom_tokenize(), `scores` [token_capacity, label_count] their
 * probabilities. LIMIT when more than `token_capacity` tokens are needed
 * (`token_count` says how many). */
TRANSOM_API transom_status transom_classify_tokens(
    transom_session *session, const transom_text *text, transom_token *tokens,
    size_t token_capacity, float *scores, size_t *token_count, uint32_t *cut);

/* --- generation and scoring -------------------------------------------- */

/** A token and the logarithm of its probability. */
typedef struct transom_token_logprob {
  /** its id */
  int64_t id;
  /** natural logarithm */
  double logprob;
} transom_token_logprob;

/** What is added to the logit of a token. */
typedef struct transom_logit_bias {
  /** its id, one of the vocabulary */
  int64_t id;
  /** in [-1e6, 1e6]; minus infinity: never chosen */
  double bias;
} transom_logit_bias;

/** Why a continuation ended. */
typedef enum transom_finish {
  /** it has not */
  TRANSOM_FINISH_NONE = 0,
  /** an end token, which is its last */
  TRANSOM_FINISH_END = 1,
  /** a stop string; its text ends before it */
  TRANSOM_FINISH_STOP = 2,
  /** the most new tokens */
  TRANSOM_FINISH_LENGTH = 3,
  /** the end of the model's context or of the session's cache */
  TRANSOM_FINISH_CONTEXT = 4,
  /** the caller */
  TRANSOM_FINISH_CANCELLED = 5
} transom_finish;

/** A reason in a word, such as "length". */
TRANSOM_API const char *transom_finish_name(transom_finish finish);

/** What to do with prompts that are longer than the model's context, and at the
 * context's end. */
typedef enum transom_context_policy {
  /** longer prompts are refused (LIMIT); generation ends */
  TRANSOM_CONTEXT_STOP = 0,
  /** of a longer prompt the last tokens are kept; generation ends */
  TRANSOM_CONTEXT_TRUNCATE = 1,
  /** goes on with the last tokens, as many as half of the context */
  TRANSOM_CONTEXT_SHIFT = 2
} transom_context_policy;

/** A new token. */
typedef struct transom_generated_token {
  /** index of its prompt */
  size_t prompt;
  /** number of the continuation among those of its prompt */
  size_t continuation;
  /** its id; -1: none, the continuation has been cancelled */
  int64_t id;
  /** text that is new and final: whole characters, maybe none */
  transom_text text;
  /** why the continuation ends with it; NONE: it goes on */
  transom_finish finish;
} transom_generated_token;

/** Takes each new token; not 0: its continuation ends. It may call
 * transom_cancel() and nothing else on the session. */
typedef int (*transom_token_callback)(void *context,
                                      const transom_generated_token *token);

/** How to generate. What is left as it is comes from the model's
 * generation_config.json, then its config.json, then is greedy. */
typedef struct transom_generate_options {
  /** set by transom_generate_options_default() */
  size_t struct_size;
  /** -1: as the model says, or 256 */
  int64_t max_new_tokens;
  /** end tokens are barred from so many choices; -1: as the model says */
  int64_t min_new_tokens;
  /** continuations of each prompt, in streams of random numbers of their own;
   * 0: as the model says, or 1 */
  int64_t num_return_sequences;
  /** 0: as the model says, or 1; more are not built for decoders */
  int64_t num_beams;
  /** 0: greedy, 1: sampling, -1: sampling where temperature, top_k, top_p or
   * min_p is given, else as the model says */
  int32_t sample;
  /** 0: greedy; NaN: as the model says */
  double temperature;
  /** 0: off; -1: as the model says */
  int64_t top_k;
  /** 1: off; NaN: as the model says */
  double top_p;
  /** 0: off; NaN: as the model says */
  double min_p;
  /** for tokens of the prompt and new ones; NaN: as the model says */
  double repetition_penalty;
  /** for new tokens; NaN: as the model says */
  double presence_penalty;
  /** for new tokens, times their number; NaN: as the model says */
  double frequency_penalty;
  /** 0: off; -1: as the model says */
  int64_t no_repeat_ngram_size;
  /** the same seed, settings and logits give the same tokens everywhere */
  uint64_t seed;
  /** 1: an end token may be chosen and does not stop */
  uint32_t ignore_end;
  /** a transom_context_policy: STOP, TRUNCATE or SHIFT */
  uint32_t context_policy;
  /** end tokens; NULL: as the model says */
  const int64_t *end_ids;
  /** number of end tokens */
  size_t end_id_count;
  /** biases; may be NULL */
  const transom_logit_bias *biases;
  /** number of biases */
  size_t bias_count;
  /** strings that end a continuation; may be NULL */
  const transom_text *stops;
  /** number of strings */
  size_t stop_count;
  /** log-probabilities of the tokens and of so many of the most probable ones;
   * -1: none */
  int32_t top_logprobs;
  /** 1: prompts that are texts go without the tokens of the template */
  uint32_t no_special;
  /** called for each new token; may be NULL */
  transom_token_callback callback;
  /** handed to `callback` */
  void *callback_context;
} transom_generate_options;

/** The options that suit most. */
TRANSOM_API transom_generate_options transom_generate_options_default(void);

/** A prompt: ids, or a text. Neither (an empty one): the model's begin token.
 */
typedef struct transom_prompt {
  /** ids; NULL: the text counts */
  const int64_t *ids;
  /** number of ids */
  size_t id_count;
  /** text, where `ids` is NULL */
  transom_text text;
} transom_prompt;

/** Raises max_sequences, max_kv_tokens, max_batch and max_tokens of `session`
 * as far as it takes to generate quickly for prompts of so many tokens. */
TRANSOM_API transom_status transom_generate_fit(
    const transom_model *model, const size_t *prompt_tokens, size_t count,
    const transom_generate_options *options, transom_session_options *session);

/** Continuations of prompts. */
typedef struct transom_generation transom_generation;

/** Generates for all prompts together; those that the session has no room for
 * wait. A continuation does not depend on what else is generated. `generation`
 * is set on success and when it was CANCELLED: then it holds what was made
 * until then. Errors: REJECTED (ids out of range, text that is no UTF-8, an
 * empty prompt where the model has no begin token, a logit that is no number),
 * LIMIT (longer than the context), UNSUPPORTED (no tokenizer, settings of the
 * model that are not built). */
TRANSOM_API transom_status transom_generate(
    transom_session *session, const transom_prompt *prompts, size_t count,
    const transom_generate_options *options, transom_generation **generation);

/** The same for the inputs of the entry `generate`. */
TRANSOM_API transom_status transom_generate_tensors(
    transom_session *session, const transom_tensor *inputs, size_t input_count,
    const transom_generate_options *options, transom_generation **generation);

/** Frees continuations (NULL is fine). */
TRANSOM_API void transom_generation_free(transom_generation *generation);

/** One continuation; all memory is the generation's. */
typedef struct transom_continuation {
  /** set by transom_continuation_default() */
  size_t struct_size;
  /** index of its prompt */
  size_t prompt;
  /** its number among those of its prompt */
  size_t number;
  /** tokens of the prompt that were used */
  size_t prompt_tokens;
  /** the new tokens */
  const int64_t *ids;
  /** number of new tokens */
  size_t id_count;
  /** their text; empty without a tokenizer */
  transom_text text;
  /** why it ended */
  transom_finish finish;
  /** log-probabilities of the new tokens, NULL unless they were asked for */
  const double *logprobs;
  /** for each new token the most probable ones, [id_count, top_count] */
  const transom_token_logprob *top;
  /** number of them */
  size_t top_count;
} transom_continuation;

/** A struct to be filled. */
TRANSOM_API transom_continuation transom_continuation_default(void);

/** Fills in continuation `index`: those of the first prompt come first. */
TRANSOM_API transom_status
transom_generation_get(const transom_generation *generation, size_t index,
                       transom_continuation *continuation);

/** Number of continuations. */
TRANSOM_API size_t
transom_generation_count(const transom_generation *generation);

/** Writes `output_ids` of the entry `generate`: [continuations, longest], rows
 * that end early are filled with the pad token, else the first end token. LIMIT
 * where it does not fit into `capacity` bytes, which then says how many it
 * takes. */
TRANSOM_API transom_status transom_generation_output_ids(
    const transom_generation *generation, transom_tensor *result);

/** Scores a text that is given as ids: `logprobs` gets [count - 1] numbers,
 * entry i belongs to token i + 1. `top` (may be NULL) gets [count - 1,
 * top_count] of the most probable tokens in its place. Errors as of
 * transom_generate(); a text of no tokens is REJECTED. */
TRANSOM_API transom_status transom_score(transom_session *session,
                                         const int64_t *ids, size_t count,
                                         double *logprobs,
                                         transom_token_logprob *top,
                                         size_t top_count);

/** How a long text is scored. */
typedef struct transom_text_score {
  /** sum of the tokens' log-probabilities */
  double sum;
  /** tokens that were scored */
  int64_t tokens;
  /** windows that were run */
  int64_t windows;
} transom_text_score;

/** Scores a text of any length in windows of `window` tokens that begin
 * `stride` tokens apart, each token once, so that from the second window on
 * each has window - stride or more tokens before it. exp(-sum / tokens) is the
 * text's perplexity. */
TRANSOM_API transom_status transom_score_windows(transom_session *session,
                                                 const int64_t *ids,
                                                 size_t count, int64_t window,
                                                 int64_t stride,
                                                 transom_text_score *score);

#ifdef __cplusplus
}
#endif
#endif
