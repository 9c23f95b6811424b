// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs an artifact's entries on one thread, and exposes the memory before and
// after each dispatch.
#pragma once
#include "compiler/verify/ArtifactStepper.h"
#include "runtime/execute/ExecutorRun.h"
#include "tools/commands/verify/BitsTensors.h"

namespace transom::tools {

/// Settings for the calls.
struct StepperOptions {
  std::vector<int64_t> lengths; ///< sequence lengths; limited by the model
  uint64_t seed = 1;
  /// Workers per dispatch; they run sequentially. 0: alternates 3, 1 and 8.
  unsigned workers = 0;
};

/// Returns lengths around the code's block sizes: GEMMs have a kernel for each
/// row count up to 14; key panels have 32 positions, KV blocks 256.
std::vector<int64_t> getDefaultLengths();

/// An artifact's instruction sets that this CPU supports.
struct RunnableModels {
  std::vector<std::unique_ptr<Model>> models; ///< most capable first
  std::vector<std::string>
      lacking; ///< in the artifact, but not supported by the CPU

  /// Loads an artifact for each instruction set that runs here, or for the one
  /// that the environment requests.
  static Result<RunnableModels> load(const std::string &path,
                                     const Manifest &manifest);
};

class MachineStepper : public ArtifactStepper, private DispatchObserver {
public:
  /// The arguments must outlive this.
  MachineStepper(const RunnableModels &models, const Manifest &manifest,
                 const StepperOptions &options)
      : models(models), manifest(manifest), options(options) {}

  const Manifest &getManifest() const override { return manifest; }
  Result<void> run(DispatchChecker &checker) override;

private:
  void willRun(const ExecutorRun &run, int64_t dispatch) override;
  void didRun(const ExecutorRun &run, int64_t dispatch) override;
  SteppedDispatch describe(const ExecutorRun &run, int64_t dispatch) const;

  Result<void> runTensors(const Entry &entry);
  Result<void> runSteps();
  Result<std::unique_ptr<Session>> createSession(int64_t longest,
                                                 unsigned workers);
  unsigned getWorkers(size_t call) const;
  /// Returns a new sequence; an encoder-decoder gets a source with `length`
  /// tokens.
  Result<int32_t> createSequence(DecodeEngine &decoder, int64_t length);
  Result<void> stepListed(DecodeEngine &decoder,
                          const std::vector<transom_step_input> &inputs,
                          const std::string &how);
  Result<void> step(DecodeEngine &decoder,
                    const std::vector<transom_step_input> &inputs,
                    const std::string &how);
  Result<void> readPrompt(DecodeEngine &decoder, int64_t length, int64_t chunk,
                          bool hasAllChunks);
  Result<void> readTogether(DecodeEngine &decoder, int32_t sequence);
  Result<void> readChunks(DecodeEngine &decoder, int32_t sequence,
                          int64_t past);
  int64_t drawToken(int64_t bound) {
    return static_cast<int64_t>(random() % static_cast<uint64_t>(bound));
  }

  const RunnableModels &models;
  const Manifest &manifest;
  const StepperOptions &options;
  DispatchChecker *checker = nullptr;
  const Model *model = nullptr; ///< current model
  std::mt19937 random;
  std::vector<int64_t> tokens; ///< random ids, for steps
  std::vector<int64_t> listed; ///< random tokens with logits
  std::string call;            ///< description of the current call
  int64_t numCalls = 0;        ///< calls so far
  const char *blocks = nullptr;
  int64_t blockBytes = 0;
};

} // namespace transom::tools
