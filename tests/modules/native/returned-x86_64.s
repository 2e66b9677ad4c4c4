# SPDX-License-Identifier: Apache-2.0
#
# Made by returned.sh
	.text
	.globl	two
	.p2align	4
	.type	two,@function
two:
	.cfi_startproc
	movq	%rsi, %rax
	movl	%edi, %edx
	retq
.Lreturnedfunc_end0:
	.size	two, .Lreturnedfunc_end0-two
	.cfi_endproc

	.globl	small
	.p2align	4
	.type	small,@function
small:
	.cfi_startproc
	movl	%esi, %edx
	movl	%edi, %eax
	retq
.Lreturnedfunc_end1:
	.size	small, .Lreturnedfunc_end1-small
	.cfi_endproc

	.globl	halves
	.p2align	4
	.type	halves,@function
halves:
	.cfi_startproc
	movss	%xmm2, -4(%rsp)
	flds	-4(%rsp)
	movaps	%xmm3, %xmm2
	retq
.Lreturnedfunc_end2:
	.size	halves, .Lreturnedfunc_end2-halves
	.cfi_endproc

	.globl	doubles
	.p2align	4
	.type	doubles,@function
doubles:
	.cfi_startproc
	movss	%xmm3, -12(%rsp)
	movsd	%xmm2, -8(%rsp)
	flds	-12(%rsp)
	fldl	-8(%rsp)
	retq
.Lreturnedfunc_end3:
	.size	doubles, .Lreturnedfunc_end3-doubles
	.cfi_endproc

	.globl	floats
	.p2align	4
	.type	floats,@function
floats:
	.cfi_startproc
	movss	%xmm2, -4(%rsp)
	flds	-4(%rsp)
	retq
.Lreturnedfunc_end4:
	.size	floats, .Lreturnedfunc_end4-floats
	.cfi_endproc

	.globl	nine
	.p2align	4
	.type	nine,@function
nine:
	.cfi_startproc
	movq	%rdi, %rax
	leaq	(%rsi,%rsi), %rcx
	movq	%rsi, 64(%rdi)
	movss	%xmm0, 56(%rdi)
	movq	%rcx, 48(%rdi)
	movss	%xmm0, 40(%rdi)
	movq	%rsi, 32(%rdi)
	movss	%xmm0, 24(%rdi)
	movq	%rcx, 16(%rdi)
	movss	%xmm0, 8(%rdi)
	movq	%rsi, (%rdi)
	retq
.Lreturnedfunc_end5:
	.size	nine, .Lreturnedfunc_end5-nine
	.cfi_endproc

	.globl	many
	.p2align	4
	.type	many,@function
many:
	.cfi_startproc
	movq	%rdi, %rax
	leaq	(%rsi,%rsi), %rcx
	movapd	%xmm0, %xmm1
	addsd	%xmm0, %xmm1
	movsd	%xmm1, 144(%rdi)
	movq	%rsi, 136(%rdi)
	movq	%rsi, 128(%rdi)
	movsd	%xmm1, 120(%rdi)
	movq	%rcx, 112(%rdi)
	movsd	%xmm0, 104(%rdi)
	movq	%rsi, 96(%rdi)
	movsd	%xmm1, 88(%rdi)
	movq	%rcx, 80(%rdi)
	movsd	%xmm0, 72(%rdi)
	movq	%rsi, 64(%rdi)
	movsd	%xmm1, 56(%rdi)
	movq	%rcx, 48(%rdi)
	movsd	%xmm0, 40(%rdi)
	movq	%rsi, 32(%rdi)
	movsd	%xmm1, 24(%rdi)
	movq	%rcx, 16(%rdi)
	movsd	%xmm0, 8(%rdi)
	movq	%rsi, (%rdi)
	retq
.Lreturnedfunc_end6:
	.size	many, .Lreturnedfunc_end6-many
	.cfi_endproc

	.globl	double
	.p2align	4
	.type	double,@function
double:
	.cfi_startproc
	addss	%xmm0, %xmm0
	addss	%xmm1, %xmm1
	retq
.Lreturnedfunc_end7:
	.size	double, .Lreturnedfunc_end7-double
	.cfi_endproc

	.globl	double_and
	.p2align	4
	.type	double_and,@function
double_and:
	.cfi_startproc
	movl	%edi, %eax
	addsd	%xmm0, %xmm0
	addsd	%xmm1, %xmm1
	retq
.Lreturnedfunc_end8:
	.size	double_and, .Lreturnedfunc_end8-double_and
	.cfi_endproc

	.globl	rank0
	.p2align	4
	.type	rank0,@function
rank0:
	.cfi_startproc
	pushq	%rax
	.cfi_def_cfa_offset 16
	movss	%xmm0, 4(%rsp)
	movl	$4, %edi
	callq	malloc@PLT
	movss	4(%rsp), %xmm0
	movss	%xmm0, (%rax)
	movq	%rax, %rdx
	xorl	%ecx, %ecx
	popq	%rsi
	.cfi_def_cfa_offset 8
	retq
.Lreturnedfunc_end9:
	.size	rank0, .Lreturnedfunc_end9-rank0
	.cfi_endproc

	.globl	rank0_and
	.p2align	4
	.type	rank0_and,@function
rank0_and:
	.cfi_startproc
	pushq	%rax
	.cfi_def_cfa_offset 16
	movss	%xmm0, 4(%rsp)
	callq	rank0@PLT
	movss	4(%rsp), %xmm0
	popq	%rsi
	.cfi_def_cfa_offset 8
	retq
.Lreturnedfunc_end10:
	.size	rank0_and, .Lreturnedfunc_end10-rank0_and
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
.Lreturnedfunc_end11:
	.size	same, .Lreturnedfunc_end11-same
	.cfi_endproc

	.globl	twice
	.p2align	4
	.type	twice,@function
twice:
	.cfi_startproc
	pushq	%r15
	.cfi_def_cfa_offset 16
	pushq	%r14
	.cfi_def_cfa_offset 24
	pushq	%rbx
	.cfi_def_cfa_offset 32
	subq	$16, %rsp
	.cfi_def_cfa_offset 48
	.cfi_offset %rbx, -32
	.cfi_offset %r14, -24
	.cfi_offset %r15, -16
	movq	%r8, %r14
	movq	%rdx, %r15
	movq	%rdi, %rbx
	movq	%r8, 8(%rsp)
	leaq	(,%r8,4), %rdi
	callq	malloc@PLT
	movl	$1, %ecx
	xorl	%edx, %edx
	cmpq	%r14, %rdx
	jge	.LreturnedBB12_3
	.p2align	4
.LreturnedBB12_2:
	movss	(%r15,%rdx,4), %xmm0
	addss	%xmm0, %xmm0
	movss	%xmm0, (%rax,%rdx,4)
	incq	%rdx
	cmpq	%r14, %rdx
	jl	.LreturnedBB12_2
.LreturnedBB12_3:
	movq	%rax, (%rbx)
	movq	%rax, 8(%rbx)
	movq	%r14, 24(%rbx)
	movq	%rcx, 32(%rbx)
	movq	$0, 16(%rbx)
	movq	%rbx, %rax
	addq	$16, %rsp
	.cfi_def_cfa_offset 32
	popq	%rbx
	.cfi_def_cfa_offset 24
	popq	%r14
	.cfi_def_cfa_offset 16
	popq	%r15
	.cfi_def_cfa_offset 8
	retq
.Lreturnedfunc_end12:
	.size	twice, .Lreturnedfunc_end12-twice
	.cfi_endproc

	.globl	rank2
	.p2align	4
	.type	rank2,@function
rank2:
	.cfi_startproc
	movq	%rdi, %rax
	movq	8(%rsp), %rdi
	movq	16(%rsp), %r10
	movq	%r10, 48(%rax)
	movq	%rdi, 40(%rax)
	movq	%r9, 32(%rax)
	movq	%r8, 24(%rax)
	movq	%rcx, 16(%rax)
	movq	%rdx, 8(%rax)
	movq	%rsi, (%rax)
	retq
.Lreturnedfunc_end13:
	.size	rank2, .Lreturnedfunc_end13-rank2
	.cfi_endproc

	.globl	rank3
	.p2align	4
	.type	rank3,@function
rank3:
	.cfi_startproc
	pushq	%rbx
	.cfi_def_cfa_offset 16
	.cfi_offset %rbx, -16
	movq	%rdi, %rax
	movq	16(%rsp), %rdi
	movq	24(%rsp), %r10
	movq	32(%rsp), %r11
	movq	40(%rsp), %rbx
	movq	%rbx, 72(%rax)
	movq	%r11, 64(%rax)
	movq	%r10, 56(%rax)
	movq	%rdi, 48(%rax)
	movq	%r9, 40(%rax)
	movq	%r8, 32(%rax)
	movq	%rcx, 24(%rax)
	movq	%rdx, 16(%rax)
	movq	%rsi, 8(%rax)
	movss	%xmm0, (%rax)
	popq	%rbx
	.cfi_def_cfa_offset 8
	retq
.Lreturnedfunc_end14:
	.size	rank3, .Lreturnedfunc_end14-rank3
	.cfi_endproc

	.globl	swap
	.p2align	4
	.type	swap,@function
swap:
	.cfi_startproc
	pushq	%r14
	.cfi_def_cfa_offset 16
	pushq	%rbx
	.cfi_def_cfa_offset 24
	.cfi_offset %rbx, -24
	.cfi_offset %r14, -16
	movq	%rdi, %rax
	movq	24(%rsp), %rdi
	movq	32(%rsp), %r10
	movq	40(%rsp), %r11
	movq	48(%rsp), %rbx
	movq	56(%rsp), %r14
	movq	%r9, 72(%rax)
	movq	%r8, 64(%rax)
	movq	%rcx, 56(%rax)
	movq	%rdx, 48(%rax)
	movq	%rsi, 40(%rax)
	movq	%r14, 32(%rax)
	movq	%rbx, 24(%rax)
	movq	%r11, 16(%rax)
	movq	%r10, 8(%rax)
	movq	%rdi, (%rax)
	popq	%rbx
	.cfi_def_cfa_offset 16
	popq	%r14
	.cfi_def_cfa_offset 8
	retq
.Lreturnedfunc_end15:
	.size	swap, .Lreturnedfunc_end15-swap
	.cfi_endproc

	.globl	unranked
	.p2align	4
	.type	unranked,@function
unranked:
	.cfi_startproc
	pushq	%rbx
	.cfi_def_cfa_offset 16
	subq	$48, %rsp
	.cfi_def_cfa_offset 64
	.cfi_offset %rbx, -16
	movq	%r8, 40(%rsp)
	movq	%rcx, 32(%rsp)
	movq	%rdx, 24(%rsp)
	movq	%rsi, 16(%rsp)
	movq	%rdi, 8(%rsp)
	movl	$40, %edi
	callq	malloc@PLT
	movq	%rax, %rbx
	leaq	8(%rsp), %rsi
	movl	$40, %edx
	movq	%rax, %rdi
	callq	memcpy@PLT
	movl	$1, %eax
	movq	%rbx, %rdx
	addq	$48, %rsp
	.cfi_def_cfa_offset 16
	popq	%rbx
	.cfi_def_cfa_offset 8
	retq
.Lreturnedfunc_end16:
	.size	unranked, .Lreturnedfunc_end16-unranked
	.cfi_endproc

	.globl	guarded
	.p2align	4
	.type	guarded,@function
guarded:
	.cfi_startproc
	testq	%rdi, %rdi
	je	.LreturnedBB17_2
	movq	%rdi, %rax
	movq	%rdi, %rdx
	retq
.LreturnedBB17_2:
	pushq	%rax
	.cfi_def_cfa_offset 16
	leaq	.Lreturnedassert_msg(%rip), %rdi
	callq	puts@PLT
	callq	abort@PLT
.Lreturnedfunc_end17:
	.size	guarded, .Lreturnedfunc_end17-guarded
	.cfi_endproc

	.type	.Lreturnedassert_msg,@object
	.section	.rodata,"a",@progbits
.Lreturnedassert_msg:
	.asciz	"x is zero"
	.size	.Lreturnedassert_msg, 10

	.section	".note.GNU-stack","",@progbits
	.text
	.globl	bare_same
	.p2align	4
	.type	bare_same,@function
bare_same:
	.cfi_startproc
	movq	%rdi, %rax
	retq
.Lreturned_barefunc_end0:
	.size	bare_same, .Lreturned_barefunc_end0-bare_same
	.cfi_endproc

	.globl	bare_swap
	.p2align	4
	.type	bare_swap,@function
bare_swap:
	.cfi_startproc
	movq	%rsi, %rax
	movq	%rdi, %rcx
	retq
.Lreturned_barefunc_end1:
	.size	bare_swap, .Lreturned_barefunc_end1-bare_swap
	.cfi_endproc

	.globl	bare_many
	.p2align	4
	.type	bare_many,@function
bare_many:
	.cfi_startproc
	movq	%rdi, %rax
	movq	%rsi, 64(%rdi)
	movq	%rdx, 56(%rdi)
	movq	%rsi, 48(%rdi)
	movq	%rdx, 40(%rdi)
	movq	%rsi, 32(%rdi)
	movq	%rdx, 24(%rdi)
	movq	%rsi, 16(%rdi)
	movq	%rdx, 8(%rdi)
	movq	%rsi, (%rdi)
	retq
.Lreturned_barefunc_end2:
	.size	bare_many, .Lreturned_barefunc_end2-bare_many
	.cfi_endproc

	.globl	bare_fresh
	.p2align	4
	.type	bare_fresh,@function
bare_fresh:
	.cfi_startproc
	pushq	%rax
	.cfi_def_cfa_offset 16
	movss	%xmm0, 4(%rsp)
	movl	$12, %edi
	callq	malloc@PLT
	movss	4(%rsp), %xmm0
	xorl	%ecx, %ecx
	cmpq	$2, %rcx
	jg	.Lreturned_bareBB3_3
	.p2align	4
.Lreturned_bareBB3_2:
	movss	%xmm0, (%rax,%rcx,4)
	incq	%rcx
	cmpq	$2, %rcx
	jle	.Lreturned_bareBB3_2
.Lreturned_bareBB3_3:
	popq	%rcx
	.cfi_def_cfa_offset 8
	retq
.Lreturned_barefunc_end3:
	.size	bare_fresh, .Lreturned_barefunc_end3-bare_fresh
	.cfi_endproc

	.globl	bare_aligned
	.p2align	4
	.type	bare_aligned,@function
bare_aligned:
	.cfi_startproc
	pushq	%rax
	.cfi_def_cfa_offset 16
	movss	%xmm0, 4(%rsp)
	movl	$268, %edi
	callq	malloc@PLT
	movss	4(%rsp), %xmm0
	leaq	255(%rax), %rcx
	andq	$-256, %rcx
	xorl	%edx, %edx
	cmpq	$2, %rdx
	jg	.Lreturned_bareBB4_3
	.p2align	4
.Lreturned_bareBB4_2:
	movss	%xmm0, (%rcx,%rdx,4)
	incq	%rdx
	cmpq	$2, %rdx
	jle	.Lreturned_bareBB4_2
.Lreturned_bareBB4_3:
	popq	%rcx
	.cfi_def_cfa_offset 8
	retq
.Lreturned_barefunc_end4:
	.size	bare_aligned, .Lreturned_barefunc_end4-bare_aligned
	.cfi_endproc

	.globl	bare_column
	.p2align	4
	.type	bare_column,@function
bare_column:
	.cfi_startproc
	movq	%rdi, %rax
	retq
.Lreturned_barefunc_end5:
	.size	bare_column, .Lreturned_barefunc_end5-bare_column
	.cfi_endproc

	.section	".note.GNU-stack","",@progbits
