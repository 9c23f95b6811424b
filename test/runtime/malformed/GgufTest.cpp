// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Malformed GGUF files: every truncation, every changed byte, fixed random
// damage, and the time and memory limits for an error.
#include "test/compiler/import/gguf/TinyGguf.h"
#include "test/runtime/malformed/Malformed.h"
#include "test/support/TimeLimit.h"
#include <cmath>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>

using namespace transom;
using namespace transom::test;

namespace {

GgufWriter goodWriter() {
  GgufWriter writer;
  writer.set("general.architecture", "llama");
  writer.set("general.alignment", uint32_t(32));
  writer.set("flag", true);
  writer.set("texts", std::vector<std::string>{"a", "bc", ""});
  writer.setBytes("numbers", ggufArray(6, 2, std::string(8, '\0')));
  writer.setBytes("nested",
                  ggufArray(9, 1,
                            ggufNumber<uint32_t>(8) + ggufNumber<uint64_t>(1) +
                                ggufString("x")));
  writer.append("a.weight", {3, 2}, 0, std::string(24, 'a'));
  writer.append("b", {32, 2}, 8, std::string(68, 'b'));
  writer.append("e", {0}, 1, "");
  return writer;
}

/// Reads a value's contents.
size_t useValue(const gguf::Value &value) {
  size_t sum = value.asInt().value_or(0) != 0;
  sum += value.asNumber().value_or(0) != 0;
  sum += value.asBool().value_or(false);
  for (char c : value.asString().value_or(""))
    sum += static_cast<unsigned char>(c);
  for (const gguf::Value &element : value.asArray())
    sum += useValue(element);
  return sum;
}

void useHeader(const gguf::Header &header, std::string_view file) {
  for (const gguf::Entry &entry : header.metadata)
    ASSERT_GE(useValue(entry.value), 0u);
  for (const gguf::Tensor &tensor : header.tensors) {
    ASSERT_LE(tensor.begin, tensor.end);
    ASSERT_LE(tensor.end, file.size());
    if (tensor.type->dtype)
      ASSERT_EQ(tensorBytes(*tensor.type->dtype, tensor.shape),
                tensor.end - tensor.begin);
  }
}

/// Parses from an exact allocation; true when it was accepted.
bool tryGguf(const std::string &bytes) {
  ExactBytes exact(bytes);
  Result<gguf::Header> header = gguf::parseGguf(exact, "m.gguf");
  if (header)
    useHeader(*header, exact);
  else if (header.error().status != Status::Unsupported)
    expectInputError(header.error(), "m.gguf: byte ");
  return static_cast<bool>(header);
}

} // namespace

TEST(MalformedGguf, every_cut_is_an_error) {
  const std::string file = goodWriter().bytes();
  EXPECT_TRUE(tryGguf(file));
  for (size_t size = 0; size < file.size(); ++size)
    EXPECT_FALSE(tryGguf(file.substr(0, size))) << size;
}

TEST(MalformedGguf, every_changed_bit_is_an_error_or_harmless) {
  const GgufWriter writer = goodWriter();
  const std::string file = writer.bytes();
  for (size_t at = 0; at < writer.head().size(); ++at)
    for (int bit = 0; bit < 8; ++bit) {
      std::string changed = file;
      changed[at] = static_cast<char>(changed[at] ^ 1 << bit);
      tryGguf(changed);
    }
}

TEST(MalformedGguf, every_number_replaced_by_a_large_one) {
  const GgufWriter writer = goodWriter();
  const std::string file = writer.bytes();
  for (size_t at = 4; at + 8 <= writer.head().size(); ++at)
    for (uint64_t number :
         {UINT64_MAX, uint64_t(1) << 63, uint64_t(1) << 61, uint64_t(1) << 32,
          uint64_t(file.size()), uint64_t(file.size() - at)}) {
      std::string changed = file;
      tryGguf(changed.replace(at, 8, ggufNumber(number)));
    }
}

TEST(MalformedGguf, random_damage_is_an_error_or_harmless) {
  int accepted = 0;
  for (uint64_t seed = 0; seed < 20000; ++seed) {
    Random random(seed);
    accepted += tryGguf(damaged(goodWriter().bytes(), random));
  }
  EXPECT_LT(accepted, 15000) << "damage is mostly noticed";
  EXPECT_GT(accepted, 0) << "a changed byte of data or of a text is harmless";
}

namespace {

/// An in-memory file, so that thousands cost little.
class MemoryFile {
public:
  explicit MemoryFile(const std::string &bytes)
      : fd(memfd_create("m.gguf", MFD_CLOEXEC)) {
    EXPECT_EQ(write(fd, bytes.data(), bytes.size()),
              static_cast<ssize_t>(bytes.size()));
  }
  MemoryFile(const MemoryFile &) = delete;
  ~MemoryFile() { close(fd); }
  std::string path() const { return "/proc/self/fd/" + std::to_string(fd); }

private:
  int fd;
};

/// Reads all data that an importer would; true if it was accepted.
bool tryModel(const std::string &bytes) {
  MemoryFile file(bytes);
  Result<gguf::Model> model = gguf::readModel(file.path());
  if (!model) {
    EXPECT_LT(model.error().message.size(), 2000u);
    EXPECT_TRUE(model.error().status == Status::Rejected ||
                model.error().status == Status::Unsupported)
        << model.error().message;
    return false;
  }
  // Every derived tensor has a value.
  for (const std::string &name : {std::string("model.norm.weight"),
                                  std::string("model.layers.0.self_attn."
                                              "q_proj.weight"),
                                  std::string("model.layers.0.self_attn."
                                              "k_proj.weight")}) {
    const SafetensorsTensor *tensor = model->files.find(name);
    if (!tensor)
      continue;
    std::vector<float> values(*elementCount(tensor->shape));
    EXPECT_TRUE(model->files.resolve(WeightExpr::file(name))
                    .evaluate(model->files,
                              std::vector<int64_t>(tensor->shape.size(), 0),
                              tensor->shape, values.data()));
  }
  return true;
}

/// A model with all metadata kinds that are read.
GgufWriter fullModel(const char *tokenizer) {
  GgufWriter writer = tinyLlama();
  writer.set("llama.rope.freq_base", 10000.0f);
  writer.set("llama.attention.key_length", uint32_t(4));
  writer.set("llama.rope.dimension_count", uint32_t(4));
  writer.set("tokenizer.ggml.model", tokenizer);
  writer.set("tokenizer.ggml.pre", "llama-bpe");
  writer.set("tokenizer.ggml.tokens",
             std::vector<std::string>{"<s>", "a", "\u2581b", "ab", "</s>"});
  writer.setBytes("tokenizer.ggml.token_type",
                  ggufArray(5, 5,
                            ggufNumber(3) + ggufNumber(1) + ggufNumber(1) +
                                ggufNumber(1) + ggufNumber(3)));
  writer.setBytes("tokenizer.ggml.scores",
                  ggufArray(6, 5, std::string(20, '\0')));
  writer.set("tokenizer.ggml.merges", std::vector<std::string>{"a b"});
  writer.set("tokenizer.ggml.bos_token_id", uint32_t(0));
  writer.set("tokenizer.ggml.eos_token_id", uint32_t(4));
  writer.set("tokenizer.ggml.unknown_token_id", uint32_t(0));
  writer.set("tokenizer.ggml.seperator_token_id", uint32_t(4));
  writer.set("tokenizer.ggml.add_bos_token", true);
  writer.append("rope_freqs.weight", {2}, 0,
                ggufNumber(1.0f) + ggufNumber(2.0f));
  return writer;
}

} // namespace

namespace {

/// Reads all values and fields in a quantized head; true if all are present.
bool tryQuantized(const std::string &bytes) {
  MemoryFile file(bytes);
  Result<gguf::Model> model = gguf::readModel(file.path());
  const SafetensorsTensor *tensor =
      model ? model->files.find("output.weight") : nullptr;
  if (!tensor || !tensor->stored)
    return false;
  const StoredGroups &groups = tensor->stored->getGroups();
  std::vector<float> numbers(*elementCount(tensor->shape));
  bool good = true;
  auto expect = [&](Result<void> done) {
    good = good && done;
    EXPECT_TRUE(done || done.error().status == Status::Rejected);
  };
  expect(model->files.read("output.weight", {0, 0}, tensor->shape,
                           numbers.data()));
  for (StoredField field : {StoredField::Scales, StoredField::Minimums})
    expect(model->files.readStored("output.weight", field, {0, 0},
                                   {tensor->shape[0], groups.getNumGroups()},
                                   numbers.data()));
  for (float number : numbers)
    EXPECT_TRUE(!good || std::isfinite(number));
  return good;
}

} // namespace

TEST(MalformedGguf, damaged_quantized_tensors) {
  // Every quantized type that is read, and one that is not.
  for (uint32_t number : {2, 3, 6, 7, 8, 10, 11, 12, 13, 14, 20, 23, 16}) {
    const gguf::TensorType &type = *gguf::findTensorType(number);
    GgufWriter writer = tinyLlama();
    writer.append(
        "output.weight", {256, 5}, number,
        std::string(5 * 256 / type.blockElements * type.blockBytes, '\x11'));
    EXPECT_EQ(tryQuantized(writer.bytes()), number != 16) << type.name;
    for (uint64_t seed = 0; seed < 300; ++seed) {
      Random random(seed);
      // The data is also random.
      GgufWriter other = writer;
      for (int i = 0; i < 40; ++i)
        other.data[other.data.size() - 1 -
                   static_cast<size_t>(random.between(0, 399))] =
            static_cast<char>(random.between(0, 255));
      tryQuantized(random.between(0, 1)
                       ? other.bytes()
                       : damaged(other.head(), random) + other.data);
    }
    writer.data.pop_back();
    EXPECT_FALSE(tryQuantized(writer.bytes()));
  }
}

TEST(MalformedGguf, damaged_models_are_errors_or_harmless) {
  for (const char *tokenizer : {"gpt2", "llama", "bert"}) {
    const GgufWriter writer = fullModel(tokenizer);
    const std::string good = writer.bytes();
    ASSERT_TRUE(tryModel(good)) << tokenizer;
    int accepted = 0;
    for (uint64_t seed = 0; seed < 1500; ++seed) {
      Random random(seed);
      accepted += tryModel(damaged(writer.head(), random) +
                           good.substr(writer.head().size()));
    }
    EXPECT_GT(accepted, 0);
    EXPECT_LT(accepted, 1400);
    // Single values in the metadata and the table.
    for (size_t at = 24; at + 4 <= writer.head().size(); at += 3)
      for (uint32_t number : {0u, 1u, 3u, 0x7fffffffu, 0x80000000u, ~0u}) {
        std::string changed = good;
        tryModel(changed.replace(at, 4, ggufNumber(number)));
      }
  }
}

#if defined(NDEBUG) && !__has_feature(address_sanitizer) &&                    \
    !__has_feature(thread_sanitizer)
TEST(MalformedGguf, errors_for_a_mebibyte_are_quick_and_small) {
  TempFolder folder;
  // One-mebibyte heads whose last entry is wrong.
  std::vector<std::string> heads;
  const size_t size = 1 << 20;
  {
    GgufWriter writer;
    for (uint32_t i = 0; i < size / 24; ++i)
      writer.set(std::to_string(i), i);
    writer.set("0", uint32_t(0));
    heads.push_back(writer.head());
  }
  {
    GgufWriter writer;
    writer.set("k", std::vector<std::string>(size / 8));
    writer.set("k", uint32_t(0));
    heads.push_back(writer.head());
  }
  {
    GgufWriter writer;
    for (uint32_t i = 0; i < size / 40; ++i)
      writer.add(std::to_string(i), {0}, 0, 0, "");
    writer.add("0", {0}, 0, 0, "");
    heads.push_back(writer.head());
  }
  for (const std::string &head : heads) {
    const std::string path = folder.write("m.gguf", head);
    double best = 1e9;
    for (int run = 0; run < 5; ++run) {
      double start = processorSeconds();
      ASSERT_FALSE(gguf::File::open(path));
      best = std::min(best, processorSeconds() - start);
    }
    expectSeconds(best, 0.1);
    pid_t child = fork();
    if (child == 0) {
      rusage before, after;
      getrusage(RUSAGE_SELF, &before);
      bool failed = !gguf::File::open(path);
      getrusage(RUSAGE_SELF, &after);
      _exit(failed && after.ru_maxrss - before.ru_maxrss < 64 << 10 ? 0 : 1);
    }
    int status;
    waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
  }
}

TEST(MalformedGguf, huge_claims_cost_nothing) {
  TempFolder folder;
  GgufWriter writer;
  writer.setBytes("k", ggufArray(8, uint64_t(1) << 36, ""));
  writer.moreTensors = int64_t(1) << 34;
  const std::string path = folder.write("m.gguf", writer.head());
  ASSERT_EQ(truncate(path.c_str(), off_t(1) << 40), 0); // a one-tebibyte hole
  double start = processorSeconds();
  Result<gguf::File> opened = gguf::File::open(path);
  double seconds = processorSeconds() - start;
  ASSERT_FALSE(opened);
  expectInputError(opened.error(), path);
  expectSeconds(seconds, 2);
}
#endif
