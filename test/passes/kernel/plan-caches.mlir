// RUN: transom-opt %s --kern-plan-caches | FileCheck %s
// RUN: transom-opt %s --kern-plan-caches | FileCheck %s --check-prefix=REMARK

// REMARK: args = {bytes = "24576", group = "0", layers = "2", type = "f32", window = "0"}{{[^{}]*}}name = "cache-group-planned"

// Caches with one window and type share blocks; the offset is the layer's.
// CHECK: module attributes {{.*}}kern.cache_groups = [{bytes = 24576 : i64, layers = 2 : i64, type = f32, window = 0 : i64}, {bytes = 16384 : i64, layers = 1 : i64, type = f32, window = 300 : i64}, {bytes = 6144 : i64, layers = 1 : i64, type = bf16, window = 300 : i64}, {bytes = 16384 : i64, layers = 1 : i64, positions = 1500 : i64, type = f32, window = 0 : i64}]}
// CHECK: kern.cache @a : !kern.cache<heads 1, key 8, value 8, f32> {group = 0 : i64, offset = 0 : i64}
kern.cache @a : !kern.cache<heads 1, key 8, value 8, f32>
// CHECK: kern.cache @near : !kern.cache<heads 1, key 8, value 8, window 300, f32> {group = 1 : i64, offset = 0 : i64}
kern.cache @near : !kern.cache<heads 1, key 8, value 8, window 300, f32>
// CHECK: kern.cache @b : !kern.cache<heads 2, key 1, value 3, f32> {group = 0 : i64, offset = 16384 : i64}
kern.cache @b : !kern.cache<heads 2, key 1, value 3, f32>
// An odd key is padded in bf16.
// CHECK: kern.cache @half : !kern.cache<heads 2, key 3, value 2, window 300, bf16> {group = 2 : i64, offset = 0 : i64}
kern.cache @half : !kern.cache<heads 2, key 3, value 2, window 300, bf16>
// A read-only cache is in a separate group, which does not grow.
// CHECK: kern.cache @cross : !kern.cache<heads 1, key 8, value 8, read_only 1500, f32> {group = 3 : i64, offset = 0 : i64}
kern.cache @cross : !kern.cache<heads 1, key 8, value 8, read_only 1500, f32>
