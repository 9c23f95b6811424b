// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Formats MLIR diagnostics as one line each.
#include "compiler/stages/Diagnostics.h"
#include "dialects/common/Location.h"

using namespace mlir;
using namespace transom;

/// `location: text`, without line breaks.
static std::string formatLine(Diagnostic &diagnostic) {
  std::string location = getModulePath(diagnostic.getLocation());
  std::string text = diagnostic.str();
  text = text.substr(0, text.find('\n'));
  return location.empty() ? text : location + ": " + text;
}

DiagnosticCollector::DiagnosticCollector(MLIRContext &context)
    : handler(&context, [this](Diagnostic &diagnostic) {
        if (diagnostic.getSeverity() == DiagnosticSeverity::Error) {
          messages.push_back(formatLine(diagnostic));
          if (!location)
            location = diagnostic.getLocation();
        }
        return success();
      }) {}

Error DiagnosticCollector::error(Status status, const std::string &what) const {
  Error error{status, messages.empty() ? what : messages.front(), {}};
  if (messages.size() > 1)
    error.notes.assign(messages.begin() + 1, messages.end());
  return error;
}
