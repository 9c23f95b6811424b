// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Optimization remarks: what each pass did and what it did not do, each with
// its location, a reason of the table RemarkTable.def, and the values that were
// compared. All passes report here. The remarks are an attribute of the module,
// so they survive writing and reading the module between stages.
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
  Passed,   ///< the pass did it
  Missed,   ///< the pass did not do it
  Failure,  ///< the pass had to do it and could not
  Analysis, ///< what the pass found out or chose
};

/// `passed`, `missed`, `failure` or `analysis`.
llvm::StringRef getRemarkKindName(RemarkKind kind);

/// The reasons of RemarkTable.def.
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
  /// The message; `{key}` is replaced by the argument of that key.
  llvm::StringLiteral text;
  /// What it means, and what to change in the model or in the options.
  llvm::StringLiteral help;
};

/// All entries, in the order of the table.
llvm::ArrayRef<RemarkInfo> getRemarkTable();
const RemarkInfo &getRemarkInfo(RemarkId id);
/// The entry of a category and name; null for an unknown one.
const RemarkInfo *findRemarkInfo(llvm::StringRef category,
                                 llvm::StringRef name);

/// The texts of what is compared: `'attn.add' at 'layer.0.residual'` for an
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

/// The texts of operations as `listTexts` joins them.
std::string getRemarkText(llvm::ArrayRef<mlir::Operation *> ops);

/// Texts in one, of which more than four are only counted; `none` for no text.
std::string listTexts(std::vector<std::string> texts);

/// What reads a value.
std::string getReaders(mlir::Value value);

/// A value that a pass compared, by the key that the table's text uses.
struct RemarkArgument {
  template <typename T>
  RemarkArgument(llvm::StringRef key, const T &value)
      : key(key.str()), value(getRemarkText(value)) {}

  bool operator==(const RemarkArgument &other) const {
    return key == other.key && value == other.value;
  }

  std::string key, value;
};

/// A reason with the values that were compared. What a matcher returns in place
/// of a match.
struct RemarkReason {
  RemarkReason(RemarkId id, std::vector<RemarkArgument> args = {})
      : id(id), args(std::move(args)) {}

  RemarkId id;
  std::vector<RemarkArgument> args;
};

/// One remark of a pass. `explain --json` has the same fields.
struct Remark {
  /// The table's text with the arguments in place of their keys; for a name
  /// that this version does not know, the name.
  std::string getMessage() const;
  /// The value of an argument, empty without it.
  llvm::StringRef getArgument(llvm::StringRef key) const;

  RemarkKind kind = RemarkKind::Passed;
  /// The flag of the pass, and the reason's name.
  std::string category, name;
  /// The symbol of the function that the operation is in; empty outside of one.
  std::string function;
  /// The module path as `getModulePath` gives it; empty where it is unknown.
  std::string location;
  /// The model's file and the JSON pointer in it; empty where unknown.
  std::string file, pointer;
  /// Sorted by key.
  std::vector<RemarkArgument> args;
};

/// Collects the remarks of one pass on one module and adds them to the module's
/// attribute in its destructor. There is no remark without a reason of the
/// table:
///
///   Remarks remarks(module);
///   remarks.report(softmax, {RemarkId::ScoresHaveOtherReader,
///                            {{"readers", getReaders(scores)}}});
class Remarks {
public:
  /// The module's attribute: an array of dictionaries. It has no part in the
  /// artifact.
  static constexpr llvm::StringLiteral attributeName = "attn.remarks";

  explicit Remarks(mlir::ModuleOp module);
  ~Remarks();
  Remarks(const Remarks &) = delete;
  Remarks &operator=(const Remarks &) = delete;

  /// Records a reason at an operation. A function without a module path has the
  /// location of its first operation. A remark that equals another one in all
  /// fields is dropped.
  void report(mlir::Operation *op, const RemarkReason &reason);
  /// Records a reason at a location in a function.
  void report(mlir::Location location, mlir::Operation *function,
              const RemarkReason &reason);

  /// Adds the remarks since the last call to the module's attribute.
  void save();

  /// All remarks of a module, in the order in which they were made.
  static std::vector<Remark> readFrom(mlir::ModuleOp module);

private:
  mlir::ModuleOp module;
  std::vector<Remark> collected;
};

} // namespace transom
