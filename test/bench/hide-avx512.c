/* Part of the transom project, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * hide-avx512.so, preloaded: the process finds a CPU without AVX-512 and AMX.
 * Libraries that query cpuid themselves ignore variables. Linux lets
 * cpuid fault (arch_prctl), where the CPU can; the handler executes it and
 * clears the bits. Threads inherit this.
 */
#define _GNU_SOURCE
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

enum { ARCH_SET_CPUID_FAULTS = 0x1012 };

static long allow_cpuid(int allowed) {
  return syscall(SYS_arch_prctl, ARCH_SET_CPUID_FAULTS, allowed);
}

/* A mask with all bits except these; a negative number ends the list. */
static uint32_t without(const int *bits) {
  uint32_t mask = 0;
  for (; *bits >= 0; ++bits)
    mask |= UINT32_C(1) << *bits;
  return ~mask;
}

/* Features in leaf 7: ebx, ecx and edx in subleaf 0, eax in subleaf 1. */
static const int ebx7[] = {16, 17, 21, 26, 27, 28, 30, 31, -1},
                 ecx7[] = {1, 6, 11, 12, 14, -1},
                 edx7[] = {2, 3, 8, 22, 23, 24, 25, -1}, eax71[] = {5, 21, -1};

static void on_fault(int number, siginfo_t *info, void *context) {
  (void)info;
  greg_t *registers = ((ucontext_t *)context)->uc_mcontext.gregs;
  const uint8_t *code = (const uint8_t *)registers[REG_RIP];
  if (code[0] != 0x0f || code[1] != 0xa2) { /* not cpuid: a real fault */
    signal(number, SIG_DFL);
    return;
  }
  /* Execute cpuid with the same leaf and subleaf. */
  const uint32_t leaf = (uint32_t)registers[REG_RAX],
                 subleaf = (uint32_t)registers[REG_RCX];
  uint32_t a, b, c, d;
  allow_cpuid(1);
  __asm__ volatile("cpuid"
                   : "=a"(a), "=b"(b), "=c"(c), "=d"(d)
                   : "0"(leaf), "2"(subleaf));
  allow_cpuid(0);
  /* Clear the feature bits. */
  if (leaf == 7 && subleaf == 0) {
    b &= without(ebx7);
    c &= without(ecx7);
    d &= without(edx7);
  } else if (leaf == 7 && subleaf == 1) {
    a &= without(eax71);
  }
  /* Return the results and skip the instruction. */
  registers[REG_RAX] = a;
  registers[REG_RBX] = b;
  registers[REG_RCX] = c;
  registers[REG_RDX] = d;
  registers[REG_RIP] += 2;
}

__attribute__((constructor)) static void start(void) {
  struct sigaction action = {0};
  action.sa_sigaction = on_fault;
  action.sa_flags = SA_SIGINFO | SA_NODEFER;
  sigaction(SIGSEGV, &action, NULL);
  if (allow_cpuid(0) == 0)
    return;
  fprintf(stderr, "hide-avx512: error: this machine cannot hide AVX-512: cpuid "
                  "does not fault\n");
  _exit(6);
}
