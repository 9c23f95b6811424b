// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Compares manifest entries with the entries derived from the decode step;
// getDerivedEntries() is in Manifest.h.
#pragma once
#include "runtime/manifest/Manifest.h"

namespace transom {

/// Whether an entry equals one of getDerivedEntries() in all fields except for
/// its name.
bool isDerived(const Manifest &manifest, const ManifestEntry &entry);

} // namespace transom
