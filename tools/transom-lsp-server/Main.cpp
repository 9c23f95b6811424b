// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// MLIR's language server with the project's dialects: editors that support the
// language server protocol show types, definitions, uses and errors in any
// stage before LLVM IR.
#include "compiler/pipeline/Register.h"
#include "compiler/pipeline/ToolOutput.h"
#include "mlir/Tools/mlir-lsp-server/MlirLspServerMain.h"
#include "llvm/Support/LogicalResult.h"

int main(int argc, char **argv) {
  transom::initializeTool("transom-lsp-server");
  mlir::DialectRegistry registry;
  transom::registerTransomDialects(registry);
  return llvm::failed(mlir::MlirLspServerMain(argc, argv, registry));
}
