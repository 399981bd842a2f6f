@ The vectors of the buoy's processor.
    .syntax unified
    .cpu cortex-m4
    .thumb
    .include "registers.inc"
#include "config.h"
#include <asm/linkage.h>
#define STACK_TOP 0x20020000
#define REG(x) (BASE + (x))
#if defined(CONFIG_UART)
    .equ UART_BASE, 0x40011000
#endif
    .equiv LED_PIN, 5
    .set counter, 0
BAUD = 115200
SYMBOL == 4
    .eqv MAX, 3

    .section .isr_vector, "a", %progbits
    .type g_vectors, %object
    .globl g_vectors
g_vectors:
    .word STACK_TOP
    .word Reset_Handler
    .word NMI_Handler
    .size g_vectors, .-g_vectors

    .text
    .weak NMI_Handler
    .thumb_set NMI_Handler, Default_Handler

/*
 * label_in_comment:
 * .macro not_this
 */
ENTRY(start_kernel_asm)
    nop
ENDPROC(start_kernel_asm)
SYM_FUNC_START(memset_fast)
    bx lr
SYM_FUNC_END(memset_fast)
SYM_CODE_START_LOCAL(local_code)
SYM_DATA(table_data, .long 1)

    .global Reset_Handler
    .type Reset_Handler, %function
@ Copies the data, and calls main.
Reset_Handler:
    ldr r0, =_sdata        @ not_a_label:
    ldr r1, =_edata
    b   LoopCopy
CopyData:   ldr r3, [r2, r4]
    str r3, [r0, r4]
LoopCopy: adds r4, r4, #4
    cmp r4, r1
    bcc CopyData
.Llocal:
    bl  SystemInit
1:  bl  main
    b   1b
2:
$dollar:
    bx  lr
"quoted label":
    bx lr

    .macro push_all first=r0, last=r12
    push {\first-\last}
.endm
.macro save reg:req, rest:vararg
inner_label_\@:
    str \reg, [sp, #-4]!
.endm
.altmacro
.purgem save

    .rept 3
    nop
    .endr

    .func _putc
_putc:
    strb r0, [r1]
    .endfunc

    .data
message: .asciz "text: with colon; .macro fake"
flags:   .byte 1, 2, 3
         .align 2
    .comm shared_buffer, 256, 4
    .lcomm local_buffer, 64
    .struct 0
node_next: .struct node_next + 4
node_size:
    .bss
heap_start:
    .skip 1024
heap_end:
