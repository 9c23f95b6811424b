// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Compares the entries of a manifest with those that are derived from its step;
// Manifest.h has getDerivedEntries().
#pragma once
#include "runtime/manifest/Manifest.h"

namespace transom {

/// Whether an entry is one of getDerivedEntries(), and the same in all fields
/// but its name.
bool isDerived(const Manifest &manifest, const ManifestEntry &entry);

} // namespace transom
