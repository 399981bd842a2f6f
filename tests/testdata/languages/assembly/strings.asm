; Routines for strings.
%include "macros.inc"
%define MAX_LENGTH 4096
NEWLINE equ 10

section .data
greeting: db "hello: not_a_label:", NEWLINE
length   equ $ - greeting

section .bss
buffer:  resb MAX_LENGTH

section .text
global _start
global string_length
extern print

%macro save 1
    push %1
%endmacro

; Returns the length of the string at rdi.
string_length:
    xor rax, rax
.next:
    cmp byte [rdi + rax], 0
    je .done
    inc rax
    jmp .next
.done:
    ret

; Copies rsi to rdi.
string_copy:
    save rbx
.loop:
    mov bl, [rsi]
    mov [rdi], bl
    inc rsi
    inc rdi
    test bl, bl
    jnz .loop
    pop rbx
    ret

_start:
    mov rdi, greeting
    call string_length
    mov rdi, buffer
    mov rsi, greeting
    call string_copy
    call print
    jmp exit

exit:
    mov rax, 60
    syscall
