// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The C API calls that an application makes in its floating-point modes.
#pragma once
#include "test/runtime/FloatState.h"
#include <algorithm>
#include <cstring>
#include <set>

namespace transom::test {

inline void runHostTasks(void *, size_t count, transom_task task, void *arg) {
  checkCallback("parallel");
  for (size_t i = count; i-- != 0;)
    task(arg, i);
  checkCallback("parallel after tasks");
}

template <typename T>
void add(std::string &bytes, const T *data, size_t count) {
  bytes.append(reinterpret_cast<const char *>(data), count * sizeof(T));
}
template <typename T>
void add(std::string &bytes, const std::vector<T> &values) {
  add(bytes, values.data(), values.size());
}

inline transom_text makeText(const char *text) {
  return {text, std::strlen(text)};
}

/// All calls on one model. Each adds its results to `bytes`.
class Calls {
public:
  Calls(const char *path, bool usesPool) : path(path) {
    options.threads = 2;
    options.max_sequences = 8;
    options.max_kv_tokens = 8 * 256;
    options.hold_results = 1;
    options.parallel = usesPool ? runHostTasks : nullptr;
  }
  ~Calls() {
    transom_session_free(session);
    transom_model_free(model);
  }

  std::string run() {
    open();
    callTokenizer();
    callText();
    callTasks();
    callTensors();
    callDecoder();
    callSources();
    callNumbers();
    return bytes;
  }

private:
  /// Calls a function. Returns false if the model does not support it.
  bool call(const char *name, const std::function<transom_status()> &function) {
    if (unsupported.count(name))
      return false;
    const transom_status status = inMode(name, function);
    const bool isSupported =
        status != TRANSOM_STATUS_UNSUPPORTED && status != TRANSOM_STATUS_USAGE;
    if (!isSupported && !called.count(name)) {
      unsupported.insert(name);
      return false;
    }
    if (status != TRANSOM_STATUS_OK)
      fail(std::string(name) + ": " + transom_last_error());
    called.insert(name);
    return true;
  }

  void open();
  void callTokenizer();
  void callText();
  void callTasks();
  void callTensors();
  void callDecoder();
  void callSources();
  void callNumbers();
  void generate(int64_t beams, int32_t sample);
  void addGeneration(transom_generation *generation);

  const char *path;
  transom_session_options options = transom_session_options_default();
  transom_model *model = nullptr;
  transom_session *session = nullptr;
  transom_model_info info = transom_model_info_default();
  std::string bytes;

public:
  inline static std::set<std::string> called, unsupported;
};

} // namespace transom::test
