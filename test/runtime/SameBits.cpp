// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs compiled encoders in every way that may not show in their results, and
// compares bits: instruction sets, numbers of threads, hosts, sequences alone
// and together, in random batches, padding; the arena and each float input and
// result beginning or ending at a protected page, which catches what sanitizers
// cannot see in generated code. Usage: same-bits MODEL..., artifacts of one
// model, which must agree too.
#include "runtime/execute/Cpu.h"
#include "runtime/session/Session.h"
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
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

/// The rows of a batch: its real tokens where padding is removed, else all.
int64_t getTokenCount(const Entry &entry, const Batch &batch) {
  int64_t rows = 0;
  for (const RaggedBatchRule &rule : entry.ragged)
    if (rule.mask >= 0)
      rows =
          std::max(rows, countTokens(batch.inputs[size_t(rule.mask)].data(),
                                     batch.batch, batch.seq, rule.keepFirst));
  return entry.isRagged() ? rows : batch.batch * batch.seq;
}

/// All results of a run, one string of bytes each. The session has no room for
/// padding.
std::vector<std::string> run(const Model &model, const Entry &entry,
                             Batch &batch, const Way &way) {
  SessionConfig config;
  config.maxBatch = batch.batch;
  // One sequence may be as long as the batch is wide.
  config.maxTokens = std::max(batch.seq, getTokenCount(entry, batch));
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
Batch takeRow(const Batch &batch, int64_t row, int64_t columns) {
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
    Batch one = takeRow(batch, row, columns);
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

/// Results in the order of the runs, which are the same for all artifacts and
/// instruction sets.
class Expected {
public:
  /// Compares with what the first artifact gave at this place.
  void next(const std::string &result, const std::string &what) {
    if (at == results.size())
      results.push_back(result);
    else if (results[at] != result)
      fail(what + " differs from what was run first");
    ++at;
  }
  void rewind() { at = 0; }

private:
  std::vector<std::string> results;
  size_t at = 0;
};

//===----------------------------------------------------------------------===//
// Random batches
//===----------------------------------------------------------------------===//

/// A sequence and its results when it is run alone.
struct Sequence {
  int64_t length;
  std::vector<std::vector<int64_t>> inputs; // by index of the entry's inputs
  std::vector<std::string> results;
};

/// A sequence whose mask hides some of its columns, or none.
Sequence randomSequence(const Entry &entry, int64_t length,
                        std::mt19937 &random) {
  Sequence made{length, {}, {}};
  bool holes = random() % 4 == 0;
  for (const Argument &input : entry.inputs) {
    std::vector<int64_t> &values = made.inputs.emplace_back();
    for (int64_t i = 0; i != length; ++i)
      values.push_back(input.role == Role::Mask
                           ? int64_t(!holes || random() % 4 != 0)
                           : int64_t(random() % uint64_t(*input.bound)));
  }
  return made;
}

/// Sequences of short, awkward and random lengths.
std::vector<Sequence> randomSequences(const Entry &entry, int64_t longest,
                                      std::mt19937 &random) {
  std::vector<Sequence> made;
  for (int64_t length : {1, 2, 31, 32, 33, 64, 255, 256, 257, 513})
    if (length <= longest)
      made.push_back(randomSequence(entry, length, random));
  for (int i = 0; i != 6; ++i)
    made.push_back(randomSequence(
        entry, 1 + int64_t(random() % uint64_t(longest)), random));
  return made;
}

/// The sequences as one batch; what follows a sequence is masked, and
/// random.
Batch makeBatch(const Entry &entry, const std::vector<const Sequence *> &picks,
                int64_t columns, std::mt19937 &random) {
  Batch made{int64_t(picks.size()), columns, {}};
  for (size_t i = 0; i != entry.inputs.size(); ++i) {
    const Argument &input = entry.inputs[i];
    std::vector<int64_t> &values = made.inputs.emplace_back();
    for (const Sequence *pick : picks)
      for (int64_t column = 0; column != columns; ++column)
        values.push_back(column < pick->length ? pick->inputs[i][size_t(column)]
                         : input.role == Role::Mask
                             ? 0
                             : int64_t(random() % uint64_t(*input.bound)));
  }
  return made;
}

/// True where a batch's result for a sequence begins with what it is alone, and
/// is zero after that.
bool agrees(const std::string &together, size_t row, size_t rows,
            const std::string &alone) {
  size_t stride = together.size() / rows;
  const char *begin = together.data() + row * stride;
  return std::memcmp(begin, alone.data(), alone.size()) == 0 &&
         std::all_of(begin + alone.size(), begin + stride,
                     [](char byte) { return byte == 0; });
}

/// Runs random batches of random sequences, each in a random way.
void checkRandom(const Model &model, const Entry &entry, int64_t longest,
                 Expected &expected) {
  std::mt19937 random(20240 + unsigned(longest));
  std::vector<Sequence> pool = randomSequences(entry, longest, random);
  for (Sequence &sequence : pool) {
    Batch alone{1, sequence.length, sequence.inputs};
    sequence.results = run(model, entry, alone, Way());
    for (const std::string &result : sequence.results)
      expected.next(result, "a sequence of length " +
                                std::to_string(sequence.length) + " on " +
                                model.isa().name);
  }
  for (int round = 0; round != 24; ++round) {
    std::vector<const Sequence *> picks(1 + random() % 9);
    int64_t columns = 1;
    for (const Sequence *&pick : picks) {
      pick = &pool[random() % pool.size()];
      columns = std::max(columns, pick->length);
    }
    columns = std::min(longest, columns + int64_t(random() % 3) * 7);
    Way way{1 + unsigned(random() % 8), random() % 2 == 0, random() % 2 == 0};
    Batch batch = makeBatch(entry, picks, columns, random);
    std::vector<std::string> together = run(model, entry, batch, way);
    for (size_t row = 0; row != picks.size(); ++row)
      for (size_t i = 0; i != together.size(); ++i)
        if (!agrees(together[i], row, picks.size(), picks[row]->results[i]))
          fail("result '" + entry.outputs[i].name + "' of sequence " +
               std::to_string(row) + " of " + std::to_string(picks.size()) +
               " with length " + std::to_string(picks[row]->length) + " in " +
               std::to_string(columns) + " columns, " +
               std::to_string(way.threads) + " threads" +
               (way.host ? " of a host" : "") + " on " + model.isa().name +
               " differs from the one alone (round " + std::to_string(round) +
               ")");
  }
}

//===----------------------------------------------------------------------===//
// All ways
//===----------------------------------------------------------------------===//

/// `inAllWays`: each shape with many numbers of threads, else once, compared
/// with what is expected; random batches are run in random ways anyhow.
void check(const Model &model, Expected &expected, bool inAllWays) {
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
    for (const std::string &result : first)
      expected.next(result, "[" + std::to_string(rows) + ", " +
                                std::to_string(seq) + "] on " +
                                model.isa().name);
    if (!inAllWays)
      continue;
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
  checkRandom(model, *entry, longest, expected);
}

} // namespace

int main(int argc, char **argv) {
  if (argc < 2)
    fail("usage: same-bits MODEL...");
  // In f32 all instruction sets agree; bf16 has products of its own on some.
  std::map<std::string, Expected> expected;
  for (int i = 1; i != argc; ++i) {
    Manifest manifest = need(ArtifactFile::open(argv[i])).manifest();
    for (const std::string &isa : manifest.isas) {
      if (!chooseIsa(manifest.isas, isa, argv[i])) {
        std::printf("skipped: this CPU lacks %s\n", isa.c_str());
        continue;
      }
      auto model = need(Model::load(argv[i], {isa}));
      Expected &same = expected[manifest.dtype == "f32" ? "f32" : isa];
      same.rewind();
      check(*model, same, i == 1);
    }
    std::printf("%s: the same bits in all ways\n", argv[i]);
  }
  return 0;
}
