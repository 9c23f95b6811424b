/* Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The interface between the runtime and the oneDNN shims. A shim is a small
 * shared library for one oneDNN major version. The runtime opens it if a model
 * has oneDNN steps, and calls it through one function table. Plain C, with its
 * own version.
 */
#ifndef TRANSOM_RUNTIME_ABI_ONEDNN_H
#define TRANSOM_RUNTIME_ABI_ONEDNN_H
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Raised with every change to this header. */
#define TRANSOM_ONEDNN_VERSION 1

/* Maximum tensor rank in a call. */
#define TRANSOM_ONEDNN_MAX_RANK 8

/* Primitives, all in f32. The enumerators are not stored in any file. */
typedef enum transom_onednn_primitive {
  /* out[r, n] = activation(sum over k of input[r, k] * weights[n, k] +
   * bias[n]) + residual[r, n], r over all dimensions but the last */
  TRANSOM_ONEDNN_MATMUL,
  /* out[.., m, n] = sum over k of input[.., m, k] * rhs[.., k, n]; leading
   * dimensions with size one broadcast */
  TRANSOM_ONEDNN_BATCH_MATMUL,
  /* along the last dimension; a row with only minus infinity returns zeros */
  TRANSOM_ONEDNN_SOFTMAX,
  /* for each row, times weights[n], plus bias[n] */
  TRANSOM_ONEDNN_LAYER_NORM
} transom_onednn_primitive;

/* Activation after a matmul. */
typedef enum transom_onednn_activation {
  TRANSOM_ONEDNN_NONE,
  TRANSOM_ONEDNN_RELU,
  TRANSOM_ONEDNN_GELU,      /* with erf */
  TRANSOM_ONEDNN_GELU_TANH, /* its approximation */
  TRANSOM_ONEDNN_SILU,
  TRANSOM_ONEDNN_QUICK_GELU, /* x * sigmoid(1.702 x) */
  TRANSOM_ONEDNN_TANH,
  TRANSOM_ONEDNN_SIGMOID
} transom_onednn_activation;

/* A dense row-major f32 tensor; `data` is NULL if a call omits it. */
typedef struct transom_onednn_tensor {
  float *data;
  int64_t rank;
  int64_t dims[TRANSOM_ONEDNN_MAX_RANK];
} transom_onednn_tensor;

/* One call. The residual may use the output memory; a softmax or norm may
 * overwrite its input. */
typedef struct transom_onednn_call {
  int32_t primitive;  /* transom_onednn_primitive */
  int32_t activation; /* transom_onednn_activation */
  double epsilon;     /* norms only */
  transom_onednn_tensor input, rhs, residual, out;
  /* [n, k] for a matmul, [n] for a norm. Constant for the model's lifetime: a
   * matmul's weights are copied into oneDNN's layout once and looked up by
   * address. */
  const float *weights;
  const float *bias; /* [n] or NULL */
} transom_onednn_call;

/* Weights in oneDNN layouts and primitives by size, shared by all sessions of a
 * model. */
typedef struct transom_onednn_model transom_onednn_model;
/* A session's threads and scratch memory. */
typedef struct transom_onednn_session transom_onednn_session;

/* The shim's functions. Functions with a pointer result return NULL on failure.
 */
typedef struct transom_onednn_api {
  uint32_t version;    /* TRANSOM_ONEDNN_VERSION */
  const char *library; /* oneDNN version, such as "2.6.3" */
  /* `isa` is the instruction set of the generated code. If the first model uses
   * AVX2, oneDNN is restricted to AVX2 for the whole process. */
  transom_onednn_model *(*create_model)(const char *isa);
  void (*free_model)(transom_onednn_model *model);
  transom_onednn_session *(*create_session)(transom_onednn_model *model,
                                            int32_t threads);
  void (*free_session)(transom_onednn_session *session);
  /* Runs a call on the session's threads. Returns NULL or an error message that
   * is valid until the session's next call. Sessions may run concurrently. */
  const char *(*run)(transom_onednn_session *session,
                     const transom_onednn_call *call);
  /* Calls `task(arg, i)` for each i below `count` on the threads that run()
   * uses, so that two thread teams do not spin at once. NULL if oneDNN was
   * built without OpenMP. `session` is a transom_onednn_session. */
  void (*parallel)(void *session, size_t count,
                   void (*task)(void *arg, size_t index), void *arg);
} transom_onednn_api;

/* The only symbol that a shim exports, and its type. */
#define TRANSOM_ONEDNN_SYMBOL "transom_onednn"
typedef const transom_onednn_api *(*transom_onednn_entry)(void);

#ifdef __cplusplus
}
#endif
#endif
