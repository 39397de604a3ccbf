#include "textflag.h"

// FOLD multiplies the halves of each 128 bits of x by those of by, and adds the
// products and what to is into x.
#define FOLD(x, by, to, t) \
	VPCLMULQDQ $0x00, by, x, t; \
	VPCLMULQDQ $0x11, by, x, x; \
	VPTERNLOGQ $0x96, to, t, x

// func fold(dst *[64]byte, b []byte, sum uint32, by *[4]uint64)
TEXT ·fold(SB), NOSPLIT, $0-48
	MOVQ dst+0(FP), DI
	MOVQ b_base+8(FP), SI
	MOVQ b_len+16(FP), CX
	MOVL sum+32(FP), AX
	MOVQ by+40(FP), DX
	VBROADCASTI32X4 0(DX), Z8
	VBROADCASTI32X4 16(DX), Z9
	VMOVD AX, X4
	VPXORQ 0(SI), Z4, Z0
	VMOVDQU64 64(SI), Z1
	VMOVDQU64 128(SI), Z2
	VMOVDQU64 192(SI), Z3

loop:
	ADDQ $256, SI
	SUBQ $256, CX
	JLE  end
	FOLD(Z0, Z8, 0(SI), Z4)
	FOLD(Z1, Z8, 64(SI), Z5)
	FOLD(Z2, Z8, 128(SI), Z6)
	FOLD(Z3, Z8, 192(SI), Z7)
	JMP  loop

end:
	FOLD(Z0, Z9, Z1, Z4)
	FOLD(Z0, Z9, Z2, Z4)
	FOLD(Z0, Z9, Z3, Z4)
	VMOVDQU64 Z0, 0(DI)
	VZEROUPPER
	RET

// func shortCRC(sum uint32, b []byte) uint32
TEXT ·shortCRC(SB), NOSPLIT, $0-36
	MOVL sum+0(FP), AX
	MOVQ b_base+8(FP), SI
	MOVQ b_len+16(FP), CX
	NOTL AX
	SUBQ $8, CX
	JLT  bytes

words:
	CRC32Q (SI), AX
	ADDQ   $8, SI
	SUBQ   $8, CX
	JGE    words

bytes:
	ADDQ $8, CX
	JZ   done

byte:
	CRC32B (SI), AX
	INCQ   SI
	DECQ   CX
	JNZ    byte

done:
	NOTL AX
	MOVL AX, ret+32(FP)
	RET
