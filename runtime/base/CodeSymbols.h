// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Names of generated functions. Lowering creates them, the artifact's tables
// point to them, and sizes of code are counted by them.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace transom {

/// What the names of phases' functions, of code that phases share and of
/// micro-kernels begin with.
inline constexpr std::string_view phaseSymbolPrefix = "transom.p.";
inline constexpr std::string_view sharedSymbolPrefix = "transom.o.";
inline constexpr std::string_view kernelSymbolPrefix = "transom.k.";

/// The name of the function of a phase for an instruction set: the phase's name
/// and its location in the model, `encode.3.gemm.encoder.layer.{0-11}.output`.
/// Of the location, characters that debuggers do not take in a name are
/// replaced, and the middle of a long one is left out. The phase's name alone
/// is unique.
std::string getPhaseSymbol(std::string_view isa, std::string_view phase,
                           std::string_view location);

/// The register tile of a micro-kernel, as its name says.
struct KernelTile {
  int64_t rows = 0;    ///< MR
  int64_t columns = 0; ///< NR
  std::string family;  ///< the name without the rows
};

/// The tile of a name such as `transom.k.avx2.f32.6x16.k768.zero`; nothing for
/// another name.
std::optional<KernelTile> parseKernelTile(std::string_view symbol);

} // namespace transom
