# SPDX-License-Identifier: Apache-2.0
#
# Made by returned.sh
	.text
	.globl	two
	.p2align	2
	.type	two,@function
two:
	.cfi_startproc
	mov	w8, w0
	mov	x0, x1
	mov	w1, w8
	ret
.Lreturnedfunc_end0:
	.size	two, .Lreturnedfunc_end0-two
	.cfi_endproc

	.globl	small
	.p2align	2
	.type	small,@function
small:
	.cfi_startproc
	and	w1, w1, #0x1
	ret
.Lreturnedfunc_end1:
	.size	small, .Lreturnedfunc_end1-small
	.cfi_endproc

	.globl	halves
	.p2align	2
	.type	halves,@function
halves:
	.cfi_startproc
	ret
.Lreturnedfunc_end2:
	.size	halves, .Lreturnedfunc_end2-halves
	.cfi_endproc

	.globl	doubles
	.p2align	2
	.type	doubles,@function
doubles:
	.cfi_startproc
	ret
.Lreturnedfunc_end3:
	.size	doubles, .Lreturnedfunc_end3-doubles
	.cfi_endproc

	.globl	floats
	.p2align	2
	.type	floats,@function
floats:
	.cfi_startproc
	ret
.Lreturnedfunc_end4:
	.size	floats, .Lreturnedfunc_end4-floats
	.cfi_endproc

	.globl	nine
	.p2align	2
	.type	nine,@function
nine:
	.cfi_startproc
	fmov	s1, s0
	fmov	s2, s0
	add	x1, x0, x0
	fmov	s3, s0
	add	x3, x0, x0
	mov	x2, x0
	mov	x4, x0
	ret
.Lreturnedfunc_end5:
	.size	nine, .Lreturnedfunc_end5-nine
	.cfi_endproc

	.globl	many
	.p2align	2
	.type	many,@function
many:
	.cfi_startproc
	fadd	d1, d0, d0
	add	x9, x0, x0
	stp	x0, x0, [x8, #128]
	str	d0, [x8, #104]
	str	x9, [x8, #112]
	str	x0, [x8, #96]
	str	d1, [x8, #144]
	str	d1, [x8, #120]
	str	d1, [x8, #88]
	str	x9, [x8, #80]
	str	d0, [x8, #72]
	str	x0, [x8, #64]
	str	d1, [x8, #56]
	str	x9, [x8, #48]
	str	d0, [x8, #40]
	str	x0, [x8, #32]
	str	d1, [x8, #24]
	str	x9, [x8, #16]
	str	d0, [x8, #8]
	str	x0, [x8]
	ret
.Lreturnedfunc_end6:
	.size	many, .Lreturnedfunc_end6-many
	.cfi_endproc

	.globl	double
	.p2align	2
	.type	double,@function
double:
	.cfi_startproc
	fadd	s0, s0, s0
	fadd	s1, s1, s1
	ret
.Lreturnedfunc_end7:
	.size	double, .Lreturnedfunc_end7-double
	.cfi_endproc

	.globl	double_and
	.p2align	2
	.type	double_and,@function
double_and:
	.cfi_startproc
	fadd	d0, d0, d0
	fadd	d1, d1, d1
	ret
.Lreturnedfunc_end8:
	.size	double_and, .Lreturnedfunc_end8-double_and
	.cfi_endproc

	.globl	rank0
	.p2align	2
	.type	rank0,@function
rank0:
	.cfi_startproc
	str	d8, [sp, #-16]!
	str	x30, [sp, #8]
	.cfi_def_cfa_offset 16
	.cfi_offset w30, -8
	.cfi_offset b8, -16
	mov	w0, #4
	fmov	s8, s0
	bl	malloc
	ldr	x30, [sp, #8]
	mov	x1, x0
	mov	x2, xzr
	str	s8, [x0]
	ldr	d8, [sp], #16
	ret
.Lreturnedfunc_end9:
	.size	rank0, .Lreturnedfunc_end9-rank0
	.cfi_endproc

	.globl	rank0_and
	.p2align	2
	.type	rank0_and,@function
rank0_and:
	.cfi_startproc
	str	d8, [sp, #-16]!
	str	x30, [sp, #8]
	.cfi_def_cfa_offset 16
	.cfi_offset w30, -8
	.cfi_offset b8, -16
	fmov	s8, s0
	bl	rank0
	ldr	x30, [sp, #8]
	fmov	s0, s8
	ldr	d8, [sp], #16
	ret
.Lreturnedfunc_end10:
	.size	rank0_and, .Lreturnedfunc_end10-rank0_and
	.cfi_endproc

	.globl	same
	.p2align	2
	.type	same,@function
same:
	.cfi_startproc
	ret
.Lreturnedfunc_end11:
	.size	same, .Lreturnedfunc_end11-same
	.cfi_endproc

	.globl	twice
	.p2align	2
	.type	twice,@function
twice:
	.cfi_startproc
	str	x30, [sp, #-32]!
	stp	x20, x19, [sp, #16]
	.cfi_def_cfa_offset 32
	.cfi_offset w19, -8
	.cfi_offset w20, -16
	.cfi_offset w30, -32
	lsl	x0, x3, #2
	mov	x19, x3
	mov	x20, x1
	str	x3, [sp, #8]
	bl	malloc
	mov	x8, xzr
	cmp	x8, x19
	b.ge	.LreturnedBB12_2
.LreturnedBB12_1:
	ldr	s0, [x20, x8, lsl #2]
	fadd	s0, s0, s0
	str	s0, [x0, x8, lsl #2]
	add	x8, x8, #1
	cmp	x8, x19
	b.lt	.LreturnedBB12_1
.LreturnedBB12_2:
	mov	x3, x19
	ldp	x20, x19, [sp, #16]
	mov	x1, x0
	mov	x2, xzr
	mov	w4, #1
	ldr	x30, [sp], #32
	ret
.Lreturnedfunc_end12:
	.size	twice, .Lreturnedfunc_end12-twice
	.cfi_endproc

	.globl	rank2
	.p2align	2
	.type	rank2,@function
rank2:
	.cfi_startproc
	ret
.Lreturnedfunc_end13:
	.size	rank2, .Lreturnedfunc_end13-rank2
	.cfi_endproc

	.globl	rank3
	.p2align	2
	.type	rank3,@function
rank3:
	.cfi_startproc
	ldr	x9, [sp]
	stp	x5, x6, [x8, #48]
	stp	x3, x4, [x8, #32]
	stp	x7, x9, [x8, #64]
	stp	x1, x2, [x8, #16]
	str	x0, [x8, #8]
	str	s0, [x8]
	ret
.Lreturnedfunc_end14:
	.size	rank3, .Lreturnedfunc_end14-rank3
	.cfi_endproc

	.globl	swap
	.p2align	2
	.type	swap,@function
swap:
	.cfi_startproc
	ldp	x10, x9, [sp]
	stp	x3, x4, [x8, #64]
	stp	x1, x2, [x8, #48]
	stp	x5, x6, [x8]
	stp	x9, x0, [x8, #32]
	stp	x7, x10, [x8, #16]
	ret
.Lreturnedfunc_end15:
	.size	swap, .Lreturnedfunc_end15-swap
	.cfi_endproc

	.globl	unranked
	.p2align	2
	.type	unranked,@function
unranked:
	.cfi_startproc
	sub	sp, sp, #64
	stp	x30, x19, [sp, #48]
	.cfi_def_cfa_offset 64
	.cfi_offset w19, -8
	.cfi_offset w30, -16
	str	x0, [sp, #8]
	mov	w0, #40
	stp	x3, x4, [sp, #32]
	stp	x1, x2, [sp, #16]
	bl	malloc
	add	x1, sp, #8
	mov	w2, #40
	mov	x19, x0
	bl	memcpy
	mov	x1, x19
	ldp	x30, x19, [sp, #48]
	mov	w0, #1
	add	sp, sp, #64
	ret
.Lreturnedfunc_end16:
	.size	unranked, .Lreturnedfunc_end16-unranked
	.cfi_endproc

	.globl	guarded
	.p2align	2
	.type	guarded,@function
guarded:
	.cfi_startproc
	cbz	x0, .LreturnedBB17_2
	mov	x1, x0
	ret
.LreturnedBB17_2:
	str	x30, [sp, #-16]!
	.cfi_def_cfa_offset 16
	.cfi_offset w30, -16
	adrp	x0, .Lreturnedassert_msg
	add	x0, x0, :lo12:.Lreturnedassert_msg
	bl	puts
	bl	abort
.Lreturnedfunc_end17:
	.size	guarded, .Lreturnedfunc_end17-guarded
	.cfi_endproc

	.type	.Lreturnedassert_msg,@object
	.section	.rodata,"a",@progbits
	.p2align	2, 0x0
.Lreturnedassert_msg:
	.asciz	"x is zero"
	.size	.Lreturnedassert_msg, 10

	.section	".note.GNU-stack","",@progbits
	.text
	.globl	bare_same
	.p2align	2
	.type	bare_same,@function
bare_same:
	.cfi_startproc
	ret
.Lreturned_barefunc_end0:
	.size	bare_same, .Lreturned_barefunc_end0-bare_same
	.cfi_endproc

	.globl	bare_swap
	.p2align	2
	.type	bare_swap,@function
bare_swap:
	.cfi_startproc
	mov	x8, x0
	mov	x0, x1
	mov	w1, w2
	mov	x2, x8
	ret
.Lreturned_barefunc_end1:
	.size	bare_swap, .Lreturned_barefunc_end1-bare_swap
	.cfi_endproc

	.globl	bare_many
	.p2align	2
	.type	bare_many,@function
bare_many:
	.cfi_startproc
	stp	x1, x0, [x8, #56]
	stp	x1, x0, [x8, #40]
	stp	x1, x0, [x8, #24]
	stp	x1, x0, [x8, #8]
	str	x0, [x8]
	ret
.Lreturned_barefunc_end2:
	.size	bare_many, .Lreturned_barefunc_end2-bare_many
	.cfi_endproc

	.globl	bare_fresh
	.p2align	2
	.type	bare_fresh,@function
bare_fresh:
	.cfi_startproc
	str	d8, [sp, #-16]!
	str	x30, [sp, #8]
	.cfi_def_cfa_offset 16
	.cfi_offset w30, -8
	.cfi_offset b8, -16
	mov	w0, #12
	fmov	s8, s0
	bl	malloc
	mov	x8, xzr
	cmp	x8, #2
	b.gt	.Lreturned_bareBB3_2
.Lreturned_bareBB3_1:
	str	s8, [x0, x8, lsl #2]
	add	x8, x8, #1
	cmp	x8, #2
	b.le	.Lreturned_bareBB3_1
.Lreturned_bareBB3_2:
	ldr	x30, [sp, #8]
	ldr	d8, [sp], #16
	ret
.Lreturned_barefunc_end3:
	.size	bare_fresh, .Lreturned_barefunc_end3-bare_fresh
	.cfi_endproc

	.globl	bare_aligned
	.p2align	2
	.type	bare_aligned,@function
bare_aligned:
	.cfi_startproc
	str	d8, [sp, #-16]!
	str	x30, [sp, #8]
	.cfi_def_cfa_offset 16
	.cfi_offset w30, -8
	.cfi_offset b8, -16
	mov	w0, #268
	fmov	s8, s0
	bl	malloc
	add	x9, x0, #255
	mov	x8, xzr
	and	x9, x9, #0xffffffffffffff00
	cmp	x8, #2
	b.gt	.Lreturned_bareBB4_2
.Lreturned_bareBB4_1:
	str	s8, [x9, x8, lsl #2]
	add	x8, x8, #1
	cmp	x8, #2
	b.le	.Lreturned_bareBB4_1
.Lreturned_bareBB4_2:
	ldr	x30, [sp, #8]
	ldr	d8, [sp], #16
	ret
.Lreturned_barefunc_end4:
	.size	bare_aligned, .Lreturned_barefunc_end4-bare_aligned
	.cfi_endproc

	.globl	bare_column
	.p2align	2
	.type	bare_column,@function
bare_column:
	.cfi_startproc
	ret
.Lreturned_barefunc_end5:
	.size	bare_column, .Lreturned_barefunc_end5-bare_column
	.cfi_endproc

	.section	".note.GNU-stack","",@progbits
