// Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// All kern operations, which run on planned buffers.
#ifndef TRANSOM_DIALECTS_KERN_KERNOPS_TD
#define TRANSOM_DIALECTS_KERN_KERNOPS_TD

include "dialects/kern/KernAttentionOps.td"
include "dialects/kern/KernCacheOps.td"
include "dialects/kern/KernControlOps.td"
include "dialects/kern/KernGroupOps.td"
include "dialects/kern/KernMoveOps.td"
include "dialects/kern/KernOneDnnOps.td"
include "dialects/kern/KernProductOps.td"
include "dialects/kern/KernRowOps.td"
include "dialects/kern/KernStorageOps.td"

#endif // TRANSOM_DIALECTS_KERN_KERNOPS_TD
