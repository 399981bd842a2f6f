; In the dialect of another assembler.
.386
.model flat, stdcall
include windows.inc
includelib kernel32.lib
LIMIT EQU 100
Title1 EQU <"text">
Count = 5
POINT STRUCT
  x DWORD ?
  y DWORD ?
POINT ENDS
.data
value DWORD 1
text  BYTE "PROC: fake", 0
table DD 10 DUP(?)
.code
Sum PROC a:DWORD, b:DWORD
    mov eax, a
again:
    add eax, b
    ret
Sum ENDP
Swap MACRO first, second
    xchg first, second
ENDM
Helper PROTO :DWORD
main:
    invoke Sum, 1, 2
END main
