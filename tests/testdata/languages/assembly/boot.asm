; The boot sector of the lock.
bits 16
org 0x7c00
cpu 386

%include "screen.inc"
%include 'disk.inc'
%pathsearch P "x"
%define SECTORS 8
%xdefine NEXT SECTORS+1
%define double(x) ((x) * 2)
%idefine CaseLess 1
%assign counter 0
%strlen len 'abc'
%undef SECTORS
KERNEL_SEGMENT  equ 0x1000
.local_constant equ 1
struc disk_packet
    .size:     resb 1
    .reserved  resb 1
    .count:    resw 1
endstruc
istruc disk_packet
    at disk_packet.size, db 16
iend

segment .text align=16
section .data

global main:function (main.end - main)
extern _printf, _exit
common shared 4
start:
    jmp short entry ; jump: to entry
entry: cli
.retry:
    xor ax, ax
    mov si, message
    call print
    jc .retry
    jmp KERNEL_SEGMENT:0
..@special:
    ret
print: proc_frame
@@:
    lodsb
    or al, al
    jz @f
    int 0x10
    jmp @b
%%macro_local:
_under: $hex: ret
lab.el: ret
Second:Third: nop
no_colon_label
data_without_colon db 1, 2
words_here dw 3
buffer_here resb 64
times 5 nop

%macro outport 2
    mov dx, %1
%%loop:
    out dx, al
%endmacro
%imacro mixed 1-*
%endmacro
%macro end_it 0
    ret
%endm
%rmacro recursive 0
%endmacro

message: db "Label: in a string", 13, 10, 0
%if SECTORS > 4
many: dw 1
%else
few: dw 2
%endif
%ifdef DEBUG
debug_print:
%endif
boot_signature: times 510-($-$$) db 0
    dw 0xaa55
