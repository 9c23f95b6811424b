// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The first matmul in an MLP over pairs is split into its first and second
// half, which are computed once per word or type row, so that each pair only
// needs an addition. The last matmul for spans is moved to the types: p . (W h
// + b) is (W^T p) . h + p . b.
#include "compiler/import/huggingface/gliner/Gliner.h"
#include "compiler/import/huggingface/Encoder.h"

using namespace mlir;
using namespace transom;

namespace {
/// A file tensor's shape.
using TensorShape = std::vector<int64_t>;
} // namespace

int64_t transom::getMaxWords(const GlinerConfig &config) {
  return std::max<int64_t>(64, 2 * config.entities.maxWidth);
}

void transom::buildGlinerEncoder(BlockContext &context,
                                 const GlinerConfig &config) {
  Emitter &emit = context.emit;
  Value state = beginEncoder(context, "encode").state;
  if (emit.failed())
    return;
  const int64_t width = context.getWidth(state);
  if (width != config.hidden) {
    const std::string module = "token_rep_layer.projection";
    emit.at(module, "/hidden_size");
    state =
        emit.linear(state,
                    emit.fileWeight(module + ".weight", module + ".weight",
                                    TensorShape{config.hidden, width},
                                    "hidden_size x that of the encoder"),
                    emit.fileWeight(module + ".bias", module + ".bias",
                                    TensorShape{config.hidden}, "hidden_size"));
  }
  emit.at("encode", "/hidden_size");
  emit.endEntry({{"token_embeddings", zeroPadding(context, state, "encode")}});
}

namespace {

/// Builds the score entry.
class ScoreBlock {
public:
  ScoreBlock(Emitter &emit, const GlinerConfig &config)
      : emit(emit), config(config), hidden(config.hidden) {}
  void build();

private:
  /// Projects with columns [begin, begin + in) of a module's weight [out, all],
  /// with or without its bias.
  Value project(Value input, const std::string &module, int64_t out,
                int64_t all, int64_t begin, bool bias);
  Value project(Value input, const std::string &module, int64_t out, bool bias);
  /// Two projections with a ReLU between them.
  Value mlp(Value input, const std::string &module, int64_t inner);
  Value relu(Value input) { return emit.activation(input, Activation::Relu); }
  /// Reshapes [a, width] to [a, 1, width] or [1, a, width].
  Value spread(Value value, bool isFirst);
  /// Adds all pairs of rows: [a, width] and [b, width] to [a, b, width].
  Value addPairs(Value first, Value second);
  Value scoreMarkers();
  Value scoreMarkersByMlp();
  Value scoreWords();

  Emitter &emit;
  const GlinerConfig &config;
  const int64_t hidden;
  Value words, types;
};

} // namespace

Value ScoreBlock::project(Value input, const std::string &module, int64_t out,
                          int64_t all, int64_t begin, bool bias) {
  if (emit.failed())
    return {};
  emit.at(module, "/span_mode");
  const int64_t in = *emit.getShape(input).back().constant();
  const std::string weight = module + ".weight";
  Value matrix;
  if (in == all) {
    matrix =
        emit.fileWeight(weight, weight, TensorShape{out, all}, "hidden_size");
  } else {
    if (!emit.checkTensor(weight, TensorShape{out, all}, "hidden_size"))
      return {};
    matrix =
        emit.weight(weight + "[" + std::to_string(begin) + ":]",
                    WeightExpr::slice(WeightExpr::file(weight), 1, begin, in));
  }
  return emit.linear(input, matrix,
                     bias ? emit.fileWeight(module + ".bias", module + ".bias",
                                            TensorShape{out}, "hidden_size")
                          : Value());
}

Value ScoreBlock::project(Value input, const std::string &module, int64_t out,
                          bool bias) {
  if (emit.failed())
    return {};
  return project(input, module, out, *emit.getShape(input).back().constant(), 0,
                 bias);
}

Value ScoreBlock::mlp(Value input, const std::string &module, int64_t inner) {
  Value value = relu(project(input, module + ".0", inner, true));
  return project(value, module + ".3", hidden, true);
}

Value ScoreBlock::spread(Value value, bool isFirst) {
  if (emit.failed())
    return {};
  Dims shape = emit.getShape(value);
  shape.insert(shape.begin() + (isFirst ? 1 : 0), Polynomial(1));
  return emit.reshape(value, shape);
}

Value ScoreBlock::addPairs(Value first, Value second) {
  return emit.add(spread(first, true), spread(second, false));
}

/// A span is one projection of both ends, so its score is the sum of two
/// scores.
Value ScoreBlock::scoreMarkers() {
  const std::string span = "span_rep_layer.span_rep_layer.";
  Value prompts = mlp(types, "prompt_rep_layer", 4 * hidden);
  auto score = [&](const char *module, bool isFirst) {
    Value state = relu(mlp(words, span + module, 2 * hidden));
    Value end = project(state, span + "out_project", hidden, 2 * hidden,
                        isFirst ? 0 : hidden, isFirst);
    return emit.matmul(end, prompts, false, true);
  };
  Value first = score("project_start", true);
  return addPairs(first, score("project_end", false));
}

Value ScoreBlock::scoreMarkersByMlp() {
  // Compute both ends, up to the sum before the ReLU.
  const std::string span = "span_rep_layer.span_rep_layer.";
  auto projectEnd = [&](const char *module, bool isFirst) {
    Value state = relu(mlp(words, span + module, 4 * hidden));
    return project(state, span + "out_project.0", 4 * hidden, 2 * hidden,
                   isFirst ? 0 : hidden, isFirst);
  };
  Value first = projectEnd("project_start", true);
  Value pairs = relu(addPairs(first, projectEnd("project_end", false)));

  // Project the types, including the last span projection.
  Value prompts = mlp(types, "prompt_rep_layer", 4 * hidden);
  const std::string last = span + "out_project.3";
  emit.at(last, "/span_mode");
  if (!emit.checkTensor(last + ".weight", TensorShape{hidden, 4 * hidden},
                        "hidden_size") ||
      !emit.checkTensor(last + ".bias", TensorShape{hidden}, "hidden_size"))
    return {};
  Value keys =
      emit.linear(prompts,
                  emit.weight(last + ".weight^T",
                              WeightExpr::transpose(
                                  WeightExpr::file(last + ".weight"), {1, 0})),
                  Value());
  Value shift = emit.linear(
      prompts,
      emit.weight(
          last + ".bias.row",
          WeightExpr::reshape(WeightExpr::file(last + ".bias"), {1, hidden})),
      Value());

  // Multiply spans and types.
  const Polynomial numWords = Polynomial::symbol("words"),
                   numTypes = Polynomial::symbol("types");
  Value rows =
      emit.reshape(pairs, {numWords * numWords, Polynomial(4 * hidden)});
  Value scores = emit.matmul(rows, keys, false, true);
  scores = emit.add(scores, emit.reshape(shift, {Polynomial(1), numTypes}));
  return emit.reshape(scores, {numWords, numWords, numTypes});
}

Value ScoreBlock::scoreWords() {
  const std::string first = "scorer.out_mlp.0";
  auto projectHalf = [&](Value input, const char *name, int64_t half) {
    const std::string module = std::string("scorer.") + name;
    if (emit.failed() ||
        !emit.checkTensor(module + ".weight", TensorShape{2 * hidden, hidden},
                          "hidden_size") ||
        !emit.checkTensor(module + ".bias", TensorShape{2 * hidden},
                          "hidden_size"))
      return Value();
    emit.at(module, "/span_mode");
    auto rows = [&](const char *end) {
      return emit.weight(module + end + (half ? "[1]" : "[0]"),
                         WeightExpr::slice(WeightExpr::file(module + end), 0,
                                           half * hidden, hidden));
    };
    return emit.linear(input, rows(".weight"), rows(".bias"));
  };
  // The first MLP layer is split into thirds: words, types and their product.
  auto product = [&](Value value, int64_t third) {
    return project(value, first, 4 * hidden, 3 * hidden, third * hidden,
                   third == 0);
  };
  // Add the word and type thirds for all pairs.
  Value sum = addPairs(product(projectHalf(words, "proj_token", 0), 0),
                       product(projectHalf(types, "proj_label", 0), 1));
  // Multiply words and types for all pairs, and finish the MLP.
  Value word = projectHalf(words, "proj_token", 1),
        type = projectHalf(types, "proj_label", 1);
  Value pairs = emit.make<attn::MulOp>(spread(word, true), spread(type, false));
  return project(relu(emit.add(product(pairs, 2), sum)), "scorer.out_mlp.3", 3,
                 true);
}

void ScoreBlock::build() {
  const std::string &name = config.entities.entry;
  emit.at(name, "/span_mode");
  auto input = [&](const char *rows) {
    EntryInput input;
    input.name = rows;
    input.shape = {Polynomial::symbol(rows), Polynomial(hidden)};
    return input;
  };
  SmallVector<Value> arguments =
      emit.beginEntry(name, {input("words"), input("types")});
  if (emit.failed())
    return;
  words = arguments[0];
  types = arguments[1];
  Value scores = config.isTokenLevel()                 ? scoreWords()
                 : config.spanMode == SpanMode::Marker ? scoreMarkers()
                                                       : scoreMarkersByMlp();
  emit.at(name, "/span_mode");
  emit.endEntry({{"scores", scores}});
}

void transom::buildEntityScores(Emitter &emit, const GlinerConfig &config) {
  ScoreBlock(emit, config).build();
}
