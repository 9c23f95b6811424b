// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Writing and reading modules.
#include "compiler/stages/ModuleText.h"
#include "compiler/stages/Diagnostics.h"
#include "dialects/kern/Kern.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/FileSystem.h"
#include <unistd.h>

using namespace mlir;
using namespace transom;

std::string transom::printModule(ModuleOp module) {
  kern::KernDialect::useTypeAliases(module.getContext());
  std::string text;
  llvm::raw_string_ostream stream(text);
  module->print(stream, OpPrintingFlags().enableDebugInfo());
  stream << "\n";
  return stream.str();
}

/// The maximum line width for `--emit`.
static constexpr size_t maxColumns = 100;

/// Returns the offset of the space at which to break a line; npos if it fits or
/// cannot be broken. Preference order: the last space outside brackets, after a
/// comma if one is near the end; the last space; the first space after the
/// columns. Strings are never broken.
static size_t findBreak(StringRef line, size_t columns) {
  if (line.size() <= columns)
    return StringRef::npos;
  // Scan up to the limit, or up to the first space after it.
  size_t any = StringRef::npos, outside = any, afterComma = any;
  bool inString = false;
  int depth = 0; // square and angle brackets
  for (size_t i = 0;
       i < line.size() && (i <= columns || any == StringRef::npos); ++i) {
    char c = line[i];
    if (c == '\\' && inString)
      ++i;
    else if (c == '"')
      inString = !inString;
    else if (inString)
      continue;
    else if (c == '[' || c == '<')
      ++depth;
    else if (c == ']' || (c == '>' && (i == 0 || line[i - 1] != '-')))
      --depth;
    else if (c == ' ') {
      any = i;
      if (depth == 0)
        outside = i;
      if (depth == 0 && i > columns * 3 / 4 && line[i - 1] == ',')
        afterComma = i;
    }
  }
  if (afterComma != StringRef::npos)
    return afterComma;
  return outside != StringRef::npos && outside > columns / 2 ? outside : any;
}

std::string transom::wrapLines(StringRef text,
                               std::vector<unsigned> *firstLines) {
  std::string wrapped;
  for (unsigned numLines = 0; !text.empty(); ++numLines) {
    if (firstLines)
      firstLines->push_back(numLines);
    StringRef line;
    std::tie(line, text) = text.split('\n');
    size_t indent = line.size() - line.ltrim(' ').size();
    line = line.ltrim(' ');
    wrapped.append(indent, ' ');
    for (size_t at = 0; line.size() + indent > maxColumns; indent = at) {
      size_t split = findBreak(line, maxColumns - std::min(indent, maxColumns));
      if (split == StringRef::npos)
        break;
      wrapped += line.take_front(split);
      line = line.drop_front(split + 1);
      at = at ? at : indent + 4;
      wrapped += "\n" + std::string(at, ' ');
      ++numLines;
    }
    wrapped += line;
    wrapped += "\n";
  }
  return wrapped;
}

std::string transom::printForReading(ModuleOp module, bool withLocations) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  module->print(stream, OpPrintingFlags().enableDebugInfo(withLocations));
  return wrapLines(stream.str());
}

Result<OwningOpRef<ModuleOp>> transom::readModule(MLIRContext &context,
                                                  const std::string &text) {
  DiagnosticCollector diagnostics(context);
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(text, &context);
  if (!module)
    return diagnostics.error(Status::Internal, "the module does not read back");
  return Result<OwningOpRef<ModuleOp>>(std::move(module));
}

std::string transom::writeReproducer(const std::string &text) {
  llvm::SmallString<128> path;
  int fd = -1;
  if (llvm::sys::fs::createTemporaryFile("transom-reproducer", "mlir", fd,
                                         path))
    return {};
  llvm::raw_fd_ostream stream(fd, /*shouldClose=*/true);
  stream << text;
  stream.close();
  // A stream with an error would end the process.
  if (stream.has_error()) {
    stream.clear_error();
    llvm::sys::fs::remove(path);
    return {};
  }
  return path.str().str();
}
