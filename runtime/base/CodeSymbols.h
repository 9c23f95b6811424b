// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Names of generated functions. Lowering creates them, artifact tables point to
// them, and code sizes are counted by them.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace transom {

/// Name prefixes for phase functions, functions shared by phases, and
/// micro-kernels.
inline constexpr std::string_view phaseSymbolPrefix = "transom.p.";
inline constexpr std::string_view sharedSymbolPrefix = "transom.o.";
inline constexpr std::string_view kernelSymbolPrefix = "transom.k.";

/// Returns the name of a phase function for an instruction set: the phase name
/// and its location in the model, `encode.3.gemm.encoder.layer.{0-11}.output`.
/// In the location, characters that debuggers do not accept in a name are
/// replaced, and the middle of a long location is omitted. The phase name alone
/// is unique.
std::string getPhaseSymbol(std::string_view isa, std::string_view phase,
                           std::string_view location);

/// A micro-kernel's register tile, parsed from its name.
struct KernelTile {
  int64_t rows = 0;    ///< MR
  int64_t columns = 0; ///< NR
  std::string family;  ///< the name without the rows
};

/// Returns the tile for a name such as `transom.k.avx2.f32.6x16.k768.zero`,
/// nullopt for other names.
std::optional<KernelTile> parseKernelTile(std::string_view symbol);

} // namespace transom
