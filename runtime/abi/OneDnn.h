/* Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * What the runtime and the shim of oneDNN share. The shim is a small shared
 * library, one for each major version of oneDNN; the runtime opens it when a
 * model has steps that oneDNN does, and calls it through one table of
 * functions. Plain C, with a version of its own.
 */
#ifndef TRANSOM_RUNTIME_ABI_ONEDNN_H
#define TRANSOM_RUNTIME_ABI_ONEDNN_H
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Raised with every change of this header. */
#define TRANSOM_ONEDNN_VERSION 1

/* Most dimensions of a tensor of a call. */
#define TRANSOM_ONEDNN_MAX_RANK 8

/* What a call computes; all of it in f32. No file contains the numbers. */
typedef enum transom_onednn_primitive {
  /* out[r, n] = activation(sum over k of input[r, k] * weights[n, k] +
   * bias[n]) + residual[r, n], r over all dimensions but the last */
  TRANSOM_ONEDNN_MATMUL,
  /* out[.., m, n] = sum over k of input[.., m, k] * rhs[.., k, n]; leading
   * dimensions of one broadcast */
  TRANSOM_ONEDNN_BATCH_MATMUL,
  /* along the last dimension; a row of minus infinity gives zeros */
  TRANSOM_ONEDNN_SOFTMAX,
  /* of each row, times weights[n], plus bias[n] */
  TRANSOM_ONEDNN_LAYER_NORM
} transom_onednn_primitive;

/* What follows a matmul's sum. */
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

/* A dense row-major tensor of f32; `data` is NULL where a call has none. */
typedef struct transom_onednn_tensor {
  float *data;
  int64_t rank;
  int64_t dims[TRANSOM_ONEDNN_MAX_RANK];
} transom_onednn_tensor;

/* One call. A residual may lie in the out's memory; a softmax or norm may
 * write its input. */
typedef struct transom_onednn_call {
  int32_t primitive;  /* transom_onednn_primitive */
  int32_t activation; /* transom_onednn_activation */
  double epsilon;     /* of a norm */
  transom_onednn_tensor input, rhs, residual, out;
  /* [n, k] of a matmul, [n] of a norm. Constant as long as the model lives:
   * a matmul's are copied into oneDNN's layout once and known by their
   * address. */
  const float *weights;
  const float *bias; /* [n] or NULL */
} transom_onednn_call;

/* Weights in oneDNN's layouts and primitives by size, shared by the sessions
 * of a model. */
typedef struct transom_onednn_model transom_onednn_model;
/* Threads and scratch memory of one session. */
typedef struct transom_onednn_session transom_onednn_session;

/* The functions of a shim. Those that give a pointer give NULL on failure. */
typedef struct transom_onednn_api {
  uint32_t version;    /* TRANSOM_ONEDNN_VERSION */
  const char *library; /* version of oneDNN, such as "2.6.3" */
  /* `isa` is the instruction set of the generated code. The process keeps to
   * AVX2 when the first model does. */
  transom_onednn_model *(*create_model)(const char *isa);
  void (*free_model)(transom_onednn_model *model);
  transom_onednn_session *(*create_session)(transom_onednn_model *model,
                                            int32_t threads);
  void (*free_session)(transom_onednn_session *session);
  /* Does a call, on the threads of the session. NULL, or what went wrong,
   * valid until the session's next call. Sessions may run at once. */
  const char *(*run)(transom_onednn_session *session,
                     const transom_onednn_call *call);
  /* Calls `task(arg, i)` for each i below `count` on the threads that run()
   * uses, so that two teams do not spin at once. NULL where oneDNN was built
   * without OpenMP. `session` is a transom_onednn_session. */
  void (*parallel)(void *session, size_t count,
                   void (*task)(void *arg, size_t index), void *arg);
} transom_onednn_api;

/* The one symbol that a shim exports, and its type. */
#define TRANSOM_ONEDNN_SYMBOL "transom_onednn"
typedef const transom_onednn_api *(*transom_onednn_entry)(void);

#ifdef __cplusplus
}
#endif
#endif
