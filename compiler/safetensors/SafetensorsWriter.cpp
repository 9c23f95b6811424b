// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Writes safetensors: the header from the declared tensors, then the data in
// the same order.
#include "compiler/safetensors/Safetensors.h"
#include "runtime/base/Checked.h"
#include "runtime/base/Utf8.h"
#include "runtime/json/Json.h"

namespace transom {

Result<void> SafetensorsWriter::add(const std::string &name, DType dtype,
                                    std::vector<int64_t> shape) {
  for (const Entry &entry : entries)
    if (entry.name == name)
      return internalError("tensor '" + utf8::printable(name) +
                           "' is written twice");
  std::optional<uint64_t> bytes = tensorBytes(dtype, shape);
  std::optional<int64_t> end;
  if (bytes)
    end = (CheckedSize(dataBytes) + CheckedSize(*bytes)).signedValue();
  if (!end)
    return limitError("tensor '" + utf8::printable(name) + "' of shape " +
                      shapeText(shape) + " is too large to write");
  entries.push_back(
      {name, dtype, std::move(shape), dataBytes, static_cast<uint64_t>(*end)});
  dataBytes = static_cast<uint64_t>(*end);
  return {};
}

void SafetensorsWriter::addMetadata(std::string key, std::string value) {
  metadata[std::move(key)] = std::move(value);
}

std::string SafetensorsWriter::headerBytes() const {
  std::string text;
  JsonWriter json(text);
  json.beginObject();
  if (!metadata.empty()) {
    json.key("__metadata__");
    json.beginObject();
    for (const auto &[key, value] : metadata)
      json.member(key, value);
    json.endObject();
  }
  for (const Entry &entry : entries) {
    json.key(entry.name);
    json.beginObject();
    json.member("dtype", safetensorsName(entry.dtype));
    json.key("shape");
    json.array(entry.shape);
    json.key("data_offsets");
    json.array(std::vector<uint64_t>{entry.begin, entry.end});
    json.endObject();
  }
  json.endObject();
  // Pad with spaces, so that the data is aligned, and prepend the length.
  text.resize((text.size() + 7) / 8 * 8, ' ');
  std::string header;
  for (int i = 0; i < 8; ++i)
    header += static_cast<char>(static_cast<uint64_t>(text.size()) >> (8 * i));
  return header + text;
}

Result<void> SafetensorsWriter::begin(OutputFile file) {
  out = std::move(file);
  written = 0;
  return out.append(headerBytes());
}

Result<void> SafetensorsWriter::begin(const std::string &path) {
  TRANSOM_ASSIGN(OutputFile file, OutputFile::create(path));
  return begin(std::move(file));
}

Result<void> SafetensorsWriter::append(std::string_view bytes) {
  written += bytes.size();
  return out.append(bytes);
}

Result<void> SafetensorsWriter::commit() {
  if (written != dataBytes)
    return internalError("wrote " + std::to_string(written) +
                         " bytes of tensor data to '" + out.path() +
                         "'; expected " + std::to_string(dataBytes));
  return out.commit();
}

Result<void> writeSafetensors(const std::string &path,
                              const std::vector<TensorView> &tensors) {
  TRANSOM_ASSIGN(OutputFile file, OutputFile::create(path));
  return writeSafetensors(std::move(file), tensors);
}

Result<void> writeSafetensors(OutputFile file,
                              const std::vector<TensorView> &tensors) {
  SafetensorsWriter writer;
  for (const TensorView &tensor : tensors)
    if (Result<void> added =
            writer.add(tensor.name, tensor.dtype, tensor.shape);
        !added)
      return added;
  if (Result<void> begun = writer.begin(std::move(file)); !begun)
    return begun;
  for (const TensorView &tensor : tensors) {
    size_t bytes = *tensorBytes(tensor.dtype, tensor.shape);
    Result<void> done =
        writer.append({static_cast<const char *>(tensor.data), bytes});
    if (!done)
      return done;
  }
  return writer.commit();
}

} // namespace transom
