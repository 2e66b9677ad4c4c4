# SPDX-License-Identifier: Apache-2.0
#
# Made by vectors.sh
	.text
	.globl	add
	.p2align	2
	.type	add,@function
add:
	.cfi_startproc
	fadd	v0.4s, v0.4s, v1.4s
	ret
.Lfunc_end0:
	.size	add, .Lfunc_end0-add
	.cfi_endproc

	.globl	_mlir_ciface_add
	.p2align	2
	.type	_mlir_ciface_add,@function
_mlir_ciface_add:
	.cfi_startproc
	str	x30, [sp, #-16]!
	.cfi_def_cfa_offset 16
	.cfi_offset w30, -16
	bl	add
	ldr	x30, [sp], #16
	ret
.Lfunc_end1:
	.size	_mlir_ciface_add, .Lfunc_end1-_mlir_ciface_add
	.cfi_endproc

	.globl	mixed
	.p2align	2
	.type	mixed,@function
mixed:
	.cfi_startproc
	fcvtzs	w8, s0
	ldr	s0, [x2]
	fcvtzs	w9, d2
	fcvtzs	w10, s0
	add	v0.16b, v3.16b, v3.16b
	add	w8, w0, w8
	add	w8, w8, w9
	add	w0, w8, w10
	ret
.Lfunc_end2:
	.size	mixed, .Lfunc_end2-mixed
	.cfi_endproc

	.globl	_mlir_ciface_mixed
	.p2align	2
	.type	_mlir_ciface_mixed,@function
_mlir_ciface_mixed:
	.cfi_startproc
	stp	x30, x19, [sp, #-16]!
	.cfi_def_cfa_offset 16
	.cfi_offset w19, -8
	.cfi_offset w30, -16
	ldp	x8, x3, [x2, #8]
	mov	w9, w1
	ldp	x4, x5, [x2, #24]
	mov	x19, x0
	ldr	x1, [x2]
	mov	w0, w9
	mov	x2, x8
	bl	mixed
	strb	w0, [x19]
	stp	q0, q1, [x19, #16]
	ldp	x30, x19, [sp], #16
	ret
.Lfunc_end3:
	.size	_mlir_ciface_mixed, .Lfunc_end3-_mlir_ciface_mixed
	.cfi_endproc

	.globl	rows
	.p2align	2
	.type	rows,@function
rows:
	.cfi_startproc
	add	v0.4s, v0.4s, v0.4s
	add	v1.4s, v1.4s, v1.4s
	add	v2.4s, v2.4s, v2.4s
	ret
.Lfunc_end4:
	.size	rows, .Lfunc_end4-rows
	.cfi_endproc

	.globl	_mlir_ciface_rows
	.p2align	2
	.type	_mlir_ciface_rows,@function
_mlir_ciface_rows:
	.cfi_startproc
	str	x30, [sp, #-16]!
	.cfi_def_cfa_offset 16
	.cfi_offset w30, -16
	bl	rows
	ldr	x30, [sp], #16
	ret
.Lfunc_end5:
	.size	_mlir_ciface_rows, .Lfunc_end5-_mlir_ciface_rows
	.cfi_endproc

	.globl	first
	.p2align	2
	.type	first,@function
first:
	.cfi_startproc
	mov	d0, v0.d[1]
	ret
.Lfunc_end6:
	.size	first, .Lfunc_end6-first
	.cfi_endproc

	.globl	_mlir_ciface_first
	.p2align	2
	.type	_mlir_ciface_first,@function
_mlir_ciface_first:
	.cfi_startproc
	str	x30, [sp, #-16]!
	.cfi_def_cfa_offset 16
	.cfi_offset w30, -16
	bl	first
	ldr	x30, [sp], #16
	ret
.Lfunc_end7:
	.size	_mlir_ciface_first, .Lfunc_end7-_mlir_ciface_first
	.cfi_endproc

	.globl	eight
	.p2align	2
	.type	eight,@function
eight:
	.cfi_startproc
	mov	x8, sp
	ld1r	{ v0.4s }, [x8]
	fadd	v0.4s, v7.4s, v0.4s
	ret
.Lfunc_end8:
	.size	eight, .Lfunc_end8-eight
	.cfi_endproc

	.globl	_mlir_ciface_eight
	.p2align	2
	.type	_mlir_ciface_eight,@function
_mlir_ciface_eight:
	.cfi_startproc
	sub	sp, sp, #32
	str	x30, [sp, #16]
	.cfi_def_cfa_offset 32
	.cfi_offset w30, -16
	ldr	s16, [sp, #32]
	str	s16, [sp]
	bl	eight
	ldr	x30, [sp, #16]
	add	sp, sp, #32
	ret
.Lfunc_end9:
	.size	_mlir_ciface_eight, .Lfunc_end9-_mlir_ciface_eight
	.cfi_endproc

	.globl	same
	.p2align	2
	.type	same,@function
same:
	.cfi_startproc
	ret
.Lfunc_end10:
	.size	same, .Lfunc_end10-same
	.cfi_endproc

	.globl	_mlir_ciface_same
	.p2align	2
	.type	_mlir_ciface_same,@function
_mlir_ciface_same:
	.cfi_startproc
	stp	x30, x19, [sp, #-16]!
	.cfi_def_cfa_offset 16
	.cfi_offset w19, -8
	.cfi_offset w30, -16
	ldp	x8, x2, [x1, #8]
	mov	x19, x0
	ldp	x3, x4, [x1, #24]
	ldr	x9, [x1]
	mov	x0, x9
	mov	x1, x8
	bl	same
	stp	x0, x1, [x19]
	stp	x2, x3, [x19, #16]
	str	x4, [x19, #32]
	ldp	x30, x19, [sp], #16
	ret
.Lfunc_end11:
	.size	_mlir_ciface_same, .Lfunc_end11-_mlir_ciface_same
	.cfi_endproc

	.globl	double
	.p2align	2
	.type	double,@function
double:
	.cfi_startproc
	mov	x7, x6
	mov	x6, x5
	mov	x5, x4
	mov	x4, x3
	mov	x8, x1
	mov	x3, x2
	add	x9, x8, x4, lsl #6
	mov	x1, x0
	ldp	q0, q2, [x9, #-32]
	fcvtl	v1.4s, v0.4h
	fcvtl	v3.4s, v2.4h
	fcvtl2	v0.4s, v0.8h
	fcvtl2	v2.4s, v2.8h
	fadd	v1.4s, v1.4s, v1.4s
	fadd	v3.4s, v3.4s, v3.4s
	fadd	v0.4s, v0.4s, v0.4s
	fadd	v2.4s, v2.4s, v2.4s
	fcvtn	v1.4h, v1.4s
	fcvtn	v3.4h, v3.4s
	fcvtn2	v1.8h, v0.4s
	stp	x4, x5, [sp, #-16]!
	.cfi_def_cfa_offset 16
	fcvtn2	v3.8h, v2.4s
	mov	x0, x4
	mov	x2, x8
	stp	q1, q3, [x8]
	add	sp, sp, #16
	ret
.Lfunc_end12:
	.size	double, .Lfunc_end12-double
	.cfi_endproc

	.globl	_mlir_ciface_double
	.p2align	2
	.type	_mlir_ciface_double,@function
_mlir_ciface_double:
	.cfi_startproc
	stp	x30, x19, [sp, #-16]!
	.cfi_def_cfa_offset 16
	.cfi_offset w19, -8
	.cfi_offset w30, -16
	ldp	x8, x2, [x1, #8]
	mov	x19, x0
	ldp	x5, x6, [x1, #40]
	ldr	x9, [x1]
	ldp	x3, x4, [x1, #24]
	mov	x0, x9
	mov	x1, x8
	bl	double
	stp	x0, x1, [x19]
	stp	x2, x3, [x19, #16]
	stp	x4, x5, [x19, #32]
	stp	x6, x7, [x19, #48]
	ldp	x30, x19, [sp], #16
	ret
.Lfunc_end13:
	.size	_mlir_ciface_double, .Lfunc_end13-_mlir_ciface_double
	.cfi_endproc

	.globl	at
	.p2align	2
	.type	at,@function
at:
	.cfi_startproc
	str	d8, [sp, #-16]!
	str	x30, [sp, #8]
	.cfi_def_cfa_offset 16
	.cfi_offset w30, -8
	.cfi_offset b8, -16
	ldr	d8, [x1, x5, lsl #3]
	mov	w0, #16
	bl	malloc
	add	x8, x0, #7
	ldr	x30, [sp, #8]
	mov	x2, xzr
	and	x1, x8, #0xfffffffffffffff8
	str	d8, [x1]
	ldr	d8, [sp], #16
	ret
.Lfunc_end14:
	.size	at, .Lfunc_end14-at
	.cfi_endproc

	.globl	_mlir_ciface_at
	.p2align	2
	.type	_mlir_ciface_at,@function
_mlir_ciface_at:
	.cfi_startproc
	stp	x30, x19, [sp, #-16]!
	.cfi_def_cfa_offset 16
	.cfi_offset w19, -8
	.cfi_offset w30, -16
	mov	x5, x2
	ldp	x8, x2, [x1, #8]
	ldp	x3, x4, [x1, #24]
	mov	x19, x0
	ldr	x9, [x1]
	mov	x1, x8
	mov	x0, x9
	bl	at
	stp	x0, x1, [x19]
	str	x2, [x19, #16]
	ldp	x30, x19, [sp], #16
	ret
.Lfunc_end15:
	.size	_mlir_ciface_at, .Lfunc_end15-_mlir_ciface_at
	.cfi_endproc

	.section	".note.GNU-stack","",@progbits
