// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Texts of small kern modules: one function with one phase of the same name.
#pragma once
#include <string>

namespace transom::test {

/// The parts of a phase's function.
struct PhaseText {
  std::string name;
  std::string args;        ///< `%x: !kern.buffer<...>, ...`
  std::string definitions; ///< weights and ragged, in front of the phase
  std::string body;        ///< the operations
};

/// The function; its symbols are a, b, batch, keys, n, rows, seq.
inline std::string phaseFunction(const PhaseText &p) {
  return "func.func @" + p.name + "(" + p.args +
         ") attributes {kern.symbols = [\"a\", \"b\", \"batch\", \"keys\", "
         "\"n\", \"rows\", \"seq\"]} {\n" +
         p.definitions + "  kern.phase \"" + p.name + "\" {\n    " + p.body +
         "\n  }\n  return\n}\n";
}

/// `!kern.buffer<[dims] x element>`.
inline std::string bufferType(const std::string &dims,
                              const std::string &element = "f32",
                              const std::string &more = "") {
  return "!kern.buffer<[" + dims + "] x " + element + more + ">";
}

/// A module-level weight definition, and its value.
inline std::string weightDefinition(const std::string &name,
                                    const std::string &type) {
  return "kern.weight @" + name + " : " + type +
         " = #weight.expr<file(\"w\")>\n";
}
inline std::string weightValue(const std::string &value,
                               const std::string &name,
                               const std::string &type) {
  return "  %" + value + " = kern.get_weight @" + name + " : " + type + "\n";
}

/// RaggedBatch number 0 with the symbols batch, seq, rows, keys.
inline const char *raggedDefinition() {
  return "  %s = kern.ragged_batch {batch = \"batch\", columns = \"seq\", rows "
         "= "
         "\"rows\", keys = \"keys\"} : !kern.ragged<0>\n";
}

} // namespace transom::test
