"""The system call filter of tools, as classic BPF.

`compile_filter` is a pure function of architecture and network (network_policy.py). Calls newer
than the table fail with ENOSYS, as on an older kernel; programs have a fallback for that.
"""

from __future__ import annotations

import errno
import struct

from .syscalls import AUDIT, NEWEST, NUMBERS

Instruction = tuple[int, int, int, int]  # code, jump if true, jump if false, constant

LOAD, EQUAL, GREATER, AT_LEAST, ANY_BIT, RETURN = 0x20, 0x15, 0x25, 0x35, 0x45, 0x06
ALLOW, KILL, ERROR = 0x7FFF0000, 0x80000000, 0x50000
NUMBER, ARCH, ARGUMENTS = 0, 4, 16  # offsets in struct seccomp_data

NAMESPACES = 0x7E020000  # every CLONE_NEW flag of clone(2), CLONE_NEWCGROUP included
SET_ID = 0o6000
MAKES_A_FILE = 0o100 | 0o20000000  # O_CREAT, __O_TMPFILE: without them there is no mode argument
TIOCSTI, TIOCLINUX = 0x5412, 0x541C
AF_UNIX, AF_INET, AF_INET6 = 1, 2, 10
SOL_SOCKET, SO_SNDBUF = 1, 7
MPTCP = 262
LOOSE = 2  # a bit of SOCK_DGRAM 2 and SOCK_RAW 3, not of SOCK_STREAM 1 and SOCK_SEQPACKET 5
NOT_STREAM = 0xE  # SOCK_DGRAM 2, SOCK_RAW 3, … beside SOCK_STREAM 1; flags are higher bits

REFUSED = """ptrace process_vm_readv process_vm_writev process_madvise kcmp pidfd_getfd
    perf_event_open bpf userfaultfd uretprobe seccomp io_uring_setup io_uring_enter
    io_uring_register add_key request_key keyctl mount umount2 pivot_root move_mount open_tree
    fsopen fsconfig fsmount fspick mount_setattr statmount listmount chroot unshare setns swapon
    swapoff reboot kexec_load kexec_file_load init_module finit_module delete_module create_module
    acct settimeofday clock_settime adjtimex clock_adjtime sethostname setdomainname iopl ioperm
    quotactl quotactl_fd lookup_dcookie name_to_handle_at open_by_handle_at vhangup syslog
    modify_ldt migrate_pages move_pages process_mrelease memfd_secret lsm_set_self_attr mq_open
    mq_unlink shmget shmat shmctl semget semop semctl msgget msgsnd msgrcv msgctl""".split()
# Calls that programs can do without, and that take kernel memory which no process has, so that
# supervisor.py could not count it: memfds, rule sets of Landlock, policies of memory; and contexts
# of asynchronous I/O, of which the whole machine has one small number.
ABSENT = """clone3 openat2 memfd_create landlock_create_ruleset io_setup io_destroy io_submit
    io_cancel io_getevents io_pgetevents mbind set_mempolicy get_mempolicy
    set_mempolicy_home_node""".split()
# A byte of a file or of memory that waits in a pipe or a socket holds its whole page, up to 2 MB.
# As between files that do not support it: programs then read and write.
HOLD_PAGES = ("splice", "tee", "vmsplice", "sendfile")
# Fail as on a system without them, which programs can handle. Landlock restricts neither: a watch
# reports events of files that a tool may not open, attributes are read and written without opening.
WATCHES = ("inotify_init", "inotify_init1", "inotify_add_watch", "fanotify_init", "fanotify_mark")
ATTRIBUTES = tuple(
    f"{word}{kind}xattr" for word in ("", "l", "f") for kind in ("set", "get", "list", "remove")
)
F_NOTIFY = 1026
# Refused for other processes than the caller, whose pid is the first argument.
OF_OTHERS = "prlimit64 sched_setaffinity sched_setattr sched_setparam sched_setscheduler".split()
# (call, its first argument for a process): the others mean all processes of a group or a user.
PRIORITIES = (("setpriority", 0), ("ioprio_set", 1))
MAP_HUGETLB = 0x40000  # from a reserve of the machine, which no limit counts
# PR_SCHED_CORE shares out whole processors, PR_FUTEX_HASH allocates up to 1 GB in the kernel.
OPTIONS = (62, 78)
# SO_ATTACH_FILTER, SO_ATTACH_BPF, SO_ATTACH_REUSEPORT_CBPF and _EBPF: programs in kernel memory.
SOCKET_FILTERS = (26, 50, 51, 52)
MODES = (("chmod", 1), ("fchmod", 1), ("fchmodat", 2), ("fchmodat2", 2), ("creat", 1))
NODES = (("mknod", 1), ("mknodat", 2))
OPENS = (("open", 1, 2), ("openat", 2, 3))  # argument of the flags, of the mode


def compile_filter(arch: str, *, network: str = "off", watches: bool = False) -> list[Instruction]:
    """Return the filter for an architecture of syscall_numbers.NUMBERS.

    `network`: off, no sockets; proxy, TCP alone; full, TCP and UDP. `watches`: inotify is allowed.
    """
    known = NUMBERS[arch]
    program = [
        _load(ARCH),
        (EQUAL, 1, 0, AUDIT[arch]),
        _return(KILL),
        _load(NUMBER),
    ]
    # First, because it is frequent.
    program += _block(known["mmap"], _no_bits(3, MAP_HUGETLB, errno.ENOMEM))
    if arch == "x86_64":  # the x32 numbers reach the same calls
        program += [(AT_LEAST, 0, 1, 0x40000000), _return(ERROR | errno.ENOSYS)]
    program += [(GREATER, 0, 1, NEWEST), _return(ERROR | errno.ENOSYS)]
    blocks = [(name, [_return(ERROR | errno.EPERM)]) for name in REFUSED]
    blocks += [(name, [_return(ERROR | errno.ENOSYS)]) for name in ABSENT]
    refused = [name for name in WATCHES if not (watches and name.startswith("inotify"))]
    blocks += [(name, [_return(ERROR | errno.ENOSYS)]) for name in refused]
    blocks += [(name, [_return(ERROR | errno.EOPNOTSUPP)]) for name in ATTRIBUTES]
    blocks += [(name, [_return(ERROR | errno.EINVAL)]) for name in HOLD_PAGES]
    blocks += [(name, _unless_zero(0)) for name in OF_OTHERS]
    blocks += [(name, _of_itself(process)) for name, process in PRIORITIES]
    blocks += [(name, _no_bits(argument, SET_ID)) for name, argument in MODES]
    blocks += [(name, _no_bits(argument, SET_ID)) for name, argument in NODES]
    for name, flags, mode in OPENS:
        makes = [_argument(flags), (ANY_BIT, 1, 0, MAKES_A_FILE), _return(ALLOW)]
        blocks.append((name, makes + _no_bits(mode, SET_ID)))
    blocks += [
        ("clone", _no_bits(0, NAMESPACES)),
        ("personality", _only(0, (0, 0xFFFFFFFF), errno.EPERM)),
        ("ioctl", _none_of(1, (TIOCSTI, TIOCLINUX), errno.EPERM)),
        ("fcntl", _none_of(1, (F_NOTIFY,), errno.EINVAL)),
        ("prctl", _none_of(0, OPTIONS, errno.EINVAL)),
        ("kill", _none_of(0, (0xFFFFFFFF,), errno.EPERM)),
        ("socketpair", _pairs()),
        ("setsockopt", _socket_options()),
        ("socket", _ip_only(network) if network != "off" else [_return(ERROR | errno.EACCES)]),
    ]
    for name, body in blocks:
        if name in known:
            program += _block(known[name], body)
    return [*program, _return(ALLOW)]


def pack(program: list[Instruction]) -> bytes:
    """Return the filter as bytes, 8 for each instruction."""
    return b"".join(struct.pack("=HBBI", *instruction) for instruction in program)


# -- pieces of a filter ---------------------------------------------------------------------------


def _load(offset: int) -> Instruction:
    return (LOAD, 0, 0, offset)


def _argument(index: int) -> Instruction:
    """Load the low half of an argument: all of an int on little-endian machines."""
    return _load(ARGUMENTS + 8 * index)


def _return(value: int) -> Instruction:
    return (RETURN, 0, 0, value)


def _block(number: int, body: list[Instruction]) -> list[Instruction]:
    """Apply `body` to one call."""
    return [(EQUAL, 0, len(body), number), *body]


def _unless_zero(index: int) -> list[Instruction]:
    return _only(index, (0,), errno.EPERM)


def _of_itself(process: int) -> list[Instruction]:
    """Allow the kind `process` with the id 0, which is the caller."""
    refuse = _return(ERROR | errno.EPERM)
    return [_argument(0), (EQUAL, 1, 0, process), refuse, *_unless_zero(1)]


def _no_bits(index: int, bits: int, error: int = errno.EPERM) -> list[Instruction]:
    refuse = _return(ERROR | error)
    return [_argument(index), (ANY_BIT, 0, 1, bits), refuse, _return(ALLOW)]


def _only(index: int, values: tuple[int, ...], error: int) -> list[Instruction]:
    body = [_argument(index)]
    body += [(EQUAL, len(values) - at, 0, value) for at, value in enumerate(values)]
    return [*body, _return(ERROR | error), _return(ALLOW)]


def _none_of(index: int, values: tuple[int, ...], error: int) -> list[Instruction]:
    body = [_argument(index)]
    body += [(EQUAL, len(values) - at, 0, value) for at, value in enumerate(values)]
    return [*body, _return(ALLOW), _return(ERROR | error)]


def _socket_options() -> list[Instruction]:
    """Ignore SO_SNDBUF, refuse filters of sockets.

    Data waiting in a socket is memory that nothing counts, so buffers keep the system's default
    size.
    """
    return [
        _argument(1),
        (EQUAL, 1, 0, SOL_SOCKET),
        _return(ALLOW),
        _argument(2),
        (EQUAL, 0, 1, SO_SNDBUF),
        _return(ERROR),
        *_none_of(2, SOCKET_FILTERS, errno.ENOPROTOOPT),
    ]


def _pairs() -> list[Instruction]:
    """Allow local socket pairs that stay connected.

    Either half of a SOCK_DGRAM pair (2; SOCK_RAW 3 becomes one) could be connected to any socket of
    the machine.
    """
    refuse = _return(ERROR | errno.EACCES)
    kinds = [_argument(1), (ANY_BIT, 0, 1, LOOSE), refuse]
    return [*kinds, *_only(0, (AF_UNIX,), errno.EACCES)]


def _ip_only(network: str) -> list[Instruction]:
    """Allow TCP and UDP, but not multipath TCP, which Landlock's port rules do not cover.

    Raw and packet sockets need a capability that no tool has. With `proxy` only streams are
    allowed: theirs is the only socket type with none of the bits NOT_STREAM.
    """
    refuse = _return(ERROR | errno.EACCES)
    streams = [_argument(1), (ANY_BIT, 0, 1, NOT_STREAM), refuse] if network == "proxy" else []
    return [
        *streams,
        _argument(0),
        (EQUAL, 2, 0, AF_INET),
        (EQUAL, 1, 0, AF_INET6),
        refuse,
        _argument(2),
        (EQUAL, 0, 1, MPTCP),
        refuse,
        _return(ALLOW),
    ]
