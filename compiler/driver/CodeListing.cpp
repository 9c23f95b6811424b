// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// MLIR's printer reports the line of each printed operation.
#include "compiler/driver/CodeListing.h"
#include "dialects/common/Location.h"
#include "dialects/kern/Kern.h"
#include "mlir/IR/AsmState.h"
#include "passes/Remarks.h"
#include "runtime/base/Utf8.h"

using namespace mlir;
using namespace transom;

std::string transom::getListingPath(const std::string &output) {
  return output + ".kern.mlir";
}

/// Returns a note such as `kern.gemm encoder.layer.{0-11}.output`, restricted
/// to single-line characters.
static std::string getNote(Operation *op) {
  std::string note = op->getName().getStringRef().str();
  if (auto phase = dyn_cast<kern::PhaseOp>(op))
    note += " " + phase.getName().str();
  if (std::string path = getModulePath(op->getLoc()); !path.empty())
    note += " " + utf8::printable(path, path.max_size());
  return note;
}

/// `  // encoder.layer.{0-11}.output (config.json: /hidden_size)`.
static std::string getComment(Location location) {
  std::string path = getModulePath(location), origin = getOrigin(location);
  if (path.empty() && origin.empty())
    return {};
  std::string comment = "  //";
  if (!path.empty())
    comment += " " + utf8::printable(path, path.max_size());
  if (!origin.empty())
    comment += " (" + utf8::printable(origin, origin.max_size()) + ")";
  return comment;
}

/// Returns the line's location, under the module path.
static Location makeLineLocation(Location location, StringRef file,
                                 unsigned line) {
  Location at = FileLineColLoc::get(location.getContext(), file, line, 1);
  std::string path = getModulePath(location);
  return path.empty()
             ? at
             : NameLoc::get(StringAttr::get(location.getContext(), path), at);
}

CodeListing transom::makeListing(ModuleOp module, std::string file) {
  kern::KernDialect::useTypeAliases(module.getContext());
  CodeListing listing;
  listing.file = std::move(file);
  listing.module = module.clone();
  (*listing.module)->removeAttr(Remarks::attributeName);
  std::string text;
  {
    AsmState::LocationMap lines;
    llvm::raw_string_ostream stream(text);
    AsmState state(*listing.module, OpPrintingFlags(), &lines);
    (*listing.module)->print(stream, state);
    stream.flush();

    // Operations that print nothing, such as terminators, have no line; values
    // printed on an operation's own line, such as its first argument, do.
    listing.notes.resize(StringRef(text).count('\n') + 1);
    std::vector<std::string> comments(listing.notes.size());
    listing.module->walk<WalkOrder::PreOrder>([&](Operation *op) {
      auto at = lines.find(op);
      const unsigned line = at == lines.end() ? 0 : at->second.first;
      if (line == 0 || line > comments.size())
        return;
      if (op != *listing.module && listing.notes[line - 1].empty()) {
        listing.notes[line - 1] = getNote(op);
        comments[line - 1] = getComment(op->getLoc());
      }
      op->setLoc(makeLineLocation(op->getLoc(), listing.file, line));
    });

    StringRef rest(text);
    for (const std::string &comment : comments) {
      auto [line, after] = rest.split('\n');
      listing.text += line.str() + comment + "\n";
      rest = after;
    }
  }
  return listing;
}
