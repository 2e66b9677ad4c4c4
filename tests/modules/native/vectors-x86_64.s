# SPDX-License-Identifier: Apache-2.0
#
# Made by vectors.sh
	.text
	.globl	add
	.p2align	4
	.type	add,@function
add:
	.cfi_startproc
	addps	%xmm1, %xmm0
	retq
.Lfunc_end0:
	.size	add, .Lfunc_end0-add
	.cfi_endproc

	.globl	_mlir_ciface_add
	.p2align	4
	.type	_mlir_ciface_add,@function
_mlir_ciface_add:
	.cfi_startproc
	pushq	%rax
	.cfi_def_cfa_offset 16
	callq	add@PLT
	popq	%rax
	.cfi_def_cfa_offset 8
	retq
.Lfunc_end1:
	.size	_mlir_ciface_add, .Lfunc_end1-_mlir_ciface_add
	.cfi_endproc

	.globl	mixed
	.p2align	4
	.type	mixed,@function
mixed:
	.cfi_startproc
	cvttss2si	%xmm0, %eax
	cvttsd2si	%xmm2, %ecx
	cvttss2si	(%rdx), %edx
	addl	%edi, %eax
	addl	%ecx, %eax
	addl	%edx, %eax
	paddb	%xmm3, %xmm3
	movdqa	%xmm3, %xmm0
	retq
.Lfunc_end2:
	.size	mixed, .Lfunc_end2-mixed
	.cfi_endproc

	.globl	_mlir_ciface_mixed
	.p2align	4
	.type	_mlir_ciface_mixed,@function
_mlir_ciface_mixed:
	.cfi_startproc
	pushq	%rbx
	.cfi_def_cfa_offset 16
	.cfi_offset %rbx, -16
	movl	%esi, %eax
	movq	%rdi, %rbx
	movq	32(%rdx), %r9
	movq	24(%rdx), %r8
	movq	16(%rdx), %rcx
	movq	(%rdx), %rsi
	movq	8(%rdx), %rdx
	movl	%eax, %edi
	callq	mixed@PLT
	movb	%al, (%rbx)
	movaps	%xmm0, 16(%rbx)
	movaps	%xmm1, 32(%rbx)
	popq	%rbx
	.cfi_def_cfa_offset 8
	retq
.Lfunc_end3:
	.size	_mlir_ciface_mixed, .Lfunc_end3-_mlir_ciface_mixed
	.cfi_endproc

	.globl	rows
	.p2align	4
	.type	rows,@function
rows:
	.cfi_startproc
	paddd	%xmm0, %xmm0
	paddd	%xmm1, %xmm1
	paddd	%xmm2, %xmm2
	retq
.Lfunc_end4:
	.size	rows, .Lfunc_end4-rows
	.cfi_endproc

	.globl	_mlir_ciface_rows
	.p2align	4
	.type	_mlir_ciface_rows,@function
_mlir_ciface_rows:
	.cfi_startproc
	pushq	%rax
	.cfi_def_cfa_offset 16
	callq	rows@PLT
	popq	%rax
	.cfi_def_cfa_offset 8
	retq
.Lfunc_end5:
	.size	_mlir_ciface_rows, .Lfunc_end5-_mlir_ciface_rows
	.cfi_endproc

	.globl	first
	.p2align	4
	.type	first,@function
first:
	.cfi_startproc
	movhlps	%xmm0, %xmm0
	retq
.Lfunc_end6:
	.size	first, .Lfunc_end6-first
	.cfi_endproc

	.globl	_mlir_ciface_first
	.p2align	4
	.type	_mlir_ciface_first,@function
_mlir_ciface_first:
	.cfi_startproc
	pushq	%rax
	.cfi_def_cfa_offset 16
	callq	first@PLT
	popq	%rax
	.cfi_def_cfa_offset 8
	retq
.Lfunc_end7:
	.size	_mlir_ciface_first, .Lfunc_end7-_mlir_ciface_first
	.cfi_endproc

	.globl	eight
	.p2align	4
	.type	eight,@function
eight:
	.cfi_startproc
	movaps	8(%rsp), %xmm0
	shufps	$0, %xmm0, %xmm0
	addps	%xmm7, %xmm0
	retq
.Lfunc_end8:
	.size	eight, .Lfunc_end8-eight
	.cfi_endproc

	.globl	_mlir_ciface_eight
	.p2align	4
	.type	_mlir_ciface_eight,@function
_mlir_ciface_eight:
	.cfi_startproc
	pushq	%rax
	.cfi_def_cfa_offset 16
	movss	16(%rsp), %xmm8
	movss	%xmm8, (%rsp)
	callq	eight@PLT
	popq	%rax
	.cfi_def_cfa_offset 8
	retq
.Lfunc_end9:
	.size	_mlir_ciface_eight, .Lfunc_end9-_mlir_ciface_eight
	.cfi_endproc

	.globl	same
	.p2align	4
	.type	same,@function
same:
	.cfi_startproc
	movq	%rdi, %rax
	movq	%r9, 32(%rdi)
	movq	%r8, 24(%rdi)
	movq	%rcx, 16(%rdi)
	movq	%rdx, 8(%rdi)
	movq	%rsi, (%rdi)
	retq
.Lfunc_end10:
	.size	same, .Lfunc_end10-same
	.cfi_endproc

	.globl	_mlir_ciface_same
	.p2align	4
	.type	_mlir_ciface_same,@function
_mlir_ciface_same:
	.cfi_startproc
	pushq	%rbx
	.cfi_def_cfa_offset 16
	subq	$48, %rsp
	.cfi_def_cfa_offset 64
	.cfi_offset %rbx, -16
	movq	%rdi, %rbx
	movq	32(%rsi), %r9
	movq	24(%rsi), %r8
	movq	16(%rsi), %rcx
	movq	(%rsi), %rax
	movq	8(%rsi), %rdx
	leaq	8(%rsp), %rdi
	movq	%rax, %rsi
	callq	same@PLT
	movq	8(%rsp), %rax
	movq	16(%rsp), %rcx
	movq	24(%rsp), %rdx
	movq	32(%rsp), %rsi
	movq	40(%rsp), %rdi
	movq	%rdi, 32(%rbx)
	movq	%rsi, 24(%rbx)
	movq	%rdx, 16(%rbx)
	movq	%rcx, 8(%rbx)
	movq	%rax, (%rbx)
	addq	$48, %rsp
	.cfi_def_cfa_offset 16
	popq	%rbx
	.cfi_def_cfa_offset 8
	retq
.Lfunc_end11:
	.size	_mlir_ciface_same, .Lfunc_end11-_mlir_ciface_same
	.cfi_endproc

	.globl	double
	.p2align	4
	.type	double,@function
double:
	.cfi_startproc
	pushq	%rbp
	.cfi_def_cfa_offset 16
	pushq	%r15
	.cfi_def_cfa_offset 24
	pushq	%r14
	.cfi_def_cfa_offset 32
	pushq	%r13
	.cfi_def_cfa_offset 40
	pushq	%r12
	.cfi_def_cfa_offset 48
	pushq	%rbx
	.cfi_def_cfa_offset 56
	subq	$104, %rsp
	.cfi_def_cfa_offset 160
	.cfi_offset %rbx, -56
	.cfi_offset %r12, -48
	.cfi_offset %r13, -40
	.cfi_offset %r14, -32
	.cfi_offset %r15, -24
	.cfi_offset %rbp, -16
	movq	%r9, %rbp
	movq	%r8, %rbx
	movq	%rcx, %r13
	movq	%rdx, %r12
	movq	%rsi, %r15
	movq	%rdi, %r14
	movq	%r9, 96(%rsp)
	movq	%r8, 88(%rsp)
	movq	%r8, %rax
	shlq	$6, %rax
	movdqa	-32(%rax,%rdx), %xmm1
	movdqa	%xmm1, (%rsp)
	movaps	-16(%rax,%rdx), %xmm0
	movaps	%xmm0, 48(%rsp)
	movdqa	%xmm1, %xmm0
	psrldq	$14, %xmm0
	callq	__extendhfsf2@PLT
	addss	%xmm0, %xmm0
	callq	__truncsfhf2@PLT
	movaps	%xmm0, 32(%rsp)
	movaps	(%rsp), %xmm0
	shufps	$255, %xmm0, %xmm0
	callq	__extendhfsf2@PLT
	addss	%xmm0, %xmm0
	callq	__truncsfhf2@PLT
	punpcklwd	32(%rsp), %xmm0
	movdqa	%xmm0, 32(%rsp)
	movdqa	(%rsp), %xmm0
	psrldq	$10, %xmm0
	callq	__extendhfsf2@PLT
	addss	%xmm0, %xmm0
	callq	__truncsfhf2@PLT
	movaps	%xmm0, 16(%rsp)
	movaps	(%rsp), %xmm0
	movhlps	%xmm0, %xmm0
	callq	__extendhfsf2@PLT
	addss	%xmm0, %xmm0
	callq	__truncsfhf2@PLT
	punpcklwd	16(%rsp), %xmm0
	punpckldq	32(%rsp), %xmm0
	movdqa	%xmm0, 16(%rsp)
	movdqa	(%rsp), %xmm0
	psrlq	$48, %xmm0
	callq	__extendhfsf2@PLT
	addss	%xmm0, %xmm0
	callq	__truncsfhf2@PLT
	movaps	%xmm0, 32(%rsp)
	movaps	(%rsp), %xmm0
	shufps	$85, %xmm0, %xmm0
	callq	__extendhfsf2@PLT
	addss	%xmm0, %xmm0
	callq	__truncsfhf2@PLT
	punpcklwd	32(%rsp), %xmm0
	movdqa	%xmm0, 64(%rsp)
	movaps	(%rsp), %xmm0
	callq	__extendhfsf2@PLT
	addss	%xmm0, %xmm0
	callq	__truncsfhf2@PLT
	movaps	%xmm0, 32(%rsp)
	movdqa	(%rsp), %xmm0
	psrld	$16, %xmm0
	callq	__extendhfsf2@PLT
	addss	%xmm0, %xmm0
	callq	__truncsfhf2@PLT
	movdqa	32(%rsp), %xmm1
	punpcklwd	%xmm0, %xmm1
	punpckldq	64(%rsp), %xmm1
	punpcklqdq	16(%rsp), %xmm1
	movdqa	%xmm1, 32(%rsp)
	movdqa	48(%rsp), %xmm0
	psrldq	$14, %xmm0
	callq	__extendhfsf2@PLT
	addss	%xmm0, %xmm0
	callq	__truncsfhf2@PLT
	movaps	%xmm0, (%rsp)
	movaps	48(%rsp), %xmm0
	shufps	$255, %xmm0, %xmm0
	callq	__extendhfsf2@PLT
	addss	%xmm0, %xmm0
	callq	__truncsfhf2@PLT
	punpcklwd	(%rsp), %xmm0
	movdqa	%xmm0, (%rsp)
	movdqa	48(%rsp), %xmm0
	psrldq	$10, %xmm0
	callq	__extendhfsf2@PLT
	addss	%xmm0, %xmm0
	callq	__truncsfhf2@PLT
	movaps	%xmm0, 16(%rsp)
	movaps	48(%rsp), %xmm0
	movhlps	%xmm0, %xmm0
	callq	__extendhfsf2@PLT
	addss	%xmm0, %xmm0
	callq	__truncsfhf2@PLT
	punpcklwd	16(%rsp), %xmm0
	punpckldq	(%rsp), %xmm0
	movdqa	%xmm0, (%rsp)
	movdqa	48(%rsp), %xmm0
	psrlq	$48, %xmm0
	callq	__extendhfsf2@PLT
	addss	%xmm0, %xmm0
	callq	__truncsfhf2@PLT
	movaps	%xmm0, 16(%rsp)
	movaps	48(%rsp), %xmm0
	shufps	$85, %xmm0, %xmm0
	callq	__extendhfsf2@PLT
	addss	%xmm0, %xmm0
	callq	__truncsfhf2@PLT
	punpcklwd	16(%rsp), %xmm0
	movdqa	%xmm0, 16(%rsp)
	movaps	48(%rsp), %xmm0
	callq	__extendhfsf2@PLT
	addss	%xmm0, %xmm0
	callq	__truncsfhf2@PLT
	movaps	%xmm0, 64(%rsp)
	movdqa	48(%rsp), %xmm0
	psrld	$16, %xmm0
	callq	__extendhfsf2@PLT
	addss	%xmm0, %xmm0
	callq	__truncsfhf2@PLT
	movdqa	64(%rsp), %xmm1
	punpcklwd	%xmm0, %xmm1
	punpckldq	16(%rsp), %xmm1
	punpcklqdq	(%rsp), %xmm1
	movdqa	%xmm1, 16(%r12)
	movaps	32(%rsp), %xmm0
	movaps	%xmm0, (%r12)
	movq	168(%rsp), %rax
	movq	%rax, 56(%r14)
	movq	160(%rsp), %rax
	movq	%rax, 48(%r14)
	movq	%rbp, 40(%r14)
	movq	%rbx, 32(%r14)
	movq	%r13, 24(%r14)
	movq	%r12, 16(%r14)
	movq	%r15, 8(%r14)
	movq	%rbx, (%r14)
	movq	%r14, %rax
	addq	$104, %rsp
	.cfi_def_cfa_offset 56
	popq	%rbx
	.cfi_def_cfa_offset 48
	popq	%r12
	.cfi_def_cfa_offset 40
	popq	%r13
	.cfi_def_cfa_offset 32
	popq	%r14
	.cfi_def_cfa_offset 24
	popq	%r15
	.cfi_def_cfa_offset 16
	popq	%rbp
	.cfi_def_cfa_offset 8
	retq
.Lfunc_end12:
	.size	double, .Lfunc_end12-double
	.cfi_endproc

	.globl	_mlir_ciface_double
	.p2align	4
	.type	_mlir_ciface_double,@function
_mlir_ciface_double:
	.cfi_startproc
	pushq	%rbx
	.cfi_def_cfa_offset 16
	subq	$64, %rsp
	.cfi_def_cfa_offset 80
	.cfi_offset %rbx, -16
	movq	%rsi, %rax
	movq	%rdi, %rbx
	movq	32(%rsi), %r9
	movq	24(%rsi), %r8
	movq	16(%rsi), %rcx
	movq	(%rsi), %rsi
	movq	8(%rax), %rdx
	movq	%rsp, %rdi
	pushq	48(%rax)
	.cfi_adjust_cfa_offset 8
	pushq	40(%rax)
	.cfi_adjust_cfa_offset 8
	callq	double@PLT
	addq	$16, %rsp
	.cfi_adjust_cfa_offset -16
	movq	(%rsp), %rax
	movq	8(%rsp), %rcx
	movq	16(%rsp), %rdx
	movq	24(%rsp), %rsi
	movq	32(%rsp), %rdi
	movq	40(%rsp), %r8
	movq	48(%rsp), %r9
	movq	56(%rsp), %r10
	movq	%r10, 56(%rbx)
	movq	%r9, 48(%rbx)
	movq	%r8, 40(%rbx)
	movq	%rdi, 32(%rbx)
	movq	%rsi, 24(%rbx)
	movq	%rdx, 16(%rbx)
	movq	%rcx, 8(%rbx)
	movq	%rax, (%rbx)
	addq	$64, %rsp
	.cfi_def_cfa_offset 16
	popq	%rbx
	.cfi_def_cfa_offset 8
	retq
.Lfunc_end13:
	.size	_mlir_ciface_double, .Lfunc_end13-_mlir_ciface_double
	.cfi_endproc

	.globl	at
	.p2align	4
	.type	at,@function
at:
	.cfi_startproc
	pushq	%rbx
	.cfi_def_cfa_offset 16
	.cfi_offset %rbx, -16
	movq	(%rsi,%r9,8), %rbx
	movl	$16, %edi
	callq	malloc@PLT
	leaq	7(%rax), %rdx
	andq	$-8, %rdx
	movq	%rbx, (%rdx)
	xorl	%ecx, %ecx
	popq	%rbx
	.cfi_def_cfa_offset 8
	retq
.Lfunc_end14:
	.size	at, .Lfunc_end14-at
	.cfi_endproc

	.globl	_mlir_ciface_at
	.p2align	4
	.type	_mlir_ciface_at,@function
_mlir_ciface_at:
	.cfi_startproc
	pushq	%rbx
	.cfi_def_cfa_offset 16
	.cfi_offset %rbx, -16
	movq	%rdx, %r9
	movq	%rdi, %rbx
	movq	32(%rsi), %r8
	movq	24(%rsi), %rcx
	movq	16(%rsi), %rdx
	movq	(%rsi), %rdi
	movq	8(%rsi), %rsi
	callq	at@PLT
	movq	%rax, (%rbx)
	movq	%rdx, 8(%rbx)
	movq	%rcx, 16(%rbx)
	popq	%rbx
	.cfi_def_cfa_offset 8
	retq
.Lfunc_end15:
	.size	_mlir_ciface_at, .Lfunc_end15-_mlir_ciface_at
	.cfi_endproc

	.section	".note.GNU-stack","",@progbits
