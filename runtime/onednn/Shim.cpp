// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The shim: runs calls from the runtime as oneDNN primitives. A model caches
// primitives by size, and weights in oneDNN's layouts; a session has the thread
// count and the scratch memory. oneDNN throws; no exception leaves this file.
#include "runtime/onednn/Primitives.h"
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <list>
#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <unordered_map>
#include <vector>

using namespace transom;

// The OpenMP runtime used by oneDNN; null if oneDNN was built with another
// threading runtime.
extern "C" {
__attribute__((weak)) void omp_set_num_threads(int);
__attribute__((weak)) int omp_get_max_threads(void);
__attribute__((weak)) int omp_get_thread_num(void);
__attribute__((weak)) int omp_get_num_threads(void);
__attribute__((weak)) void GOMP_parallel(void (*body)(void *), void *data,
                                         unsigned threads, unsigned flags);
}

/// Max primitives cached by a model; the least recently used are evicted.
static constexpr size_t keptPrimitives = 512;

namespace {

/// Sets OpenMP's thread count for calls from this thread, and resets it at the
/// end.
class ThreadCount {
public:
  explicit ThreadCount(int threads) {
    if (!omp_set_num_threads || !omp_get_max_threads)
      return;
    saved = omp_get_max_threads();
    omp_set_num_threads(threads);
  }
  ~ThreadCount() {
    if (saved)
      omp_set_num_threads(saved);
  }
  ThreadCount(const ThreadCount &) = delete;
  ThreadCount &operator=(const ThreadCount &) = delete;

private:
  int saved = 0;
};

/// Growing memory, aligned to cache lines.
class Scratch {
public:
  ~Scratch() { std::free(begin); }
  Scratch() = default;
  Scratch(const Scratch &) = delete;
  Scratch &operator=(const Scratch &) = delete;

  void *take(size_t bytes) {
    if (bytes > size) {
      std::free(begin);
      size = (bytes + 4095) / 4096 * 4096;
      begin = std::aligned_alloc(4096, size);
      if (!begin) {
        size = 0;
        throw std::bad_alloc();
      }
    }
    return begin;
  }

private:
  void *begin = nullptr;
  size_t size = 0;
};

} // namespace

struct transom_onednn_model {
  dnnl::engine engine{dnnl::engine::kind::cpu, 0};

  /// The primitive for a call with this thread count.
  std::shared_ptr<const Primitive> primitive(const transom_onednn_call &call,
                                             int threads);
  /// A matmul's weights in the layout that its primitive requests.
  dnnl::memory weights(const transom_onednn_call &call,
                       const dnnl::memory::desc &needed, dnnl::stream &stream);

private:
  struct Kept {
    std::string key;
    std::shared_ptr<const Primitive> primitive;
  };
  std::mutex mutex;
  std::list<Kept> recent; // most recently used first
  std::unordered_map<std::string, std::list<Kept>::iterator> primitives;
  std::unordered_map<const float *,
                     std::vector<std::pair<dnnl::memory::desc, dnnl::memory>>>
      layouts;
};

struct transom_onednn_session {
  transom_onednn_model *model;
  int threads;
  dnnl::stream stream;
  Scratch scratch;
  std::string message;

  void run(const transom_onednn_call &call);
};

// ===----------------------------------------------------------------------===//
// Model cache
// ===----------------------------------------------------------------------===//

/// All properties that a primitive depends on, as bytes.
static std::string makeKey(const transom_onednn_call &call, int threads) {
  std::string key;
  auto add = [&](int64_t word) {
    key.append(reinterpret_cast<const char *>(&word), sizeof word);
  };
  int64_t epsilon;
  std::memcpy(&epsilon, &call.epsilon, sizeof epsilon);
  const bool sums = call.residual.data == call.out.data;
  for (int64_t word :
       {int64_t(threads), int64_t(call.primitive), int64_t(call.activation),
        epsilon, int64_t(call.bias != nullptr),
        int64_t(call.residual.data ? 1 + sums : 0)})
    add(word);
  for (const auto *tensor : {&call.input, &call.rhs, &call.out}) {
    if (!tensor->data)
      continue;
    add(tensor->rank);
    for (int64_t i = 0; i != tensor->rank; ++i)
      add(tensor->dims[i]);
  }
  return key;
}

std::shared_ptr<const Primitive>
transom_onednn_model::primitive(const transom_onednn_call &call, int threads) {
  std::string key = makeKey(call, threads);
  std::lock_guard<std::mutex> lock(mutex);
  auto known = primitives.find(key);
  if (known != primitives.end()) {
    recent.splice(recent.begin(), recent, known->second);
    return recent.front().primitive;
  }
  auto made = std::make_shared<const Primitive>(makePrimitive(engine, call));
  recent.push_front({key, made});
  primitives.emplace(std::move(key), recent.begin());
  if (recent.size() > keptPrimitives) {
    primitives.erase(recent.back().key);
    recent.pop_back();
  }
  return made;
}

dnnl::memory transom_onednn_model::weights(const transom_onednn_call &call,
                                           const dnnl::memory::desc &needed,
                                           dnnl::stream &stream) {
  std::lock_guard<std::mutex> lock(mutex);
  auto &copies = layouts[call.weights];
  for (auto &[layout, copy] : copies)
    if (layout == needed)
      return copy;
  dnnl::memory stored(storedWeights(call), engine,
                      const_cast<float *>(call.weights));
  dnnl::memory copy(needed, engine);
  dnnl::reorder(stored, copy).execute(stream, stored, copy);
  stream.wait();
  copies.emplace_back(needed, copy);
  return copy;
}

//===----------------------------------------------------------------------===//
// Runs
//===----------------------------------------------------------------------===//

/// Returns the rows in which all values are minus infinity; oneDNN computes NaN
/// for them.
static std::vector<int64_t> hiddenRows(const transom_onednn_tensor &tensor) {
  const int64_t rows = getRowCount(tensor), columns = getColumnCount(tensor);
  std::vector<int64_t> hidden;
  for (int64_t row = 0; row != rows; ++row) {
    const float *line = tensor.data + row * columns;
    int64_t column = 0;
    while (column != columns && line[column] == -HUGE_VALF)
      ++column;
    if (column == columns)
      hidden.push_back(row);
  }
  return hidden;
}

void transom_onednn_session::run(const transom_onednn_call &call) {
  const int64_t columns = getColumnCount(call.out);
  if (getRowCount(call.out) == 0 || columns == 0)
    return;
  if (call.primitive == TRANSOM_ONEDNN_BATCH_MATMUL &&
      getColumnCount(call.input) == 0) {
    std::memset(call.out.data, 0,
                size_t(getRowCount(call.out) * columns) * sizeof(float));
    return;
  }
  std::vector<int64_t> hidden;
  if (call.primitive == TRANSOM_ONEDNN_SOFTMAX)
    hidden = hiddenRows(call.input);

  std::shared_ptr<const Primitive> primitive = model->primitive(call, threads);
  std::unordered_map<int, dnnl::memory> arguments;
  auto give = [&](int name, const dnnl::memory::desc &desc, const void *data) {
    arguments.emplace(
        name, dnnl::memory(desc, model->engine, const_cast<void *>(data)));
  };
  give(DNNL_ARG_SRC, primitive->input, call.input.data);
  give(DNNL_ARG_DST, primitive->out, call.out.data);
  if (size_t bytes = primitive->scratchpad.get_size())
    give(DNNL_ARG_SCRATCHPAD, primitive->scratchpad, scratch.take(bytes));
  if (call.primitive == TRANSOM_ONEDNN_MATMUL) {
    arguments.emplace(DNNL_ARG_WEIGHTS,
                      model->weights(call, primitive->weights, stream));
    if (call.bias)
      give(DNNL_ARG_BIAS, primitive->bias, call.bias);
    // After the activation, if any.
    const int place = call.activation == TRANSOM_ONEDNN_NONE ? 0 : 1;
    if (call.residual.data && !primitive->sums)
      give(DNNL_ARG_ATTR_MULTIPLE_POST_OP(place) | DNNL_ARG_SRC_1,
           primitive->residual, call.residual.data);
  } else if (call.primitive == TRANSOM_ONEDNN_BATCH_MATMUL) {
    give(DNNL_ARG_WEIGHTS, primitive->rhs, call.rhs.data);
  } else if (call.primitive == TRANSOM_ONEDNN_LAYER_NORM) {
    give(DNNL_ARG_SCALE, primitive->weights, call.weights);
    if (call.bias)
      give(DNNL_ARG_SHIFT, primitive->bias, call.bias);
  }
  primitive->run.execute(stream, arguments);
  stream.wait();
  for (int64_t row : hidden)
    std::memset(call.out.data + row * columns, 0,
                size_t(columns) * sizeof(float));
}

//===----------------------------------------------------------------------===//
// The table of functions
//===----------------------------------------------------------------------===//

static transom_onednn_model *createModel(const char *isa) {
#if defined(__x86_64__)
  // Fails once the process has generated code; then it stays unchanged.
  if (std::strcmp(isa, "avx2") == 0)
    dnnl_set_max_cpu_isa(dnnl_cpu_isa_avx2);
#endif
  try {
    return new transom_onednn_model();
  } catch (const std::exception &) {
    return nullptr;
  }
}

static void freeModel(transom_onednn_model *model) { delete model; }

static transom_onednn_session *createSession(transom_onednn_model *model,
                                             int32_t threads) {
  try {
    return new transom_onednn_session{
        model, threads, dnnl::stream(model->engine), {}, {}};
  } catch (const std::exception &) {
    return nullptr;
  }
}

static void freeSession(transom_onednn_session *session) { delete session; }

static const char *run(transom_onednn_session *session,
                       const transom_onednn_call *call) {
  ThreadCount count(session->threads);
  try {
    session->run(*call);
    return nullptr;
  } catch (const dnnl::error &problem) {
    session->message = problem.message;
  } catch (const std::bad_alloc &) {
    session->message = "no memory";
  } catch (const std::exception &problem) {
    session->message = problem.what();
  }
  return session->message.c_str();
}

namespace {
struct Work {
  size_t count;
  void (*task)(void *arg, size_t index);
  void *arg;
};
} // namespace

static void parallel(void *session, size_t count, void (*task)(void *, size_t),
                     void *arg) {
  Work work{count, task, arg};
  GOMP_parallel(
      [](void *data) {
        const Work &work = *static_cast<const Work *>(data);
        for (size_t i = size_t(omp_get_thread_num()); i < work.count;
             i += size_t(omp_get_num_threads()))
          work.task(work.arg, i);
      },
      &work,
      unsigned(static_cast<const transom_onednn_session *>(session)->threads),
      0);
}

extern "C" __attribute__((visibility("default"))) const transom_onednn_api *
transom_onednn() {
  const dnnl_version_t *version = dnnl_version();
  static const std::string text = std::to_string(version->major) + "." +
                                  std::to_string(version->minor) + "." +
                                  std::to_string(version->patch);
  static const transom_onednn_api api = {
      TRANSOM_ONEDNN_VERSION,
      text.c_str(),
      createModel,
      freeModel,
      createSession,
      freeSession,
      run,
      GOMP_parallel && omp_get_thread_num && omp_get_num_threads ? parallel
                                                                 : nullptr};
  return &api;
}
