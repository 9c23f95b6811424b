// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs a compiled encoder in every way that may not show in its results, and
// compares bits: instruction sets, numbers of threads, hosts, sequences alone
// and together, padding; the arena and each float input and result beginning or
// ending at a protected page, which catches what sanitizers cannot see in
// generated code. Usage: same-bits MODEL...
#include "runtime/Cpu.h"
#include "runtime/Session.h"
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <sys/mman.h>
#include <unistd.h>

using namespace transom;

namespace {

[[noreturn]] void fail(const std::string &text) {
  std::fprintf(stderr, "same-bits: %s\n", text.c_str());
  std::exit(1);
}

template <typename T> T need(Result<T> result) {
  if (!result)
    fail(result.error().message);
  return std::move(*result);
}

/// Memory that begins or ends at a protected page.
class Guarded {
public:
  Guarded(size_t bytes, bool atEnd) {
    size_t page = size_t(sysconf(_SC_PAGESIZE));
    size_t body = (bytes + page - 1) / page * page;
    total = body + 2 * page;
    base = static_cast<char *>(
        mmap(nullptr, total, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    if (base == MAP_FAILED ||
        mprotect(base + page, body, PROT_READ | PROT_WRITE) != 0)
      fail("no memory");
    start = base + page + (atEnd ? body - bytes : 0);
  }
  ~Guarded() { munmap(base, total); }
  Guarded(const Guarded &) = delete;
  char *data() const { return start; }

private:
  char *base, *start;
  size_t total;
};

/// The integer inputs of an encoder.
struct Batch {
  int64_t batch, seq;
  std::vector<std::vector<int64_t>> inputs; // by index of the entry's inputs
};

/// How a batch is run.
struct Way {
  unsigned threads = 1;
  bool atEnd = false;
  bool host = false;
};

/// The host's threads: one, and it takes the last share first.
void backwards(void *, size_t count, transom_task task, void *arg) {
  while (count--)
    task(arg, count);
}

Batch randomBatch(const Entry &entry, int64_t batch, int64_t seq,
                  unsigned seed) {
  std::mt19937 random(seed);
  Batch made{batch, seq, {}};
  for (const Argument &input : entry.inputs) {
    std::vector<int64_t> &values = made.inputs.emplace_back();
    for (int64_t i = 0; i != batch * seq; ++i)
      values.push_back(input.role == Role::Mask
                           ? int64_t(random() % 4 != 0)
                           : int64_t(random() % uint64_t(*input.bound)));
  }
  return made;
}

transom_tensor tensorOver(const Argument &argument,
                          std::initializer_list<int64_t> shape, void *data,
                          size_t capacity) {
  transom_tensor tensor{};
  tensor.name = argument.name.c_str();
  tensor.dtype = argument.dtype;
  tensor.rank = int32_t(shape.size());
  std::copy(shape.begin(), shape.end(), tensor.shape);
  tensor.data = data;
  tensor.capacity = capacity;
  return tensor;
}

/// All results of a run, one string of bytes each.
std::vector<std::string> run(const Model &model, const Entry &entry,
                             Batch &batch, const Way &way) {
  SessionConfig config;
  config.maxBatch = batch.batch;
  config.maxTokens = batch.batch * batch.seq;
  config.threads = way.threads;
  config.arenaAtEnd = way.atEnd;
  if (way.host)
    config.parallel = backwards;
  auto session = need(Session::create(model, config));
  std::vector<transom_tensor> inputs, outputs;
  for (size_t i = 0; i != entry.inputs.size(); ++i)
    inputs.push_back(tensorOver(entry.inputs[i], {batch.batch, batch.seq},
                                batch.inputs[i].data(),
                                batch.inputs[i].size() * sizeof(int64_t)));
  const char *name = entry.manifest->name.c_str();
  std::vector<std::unique_ptr<Guarded>> rooms;
  for (const Argument &output : entry.outputs) {
    transom_tensor shape{};
    Result<void> done = session->shape(name, inputs.data(), inputs.size(),
                                       output.name.c_str(), shape);
    if (!done)
      fail(done.error().message);
    rooms.push_back(std::make_unique<Guarded>(shape.capacity, way.atEnd));
    std::memset(rooms.back()->data(), 0xff, shape.capacity);
    outputs.push_back(
        tensorOver(output, {}, rooms.back()->data(), shape.capacity));
  }
  // Twice: what the first run leaves in the arena must not show.
  for (int round = 0; round != 2; ++round) {
    Result<void> done = session->run(name, inputs.data(), inputs.size(),
                                     outputs.data(), outputs.size());
    if (!done)
      fail(done.error().message);
  }
  std::vector<std::string> results;
  for (const transom_tensor &output : outputs)
    results.emplace_back(static_cast<char *>(output.data), output.capacity);
  return results;
}

/// Row `row` of a batch, alone, without the columns from `columns` on.
Batch rowOf(const Batch &batch, int64_t row, int64_t columns) {
  Batch one{1, columns, {}};
  for (const auto &values : batch.inputs) {
    auto begin = values.begin() + row * batch.seq;
    one.inputs.emplace_back(begin, begin + columns);
  }
  return one;
}

/// Compares a sequence's results in the batch with those alone.
void compareAlone(const Model &model, const Entry &entry, const Batch &batch,
                  const std::vector<std::string> &together) {
  for (int64_t row = 0; row != batch.batch; ++row) {
    // Columns of padding at the end make no difference either.
    int64_t columns = batch.seq;
    for (size_t i = 0; i != entry.inputs.size(); ++i)
      if (entry.inputs[i].role == Role::Mask)
        while (columns > 1 &&
               !batch.inputs[i][size_t(row * batch.seq + columns - 1)])
          --columns;
    Batch one = rowOf(batch, row, columns);
    std::vector<std::string> alone = run(model, entry, one, Way());
    for (size_t i = 0; i != alone.size(); ++i) {
      size_t stride = together[i].size() / size_t(batch.batch);
      if (std::memcmp(together[i].data() + size_t(row) * stride,
                      alone[i].data(), alone[i].size()) != 0)
        fail("result '" + entry.outputs[i].name + "' of sequence " +
             std::to_string(row) + " of " + std::to_string(batch.batch) +
             " with length " + std::to_string(batch.seq) +
             " differs from the one alone");
    }
  }
}

void check(const Model &model, std::vector<std::string> &expected, size_t &at) {
  const Entry *entry = model.findEntry("encode");
  if (!entry)
    fail("no entry 'encode'");
  int64_t longest = entry->positionInput >= 0 ? entry->positionLimit : 300;
  const std::pair<int64_t, int64_t> shapes[] = {
      {1, 1},
      {1, 2},
      {3, 7},
      {5, 33},
      {2, std::min<int64_t>(longest, 270)},
      {1, longest}};
  for (auto [rows, seq] : shapes) {
    seq = std::min(seq, longest);
    Batch batch = randomBatch(*entry, rows, seq, unsigned(rows * 1000 + seq));
    std::vector<std::string> first = run(model, *entry, batch, Way());
    for (const std::string &result : first) {
      if (at == expected.size())
        expected.push_back(result);
      else if (expected[at] != result)
        fail("instruction set '" + std::string(model.isa().name) +
             "' gives other bits for [" + std::to_string(rows) + ", " +
             std::to_string(seq) + "]");
      ++at;
    }
    for (unsigned threads : {1u, 2u, 3u, 8u})
      for (bool atEnd : {false, true})
        for (bool host : {false, true})
          if (run(model, *entry, batch, {threads, atEnd, host}) != first)
            fail("other bits with " + std::to_string(threads) + " threads" +
                 (host ? " of a host" : "") + (atEnd ? ", at the end" : "") +
                 " for [" + std::to_string(rows) + ", " + std::to_string(seq) +
                 "] on " + model.isa().name);
    compareAlone(model, *entry, batch, first);
  }
}

} // namespace

int main(int argc, char **argv) {
  if (argc < 2)
    fail("usage: same-bits MODEL...");
  for (int i = 1; i != argc; ++i) {
    Manifest manifest = need(ArtifactFile::open(argv[i])).manifest();
    std::vector<std::string> expected;
    for (const std::string &isa : manifest.isas) {
      if (!chooseIsa(manifest.isas, isa, argv[i]))
        continue; // this CPU does not run it
      auto model = need(Model::load(argv[i], isa, false));
      size_t at = 0;
      check(*model, expected, at);
    }
    std::printf("%s: the same bits in all ways\n", argv[i]);
  }
  return 0;
}
