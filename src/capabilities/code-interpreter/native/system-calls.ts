/** Processors for which Parley assembles native programs and filters, by Node's names. */
export type Processor = 'x64' | 'arm64';

/** Numbers on x64 and on arm64, from the kernel's asm/unistd_64.h and asm-generic/unistd.h. arm64 lacks the oldest ones. */
type Numbers = readonly [x64: number, arm64: number | undefined];

/**
 * System calls of the runtime, of its C library (glibc or musl) and of the dynamic loader. Collected with strace from
 * processes that run programs; the rest are variants that other versions of the C library use for the same.
 */
const RUNTIME_NUMBERS = {
  read: [0, 63],
  write: [1, 64],
  readv: [19, 65],
  writev: [20, 66],
  pread64: [17, 67],
  close: [3, 57],
  open: [2, undefined],
  openat: [257, 56],
  stat: [4, undefined],
  lstat: [6, undefined],
  fstat: [5, 80],
  newfstatat: [262, 79],
  statx: [332, 291],
  statfs: [137, 43],
  fstatfs: [138, 44],
  lseek: [8, 62],
  access: [21, undefined],
  faccessat: [269, 48],
  faccessat2: [439, 439],
  readlink: [89, undefined],
  readlinkat: [267, 78],
  getcwd: [79, 17],
  getdents64: [217, 61],
  dup: [32, 23],
  dup2: [33, undefined],
  dup3: [292, 24],
  fcntl: [72, 25],
  ioctl: [16, 29],
  pipe: [22, undefined],
  pipe2: [293, 59],
  eventfd2: [290, 19],
  epoll_create1: [291, 20],
  epoll_ctl: [233, 21],
  epoll_wait: [232, undefined],
  epoll_pwait: [281, 22],
  epoll_pwait2: [441, 441],
  poll: [7, undefined],
  ppoll: [271, 73],
  select: [23, undefined],
  pselect6: [270, 72],
  mmap: [9, 222],
  mprotect: [10, 226],
  munmap: [11, 215],
  brk: [12, 214],
  mremap: [25, 216],
  madvise: [28, 233],
  mincore: [27, 232],
  pkey_alloc: [330, 289],
  pkey_free: [331, 290],
  pkey_mprotect: [329, 288],
  membarrier: [324, 283],
  rt_sigaction: [13, 134],
  rt_sigprocmask: [14, 135],
  rt_sigreturn: [15, 139],
  sigaltstack: [131, 132],
  tgkill: [234, 131],
  restart_syscall: [219, 128],
  clone: [56, 220],
  // For the start of the runtime by the launcher. There is no other program to execute.
  execve: [59, 221],
  exit: [60, 93],
  exit_group: [231, 94],
  futex: [202, 98],
  set_robust_list: [273, 99],
  get_robust_list: [274, 100],
  rseq: [334, 293],
  set_tid_address: [218, 96],
  arch_prctl: [158, undefined],
  prctl: [157, 167],
  sched_yield: [24, 124],
  sched_getaffinity: [204, 123],
  sched_setaffinity: [203, 122],
  sched_getparam: [143, 121],
  sched_getscheduler: [145, 120],
  sched_get_priority_max: [146, 125],
  sched_get_priority_min: [147, 126],
  getcpu: [309, 168],
  getpid: [39, 172],
  getppid: [110, 173],
  gettid: [186, 178],
  getuid: [102, 174],
  geteuid: [107, 175],
  getgid: [104, 176],
  getegid: [108, 177],
  capget: [125, 90],
  umask: [95, 166],
  uname: [63, 160],
  sysinfo: [99, 179],
  getrusage: [98, 165],
  times: [100, 153],
  prlimit64: [302, 261],
  getrlimit: [97, 163],
  getrandom: [318, 278],
  time: [201, undefined],
  gettimeofday: [96, 169],
  clock_gettime: [228, 113],
  clock_getres: [229, 114],
  clock_nanosleep: [230, 115],
  nanosleep: [35, 101],
  // Standard input and output are sockets.
  getsockname: [51, 204],
  getpeername: [52, 205],
  getsockopt: [55, 209],
  shutdown: [48, 210],
} as const satisfies Record<string, Numbers>;

/** System calls of Parley's native programs. */
const NATIVE_NUMBERS = {
  add_key: [248, 217],
  io_uring_setup: [425, 425],
  keyctl: [250, 219],
  memfd_create: [319, 279],
  seccomp: [317, 277],
  socket: [41, 198],
  userfaultfd: [323, 282],
} as const satisfies Record<string, Numbers>;

const NUMBERS = { ...RUNTIME_NUMBERS, ...NATIVE_NUMBERS };

export type SystemCall = keyof typeof NUMBERS;

/** Names of the system calls that a process needs to run programs. */
export const RUNTIME_SYSTEM_CALLS = Object.keys(RUNTIME_NUMBERS) as readonly (keyof typeof RUNTIME_NUMBERS)[];

/** Returns the number of a system call, or undefined if the processor lacks it. */
export const getSystemCallNumber = (name: SystemCall, processor: Processor): number | undefined =>
  NUMBERS[name][processor === 'x64' ? 0 : 1];

/** Returns the processor of this process, or undefined if Parley assembles nothing for it. */
export const getProcessor = (name: string = process.arch): Processor | undefined =>
  name === 'x64' || name === 'arm64' ? name : undefined;
