// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// mlir-opt with the project's dialects, passes and pipelines: reads a module,
// runs the passes that the flags name, writes it.
#include "compiler/pipeline/Register.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "mlir/Transforms/Passes.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  transom::registerTransomDialects(registry);
  mlir::registerCanonicalizerPass();
  mlir::registerCSEPass();
  mlir::registerSymbolDCEPass();
  mlir::registerStripDebugInfoPass();
  transom::registerTransomPasses();
  return mlir::failed(mlir::MlirOptMain(
      argc, argv, "the transom optimizer driver\n", registry));
}
