# The pause program for x86-64: it holds a pod's namespaces and does nothing else.
#
# It blocks SIGINT, SIGTERM and SIGCHLD and then waits for them one by one. Blocked signals reach even
# PID 1 of a PID namespace, which otherwise never sees a signal without a handler. SIGCHLD reaps every
# child that has died (orphans of a shared PID namespace); the other two exit with 0.
#
# The ELF headers are written out here, so that the bytes depend on no linker.

        .set    BASE, 0x400000
        .set    SIGINT, 2
        .set    SIGTERM, 15
        .set    SIGCHLD, 17
        .set    SIGNALS, (1 << (SIGINT - 1)) | (1 << (SIGTERM - 1)) | (1 << (SIGCHLD - 1))
        .set    SYS_rt_sigprocmask, 14
        .set    SYS_wait4, 61
        .set    SYS_rt_sigtimedwait, 128
        .set    SYS_exit_group, 231

        .text
file:
        .byte   0x7f, 'E', 'L', 'F', 2, 1, 1, 0         # 64 bit, little endian, System V
        .quad   0
        .short  2, 62                                   # ET_EXEC, EM_X86_64
        .long   1
        .quad   BASE + (_start - file), segments - file, 0
        .long   0
        .short  64, 56, 2, 0, 0, 0
segments:
        .long   1, 5                                    # PT_LOAD, read + execute
        .quad   0, BASE, BASE, end - file, end - file, 0x1000
        .long   0x6474e551, 6                           # PT_GNU_STACK, read + write: no executable stack
        .quad   0, 0, 0, 0, 0, 16

_start:
        push    $SIGNALS
        mov     %rsp, %r12                              # r12: the set of signals, all along
        mov     $SYS_rt_sigprocmask, %eax
        xor     %edi, %edi                              # SIG_BLOCK
        mov     %r12, %rsi
        xor     %edx, %edx
        mov     $8, %r10d                               # bytes of a signal set
        syscall
wait_signal:
        mov     $SYS_rt_sigtimedwait, %eax
        mov     %r12, %rdi
        xor     %esi, %esi
        xor     %edx, %edx                              # no time limit
        mov     $8, %r10d
        syscall
        cmp     $SIGCHLD, %eax
        je      reap
        cmp     $SIGINT, %eax
        je      leave
        cmp     $SIGTERM, %eax
        je      leave
        jmp     wait_signal                             # EINTR, e.g. stopped and continued
reap:
        mov     $SYS_wait4, %eax
        mov     $-1, %rdi                               # any child
        xor     %esi, %esi
        mov     $1, %edx                                # WNOHANG
        xor     %r10d, %r10d
        syscall
        test    %eax, %eax
        jg      reap
        jmp     wait_signal
leave:
        mov     $SYS_exit_group, %eax
        xor     %edi, %edi
        syscall
end:
