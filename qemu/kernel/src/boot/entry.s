# Machine entry: 32-bit, paging off, ebx = start info (PVH). Turns on long mode
# and SSE, then calls kernel_main(start_info) in the upper half.
#
# The first GiB is mapped at 0, at PHYSICAL_BASE and at KERNEL_BASE, until Rust has built
# the real tables. The tables and the stack lie on data pages: a store into a
# page that also holds code is very slow under emulation.

.section .note.pvh, "a", @note
    .balign 4
    .long 4
    .long 4
    .long 18                            # XEN_ELFNOTE_PHYS32_ENTRY
    .asciz "Xen"
    .long pvh_start_physical

.section .boot.text, "ax"
.code32
.globl pvh_start
pvh_start:
    cli
    cld
    mov esp, offset boot_stack_top_physical
    mov ebp, ebx                        # start info, over the questions
    mov eax, 0x80000000
    cpuid
    cmp eax, 0x80000001
    jb unfit
    mov eax, 0x80000001
    cpuid
    not edx
    test edx, 0x20100800                # long mode, no-execute, syscall
    jnz unfit
    mov eax, 1
    cpuid
    not edx
    test edx, 0x07002070                # fxsave, SSE, SSE2, global pages, PAE, MSR, TSC
    jnz unfit
    mov eax, cr4
    or eax, 0x620                       # PAE, OSFXSR, OSXMMEXCPT
    mov cr4, eax
    mov eax, offset boot_root_physical
    mov cr3, eax
    mov ecx, 0xc0000080                 # EFER
    rdmsr
    or eax, 0x901                       # SCE, LME, NXE
    wrmsr
    mov eax, cr0
    and eax, 0xfffffffb                 # EM off
    or eax, 0x80010023                  # PG, WP, NE, MP, PE
    mov cr0, eax
    mov eax, offset boot_descriptor_register_physical
    lgdt [eax]
    push 8
    mov eax, offset long_start_physical
    push eax
    retf

# A processor that lacks something cannot reach the kernel's own words: these
# are said, and the machine ended, from here.
unfit:
    mov esi, offset unfit_text_physical
1:
    mov dx, 0x3fd
    in al, dx
    test al, 0x20                       # the port takes a byte
    jz 1b
    lodsb
    test al, al
    jz 2f
    mov dx, 0x3f8
    out dx, al
    jmp 1b
2:
    mov dx, 0xf4
    mov eax, 0x12                       # boot refused
    out dx, eax
3:
    hlt
    jmp 3b

.code64
.globl long_start
long_start:
    xor eax, eax
    mov ds, eax
    mov es, eax
    mov fs, eax
    mov gs, eax
    mov ss, eax
    movabs rsp, offset boot_stack_top
    mov edi, ebp
    xor ebp, ebp
    movabs rax, offset kernel_main
    call rax
    ud2

.section .boot.data, "aw"
.balign 4096
.globl boot_root
boot_root:
    .quad boot_low_physical + 3
    .fill 255, 8, 0
    .quad boot_low_physical + 3         # PHYSICAL_BASE
    .fill 254, 8, 0
    .quad boot_high_physical + 3
.globl boot_low
boot_low:
    .quad boot_directory_physical + 3
    .fill 511, 8, 0
.globl boot_high
boot_high:
    .fill 510, 8, 0
    .quad boot_directory_physical + 3
    .quad 0
.globl boot_directory
boot_directory:
    .set boot_at, 0
    .rept 512
    .quad boot_at + 0x83                   # present, writable, 2 MiB
    .set boot_at, boot_at + 0x200000
    .endr
.globl boot_descriptors
boot_descriptors:
    .quad 0
    .quad 0x00af9a000000ffff            # kernel code
.globl boot_descriptor_register
boot_descriptor_register:
    .word 15
    .long boot_descriptors_physical
    .long 0
.globl unfit_text
unfit_text:
    .ascii "[kernel] boot refused: the processor lacks long mode, no-execute pages, syscall, SSE2 or global pages\n"
    .asciz "[kernel] exit boot-refused\n"

# Stacks. The page below each is left out of the final tables, so that an
# overrun faults instead of reaching other data.
.section .bss.stacks, "aw", @nobits
.balign 4096
.globl kernel_stack_guard
kernel_stack_guard:
    .skip 4096
    .skip 65536
.globl kernel_stack_top
.globl boot_stack_top
kernel_stack_top:
boot_stack_top:
.globl fault_stack_guard
fault_stack_guard:
    .skip 4096
    .skip 16384
.globl fault_stack_top
fault_stack_top:
