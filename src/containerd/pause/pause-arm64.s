// The pause program for AArch64; pause-x64.s says what it does and why.

        .set    BASE, 0x400000
        .set    SIGINT, 2
        .set    SIGTERM, 15
        .set    SIGCHLD, 17
        .set    SIGNALS, (1 << (SIGINT - 1)) | (1 << (SIGTERM - 1)) | (1 << (SIGCHLD - 1))
        .set    SYS_exit_group, 94
        .set    SYS_rt_sigprocmask, 135
        .set    SYS_rt_sigtimedwait, 137
        .set    SYS_wait4, 260

        .text
file:
        .byte   0x7f, 'E', 'L', 'F', 2, 1, 1, 0         // 64 bit, little endian, System V
        .quad   0
        .short  2, 183                                  // ET_EXEC, EM_AARCH64
        .long   1
        .quad   BASE + (_start - file), segments - file, 0
        .long   0
        .short  64, 56, 2, 0, 0, 0
segments:
        .long   1, 5                                    // PT_LOAD, read + execute
        .quad   0, BASE, BASE, end - file, end - file, 0x10000  // pages of up to 64 KiB
        .long   0x6474e551, 6                           // PT_GNU_STACK, read + write: no executable stack
        .quad   0, 0, 0, 0, 0, 16

_start:
        mov     x9, #(SIGNALS & 0xffff)
        movk    x9, #(SIGNALS >> 16), lsl #16
        str     x9, [sp, #-16]!
        mov     x19, sp                                 // x19: the set of signals, all along
        mov     x0, #0                                  // SIG_BLOCK
        mov     x1, x19
        mov     x2, #0
        mov     x3, #8                                  // bytes of a signal set
        mov     x8, #SYS_rt_sigprocmask
        svc     #0
wait_signal:
        mov     x0, x19
        mov     x1, #0
        mov     x2, #0                                  // no time limit
        mov     x3, #8
        mov     x8, #SYS_rt_sigtimedwait
        svc     #0
        cmp     x0, #SIGCHLD
        b.eq    reap
        cmp     x0, #SIGINT
        b.eq    leave
        cmp     x0, #SIGTERM
        b.eq    leave
        b       wait_signal                             // EINTR, e.g. stopped and continued
reap:
        mov     x0, #-1                                 // any child
        mov     x1, #0
        mov     x2, #1                                  // WNOHANG
        mov     x3, #0
        mov     x8, #SYS_wait4
        svc     #0
        cmp     x0, #0
        b.gt    reap
        b       wait_signal
leave:
        mov     x0, #0
        mov     x8, #SYS_exit_group
        svc     #0
end:
