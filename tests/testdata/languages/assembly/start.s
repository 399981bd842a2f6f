# The entry of a kernel.
.include "layout.inc"
.equ STACK_SIZE, 0x4000
.set FLAGS, 3

.macro enter size
    sub sp, sp, \size
.endm

.globl _boot
.type _boot, @function
_boot:
    la sp, stack_top      # label: in a comment
    call clear_bss
    j kernel_main

/* Sets the memory to zero. */
clear_bss:
1:  sd zero, (a0)
    addi a0, a0, 8
    bltu a0, a1, 1b
    ret

.data
stack_bottom:
    .skip STACK_SIZE
stack_top:
