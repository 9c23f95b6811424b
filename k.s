transom.k.avx512.f32.14x32.k768.lda768.ldb32.bias_residual_prefetch:
	pushq	%r15
	pushq	%r14
	pushq	%rbx
	subq	$64, %rsp
	movq	168(%rsp), %r11
	movq	160(%rsp), %rbx
	movq	152(%rsp), %r10
	movq	144(%rsp), %r9
	movq	136(%rsp), %rax
	movq	104(%rsp), %r14
	movq	96(%rsp), %r15
	vmovups	(%rcx), %zmm1
	vmovups	64(%rcx), %zmm0
	addq	$64, %rsi
	movq	$-3072, %rcx
	vmovaps	%zmm0, %zmm2
	vmovaps	%zmm1, %zmm3
	vmovaps	%zmm0, %zmm4
	vmovaps	%zmm1, %zmm5
	vmovaps	%zmm0, %zmm6
	vmovaps	%zmm1, %zmm7
	vmovaps	%zmm0, %zmm8
	vmovaps	%zmm1, %zmm9
	vmovaps	%zmm0, %zmm10
	vmovaps	%zmm1, %zmm11
	vmovaps	%zmm0, %zmm12
	vmovaps	%zmm1, %zmm13
	vmovaps	%zmm0, %zmm14
	vmovaps	%zmm1, %zmm15
	vmovaps	%zmm0, %zmm16
	vmovaps	%zmm1, %zmm17
	vmovaps	%zmm0, %zmm18
	vmovaps	%zmm1, %zmm19
	vmovaps	%zmm0, %zmm20
	vmovaps	%zmm1, %zmm21
	vmovaps	%zmm0, %zmm22
	vmovaps	%zmm1, %zmm23
	vmovaps	%zmm0, %zmm24
	vmovaps	%zmm1, %zmm25
	vmovaps	%zmm0, %zmm26
	vmovaps	%zmm1, %zmm27
	.p2align	4, 0x90
.LBB89_1:
	prefetcht1	(%r15)
	prefetcht1	(%r14)
	vmovups	-64(%rsi), %zmm29
	vmovups	(%rsi), %zmm28
	vbroadcastss	3072(%rdi,%rcx), %zmm30
	vfmadd231ps	%zmm29, %zmm30, %zmm27
	vfmadd231ps	%zmm30, %zmm28, %zmm26
	vbroadcastss	6144(%rdi,%rcx), %zmm30
	vfmadd231ps	%zmm29, %zmm30, %zmm25
	vfmadd231ps	%zmm30, %zmm28, %zmm24
	vbroadcastss	9216(%rdi,%rcx), %zmm30
	vfmadd231ps	%zmm29, %zmm30, %zmm23
	vfmadd231ps	%zmm30, %zmm28, %zmm22
	vbroadcastss	12288(%rdi,%rcx), %zmm30
	vfmadd231ps	%zmm29, %zmm30, %zmm21
	vfmadd231ps	%zmm30, %zmm28, %zmm20
	vbroadcastss	15360(%rdi,%rcx), %zmm30
	vfmadd231ps	%zmm29, %zmm30, %zmm19
	vfmadd231ps	%zmm30, %zmm28, %zmm18
	vbroadcastss	18432(%rdi,%rcx), %zmm30
	vfmadd231ps	%zmm29, %zmm30, %zmm17
	vfmadd231ps	%zmm30, %zmm28, %zmm16
	vbroadcastss	21504(%rdi,%rcx), %zmm30
	vfmadd231ps	%zmm29, %zmm30, %zmm15
	vfmadd231ps	%zmm30, %zmm28, %zmm14
	vbroadcastss	24576(%rdi,%rcx), %zmm30
	vfmadd231ps	%zmm29, %zmm30, %zmm13
	vfmadd231ps	%zmm30, %zmm28, %zmm12
	vbroadcastss	27648(%rdi,%rcx), %zmm30
	vfmadd231ps	%zmm29, %zmm30, %zmm11
	vfmadd231ps	%zmm30, %zmm28, %zmm10
	vbroadcastss	30720(%rdi,%rcx), %zmm30
	vfmadd231ps	%zmm29, %zmm30, %zmm9
	vfmadd231ps	%zmm30, %zmm28, %zmm8
	vbroadcastss	33792(%rdi,%rcx), %zmm30
	vfmadd231ps	%zmm29, %zmm30, %zmm7
	vfmadd231ps	%zmm30, %zmm28, %zmm6
	vbroadcastss	36864(%rdi,%rcx), %zmm30
	vfmadd231ps	%zmm29, %zmm30, %zmm5
	vfmadd231ps	%zmm30, %zmm28, %zmm4
	vbroadcastss	39936(%rdi,%rcx), %zmm30
	vfmadd231ps	%zmm29, %zmm30, %zmm3
	vfmadd231ps	%zmm30, %zmm28, %zmm2
	vbroadcastss	43008(%rdi,%rcx), %zmm30
	vfmadd231ps	%zmm29, %zmm30, %zmm1
	vfmadd231ps	%zmm28, %zmm30, %zmm0
	addq	%r11, %r14
	addq	%rbx, %r15
	subq	$-128, %rsi
	addq	$4, %rcx
	jne	.LBB89_1
	cmpq	$32, %r10
	jl	.LBB89_5
	vaddps	(%r8), %zmm27, %zmm27
	vaddps	64(%r8), %zmm26, %zmm26
	vaddps	(%r8,%r9,4), %zmm25, %zmm25
	vaddps	64(%r8,%r9,4), %zmm24, %zmm24
	vaddps	(%r8,%r9,8), %zmm23, %zmm23
	vaddps	64(%r8,%r9,8), %zmm22, %zmm22
	leaq	(%r9,%r9,2), %rcx
	vaddps	(%r8,%rcx,4), %zmm21, %zmm21
	vaddps	64(%r8,%rcx,4), %zmm20, %zmm20
	movq	%r9, %rsi
	shlq	$4, %rsi
	vaddps	(%r8,%rsi), %zmm19, %zmm19
	vaddps	64(%r8,%rsi), %zmm18, %zmm18
	leaq	(%r9,%r9,4), %rsi
	vaddps	(%r8,%rsi,4), %zmm17, %zmm17
	vaddps	64(%r8,%rsi,4), %zmm16, %zmm16
	vaddps	(%r8,%rcx,8), %zmm15, %zmm15
	vaddps	64(%r8,%rcx,8), %zmm14, %zmm14
	leaq	(%r9,%r9,8), %rdi
	leaq	(%rdi,%rdi,2), %r10
	addq	%r9, %r10
	vaddps	(%r8,%r10), %zmm13, %zmm13
	vaddps	64(%r8,%r10), %zmm12, %zmm12
	movq	%r9, %r10
	shlq	$5, %r10
	vaddps	(%r8,%r10), %zmm11, %zmm11
	vaddps	64(%r8,%r10), %zmm10, %zmm10
	vaddps	(%r8,%rdi,4), %zmm9, %zmm9
	vaddps	64(%r8,%rdi,4), %zmm8, %zmm8
	vaddps	(%r8,%rsi,8), %zmm7, %zmm7
	vaddps	64(%r8,%rsi,8), %zmm6, %zmm6
	imulq	$44, %r9, %rsi
	vaddps	(%r8,%rsi), %zmm5, %zmm5
	vaddps	64(%r8,%rsi), %zmm4, %zmm4
	shlq	$4, %rcx
	vaddps	(%r8,%rcx), %zmm3, %zmm3
	vaddps	64(%r8,%rcx), %zmm2, %zmm2
	imulq	$52, %r9, %rcx
	vaddps	(%r8,%rcx), %zmm1, %zmm1
	vaddps	64(%r8,%rcx), %zmm0, %zmm0
	vmovups	%zmm27, (%rdx)
	vmovups	%zmm26, 64(%rdx)
	vmovups	%zmm25, (%rdx,%rax,4)
	vmovups	%zmm24, 64(%rdx,%rax,4)
	vmovups	%zmm23, (%rdx,%rax,8)
	vmovups	%zmm22, 64(%rdx,%rax,8)
	leaq	(%rax,%rax,2), %rcx
	vmovups	%zmm21, (%rdx,%rcx,4)
	vmovups	%zmm20, 64(%rdx,%rcx,4)
	movq	%rax, %rsi
	shlq	$4, %rsi
	vmovups	%zmm19, (%rdx,%rsi)
	vmovups	%zmm18, 64(%rdx,%rsi)
	leaq	(%rax,%rax,4), %rsi
	vmovups	%zmm17, (%rdx,%rsi,4)
	vmovups	%zmm16, 64(%rdx,%rsi,4)
	vmovups	%zmm15, (%rdx,%rcx,8)
	vmovups	%zmm14, 64(%rdx,%rcx,8)
	leaq	(%rax,%rax,8), %rdi
	leaq	(%rdi,%rdi,2), %r8
	addq	%rax, %r8
	vmovups	%zmm13, (%rdx,%r8)
	vmovups	%zmm12, 64(%rdx,%r8)
	movq	%rax, %r8
	shlq	$5, %r8
	vmovups	%zmm11, (%rdx,%r8)
	vmovups	%zmm10, 64(%rdx,%r8)
	vmovups	%zmm9, (%rdx,%rdi,4)
	vmovups	%zmm8, 64(%rdx,%rdi,4)
	vmovups	%zmm7, (%rdx,%rsi,8)
	vmovups	%zmm6, 64(%rdx,%rsi,8)
	imulq	$44, %rax, %rsi
	vmovups	%zmm5, (%rdx,%rsi)
	vmovups	%zmm4, 64(%rdx,%rsi)
	shlq	$4, %rcx
	vmovups	%zmm3, (%rdx,%rcx)
	vmovups	%zmm2, 64(%rdx,%rcx)
	imulq	$52, %rax, %rax
	vmovups	%zmm1, (%rdx,%rax)
	vmovups	%zmm0, 64(%rdx,%rax)
	jmp	.LBB89_4
.LBB89_5:
	movq	%r10, %rcx
	sarq	$63, %rcx
	andnq	%r10, %rcx, %rcx
	cmpq	$16, %rcx
	movl	$16, %esi
	cmovgeq	%rsi, %rcx
	vpbroadcastd	%ecx, %zmm28
	vpmovsxbd	.LCPI89_1(%rip), %zmm29
	vpcmpgtd	%zmm29, %zmm28, %k1
	vmovups	(%r8), %zmm28 {%k1} {z}
	addq	$-16, %r10
	movq	%r10, %rcx
	sarq	$63, %rcx
	andnq	%r10, %rcx, %rcx
	cmpq	$16, %rcx
	cmovlq	%rcx, %rsi
	vpbroadcastd	%esi, %zmm30
	vpcmpgtd	%zmm29, %zmm30, %k2
	vmovups	64(%r8), %zmm29 {%k2} {z}
	vaddps	%zmm28, %zmm27, %zmm27
	vmovups	%zmm27, (%rsp)
	vaddps	%zmm29, %zmm26, %zmm26
	vmovups	%zmm26, -64(%rsp)
	vmovups	(%r8,%r9,4), %zmm28 {%k1} {z}
	vmovups	64(%r8,%r9,4), %zmm29 {%k2} {z}
	vaddps	%zmm28, %zmm25, %zmm27
	vaddps	%zmm29, %zmm24, %zmm24
	vmovups	%zmm24, -128(%rsp)
	vmovups	(%r8,%r9,8), %zmm28 {%k1} {z}
	vmovups	64(%r8,%r9,8), %zmm29 {%k2} {z}
	vaddps	%zmm28, %zmm23, %zmm23
	vaddps	%zmm29, %zmm22, %zmm25
	leaq	(%r9,%r9,2), %rcx
	vmovups	(%r8,%rcx,4), %zmm28 {%k1} {z}
	vaddps	%zmm28, %zmm21, %zmm24
	vmovups	64(%r8,%rcx,4), %zmm28 {%k2} {z}
	vaddps	%zmm28, %zmm20, %zmm22
	movq	%r9, %rsi
	shlq	$4, %rsi
	vmovups	(%r8,%rsi), %zmm28 {%k1} {z}
	vaddps	%zmm28, %zmm19, %zmm21
	vmovups	64(%r8,%rsi), %zmm28 {%k2} {z}
	leaq	(%r9,%r9,4), %rsi
	vmovups	(%r8,%rsi,4), %zmm29 {%k1} {z}
	vaddps	%zmm28, %zmm18, %zmm19
	vaddps	%zmm29, %zmm17, %zmm20
	vmovups	64(%r8,%rsi,4), %zmm28 {%k2} {z}
	vmovups	(%r8,%rcx,8), %zmm29 {%k1} {z}
	vaddps	%zmm28, %zmm16, %zmm18
	vaddps	%zmm29, %zmm15, %zmm17
	vmovups	64(%r8,%rcx,8), %zmm28 {%k2} {z}
	vaddps	%zmm28, %zmm14, %zmm16
	leaq	(%r9,%r9,8), %rdi
	leaq	(%rdi,%rdi,2), %r10
	addq	%r9, %r10
	vmovups	(%r8,%r10), %zmm28 {%k1} {z}
	vmovups	64(%r8,%r10), %zmm29 {%k2} {z}
	vaddps	%zmm28, %zmm13, %zmm15
	vaddps	%zmm29, %zmm12, %zmm14
	movq	%r9, %r10
	shlq	$5, %r10
	vmovups	(%r8,%r10), %zmm28 {%k1} {z}
	vaddps	%zmm28, %zmm11, %zmm13
	vmovups	64(%r8,%r10), %zmm28 {%k2} {z}
	vaddps	%zmm28, %zmm10, %zmm12
	vmovups	(%r8,%rdi,4), %zmm28 {%k1} {z}
	vaddps	%zmm28, %zmm9, %zmm11
	vmovups	64(%r8,%rdi,4), %zmm28 {%k2} {z}
	vmovups	(%r8,%rsi,8), %zmm29 {%k1} {z}
	vmovups	64(%r8,%rsi,8), %zmm30 {%k2} {z}
	vaddps	%zmm28, %zmm8, %zmm10
	imulq	$44, %r9, %rsi
	vmovups	(%r8,%rsi), %zmm28 {%k1} {z}
	vmovups	64(%r8,%rsi), %zmm31 {%k2} {z}
	vaddps	%zmm29, %zmm7, %zmm9
	shlq	$4, %rcx
	vmovups	(%r8,%rcx), %zmm29 {%k1} {z}
	vmovups	64(%r8,%rcx), %zmm7 {%k2} {z}
	vaddps	%zmm30, %zmm6, %zmm6
	imulq	$52, %r9, %rcx
	vmovups	(%r8,%rcx), %zmm30 {%k1} {z}
	vmovups	64(%r8,%rcx), %zmm8 {%k2} {z}
	vmovups	(%rsp), %zmm26
	vmovups	%zmm26, (%rdx) {%k1}
	vmovups	-64(%rsp), %zmm26
	vmovups	%zmm26, 64(%rdx) {%k2}
	vmovups	%zmm27, (%rdx,%rax,4) {%k1}
	vmovups	-128(%rsp), %zmm26
	vmovups	%zmm26, 64(%rdx,%rax,4) {%k2}
	vmovups	%zmm23, (%rdx,%rax,8) {%k1}
	vmovups	%zmm25, 64(%rdx,%rax,8) {%k2}
	vaddps	%zmm28, %zmm5, %zmm5
	leaq	(%rax,%rax,2), %rcx
	vmovups	%zmm24, (%rdx,%rcx,4) {%k1}
	vmovups	%zmm22, 64(%rdx,%rcx,4) {%k2}
	vaddps	%zmm31, %zmm4, %zmm4
	movq	%rax, %rsi
	shlq	$4, %rsi
	vmovups	%zmm21, (%rdx,%rsi) {%k1}
	vmovups	%zmm19, 64(%rdx,%rsi) {%k2}
	vaddps	%zmm29, %zmm3, %zmm3
	leaq	(%rax,%rax,4), %rsi
	vmovups	%zmm20, (%rdx,%rsi,4) {%k1}
	vmovups	%zmm18, 64(%rdx,%rsi,4) {%k2}
	vmovups	%zmm17, (%rdx,%rcx,8) {%k1}
	vmovups	%zmm16, 64(%rdx,%rcx,8) {%k2}
	leaq	(%rax,%rax,8), %rdi
	leaq	(%rdi,%rdi,2), %r8
	addq	%rax, %r8
	vmovups	%zmm15, (%rdx,%r8) {%k1}
	vmovups	%zmm14, 64(%rdx,%r8) {%k2}
	movq	%rax, %r8
	shlq	$5, %r8
	vmovups	%zmm13, (%rdx,%r8) {%k1}
	vmovups	%zmm12, 64(%rdx,%r8) {%k2}
	vmovups	%zmm11, (%rdx,%rdi,4) {%k1}
	vmovups	%zmm10, 64(%rdx,%rdi,4) {%k2}
	vmovups	%zmm9, (%rdx,%rsi,8) {%k1}
	vmovups	%zmm6, 64(%rdx,%rsi,8) {%k2}
	vaddps	%zmm7, %zmm2, %zmm2
	imulq	$44, %rax, %rsi
	vmovups	%zmm5, (%rdx,%rsi) {%k1}
	vmovups	%zmm4, 64(%rdx,%rsi) {%k2}
	vaddps	%zmm30, %zmm1, %zmm1
	shlq	$4, %rcx
	vmovups	%zmm3, (%rdx,%rcx) {%k1}
	vmovups	%zmm2, 64(%rdx,%rcx) {%k2}
	vaddps	%zmm8, %zmm0, %zmm0
	imulq	$52, %rax, %rax
	vmovups	%zmm1, (%rdx,%rax) {%k1}
	vmovups	%zmm0, 64(%rdx,%rax) {%k2}
.LBB89_4:
	addq	$64, %rsp
	popq	%rbx
	popq	%r14
	popq	%r15
	vzeroupper
	retq
.Lfunc_end89:
