// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Optimization remarks: each decision in a pass, with its location, a reason
// from the table RemarkTable.def, and the compared values. All passes report
// here. Remarks are a module attribute, so they survive writing and reading the
// module between stages.
#pragma once
#include "mlir/IR/BuiltinOps.h"
#include "runtime/base/Polynomial.h"
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

namespace transom {

/// The kinds of MLIR's remark engine.
enum class RemarkKind {
  Passed,   ///< the pass changed the IR
  Missed,   ///< the pass did not change it
  Failure,  ///< a change that is required is impossible
  Analysis, ///< a finding or a choice
};

/// `passed`, `missed`, `failure` or `analysis`.
llvm::StringRef getRemarkKindName(RemarkKind kind);

/// The reasons in RemarkTable.def.
enum class RemarkId {
#define REMARK(ID, KIND, CATEGORY, NAME, TEXT, HELP) ID,
#include "passes/RemarkTable.def"
};

/// One entry of the table.
struct RemarkInfo {
  RemarkId id;
  RemarkKind kind;
  /// The flag of the pass: `attn-fuse-attention`.
  llvm::StringLiteral category;
  /// Unique within the category: `scores-have-other-reader`.
  llvm::StringLiteral name;
  /// The message; the arguments replace each `{key}`.
  llvm::StringLiteral text;
  /// The meaning, and changes to the model or the options that help.
  llvm::StringLiteral help;
};

/// All entries, in the order of the table.
llvm::ArrayRef<RemarkInfo> getRemarkTable();
const RemarkInfo &getRemarkInfo(RemarkId id);
/// The entry for a category and name; null for an unknown one.
const RemarkInfo *findRemarkInfo(llvm::StringRef category,
                                 llvm::StringRef name);

/// The strings for compared values: `'attn.add' at 'layer.0.residual'` for an
/// operation, `argument 'attention_mask'` or its operation for a value,
/// `[batch, 12, 64]` for sizes.
std::string getRemarkText(llvm::StringRef text);
std::string getRemarkText(double number);
std::string getRemarkText(const Polynomial &size);
std::string getRemarkText(llvm::ArrayRef<Polynomial> sizes);
std::string getRemarkText(mlir::Type type);
std::string getRemarkText(mlir::Value value);
std::string getRemarkText(mlir::Operation *op);
template <typename Int, std::enable_if_t<std::is_integral_v<Int>, int> = 0>
std::string getRemarkText(Int number) {
  return std::to_string(number);
}

/// The strings for operations, joined by `listTexts`.
std::string getRemarkText(llvm::ArrayRef<mlir::Operation *> ops);

/// Joins strings by commas. After four, it only counts the rest; `none` for an
/// empty list.
std::string listTexts(std::vector<std::string> texts);

/// Lists the operations that read a value.
std::string getReaders(mlir::Value value);

/// A compared value, and the key that refers to it in the table's message.
struct RemarkArgument {
  template <typename T>
  RemarkArgument(llvm::StringRef key, const T &value)
      : key(key.str()), value(getRemarkText(value)) {}

  bool operator==(const RemarkArgument &other) const {
    return key == other.key && value == other.value;
  }

  std::string key, value;
};

/// A reason with the compared values. A matcher that refuses returns it.
struct RemarkReason {
  RemarkReason(RemarkId id, std::vector<RemarkArgument> args = {})
      : id(id), args(std::move(args)) {}

  RemarkId id;
  std::vector<RemarkArgument> args;
};

/// One remark of a pass. `explain --json` has the same fields.
struct Remark {
  /// The table's message with the arguments inserted; the bare name if this
  /// version has no such entry.
  std::string getMessage() const;
  /// The value for a key; empty if absent.
  llvm::StringRef getArgument(llvm::StringRef key) const;

  RemarkKind kind = RemarkKind::Passed;
  /// The pass's flag and the reason's name.
  std::string category, name;
  /// The symbol of the enclosing function; empty outside functions.
  std::string function;
  /// The module path (`getModulePath`); empty if unknown.
  std::string location;
  /// The model file and a JSON pointer into it; empty if unknown.
  std::string file, pointer;
  /// Sorted by key.
  std::vector<RemarkArgument> args;
};

/// Collects one pass's remarks on one module; the destructor adds them to the
/// module attribute. Each remark needs a reason from the table:
///
///   Remarks remarks(module);
///   remarks.report(softmax, {RemarkId::ScoresHaveOtherReader,
///                            {{"readers", getReaders(scores)}}});
class Remarks {
public:
  /// The module attribute: an array of dictionaries. Artifacts do not contain
  /// it.
  static constexpr llvm::StringLiteral attributeName = "attn.remarks";

  explicit Remarks(mlir::ModuleOp module);
  ~Remarks();
  Remarks(const Remarks &) = delete;
  Remarks &operator=(const Remarks &) = delete;

  /// Records a reason at an operation. A function without a module path gets
  /// its first operation's location. A remark that equals another one in all
  /// fields is dropped.
  void report(mlir::Operation *op, const RemarkReason &reason);
  /// Records a reason at a location in a function.
  void report(mlir::Location location, mlir::Operation *function,
              const RemarkReason &reason);

  /// Adds the remarks since the last call to the module attribute.
  void save();

  /// All remarks on a module, in the order in which they were reported.
  static std::vector<Remark> readFrom(mlir::ModuleOp module);

private:
  mlir::ModuleOp module;
  std::vector<Remark> collected;
};

} // namespace transom
