// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sizes are checked when a program is opened, and states, columns and answers
// where they are read, so malformed bytes cannot cause an access outside a
// table.
#include "runtime/tokenizer/Automaton.h"

namespace transom::tokenizer {

static constexpr uint32_t machineLimit = 64;
/// Limit for the combinations of class and answers.
static constexpr size_t mapLimit = 0x10000;

/// Takes `size` bytes from the front; returns false if there are fewer.
static bool takeBytes(std::string_view &bytes, size_t size,
                      std::string_view &taken) {
  if (size > bytes.size())
    return false;
  taken = bytes.substr(0, size);
  bytes.remove_prefix(size);
  return true;
}

template <typename T>
static bool takeHeader(std::string_view &bytes, T &header) {
  std::string_view taken;
  if (!takeBytes(bytes, sizeof header, taken))
    return false;
  std::memcpy(&header, taken.data(), sizeof header);
  return true;
}

template <typename T>
static bool takeArray(std::string_view &bytes, size_t count,
                      ArrayView<T> &array) {
  std::string_view taken;
  if (!takeBytes(bytes, count * sizeof(T), taken))
    return false;
  array = ArrayView<T>(taken);
  return true;
}

bool Automaton::readMachine(std::string_view &bytes, bool isPass,
                            Machine &machine) {
  MachineHeader &head = machine.header;
  if (!takeHeader(bytes, head) || head.states < (isPass ? 1u : 2u) ||
      head.states > stateLimit || head.columns == 0 ||
      head.columns > mapLimit || head.backward > 1 || head.answers == 0 ||
      head.answers > mapLimit || head.inputs > passes.size() ||
      head.map > mapLimit || !takeArray(bytes, head.inputs, machine.inputs) ||
      !takeArray(bytes, head.map, machine.map))
    return false;

  // The map has one entry for each combination of a class and answers.
  size_t labels = header.classes + 1;
  for (size_t i = 0; i < head.inputs; ++i) {
    if (machine.inputs[i] >= passes.size())
      return false;
    labels *= passes[machine.inputs[i]].header.answers;
    if (labels > mapLimit)
      return false;
  }
  if (head.inputs == 0 ? head.map != 0 || head.columns != labels
                       : head.map != labels)
    return false;
  const size_t cells = size_t(head.states) * head.columns;
  return takeArray(bytes, cells, machine.transitions) &&
         takeArray(bytes, isPass ? cells : 0, machine.outputs);
}

std::optional<Automaton> Automaton::open(std::string_view program) {
  Automaton result;
  ProgramHeader &header = result.header;
  if (!takeHeader(program, header) || header.classes == 0 ||
      header.classes > 256 || header.blocks == 0 || header.blocks > 0x10000 ||
      header.numberBlocks == 0 || header.numberBlocks > 0x10000 ||
      header.machines == 0 || header.machines > machineLimit ||
      !takeArray(program, header.blocks, result.blocks) ||
      !takeArray(program, size_t(header.numberBlocks) << classShift,
                 result.numbers))
    return std::nullopt;
  for (uint32_t i = 1; i < header.machines; ++i) {
    Machine pass;
    if (!result.readMachine(program, /*isPass=*/true, pass))
      return std::nullopt;
    result.passes.push_back(pass);
  }
  if (!result.readMachine(program, /*isPass=*/false, result.main) ||
      !program.empty())
    return std::nullopt;
  return result;
}

Automaton::Values
Automaton::selectColumns(const Machine &machine, const Values &classes,
                         const std::vector<Values> &answers) const {
  if (machine.header.inputs == 0)
    return classes;
  Values columns(classes.size());
  for (size_t at = 0; at < classes.size(); ++at) {
    size_t label = classes[at];
    for (size_t i = 0; i < machine.inputs.size(); ++i) {
      const uint16_t input = machine.inputs[i];
      label = label * passes[input].header.answers + answers[input][at];
    }
    columns[at] =
        std::min<uint32_t>(machine.map[label], machine.header.columns - 1);
  }
  return columns;
}

/// Returns a pass's answer at each position.
Automaton::Values Automaton::run(const Machine &pass, Values columns) {
  const MachineHeader &head = pass.header;
  const size_t count = columns.size();
  size_t state = 0;
  for (size_t step = 0; step < count; ++step) {
    uint16_t &value = columns[head.backward ? count - 1 - step : step];
    const size_t cell = state * head.columns + value;
    value = std::min<uint32_t>(pass.outputs[cell], head.answers - 1);
    state = pass.transitions[cell];
    if (state >= head.states)
      state = 0;
  }
  return columns;
}

std::vector<uint16_t> Automaton::getColumns(const Characters &text,
                                            Span span) const {
  Values classes;
  classes.reserve(span.end - span.begin + 1);
  for (size_t at = span.begin; at < span.end; ++at)
    classes.push_back(static_cast<uint16_t>(getClass(text[at].code)));
  classes.push_back(static_cast<uint16_t>(endClass()));
  std::vector<Values> answers;
  for (const Machine &pass : passes)
    answers.push_back(run(pass, selectColumns(pass, classes, answers)));
  return selectColumns(main, classes, answers);
}

} // namespace transom::tokenizer
