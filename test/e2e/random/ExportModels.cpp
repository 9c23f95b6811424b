// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// export-random-models FOLDER COUNT: writes random models, each as a folder
// with graph.json, weights, inputs and cases.json, for
// tools/dev/compare-builds. Seeds that graph.json cannot express are omitted.
#include "compiler/safetensors/Safetensors.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "test/e2e/random/GraphExport.h"
#include "test/e2e/random/RandomGraph.h"
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <list>

using namespace mlir;
using namespace transom;
using namespace transom::testing;

/// Writes the inputs for an entry with their declared types.
static Result<void> writeInputs(ModuleOp module, const std::string &entry,
                                uint64_t seed, const std::string &path) {
  auto function = module.lookupSymbol<func::FuncOp>(entry);
  std::vector<NamedTensor> inputs =
      randomInputs(module, entry, seed, Lengths::Long);
  // The lists own the converted data that the views refer to.
  std::list<std::vector<float>> floats;
  std::list<std::vector<int64_t>> words;
  std::list<std::vector<uint8_t>> bytes;
  std::vector<TensorView> views;
  // Convert each input to its declared element type.
  for (auto [input, type] : llvm::zip(inputs, function.getArgumentTypes())) {
    Type element = cast<ShapedType>(type).getElementType();
    const Tensor &tensor = input.tensor;
    TensorView view{
        input.name, DType::F32, {tensor.sizes.begin(), tensor.sizes.end()}};
    if (tensor.isFloat) {
      std::vector<double> reals = tensor.getReals();
      view.data = floats.emplace_back(reals.begin(), reals.end()).data();
    } else if (element.isInteger(1)) {
      view.dtype = DType::Bool;
      view.data =
          bytes.emplace_back(tensor.whole.begin(), tensor.whole.end()).data();
    } else {
      view.dtype = DType::I64;
      view.data = words.emplace_back(tensor.whole).data();
    }
    views.push_back(std::move(view));
  }
  return writeSafetensors(path, views);
}

/// Writes the model for a seed; returns false if graph.json cannot express it.
static bool writeModel(uint64_t seed, const std::string &folder) {
  MLIRContext context(MLIRContext::Threading::DISABLED);
  OwningOpRef<ModuleOp> module = makeRandomModule(&context);
  RandomWeights weights;
  addRandomGraph(*module, seed, weights, getUsualKind(seed));
  std::string entry = "g" + std::to_string(seed);
  std::filesystem::create_directories(folder);
  if (!exportGraph(*module, entry, weights, folder) ||
      !writeInputs(*module, entry, seed, folder + "/inputs.safetensors")) {
    std::filesystem::remove_all(folder);
    return false;
  }
  std::ofstream(folder + "/cases.json")
      << R"({"cases": [{"entry": "run", "input": "inputs.safetensors"}]})"
      << "\n";
  return true;
}

int main(int argc, char **argv) {
  if (argc != 3) {
    std::cerr << "usage: export-random-models FOLDER COUNT\n";
    return 2;
  }
  int count = std::atoi(argv[2]), written = 0;
  for (uint64_t seed = 0; written < count; ++seed)
    written +=
        writeModel(seed, std::string(argv[1]) + "/" + std::to_string(seed));
  std::cout << written << " models\n";
  return 0;
}
