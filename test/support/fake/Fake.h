// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Shared helpers for runtime tests: the hand-written artifact's manifest, its
// file with a manifest filled in, models and sessions, tensors, and the
// expected results.
#pragma once
#include "runtime/include/transom/transom.h"
#include "runtime/session/Session.h"
#include "test/support/fake/FakeArtifact.h"
#include <gtest/gtest.h>
#include <optional>
#include <string>
#include <vector>

/// The artifact code, linked into the test.
extern "C" const transom_artifact_code transom_artifact;
/// The number of sequences in the read-only group's table in the last step.
extern "C" int64_t transom_fake_num_sources;

namespace transom::test {

/// The manifest that matches FakeArtifact.c.
Manifest fakeManifest();

/// A cache group with one element per position.
ManifestCache makeFakeCache(int64_t window, int64_t readOnlyPositions = 0);

/// The manifest for the decoder in FakeArtifact.c, with its loops. Without
/// `context` there is no limit. `head` and `result` are as in a compiled model.
Manifest fakeDecoderManifest(std::optional<int64_t> context = 2000,
                             const char *head = "causal_lm",
                             const char *result = "logits");

/// The expected logit row for the last one among these tokens; the last element
/// is unspecified.
std::vector<float> expectedLogits(const std::vector<int64_t> &tokens);

/// A folder that is removed with its files.
class TemporaryFolder {
public:
  TemporaryFolder();
  ~TemporaryFolder();
  std::string path(const std::string &name) const {
    return folder + "/" + name;
  }

private:
  std::string folder;
};

/// Returns the bytes of the built shared object with this manifest (file_bytes
/// is set unless specified) and these tokenizer tables.
std::string fakeFile(Manifest manifest, const std::string &tokenizer = "");
/// Writes the digest into artifact bytes.
void signArtifact(std::string &bytes);
/// The same for any manifest string; `rightDigest` also writes the digest.
std::string fakeFileWithText(const std::string &text, bool rightDigest = true);

void writeFile(const std::string &path, const std::string &bytes);
std::string readFile(const std::string &path);

/// A model over the code that is linked into the test.
std::unique_ptr<Model> fakeModel(Manifest manifest = fakeManifest(),
                                 std::string_view tokenizer = {});

/// A dense tensor over a vector's data.
template <typename T>
transom_tensor makeTensor(const char *name, transom_dtype dtype,
                          std::vector<int64_t> shape, std::vector<T> &data) {
  transom_tensor tensor{};
  tensor.name = name;
  tensor.dtype = dtype;
  tensor.rank = int32_t(shape.size());
  std::copy(shape.begin(), shape.end(), tensor.shape);
  tensor.data = data.data();
  tensor.capacity = data.size() * sizeof(T);
  return tensor;
}

/// Inputs and results for one call to the entry `encode`.
struct EncodeCall {
  EncodeCall(int64_t batch, int64_t seq);
  int64_t batch, seq;
  std::vector<int64_t> ids, mask, types;
  std::vector<float> hidden, pooled;
  std::vector<transom_tensor> inputs, outputs;

  /// Fills ids, types and a mask with holes from a seed.
  void randomize(unsigned seed, bool ragged);
  /// Runs the entry `encode`.
  Result<void> run(Session &session);
  /// The expected results.
  void expect(std::vector<float> &hidden, std::vector<float> &pooled) const;
  void checkResults() const;
};

/// A session over a model; the test fails without one.
std::unique_ptr<Session> makeSession(const Model &model,
                                     const SessionConfig &config);
/// A configuration for calls with up to batch times tokens.
SessionConfig makeConfig(int64_t batch, int64_t tokens, unsigned threads = 1);

} // namespace transom::test
