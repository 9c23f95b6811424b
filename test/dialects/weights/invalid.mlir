// RUN: transom-opt %s -split-input-file -verify-diagnostics

// expected-error @below {{'#weight.expr' (1) expects a weight expression: }}
attn.weight @w : [4] f32 = #weight.expr<rotate(file("a"))>

// -----

// expected-error @below {{'#weight.expr' (1) expects a weight expression: }}
attn.weight @w : [4] f32 = #weight.expr<file("a"), file("b")>

// -----

// expected-error @below {{unknown weight attribute 'sum'; supported: expr}}
attn.weight @w : [4] f32 = #weight.sum<file("a")>
