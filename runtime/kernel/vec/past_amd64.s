#include "textflag.h"

// func fence()
TEXT ·fence(SB), NOSPLIT, $0-0
	SFENCE
	RET

// func copyPast(dst, x *float32, n int)
TEXT ·copyPast(SB), NOSPLIT, $0-24
	MOVQ dst+0(FP), DI
	MOVQ x+8(FP), SI
	MOVQ n+16(FP), CX
	XORQ AX, AX
	JMP  test

loop:
	VMOVUPS  (SI)(AX*4), Z0
	VMOVNTPS Z0, (DI)(AX*4)
	ADDQ     $16, AX

test:
	CMPQ AX, CX
	JLT  loop
	VZEROUPPER
	RET
