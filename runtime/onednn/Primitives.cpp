// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Both GEMMs with a weight and batched matmuls use oneDNN's matmul: in
// measurements its inner product is no faster, and supports a residual only in
// a slow way.
#include "runtime/onednn/Primitives.h"

using namespace dnnl;
using namespace transom;

using Dims = memory::dims;
static constexpr auto f32 = memory::data_type::f32;

int64_t transom::getRowCount(const transom_onednn_tensor &tensor) {
  int64_t rows = 1;
  for (int64_t i = 0; i + 1 < tensor.rank; ++i)
    rows *= tensor.dims[i];
  return rows;
}

int64_t transom::getColumnCount(const transom_onednn_tensor &tensor) {
  return tensor.rank ? tensor.dims[tensor.rank - 1] : 1;
}

static memory::desc dense(const Dims &dims) {
  Dims strides(dims.size(), 1);
  for (size_t i = dims.size(); i-- > 1;)
    strides[i - 1] = strides[i] * dims[i];
  return {dims, f32, strides};
}

/// A tensor reshaped to rows.
static memory::desc flat(const transom_onednn_tensor &tensor) {
  return dense({getRowCount(tensor), getColumnCount(tensor)});
}

/// A tensor with leading ones up to `rank`.
static memory::desc widened(const transom_onednn_tensor &tensor, int64_t rank) {
  Dims dims(size_t(rank - tensor.rank), 1);
  dims.insert(dims.end(), tensor.dims, tensor.dims + tensor.rank);
  return dense(dims);
}

memory::desc transom::storedWeights(const transom_onednn_call &call) {
  const int64_t n = getColumnCount(call.out), k = getColumnCount(call.input);
  return {{k, n}, f32, {1, k}};
}

//===----------------------------------------------------------------------===//
// The two interfaces
//===----------------------------------------------------------------------===//

#if DNNL_VERSION_MAJOR >= 3
static int getRank(const memory::desc &desc) { return desc.get_ndims(); }

static void appendActivation(post_ops &operations, algorithm kind,
                             float alpha) {
  operations.append_eltwise(kind, alpha, 0.0f);
}

static matmul::primitive_desc describeMatmul(const engine &engine,
                                             const Primitive &made,
                                             const memory::desc &weights,
                                             const primitive_attr &attributes) {
  if (getRank(made.bias) == 0)
    return {engine, made.input, weights, made.out, attributes};
  return {engine, made.input, weights, made.bias, made.out, attributes};
}

static softmax_forward::primitive_desc
describeSoftmax(const engine &engine, const Primitive &made,
                const primitive_attr &attributes) {
  return {engine,
          prop_kind::forward_inference,
          algorithm::softmax_accurate,
          made.input,
          made.out,
          1,
          attributes};
}

static layer_normalization_forward::primitive_desc
describeNorm(const engine &engine, const Primitive &made, double epsilon,
             normalization_flags flags, const primitive_attr &attributes) {
  return {engine,         prop_kind::forward_inference,
          made.input,     made.out,
          float(epsilon), flags,
          attributes};
}

#else
static int getRank(const memory::desc &desc) { return desc.data.ndims; }

static void appendActivation(post_ops &operations, algorithm kind,
                             float alpha) {
  operations.append_eltwise(1.0f, kind, alpha, 0.0f);
}

static matmul::primitive_desc describeMatmul(const engine &engine,
                                             const Primitive &made,
                                             const memory::desc &weights,
                                             const primitive_attr &attributes) {
  matmul::desc description =
      getRank(made.bias) == 0
          ? matmul::desc(made.input, weights, made.out)
          : matmul::desc(made.input, weights, made.bias, made.out);
  return {description, attributes, engine};
}

static softmax_forward::primitive_desc
describeSoftmax(const engine &engine, const Primitive &made,
                const primitive_attr &attributes) {
  softmax_forward::desc description(prop_kind::forward_inference, made.input,
                                    1);
  return {description, attributes, engine};
}

static layer_normalization_forward::primitive_desc
describeNorm(const engine &engine, const Primitive &made, double epsilon,
             normalization_flags flags, const primitive_attr &attributes) {
  layer_normalization_forward::desc description(
      prop_kind::forward_inference, made.input, float(epsilon), flags);
  return {description, attributes, engine};
}
#endif

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

static void appendActivation(post_ops &operations, int32_t activation) {
  switch (activation) {
  case TRANSOM_ONEDNN_RELU:
    return appendActivation(operations, algorithm::eltwise_relu, 0.0f);
  case TRANSOM_ONEDNN_GELU:
    return appendActivation(operations, algorithm::eltwise_gelu_erf, 0.0f);
  case TRANSOM_ONEDNN_GELU_TANH:
    return appendActivation(operations, algorithm::eltwise_gelu_tanh, 0.0f);
  case TRANSOM_ONEDNN_SILU:
    return appendActivation(operations, algorithm::eltwise_swish, 1.0f);
  case TRANSOM_ONEDNN_QUICK_GELU:
    return appendActivation(operations, algorithm::eltwise_swish, 1.702f);
  case TRANSOM_ONEDNN_TANH:
    return appendActivation(operations, algorithm::eltwise_tanh, 0.0f);
  case TRANSOM_ONEDNN_SIGMOID:
    return appendActivation(operations, algorithm::eltwise_logistic, 0.0f);
  case TRANSOM_ONEDNN_NONE:
    return;
  default:
    throw error(dnnl_invalid_arguments, "unknown activation");
  }
}

static Primitive makeMatmul(const engine &engine,
                            const transom_onednn_call &call,
                            primitive_attr attributes) {
  Primitive made;
  made.input = flat(call.input);
  made.out = flat(call.out);
  if (call.bias)
    made.bias = dense({1, getColumnCount(call.out)});
  post_ops operations;
  appendActivation(operations, call.activation);
  made.sums = call.residual.data && call.residual.data == call.out.data;
  if (made.sums) {
    operations.append_sum();
  } else if (call.residual.data) {
    made.residual = flat(call.residual);
    operations.append_binary(algorithm::binary_add, made.residual);
  }
  attributes.set_post_ops(operations);
  const memory::desc any({getColumnCount(call.input), getColumnCount(call.out)},
                         f32, memory::format_tag::any);
  auto description = describeMatmul(engine, made, any, attributes);
  made.weights = description.weights_desc();
  made.scratchpad = description.scratchpad_desc();
  made.run = matmul(description);
  return made;
}

static Primitive makeBatchMatmul(const engine &engine,
                                 const transom_onednn_call &call,
                                 const primitive_attr &attributes) {
  Primitive made;
  made.input = widened(call.input, call.out.rank);
  made.rhs = widened(call.rhs, call.out.rank);
  made.out = widened(call.out, call.out.rank);
  auto description = describeMatmul(engine, made, made.rhs, attributes);
  made.scratchpad = description.scratchpad_desc();
  made.run = matmul(description);
  return made;
}

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

static Primitive makeSoftmax(const engine &engine,
                             const transom_onednn_call &call,
                             const primitive_attr &attributes) {
  Primitive made;
  made.input = made.out = flat(call.out);
  auto description = describeSoftmax(engine, made, attributes);
  made.scratchpad = description.scratchpad_desc();
  made.run = softmax_forward(description);
  return made;
}

static Primitive makeNorm(const engine &engine, const transom_onednn_call &call,
                          const primitive_attr &attributes) {
  Primitive made;
  made.input = made.out = flat(call.out);
  made.weights = dense({getColumnCount(call.out)});
  normalization_flags flags = normalization_flags::use_scale;
  if (call.bias) {
    made.bias = made.weights;
    flags = flags | normalization_flags::use_shift;
  }
  auto description =
      describeNorm(engine, made, call.epsilon, flags, attributes);
  made.scratchpad = description.scratchpad_desc();
  made.run = layer_normalization_forward(description);
  return made;
}

Primitive transom::makePrimitive(const engine &engine,
                                 const transom_onednn_call &call) {
  primitive_attr attributes;
  // The session provides scratch memory, so that sessions share primitives.
  attributes.set_scratchpad_mode(scratchpad_mode::user);
  switch (call.primitive) {
  case TRANSOM_ONEDNN_MATMUL:
    return makeMatmul(engine, call, attributes);
  case TRANSOM_ONEDNN_BATCH_MATMUL:
    return makeBatchMatmul(engine, call, attributes);
  case TRANSOM_ONEDNN_SOFTMAX:
    return makeSoftmax(engine, call, attributes);
  case TRANSOM_ONEDNN_LAYER_NORM:
    return makeNorm(engine, call, attributes);
  default:
    throw error(dnnl_invalid_arguments, "unknown primitive");
  }
}
