// One case for each rule of `#kern.format`.
// RUN: transom-opt %s --split-input-file --verify-diagnostics

// expected-error @below {{unsupported storage type 'f8'; supported: f32, f16, bf16, i8, ui8, i4, ui4}}
func.func private @f(!kern.weight<[64, 256] x #kern.format<f8>, panels32>)

// -----

// expected-error @below {{unknown field 'zeros' of a format; supported: group, scales, minimums, block, block_scales, interleave}}
func.func private @f(!kern.weight<[64, 256] x #kern.format<f32, zeros f16>, panels32>)

// -----

// (1)
// expected-error @below {{expects an interleave of 1, 2, 4 or 8 that makes whole bytes, got 1}}
func.func private @f(!kern.weight<[64, 256] x #kern.format<i4, group 32, scales f16>, panels32>)

// -----

// (1)
// expected-error @below {{expects an interleave of 1, 2, 4 or 8 that makes whole bytes, got 3}}
func.func private @f(!kern.weight<[64, 256] x #kern.format<bf16, interleave 3>, panels32>)

// -----

// (2)
// expected-error @below {{expects a group with scales for integers, and only for them}}
func.func private @f(!kern.weight<[64, 256] x #kern.format<i8>, panels32>)

// -----

// (2)
// expected-error @below {{expects a group with scales for integers, and only for them}}
func.func private @f(!kern.weight<[64, 256] x #kern.format<f32, group 32, scales f16>, panels32>)

// -----

// (3)
// expected-error @below {{expects a group that is a multiple of 8 and of the interleave, got 12}}
func.func private @f(!kern.weight<[64, 256] x #kern.format<i8, group 12, scales f16>, panels32>)

// -----

// (4)
// expected-error @below {{expects minimums beside scales only}}
func.func private @f(!kern.weight<[64, 256] x #kern.format<bf16, minimums f16>, panels32>)

// -----

// (5)
// expected-error @below {{expects a block that is a multiple of the group, with scales, got 48}}
func.func private @f(!kern.weight<[64, 256] x #kern.format<i8, group 32, scales ui8, block 48, block_scales f16>, panels32>)

// -----

// (6)
// expected-error @below {{expects scales of floats, got 'ui8'}}
func.func private @f(!kern.weight<[64, 256] x #kern.format<i8, group 32, scales ui8>, panels32>)

// -----

// (6)
// expected-error @below {{expects integers below block scales, got 'f16'}}
func.func private @f(!kern.weight<[64, 256] x #kern.format<i8, group 32, scales ui8, minimums f16, block 256, block_scales f16>, panels32>)

// -----

// (6)
// expected-error @below {{expects block scales of floats, got 'ui8'}}
func.func private @f(!kern.weight<[64, 256] x #kern.format<i8, group 32, scales ui8, block 256, block_scales ui8>, panels32>)
