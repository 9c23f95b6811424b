// RUN: transom-opt %s --split-input-file --verify-diagnostics --kern-choose-precision

// A type without a format is refused; nothing is left in f32 silently.
// expected-error @below {{'transom.dtype' 'f16' is not supported; supported: f32, bf16}}
module attributes {transom.dtype = "f16"} {
}

// -----

// expected-error @below {{'transom.kv_dtype' 'int4' is not supported; supported: f32, bf16, int8}}
module attributes {transom.kv_dtype = "int4"} {
}
