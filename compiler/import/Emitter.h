// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Module builder for all importers: creates attn operations at a current
// location, infers their types immediately, and creates weights from file
// tensors after checking their shapes. The first error is persistent, and later
// calls return null values, so that importers need no error check after each
// operation.
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

/// Tensor sizes; their symbols belong to the module.
using Dims = llvm::SmallVector<Polynomial>;

/// An entry argument.
struct EntryInput {
  std::string name;
  DType dtype = DType::F32;
  Dims shape;
  std::string role = "data";           ///< `ids`, `mask` or `data`
  std::optional<int64_t> bound;        ///< ids are below this
  std::optional<int64_t> defaultValue; ///< value used if the input is omitted
  std::string maskOf = "";             ///< input whose padding this marks
  std::string pointer = "";            ///< JSON pointer; empty: the entry's
};

/// An entry result.
struct EntryOutput {
  std::string name;
  mlir::Value value;
};

/// Tensors that are assumed to exist with the shapes that their users expect
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

/// Builds one module. Not copyable; each import has its own.
class Emitter {
public:
  /// `files` outlives the emitter; locations name `baseFile`.
  Emitter(mlir::MLIRContext &context, const ModelFiles &files,
          std::string baseFile);
  ~Emitter();
  Emitter(const Emitter &) = delete;

  //===--- Locations and errors ------------------------------------------===//

  /// Sets the location for subsequent operations: this module path and this
  /// JSON pointer in the base file.
  void at(const std::string &path, const std::string &jsonPointer);
  mlir::Location location() const { return loc; }
  /// Subsequent pointers refer to this file and start with `start`.
  void setFile(std::string file, std::string start) {
    baseFile = std::move(file);
    pointerStart = std::move(start);
  }
  /// Sets the prefix for errors of operations whose operands do not fit
  /// (graph.json: `graph.json:3:5: '/nodes/0': `).
  void setErrorPrefix(std::string prefix) { errorPrefix = std::move(prefix); }

  /// Sets the function that returns the suffix of tensor errors.
  void setTensorHelp(TensorHelp help) { tensorHelp = std::move(help); }

  /// Disables the tensor lookup in files: each requested tensor is assumed to
  /// exist with the requested shape and element type `dtype` (`F32`).
  void assumeTensors(std::string dtype);
  bool assumesTensors() const { return assumed.has_value(); }

  /// Records an error unless there is one; returns a null value. Adds the
  /// current location's layer if the message does not name it.
  mlir::Value fail(Error error);
  bool failed() const { return failure.has_value(); }
  Error takeError() { return std::move(*failure); }

  //===--- Entries -------------------------------------------------------===//

  /// Reserves the name of a later entry; weights and caches do not use it.
  void reserveEntry(const std::string &name) { entryNames.insert(name); }
  /// Begins an entry function and returns its arguments.
  llvm::SmallVector<mlir::Value> beginEntry(const std::string &name,
                                            llvm::ArrayRef<EntryInput> inputs);
  /// Records that the values of an argument are indices less than `rows`.
  void boundInput(mlir::Value argument, int64_t rows);
  /// The bound set by `boundInput`, if any.
  std::optional<int64_t> getBound(unsigned argument);
  /// Ends the entry with these results.
  void endEntry(llvm::ArrayRef<EntryOutput> outputs);
  /// Sets an attribute on the entry function.
  void annotateEntry(llvm::StringRef name, mlir::Attribute value);

  //===--- Operations ----------------------------------------------------===//

  /// Creates an operation with one result and infers its type from the
  /// operands; arguments follow the builder's order after the result type.
  /// Returns null after an error or if the shapes do not fit.
  template <typename Op, typename... Args> mlir::Value make(Args &&...args) {
    if (failed())
      return {};
    mlir::Type open = mlir::UnrankedTensorType::get(builder.getF32Type());
    return infer(builder.create<Op>(loc, open, std::forward<Args>(args)...));
  }

  /// Returns the tensor `file` as a weight `symbol` with this shape (nullopt:
  /// the stored shape). `sizes` explains the shape in errors
  /// (`[vocab_size, hidden_size]`).
  mlir::Value fileWeight(const std::string &symbol, const std::string &file,
                         std::optional<std::vector<int64_t>> shape,
                         const std::string &sizes = "");
  /// Returns true if the tensor exists with a float type and this shape
  /// (nullopt: any shape).
  bool checkTensor(const std::string &file,
                   const std::optional<std::vector<int64_t>> &shape,
                   const std::string &sizes = "");
  /// Returns a weight with an expression over existing tensors.
  mlir::Value weight(const std::string &symbol, const WeightExpr &expr);
  /// Returns the expression if the value is a weight.
  std::optional<WeightExpr> getWeightExpr(mlir::Value value) const;

  /// Returns an f32 constant with these values in row-major order.
  mlir::Value constant(llvm::ArrayRef<int64_t> shape,
                       llvm::ArrayRef<double> numbers);
  /// Returns a constant as a weight, for operations that require weights; other
  /// values are returned unchanged.
  mlir::Value asWeight(mlir::Value value);
  /// Marks a file tensor as used although no weight refers to it.
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

  /// Returns the new rows of a step's sequences: `!attn.ragged<rows, keys>`.
  mlir::Value sequences();
  /// Returns the unmasked tokens of a padded batch as a ragged batch with these
  /// symbols.
  mlir::Value raggedBatch(mlir::Value mask, llvm::StringRef rows,
                          llvm::StringRef keys);
  /// Gathers rows `indices` of `from` before `users`: a chain of operations, in
  /// reverse order, each of which reads the next one's result row by row; the
  /// last one in the list reads `from`. Returns the chain's result.
  mlir::Value gatherBefore(mlir::Value from, mlir::Value indices,
                           llvm::ArrayRef<mlir::Operation *> users);
  /// Declares a cache and returns its symbol: `symbol`, with underscores
  /// appended if it is already used. Entries access it with `getCache`.
  std::string declareCache(const std::string &symbol, attn::CacheType type);
  mlir::Value getCache(const std::string &symbol, attn::CacheType type);
  /// Declares a cache with this name and returns it as an operand.
  mlir::Value cache(const std::string &symbol, attn::CacheType type) {
    return getCache(declareCache(symbol, type), type);
  }

  /// Returns a value's sizes.
  Dims getShape(mlir::Value value) const;
  mlir::OpBuilder &ops() { return builder; }

  //===--- The module ----------------------------------------------------===//

  /// Sets `attn.name`, `attn.symbols` (max value, -1 = none) and `attn.info`;
  /// fills in used, unused and counted tensors in `info`.
  void finish(ImportInfo &info,
              const std::vector<std::pair<std::string, int64_t>> &symbols,
              llvm::ArrayRef<mlir::NamedAttribute> extraInfo);
  /// Returns the verified module, or the first error.
  Result<mlir::OwningOpRef<mlir::ModuleOp>> take();

private:
  mlir::Value infer(mlir::Operation *op);
  mlir::Value getWeight(const std::string &symbol,
                        llvm::ArrayRef<int64_t> shape, const WeightExpr &expr);
  /// Errors returned by `checkTensor`.
  Error getMissing(const std::string &file,
                   const std::optional<std::vector<int64_t>> &shape,
                   const std::string &sizes) const;
  Error getMisshapen(const std::string &file, const std::vector<int64_t> &found,
                     const std::vector<int64_t> &expected,
                     const std::string &sizes) const;
  void dropUnusedWeights();
  void countTensors(ImportInfo &info);
  const TensorSource &tensors() const;
  /// Moves the insertion point after the module's existing symbols.
  void toNextSymbol();

  const ModelFiles &files;
  std::string baseFile;
  std::string path, pointer; ///< current location
  std::string pointerStart;  ///< prefix for given pointers
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

/// Returns the MLIR element type for a dtype; `bool` is i1.
mlir::Type getElementType(mlir::MLIRContext *context, DType dtype);

} // namespace transom
