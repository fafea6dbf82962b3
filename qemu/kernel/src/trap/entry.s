# Ways into the kernel and the one way out.
#
# Interrupts are off in ring 0 except in the idle loop (trap/idle.rs), so there is
# one kernel stack, and it is empty whenever user code runs. Every entry from
# ring 3 saves the whole user state, xmm registers included, in `current_user`,
# calls Rust on the kernel stack, and falls into `resume_user`, which loads
# whatever state Rust left there.

.macro save_registers
    mov [rip + current_user + {rax}], rax
    mov [rip + current_user + {rbx}], rbx
    mov [rip + current_user + {rdx}], rdx
    mov [rip + current_user + {rsi}], rsi
    mov [rip + current_user + {rdi}], rdi
    mov [rip + current_user + {rbp}], rbp
    mov [rip + current_user + {r8}], r8
    mov [rip + current_user + {r9}], r9
    mov [rip + current_user + {r10}], r10
    mov [rip + current_user + {r12}], r12
    mov [rip + current_user + {r13}], r13
    mov [rip + current_user + {r14}], r14
    mov [rip + current_user + {r15}], r15
    .irp index, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
    movaps [rip + current_user + {xmm} + 16 * \index], xmm\index
    .endr
.endm

.text
.globl syscall_entry
syscall_entry:
    mov [rip + current_user + {rsp}], rsp
    mov [rip + current_user + {rip}], rcx
    mov [rip + current_user + {rflags}], r11
    save_registers
    mov qword ptr [rip + current_user + {by_syscall}], 1
    lea rsp, [rip + kernel_stack_top]
    xor ebp, ebp
    call handle_syscall
    # falls into resume_user

.globl resume_user
resume_user:
    .irp index, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
    movaps xmm\index, [rip + current_user + {xmm} + 16 * \index]
    .endr
    mov rbx, [rip + current_user + {rbx}]
    mov rdx, [rip + current_user + {rdx}]
    mov rsi, [rip + current_user + {rsi}]
    mov rdi, [rip + current_user + {rdi}]
    mov rbp, [rip + current_user + {rbp}]
    mov r8, [rip + current_user + {r8}]
    mov r9, [rip + current_user + {r9}]
    mov r10, [rip + current_user + {r10}]
    mov r12, [rip + current_user + {r12}]
    mov r13, [rip + current_user + {r13}]
    mov r14, [rip + current_user + {r14}]
    mov r15, [rip + current_user + {r15}]
    cmp qword ptr [rip + current_user + {by_syscall}], 0
    je 2f
    mov rax, [rip + current_user + {rax}]
    mov rcx, [rip + current_user + {rip}]
    mov r11, [rip + current_user + {rflags}]
    mov rsp, [rip + current_user + {rsp}]
    sysretq
2:
    mov r11, [rip + current_user + {r11}]
    mov rcx, [rip + current_user + {rcx}]
    push {user_data}
    push [rip + current_user + {rsp}]
    push [rip + current_user + {rflags}]
    push {user_code}
    push [rip + current_user + {rip}]
    mov rax, [rip + current_user + {rax}]
    iretq

# Stack here: vector, error, rip, cs, rflags, rsp, ss.
trap_common:
    test byte ptr [rsp + 24], 3
    jz trap_in_kernel
    mov [rip + current_user + {rcx}], rcx
    mov [rip + current_user + {r11}], r11
    save_registers
    mov rax, [rsp + 16]
    mov [rip + current_user + {rip}], rax
    mov rax, [rsp + 32]
    mov [rip + current_user + {rflags}], rax
    mov rax, [rsp + 40]
    mov [rip + current_user + {rsp}], rax
    mov qword ptr [rip + current_user + {by_syscall}], 0
    mov rdi, [rsp]
    mov rsi, [rsp + 8]
    lea rsp, [rip + kernel_stack_top]
    push 2
    popfq                               # direction up, alignment checks off
    xor ebp, ebp
    call handle_trap
    jmp resume_user

# An interrupt that ends the idle halt: note it, and return with interrupts
# off. Anything else here is a fault of the kernel.
trap_in_kernel:
    cmp qword ptr [rsp], 32
    jb 3f
    cmp qword ptr [rsp], 47
    ja 3f
    push rax
    push rcx
    mov rcx, [rsp + 16]
    sub ecx, 32
    mov eax, 1
    shl eax, cl
    or [rip + idle_interrupts], eax
    and qword ptr [rsp + 48], -513      # interrupts stay off after iretq
    pop rcx
    pop rax
    add rsp, 16
    iretq
3:
    mov rdi, [rsp]
    mov rsi, [rsp + 8]
    mov rdx, [rsp + 16]
    and rsp, -16
    cld
    call handle_kernel_fault
    ud2

.irp vector, 0,1,2,3,4,5,6,7,9,15,16,18,19,20,22,23,24,25,26,27,28,31,32,33,34,35,36,37,38,39,40,41,42,43,44,45,46,47
trap_\vector:
    push 0
    push \vector
    jmp trap_common
.endr
.irp vector, 8,10,11,12,13,14,17,21,29,30
trap_\vector:
    push \vector
    jmp trap_common
.endr

.section .rodata.trap_table, "a"
.balign 8
.globl trap_table
trap_table:
.irp vector, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31,32,33,34,35,36,37,38,39,40,41,42,43,44,45,46,47
    .quad trap_\vector
.endr
