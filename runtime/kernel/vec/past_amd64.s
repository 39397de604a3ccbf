#include "textflag.h"

// func fence()
TEXT ·fence(SB), NOSPLIT, $0-0
	SFENCE
	RET

// func copyPast(dst, x unsafe.Pointer, lines int)
TEXT ·copyPast(SB), NOSPLIT, $0-24
	MOVQ dst+0(FP), DI
	MOVQ x+8(FP), SI
	MOVQ lines+16(FP), CX
	SHLQ $6, CX
	XORQ AX, AX
	JMP  test

loop:
	VMOVUPS  (SI)(AX*1), Y0
	VMOVUPS  32(SI)(AX*1), Y1
	VMOVNTPS Y0, (DI)(AX*1)
	VMOVNTPS Y1, 32(DI)(AX*1)
	ADDQ     $64, AX

test:
	CMPQ AX, CX
	JLT  loop
	VZEROUPPER
	RET
