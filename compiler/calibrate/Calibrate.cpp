// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Lines are evaluated sequentially, and sums are accumulated in line, operation
// and row order.
#include "compiler/calibrate/Calibrate.h"
#include "compiler/evaluator/Evaluator.h"
#include "dialects/attn/Attn.h"
#include "runtime/base/DType.h"
#include "runtime/base/File.h"
#include "runtime/tokenizer/Tokenizer.h"
#include "llvm/ADT/StringMap.h"
#include <numeric>

using namespace mlir;
using namespace transom;

/// The maximum calibration file size.
static constexpr uint64_t maxTextBytes = 256 << 20;
/// The minimum mean square for a column, relative to the tensor's mean: other
/// texts may use columns that are unused here.
static constexpr double leastShare = 1e-3;

namespace {

/// Sums of squared GEMM inputs by column, for one file tensor.
struct ColumnSquares {
  std::vector<double> sums;
  int64_t rows = 0;
};

/// Evaluates one model on text lines.
class Calibrator {
public:
  Calibrator(ModuleOp module, const ImportInfo &info)
      : module(module), symbols(module), step(getStepEntry(module)) {
    evaluation.source = &info.files;
    evaluation.observeInput = [this](Operation *op, ArrayRef<Number> numbers) {
      add(op, numbers);
    };
  }

  /// Finds the entry that takes a text: an encoder for token ids, or a step.
  Result<void> findEntry();
  Result<void> run(const std::vector<int64_t> &ids);
  Importance takeImportance() const;

private:
  void add(Operation *op, ArrayRef<Number> numbers);
  Result<void> runStep(const std::vector<int64_t> &ids);
  Result<void> runEncoder(const std::vector<int64_t> &ids);

  ModuleOp module;
  SymbolTable symbols;
  func::FuncOp step, encoder;
  EvaluateOptions evaluation;
  llvm::StringMap<ColumnSquares> squares;
};

} // namespace

static std::string getKind(func::FuncOp entry) {
  auto kind = entry->getAttrOfType<StringAttr>("transom.kind");
  return kind ? kind.str() : "";
}

Result<void> Calibrator::findEntry() {
  bool hasSource = false;
  for (auto entry : module.getOps<func::FuncOp>()) {
    const std::string kind = getKind(entry);
    hasSource |= kind == "source";
    if (entry.isPublic() && entry != step && !encoder && kind != "source" &&
        kind != "embed" && kind != "rerank")
      encoder = entry;
  }
  if (step && !hasSource) {
    encoder = {};
    return {};
  }
  bool takesIds = encoder && !hasSource;
  for (unsigned i = 0; takesIds && i < encoder.getNumArguments(); ++i) {
    auto name = encoder.getArgAttrOfType<StringAttr>(i, "attn.name");
    takesIds =
        name &&
        (encoder.getArgAttr(i, "attn.default") ||
         llvm::is_contained({"input_ids", "attention_mask", "token_type_ids"},
                            name.getValue()));
  }
  if (!takesIds)
    return unsupported("'--calibrate' is not supported for this model; "
                       "supported: encoders of token ids and decoders");
  return {};
}

/// Adds the squared GEMM inputs to the sums for the file tensors in its weight.
void Calibrator::add(Operation *op, ArrayRef<Number> numbers) {
  auto get =
      cast<attn::LinearOp>(op).getWeight().getDefiningOp<attn::GetWeightOp>();
  auto weight =
      get ? symbols.lookup<attn::WeightOp>(get.getWeight()) : attn::WeightOp();
  if (!weight)
    return;
  const size_t depth = cast<RankedTensorType>(get.getType()).getDimSize(1);
  for (const std::string &name : weight.getExpr().getExpr().files()) {
    ColumnSquares &of = squares[name];
    if (of.sums.empty())
      of.sums.resize(depth);
    if (of.sums.size() != depth)
      continue;
    for (auto [i, number] : llvm::enumerate(numbers))
      of.sums[i % depth] += number.real() * number.real();
    of.rows += static_cast<int64_t>(numbers.size() / depth);
  }
}

Result<void> Calibrator::runStep(const std::vector<int64_t> &ids) {
  const auto count = static_cast<int64_t>(ids.size());
  CacheStore caches;
  evaluation.caches = &caches;
  evaluation.sequences = {{0, 0, count}};
  std::vector<int64_t> all(ids.size());
  std::iota(all.begin(), all.end(), 0);
  auto done = evaluate(module, step.getSymName(),
                       {{"tokens", Tensor::of({count}, ids)},
                        {getLogitRows(step), Tensor::of({count}, all)}},
                       evaluation);
  return done ? Result<void>() : done.takeError();
}

Result<void> Calibrator::runEncoder(const std::vector<int64_t> &ids) {
  const auto count = static_cast<int64_t>(ids.size());
  std::vector<NamedTensor> inputs;
  for (unsigned i = 0; i < encoder.getNumArguments(); ++i) {
    auto name = encoder.getArgAttrOfType<StringAttr>(i, "attn.name");
    if (name.getValue() == "input_ids")
      inputs.push_back({name.str(), Tensor::of({1, count}, ids)});
    else if (!encoder.getArgAttr(i, "attn.default"))
      inputs.push_back(
          {name.str(),
           Tensor::of({1, count},
                      std::vector<int64_t>(ids.size(), name.getValue() ==
                                                           "attention_mask"))});
  }
  auto done = evaluate(module, encoder.getSymName(), inputs, evaluation);
  return done ? Result<void>() : done.takeError();
}

Result<void> Calibrator::run(const std::vector<int64_t> &ids) {
  return encoder ? runEncoder(ids) : runStep(ids);
}

Importance Calibrator::takeImportance() const {
  Importance importance;
  for (const auto &of : squares) {
    const std::vector<double> &sums = of.second.sums;
    const double mean =
        std::accumulate(sums.begin(), sums.end(), 0.0) / double(sums.size());
    std::vector<float> means;
    for (double sum : sums) {
      const double square =
          std::max(sum, leastShare * mean) / double(of.second.rows);
      means.push_back(
          bfloat16ToFloat(floatToBfloat16(static_cast<float>(square))));
    }
    importance.set(of.first().str(), std::move(means));
  }
  return importance;
}

Result<Importance> transom::calibrate(ModuleOp module, const ImportInfo &info,
                                      const std::string &tables,
                                      int64_t maxTokens,
                                      const std::string &file) {
  if (tables.empty())
    return unsupported("'--calibrate' needs the model's tokenizer, and it has "
                       "none that can be read");
  TRANSOM_ASSIGN(Tokenizer tokenizer, Tokenizer::open(tables));
  TRANSOM_ASSIGN(const std::string texts, readSmallFile(file, maxTextBytes));
  Calibrator calibrator(module, info);
  TRANSOM_TRY(calibrator.findEntry());
  // Evaluate each line that is not empty; errors name the file and the line.
  size_t used = 0;
  llvm::StringRef rest = texts;
  for (size_t line = 1; !rest.empty(); ++line) {
    auto [text, after] = rest.split('\n');
    rest = after;
    text = text.trim();
    if (text.empty())
      continue;
    auto atPlace = [&](Error error) {
      error.message = file + ":" + std::to_string(line) + ": " + error.message;
      return error;
    };
    EncodeOptions how;
    how.maxLength = static_cast<size_t>(maxTokens);
    Result<Encoding> encoding = tokenizer.encode(text.str(), how);
    if (!encoding)
      return atPlace(encoding.takeError());
    if (encoding->ids.empty())
      continue;
    if (Result<void> done = calibrator.run(encoding->ids); !done)
      return atPlace(done.takeError());
    ++used;
  }
  if (used == 0)
    return rejected(file + ": no texts; expected one a line");
  return calibrator.takeImportance();
}
