// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What both importers build with: makes operations of the attn dialect at a
// current place, infers their types at once, and makes weights from tensors of
// the files whose shapes it checks. The first error sticks, and later calls
// give null values, so that builders read as the model does.
#pragma once
#include "compiler/import/Import.h"
#include "compiler/import/ImportErrors.h"
#include "dialects/attn/Attn.h"
#include "dialects/common/Location.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "runtime/base/DType.h"
#include <optional>
#include <set>

namespace transom {

/// Sizes of a tensor; symbols are the module's.
using Dims = llvm::SmallVector<Polynomial>;

/// An argument of an entry.
struct EntryInput {
  std::string name;
  DType dtype = DType::F32;
  Dims shape;
  std::string role = "data";           ///< `ids`, `mask` or `data`
  std::optional<int64_t> bound;        ///< ids are below this
  std::optional<int64_t> defaultValue; ///< what fills an input left out
  std::string maskOf = "";             ///< the input whose padding this marks
  std::string pointer = "";            ///< JSON pointer; empty: of the entry
};

/// A result of an entry.
struct EntryOutput {
  std::string name;
  mlir::Value value;
};

/// Tensors that are taken to be there, with the shapes that their users expect
/// (for a config without files).
class AssumedTensors : public TensorSource {
public:
  Result<std::vector<int64_t>> shape(const std::string &name) const override;
  Result<void> read(const std::string &name,
                    const std::vector<int64_t> &offsets,
                    const std::vector<int64_t> &sizes,
                    float *out) const override;

  std::map<std::string, std::vector<int64_t>> shapes;
};

/// Builds one module. Not copyable; one for each import.
class Emitter {
public:
  /// `files` outlives the emitter; `baseFile` is the name in places.
  Emitter(mlir::MLIRContext &context, const ModelFiles &files,
          std::string baseFile);
  ~Emitter();
  Emitter(const Emitter &) = delete;

  //===--- Locations and errors ------------------------------------------===//

  /// Operations made from now on come from this module path and this JSON
  /// pointer of the base file.
  void at(const std::string &path, const std::string &jsonPointer);
  mlir::Location location() const { return loc; }
  /// From now on pointers are into this file, and begin at that one.
  void setFile(std::string file, std::string start) {
    baseFile = std::move(file);
    pointerStart = std::move(start);
  }
  /// What begins the error of an operation that does not fit here (graph.json:
  /// `graph.json:3:5: '/nodes/0': `).
  void setErrorPrefix(std::string prefix) { errorPrefix = std::move(prefix); }

  /// Sets what ends the errors of tensors.
  void setTensorHelp(TensorHelp help) { tensorHelp = std::move(help); }

  /// From now on tensors are not looked for in files: each is taken to be there
  /// in the shape that is asked for, with elements of that type (`F32`).
  void assumeTensors(std::string dtype);
  bool assumesTensors() const { return assumed.has_value(); }

  /// Records an error unless there is one; gives a null value. The layer of the
  /// current location is added where the text does not name it.
  mlir::Value fail(Error error);
  bool failed() const { return failure.has_value(); }
  Error takeError() { return std::move(*failure); }

  //===--- Entries -------------------------------------------------------===//

  /// Keeps the name of an entry that is begun later from weights and caches.
  void reserveEntry(const std::string &name) { entryNames.insert(name); }
  /// Begins the function of an entry; gives its arguments.
  llvm::SmallVector<mlir::Value> beginEntry(const std::string &name,
                                            llvm::ArrayRef<EntryInput> inputs);
  /// Says that the values of an argument are used as indices below `rows`.
  void boundInput(mlir::Value argument, int64_t rows);
  /// That bound of an argument, where it was set.
  std::optional<int64_t> getBound(unsigned argument);
  /// Ends it with these results.
  void endEntry(llvm::ArrayRef<EntryOutput> outputs);
  /// Sets an attribute of the entry's function.
  void annotateEntry(llvm::StringRef name, mlir::Attribute value);

  //===--- Operations ----------------------------------------------------===//

  /// Makes an operation with one result whose type follows from its operands;
  /// arguments as its builder takes them after the result type. Null after an
  /// error, also when the shapes do not fit.
  template <typename Op, typename... Args> mlir::Value make(Args &&...args) {
    if (failed())
      return {};
    mlir::Type open = mlir::UnrankedTensorType::get(builder.getF32Type());
    return infer(builder.create<Op>(loc, open, std::forward<Args>(args)...));
  }

  /// The tensor `file` as a weight `symbol` of that shape (nothing: as it is).
  /// `sizes` explains the shape in errors (`[vocab_size, hidden_size]`).
  mlir::Value fileWeight(const std::string &symbol, const std::string &file,
                         std::optional<std::vector<int64_t>> shape,
                         const std::string &sizes = "");
  /// True when the tensor is there as floats of that shape (nothing: any).
  bool checkTensor(const std::string &file,
                   const std::optional<std::vector<int64_t>> &shape,
                   const std::string &sizes = "");
  /// A weight by an expression over tensors that are there.
  mlir::Value weight(const std::string &symbol, const WeightExpr &expr);
  /// The expression of a value that is a weight.
  std::optional<WeightExpr> getWeightExpr(mlir::Value value) const;

  /// A constant of f32 with these numbers in row-major order.
  mlir::Value constant(llvm::ArrayRef<int64_t> shape,
                       llvm::ArrayRef<double> numbers);
  /// A constant as a weight, for operations that take weights only; another
  /// value as it is.
  mlir::Value asWeight(mlir::Value value);
  /// Records that the model uses a tensor of the files, although no weight
  /// refers to it.
  void markUsed(const std::string &file) { usedTensors.insert(file); }
  const ModelFiles &getFiles() const { return files; }

  mlir::Value linear(mlir::Value input, mlir::Value weight, mlir::Value bias);
  mlir::Value add(mlir::Value a, mlir::Value b);
  mlir::Value scale(mlir::Value input, double factor, double offset = 0);
  mlir::Value activation(mlir::Value input, Activation kind);
  mlir::Value reshape(mlir::Value input, const Dims &shape);
  mlir::Value transpose(mlir::Value input, llvm::ArrayRef<int64_t> permutation);
  mlir::Value matmul(mlir::Value a, mlir::Value b, bool transposeA,
                     bool transposeB);
  mlir::Value mask(mlir::Value scores, mlir::Value mask, double value);
  mlir::Value softmax(mlir::Value input);
  mlir::Value cast(mlir::Value input, DType to);
  mlir::Value layerNorm(mlir::Value input, mlir::Value gamma, mlir::Value beta,
                        double eps);
  mlir::Value rmsNorm(mlir::Value input, mlir::Value gamma, double eps);
  mlir::Value embedding(mlir::Value ids, mlir::Value table, double scale);

  /// The new rows of the sequences of a step: `!attn.ragged<rows, keys>`.
  mlir::Value sequences();
  /// The tokens of a padded batch that its mask has, as a ragged batch with
  /// these symbols.
  mlir::Value raggedBatch(mlir::Value mask, llvm::StringRef rows,
                          llvm::StringRef keys);
  /// The rows of `from` that `indices` number, taken before `users`: a chain
  /// of operations, the last first, each of which reads the next one's result
  /// by row, and the last in the list `from`. Gives the chain's result.
  mlir::Value gatherBefore(mlir::Value from, mlir::Value indices,
                           llvm::ArrayRef<mlir::Operation *> users);
  /// Declares a cache, and gives the symbol that it got: `symbol`, or with
  /// underscores where that is taken. Entries get it by `getCache`.
  std::string declareCache(const std::string &symbol, attn::CacheType type);
  mlir::Value getCache(const std::string &symbol, attn::CacheType type);
  /// Declares a cache of this name, and gives it as an operand.
  mlir::Value cache(const std::string &symbol, attn::CacheType type) {
    return getCache(declareCache(symbol, type), type);
  }

  /// The sizes of a value.
  Dims getShape(mlir::Value value) const;
  mlir::OpBuilder &ops() { return builder; }

  //===--- The module ----------------------------------------------------===//

  /// Sets `attn.name`, `attn.symbols` (largest value, -1 = none) and
  /// `attn.info`; fills the used, unused and counted tensors of `info`.
  void finish(ImportInfo &info,
              const std::vector<std::pair<std::string, int64_t>> &symbols,
              llvm::ArrayRef<mlir::NamedAttribute> extraInfo);
  /// Hands the verified module over, or the first error.
  Result<mlir::OwningOpRef<mlir::ModuleOp>> take();

private:
  mlir::Value infer(mlir::Operation *op);
  mlir::Value getWeight(const std::string &symbol,
                        llvm::ArrayRef<int64_t> shape, const WeightExpr &expr);
  /// Errors of `checkTensor`.
  Error getMissing(const std::string &file,
                   const std::optional<std::vector<int64_t>> &shape,
                   const std::string &sizes) const;
  Error getMisshapen(const std::string &file, const std::vector<int64_t> &found,
                     const std::vector<int64_t> &expected,
                     const std::string &sizes) const;
  void dropUnusedWeights();
  void countTensors(ImportInfo &info);
  const TensorSource &tensors() const;
  /// Where a symbol of the module goes: after those that are there.
  void toNextSymbol();

  const ModelFiles &files;
  std::string baseFile;
  std::string path, pointer; ///< of the current location
  std::string pointerStart;  ///< goes before pointers that are given
  std::string errorPrefix;
  TensorHelp tensorHelp;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  mlir::OpBuilder builder;
  mlir::Operation *lastSymbol = nullptr; // weights come first, in order
  std::optional<AssumedTensors> assumed;
  std::string assumedDtype;
  std::map<std::string, std::pair<std::string, std::vector<int64_t>>> weights;
  std::set<std::string> caches, entryNames, usedTensors;
  mlir::func::FuncOp entry;
  mlir::Location loc;
  std::optional<Error> failure;
};

/// The MLIR element type of a dtype: `bool` is i1.
mlir::Type getElementType(mlir::MLIRContext *context, DType dtype);

} // namespace transom
