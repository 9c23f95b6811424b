// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A one-layer llama as a GGUF file, for tests that modify it.
#pragma once
#include "compiler/import/gguf/GgufModel.h"
#include "test/compiler/import/gguf/GgufWriter.h"
#include "test/runtime/base/TestSupport.h"
#include <gtest/gtest.h>

namespace transom::test {

/// Returns the bytes for floats 0, 1, 2, ...
inline std::string countingFloats(uint64_t count) {
  std::string bytes;
  for (uint64_t i = 0; i < count; ++i)
    bytes += ggufNumber(static_cast<float>(i));
  return bytes;
}

/// Adds an F32 matrix or vector as [rows, columns].
inline void addTensor(GgufWriter &writer, const std::string &name,
                      uint64_t columns, uint64_t rows = 0) {
  const uint64_t count = columns * (rows ? rows : 1);
  writer.append(name,
                rows ? std::vector<uint64_t>{columns, rows}
                     : std::vector<uint64_t>{columns},
                0, countingFloats(count));
}

/// Hidden size 8, 2 heads of width 4 with one key head, 12 in the MLP, 5
/// tokens.
inline GgufWriter tinyLlama() {
  GgufWriter writer;
  writer.set("general.architecture", "llama");
  writer.set("llama.block_count", uint32_t(1));
  writer.set("llama.context_length", uint32_t(16));
  writer.set("llama.embedding_length", uint32_t(8));
  writer.set("llama.feed_forward_length", uint32_t(12));
  writer.set("llama.attention.head_count", uint32_t(2));
  writer.set("llama.attention.head_count_kv", uint32_t(1));
  writer.set("llama.attention.layer_norm_rms_epsilon", 1e-5f);
  addTensor(writer, "token_embd.weight", 8, 5);
  addTensor(writer, "output_norm.weight", 8);
  addTensor(writer, "blk.0.attn_norm.weight", 8);
  addTensor(writer, "blk.0.attn_q.weight", 8, 8);
  addTensor(writer, "blk.0.attn_k.weight", 8, 4);
  addTensor(writer, "blk.0.attn_v.weight", 8, 4);
  addTensor(writer, "blk.0.attn_output.weight", 8, 8);
  addTensor(writer, "blk.0.ffn_norm.weight", 8);
  addTensor(writer, "blk.0.ffn_gate.weight", 8, 12);
  addTensor(writer, "blk.0.ffn_up.weight", 8, 12);
  addTensor(writer, "blk.0.ffn_down.weight", 12, 8);
  return writer;
}

/// Replaces a key's value; `value` as from ggufValue.
inline GgufWriter withKey(GgufWriter writer, const std::string &key,
                          const std::string &value) {
  for (auto &[name, old] : writer.metadata)
    if (name == key) {
      old = value;
      return writer;
    }
  writer.setBytes(key, value);
  return writer;
}

inline GgufWriter withoutKey(GgufWriter writer, const std::string &key) {
  for (size_t i = 0; i < writer.metadata.size(); ++i)
    if (writer.metadata[i].first == key)
      writer.metadata.erase(writer.metadata.begin() + i);
  return writer;
}

/// Reads a writer's file.
inline Result<gguf::Model> readGguf(const TempFolder &folder,
                                    const GgufWriter &writer) {
  return gguf::readModel(folder.write("m.gguf", writer.bytes()));
}

/// Returns the error, starting at the file name.
inline std::string modelError(const GgufWriter &writer,
                              Status status = Status::Rejected) {
  TempFolder folder;
  Result<gguf::Model> model = readGguf(folder, writer);
  if (model)
    return "no error";
  EXPECT_EQ(model.error().status, status) << model.error().message;
  return model.error().message.substr(folder.path().size() + 1);
}

/// Returns the error after the byte offset, which depends on all preceding
/// data.
inline std::string withoutByte(const std::string &message) {
  const size_t at = message.find(": byte ");
  return at == message.npos ? message
                            : message.substr(message.find(": ", at + 7) + 2);
}

} // namespace transom::test
