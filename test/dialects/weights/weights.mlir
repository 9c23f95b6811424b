// The attribute `#weight.expr` prints the canonical form of its expression,
// without quotes, and reads it back.
// RUN: transom-opt %s | transom-opt | FileCheck %s

// CHECK: attn.weight @file : [2, 2] f32 = #weight.expr<file("a.weight")>
attn.weight @file : [2, 2] f32 = #weight.expr<file("a.weight")>

// Spaces and line breaks are not part of the canonical form.
// CHECK: attn.weight @concat : [4, 2] f32 = #weight.expr<concat(0, file("a"), file("b"))>
attn.weight @concat : [4, 2] f32 = #weight.expr< concat( 0,file("a"),
    file("b")) >

// Names keep brackets, quotes and odd bytes.
// CHECK: attn.weight @names : [2] f32 = #weight.expr<add(file("a>b"), file("c\22\5Cd"))>
attn.weight @names : [2] f32 = #weight.expr<add(file("a>b"), file("c\22\5Cd"))>

// CHECK: attn.weight @numbers : [2] f32 = #weight.expr<values([2], [0.5, -1e-{{0?}}7])>
attn.weight @numbers : [2] f32 = #weight.expr<values([2], [0.5, -1e-7])>
