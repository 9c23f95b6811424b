// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The entries of the table: names, operands, attributes and meaning of the
// operations. Builders are in GraphOpBuilders.cpp.
#include "compiler/import/graphjson/GraphOpBuilders.h"

using namespace transom;
using K = AttrKind;

/// An entry for a function of each element.
static GraphOp function(const char *name, const char *doc) {
  return {name, 1, 1, "x", "f", {}, doc, graph::buildFunction};
}

static GraphOp binary(const char *name, const char *doc) {
  return {name, 2, 2, "a, b", "f", {}, doc, graph::buildBinary};
}

static std::vector<GraphOp> products() {
  return {
      {"weight",
       0,
       0,
       "",
       "",
       {{"tensor", K::Tensor, true, "the tensor's name in the weights files"}},
       "A tensor of the weights files.",
       graph::buildWeight},
      {"constant",
       0,
       0,
       "",
       "",
       {{"value", K::Value, true, "a number, or nested arrays of numbers"}},
       "A small f32 tensor; a number has the shape [1].",
       graph::buildConstant},
      {"linear",
       1,
       1,
       "x",
       "f",
       {{"weight", K::Tensor, true, "tensor [out, in]"},
        {"bias", K::Tensor, false, "tensor [out]"},
        {"transposed", K::Flag, false, "the weight is [in, out] instead"}},
       "x [..., in] times a weight, plus a bias, to [..., out].",
       graph::buildLinear},
      {"matmul",
       2,
       2,
       "a, b",
       "f",
       {{"transpose_a", K::Flag, false, "exchange the last two dims of a"},
        {"transpose_b", K::Flag, false, "exchange the last two dims of b"}},
       "a [..., m, k] times b [..., k, n]; leading dims broadcast.",
       graph::buildMatmul},
  };
}

/// A row for each activation of the dialects.
static std::vector<GraphOp> activations() {
  std::vector<GraphOp> rows;
  for (const ActivationInfo &info : getActivations())
    rows.push_back(function(info.name, info.description));
  return rows;
}

static std::vector<GraphOp> arithmetic() {
  return {
      binary("add", "a + b, broadcast as in NumPy."),
      binary("sub", "a - b, broadcast as in NumPy."),
      binary("mul", "a * b, broadcast as in NumPy."),
      binary("div", "a / b, broadcast as in NumPy."),
      {"scale",
       1,
       1,
       "x",
       "f",
       {{"factor", K::Number, true, "what x is multiplied by"},
        {"offset", K::Number, false, "what is added then, 0 when absent"}},
       "factor * x + offset.",
       graph::buildScale},
  };
}

static std::vector<GraphOp> elementwise() {
  return {
      {"cast",
       1,
       1,
       "x",
       "fib",
       {{"to", K::Dtype, true, "f32, i64 or bool"}},
       "Converts to another type; bool is x != 0.",
       graph::buildCast},
      {"and",
       2,
       2,
       "a, b",
       "b",
       {},
       "Both are true; broadcasts.",
       graph::buildBinary},
      {"or",
       2,
       2,
       "a, b",
       "b",
       {},
       "One or both are true; broadcasts.",
       graph::buildBinary},
      {"not", 1, 1, "x", "b", {}, "x is false.", graph::buildNot},
      {"where",
       3,
       3,
       "condition, a, b",
       "fb",
       {},
       "a where the bool condition is true, else b; all broadcast.",
       graph::buildWhere},
  };
}

static std::vector<GraphOp> shapes() {
  return {
      {"transpose",
       1,
       1,
       "x",
       "fb",
       {{"permutation", K::Integers, true, "dim i of the result is this of x"}},
       "Permutes dims.",
       graph::buildTranspose},
      {"reshape",
       1,
       1,
       "x",
       "fib",
       {{"shape", K::Shape, true, "integers, dims, or text such as batch*seq"}},
       "The same elements in row-major order.",
       graph::buildReshape},
      {"concat",
       1,
       SIZE_MAX,
       "x, ...",
       "f",
       {{"axis", K::Integer, true, "negative counts from the end"}},
       "Joins tensors along an axis.",
       graph::buildConcat},
      {"slice",
       1,
       1,
       "x",
       "fb",
       {{"axis", K::Integer, true, "negative counts from the end"},
        {"start", K::Integer, false, "0 when absent"},
        {"size", K::Size, true, "how many"}},
       "A range along an axis.",
       graph::buildSlice},
      {"split",
       1,
       1,
       "x",
       "f",
       {{"axis", K::Integer, true, "negative counts from the end"},
        {"parts", K::Integer, true, "how many results"}},
       "Equal parts along an axis: results 0, 1, ...",
       graph::buildSplit},
  };
}

static std::vector<GraphOp> lookups() {
  return {
      {"gather",
       2,
       2,
       "table, indices",
       "fi",
       {},
       "Rows of the table's first dim. Indices are an i64 input (checked "
       "before "
       "each run) or positions.",
       graph::buildGather},
      {"embedding",
       1,
       1,
       "ids",
       "i",
       {{"table", K::Tensor, true, "tensor [rows, width]"},
        {"scale", K::Number, false, "what rows are multiplied by"}},
       "Rows of a weight by index.",
       graph::buildEmbedding},
      {"position",
       1,
       1,
       "ids",
       "ib",
       {{"kind",
         K::Choice,
         false,
         "column (default), or nonpad_rank: pad + the rank among the ids that "
         "are not pad",
         {"column", "nonpad_rank"}},
        {"pad", K::Integer, false, "the padding id of nonpad_rank"}},
       "Positions of ids [batch, seq]; in a decoder of its tokens [rows], each "
       "in its sequence.",
       graph::buildPosition},
      {"sinusoid",
       0,
       1,
       "ids",
       "ib",
       {{"width", K::Integer, true, "columns"},
        {"positions", K::Integer, true, "rows: the longest sequence"},
        {"halves", K::Flag, false,
         "all sines before all cosines, instead of in turn"}},
       "The table of sine and cosine positions of Attention Is All You Need "
       "(3.5); with ids [batch, seq], its rows at their columns.",
       graph::buildSinusoid},
  };
}

static std::vector<GraphOp> ropes() {
  return {
      {"rotation",
       1,
       1,
       "positions",
       "i",
       {{"positions", K::Integer, true, "all positions are below this"},
        {"width", K::Integer, false,
         "numbers of a head that are turned, 2n: n frequencies theta^(-2i/2n)"},
        {"theta", K::Number, false, "1e4 when absent"},
        {"frequencies", K::Numbers, false, "instead of width and theta"},
        {"factor", K::Number, false, "on cosines and sines, 1 when absent"}},
       "For each position the cosines of its product with n frequencies, then "
       "the sines: [..., 2n].",
       graph::buildRopeTable},
      {"rotary",
       2,
       2,
       "x, rotation",
       "f",
       {{"heads", K::Integer, true, "heads of x [..., heads*d]"},
        {"interleaved", K::Flag, false,
         "pairs are numbers 2i and 2i+1 of a head, instead of i and i+n"}},
       "Turns the first 2n numbers of each head, pair by pair, by a rotation "
       "[..., 2n] of the same rows.",
       graph::buildRope},
  };
}

static std::vector<GraphOp> rows() {
  return {
      {"softmax",
       1,
       1,
       "x",
       "f",
       {},
       "Over the last dim; a row of minus infinities gives zeros.",
       graph::buildSoftmax},
      {"mask",
       2,
       2,
       "scores, mask",
       "fb",
       {{"value", K::MaskValue, false,
         "what masked scores become, -inf when absent"}},
       "Scores where a bool mask is true (= attend); a float mask is added.",
       graph::buildMask},
      {"layer_norm",
       1,
       1,
       "x",
       "f",
       {{"gamma", K::Tensor, true, "tensor [width]"},
        {"beta", K::Tensor, false, "tensor [width]"},
        {"eps", K::Number, false, "1e-5 when absent"}},
       "(x - mean) / sqrt(variance + eps) * gamma + beta over the last dim.",
       graph::buildNorm},
      {"rms_norm",
       1,
       1,
       "x",
       "f",
       {{"gamma", K::Tensor, true, "tensor [width]"},
        {"eps", K::Number, false, "1e-5 when absent"}},
       "x / sqrt(mean(x^2) + eps) * gamma over the last dim.",
       graph::buildNorm},
  };
}

static std::vector<GraphOp> sequences() {
  return {
      {"attention",
       3,
       4,
       "query, key, value, mask",
       "fb",
       {{"heads", K::Integer, true, "heads of the query"},
        {"kv_heads", K::Integer, false, "heads of key and value; as heads"},
        {"scale", K::Number, false, "1 / sqrt(key width of a head)"},
        {"causal", K::Flag, false, "a query sees keys up to its own place"},
        {"window", K::Integer, false, "and only this many of them"},
        {"soft_cap", K::Number, false, "cap * tanh(score / cap)"},
        {"alibi", K::Flag, false,
         "add slope[head] * (key position - query position)"},
        {"symmetric", K::Flag, false,
         "with alibi: subtract slope[head] * |key position - query position|"},
        {"relative_bias", K::Tensor, false,
         "tensor [buckets, heads]: add the entry of the bucket that key "
         "position - query position falls into, as T5"},
        {"buckets", K::Integer, false, "32; half of them for later keys"},
        {"max_distance", K::Integer, false,
         "128; keys this far away share a bucket"},
        {"cache", K::Cache, false,
         "a cache of the body: query, key and value are rows [rows, heads * "
         "width] of a decoder; the keys and values are kept, and each row sees "
         "its sequence up to itself"}},
       "softmax(scale * Q K^T + mask) V for each head: query [batch, q, "
       "heads*dk], key [batch, k, kv_heads*dk], value [batch, k, kv_heads*dv] "
       "to [batch, q, heads*dv]. mask: bool [batch, k] over keys, or bool or "
       "float that broadcasts to [batch, heads, q, k]; true = attend, float is "
       "added.",
       graph::buildAttention},
      {"pool",
       1,
       2,
       "x, mask",
       "fb",
       {{"kind",
         K::Choice,
         true,
         "first, last or mean",
         {"first", "last", "mean"}}},
       "One row for each sequence of x [batch, seq, width]; mask bool [batch, "
       "seq] says which rows count.",
       graph::buildPool},
  };
}

const std::vector<GraphOp> &transom::graphOps() {
  static const std::vector<GraphOp> table = [] {
    std::vector<GraphOp> all;
    for (auto group : {products, arithmetic, activations, elementwise, shapes,
                       lookups, ropes, rows, sequences})
      for (GraphOp &op : group())
        all.push_back(std::move(op));
    return all;
  }();
  return table;
}

const GraphOp *transom::findGraphOp(const std::string &name) {
  for (const GraphOp &op : graphOps())
    if (name == op.name)
      return &op;
  return nullptr;
}
