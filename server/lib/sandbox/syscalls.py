"""System calls that Python does not wrap: namespaces, mounts, Landlock, seccomp, capabilities.

Called by worker.py, after the fork and before the tool. Each function is one call;
every failure is an OSError with the call as its filename. Linux only; importing it elsewhere has no
effect. Numbers above 423 are the same on all architectures.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import os
import platform
import stat
import struct
from collections.abc import Iterable

# -- syscall numbers ------------------------------------------------------------------------------
# System call numbers used by the filter (seccomp.py) and by syscalls.py, from kernel headers.
#
# One table for each architecture: asm/unistd_64.h, asm-generic/unistd.h. A call that is missing in
# a table does not exist on that architecture.

NEWEST = 462  # mseal(2): newer calls fail with ENOSYS
AUDIT = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}  # linux/audit.h

# fmt: off
NUMBERS: dict[str, dict[str, int]] = {
    "x86_64": {
        "open": 2, "ioctl": 16, "shmget": 29, "shmat": 30, "shmctl": 31, "socket": 41,
        "socketpair": 53, "setsockopt": 54, "clone": 56, "fcntl": 72,
        "setxattr": 188, "lsetxattr": 189, "fsetxattr": 190, "getxattr": 191, "lgetxattr": 192,
        "fgetxattr": 193, "listxattr": 194, "llistxattr": 195, "flistxattr": 196,
        "removexattr": 197, "lremovexattr": 198, "fremovexattr": 199, "inotify_init": 253,
        "inotify_add_watch": 254, "inotify_init1": 294, "fanotify_init": 300, "fanotify_mark": 301,
        "semget": 64, "semop": 65, "semctl": 66,
        "msgget": 68, "msgsnd": 69, "msgrcv": 70, "msgctl": 71, "creat": 85, "chmod": 90,
        "fchmod": 91, "ptrace": 101, "syslog": 103, "capset": 126, "mknod": 133, "personality": 135,
        "setpriority": 141, "sched_setparam": 142, "sched_setscheduler": 144, "vhangup": 153,
        "modify_ldt": 154, "pivot_root": 155, "adjtimex": 159, "chroot": 161, "acct": 163,
        "settimeofday": 164, "mount": 165, "umount2": 166, "swapon": 167, "swapoff": 168,
        "reboot": 169, "sethostname": 170, "setdomainname": 171, "iopl": 172, "ioperm": 173,
        "create_module": 174, "init_module": 175, "delete_module": 176, "quotactl": 179,
        "sched_setaffinity": 203, "lookup_dcookie": 212, "clock_settime": 227, "mq_open": 240,
        "mq_unlink": 241, "kexec_load": 246, "add_key": 248, "request_key": 249, "keyctl": 250,
        "ioprio_set": 251, "migrate_pages": 256, "openat": 257, "mknodat": 259, "fchmodat": 268,
        "unshare": 272, "move_pages": 279, "perf_event_open": 298, "prlimit64": 302,
        "name_to_handle_at": 303, "open_by_handle_at": 304, "clock_adjtime": 305, "setns": 308,
        "process_vm_readv": 310, "process_vm_writev": 311, "kcmp": 312, "finit_module": 313,
        "sched_setattr": 314, "seccomp": 317, "memfd_create": 319, "kexec_file_load": 320,
        "bpf": 321, "userfaultfd": 323, "uretprobe": 335, "io_uring_setup": 425,
        "io_uring_enter": 426, "io_uring_register": 427, "open_tree": 428, "move_mount": 429,
        "fsopen": 430, "fsconfig": 431, "fsmount": 432, "fspick": 433, "clone3": 435,
        "openat2": 437, "pidfd_getfd": 438, "process_madvise": 440, "mount_setattr": 442,
        "quotactl_fd": 443, "memfd_secret": 447, "process_mrelease": 448, "fchmodat2": 452,
        "statmount": 457, "listmount": 458, "lsm_set_self_attr": 460,
        "mmap": 9, "sendfile": 40, "kill": 62, "prctl": 157, "io_setup": 206, "io_destroy": 207,
        "io_getevents": 208, "io_submit": 209, "io_cancel": 210, "mbind": 237,
        "set_mempolicy": 238, "get_mempolicy": 239, "splice": 275, "tee": 276, "vmsplice": 278,
        "io_pgetevents": 333, "landlock_create_ruleset": 444, "set_mempolicy_home_node": 450,
    },
    "aarch64": {
        "setxattr": 5, "lsetxattr": 6, "fsetxattr": 7, "getxattr": 8, "lgetxattr": 9,
        "fgetxattr": 10, "listxattr": 11, "llistxattr": 12, "flistxattr": 13, "removexattr": 14,
        "lremovexattr": 15, "fremovexattr": 16, "fcntl": 25, "inotify_init1": 26,
        "inotify_add_watch": 27, "fanotify_init": 262, "fanotify_mark": 263,
        "lookup_dcookie": 18, "ioctl": 29, "ioprio_set": 30, "mknodat": 33, "umount2": 39,
        "mount": 40, "pivot_root": 41, "chroot": 51, "fchmod": 52, "fchmodat": 53, "openat": 56,
        "vhangup": 58, "quotactl": 60, "acct": 89, "capset": 91, "personality": 92, "unshare": 97,
        "kexec_load": 104, "init_module": 105, "delete_module": 106, "clock_settime": 112,
        "syslog": 116, "ptrace": 117, "sched_setparam": 118, "sched_setscheduler": 119,
        "sched_setaffinity": 122, "setpriority": 140, "reboot": 142, "sethostname": 161,
        "setdomainname": 162, "settimeofday": 170, "adjtimex": 171, "mq_open": 180,
        "mq_unlink": 181, "msgget": 186, "msgctl": 187, "msgrcv": 188, "msgsnd": 189, "semget": 190,
        "semctl": 191, "semop": 193, "shmget": 194, "shmctl": 195, "shmat": 196, "socket": 198,
        "socketpair": 199, "setsockopt": 208, "add_key": 217, "request_key": 218, "keyctl": 219,
        "clone": 220, "swapon": 224, "swapoff": 225, "migrate_pages": 238, "move_pages": 239,
        "perf_event_open": 241, "prlimit64": 261, "name_to_handle_at": 264,
        "open_by_handle_at": 265, "clock_adjtime": 266, "setns": 268, "process_vm_readv": 270,
        "process_vm_writev": 271, "kcmp": 272, "finit_module": 273, "sched_setattr": 274,
        "seccomp": 277, "memfd_create": 279, "bpf": 280, "userfaultfd": 282, "kexec_file_load": 294,
        "io_uring_setup": 425, "io_uring_enter": 426, "io_uring_register": 427, "open_tree": 428,
        "move_mount": 429, "fsopen": 430, "fsconfig": 431, "fsmount": 432, "fspick": 433,
        "clone3": 435, "openat2": 437, "pidfd_getfd": 438, "process_madvise": 440,
        "mount_setattr": 442, "quotactl_fd": 443, "memfd_secret": 447, "process_mrelease": 448,
        "fchmodat2": 452, "statmount": 457, "listmount": 458, "lsm_set_self_attr": 460,
        "io_setup": 0, "io_destroy": 1, "io_submit": 2, "io_cancel": 3, "io_getevents": 4,
        "sendfile": 71, "vmsplice": 75, "splice": 76, "tee": 77, "kill": 129, "prctl": 167,
        "mmap": 222, "mbind": 235, "get_mempolicy": 236, "set_mempolicy": 237,
        "io_pgetevents": 292, "landlock_create_ruleset": 444, "set_mempolicy_home_node": 450,
    },
}
# fmt: on


# -- syscalls -------------------------------------------------------------------------------------

NEWNS, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET = (
    0x20000,
    0x4000000,
    0x8000000,
    0x10000000,
    0x20000000,
    0x40000000,
)
PR_SET_PDEATHSIG, PR_SET_DUMPABLE, PR_SET_SECCOMP, PR_SET_CHILD_SUBREAPER = 1, 4, 22, 36
PR_SET_NO_NEW_PRIVS, PR_CAP_AMBIENT, CLEAR_ALL = 38, 47, 4
MS_NOSUID, MS_NODEV, MS_NOEXEC, MS_REC, MS_PRIVATE = 2, 4, 8, 16384, 1 << 18
MNT_DETACH = 2
AT_FDCWD, AT_SYMLINK_NOFOLLOW, AT_EMPTY_PATH, AT_RECURSIVE = -100, 0x100, 0x1000, 0x8000
OPEN_TREE_CLONE, OPEN_TREE_CLOEXEC = 1, os.O_CLOEXEC
MOVE_MOUNT_F_EMPTY_PATH = 4
ATTR_RDONLY, ATTR_NOSUID, ATTR_NODEV, ATTR_NOEXEC = 1, 2, 4, 8
OPEN_TREE, MOVE_MOUNT, PIDFD_OPEN, MOUNT_SETATTR = 428, 429, 434, 442
LANDLOCK_CREATE, LANDLOCK_ADD, LANDLOCK_RESTRICT = 444, 445, 446

# Landlock's rights, linux/landlock.h
EXECUTE, WRITE_FILE, READ_FILE, READ_DIR = 1, 2, 4, 8
MAKE_CHAR, MAKE_BLOCK, REFER, TRUNCATE, IOCTL_DEV = 1 << 6, 1 << 11, 1 << 13, 1 << 14, 1 << 15
RESOLVE_UNIX = 1 << 16
OF_FILES = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | IOCTL_DEV | RESOLVE_UNIX
CONNECT_TCP = 2
READ = READ_FILE | READ_DIR
READ_RUN = READ | EXECUTE
CHANGE = ((1 << 13) - 1 | REFER | TRUNCATE) & ~(MAKE_CHAR | MAKE_BLOCK)
DEVICE = READ_FILE | WRITE_FILE | TRUNCATE
SINCE = {REFER: 2, TRUNCATE: 3, IOCTL_DEV: 5, RESOLVE_UNIX: 9}  # right → first ABI that has it


def arch() -> str:
    """Return x86_64 or aarch64; "" for an architecture without a filter."""
    name = {"arm64": "aarch64", "amd64": "x86_64"}.get(platform.machine(), platform.machine())
    return name if name in NUMBERS else ""


@functools.cache
def libc() -> ctypes.CDLL:
    """Return the C library."""
    return ctypes.CDLL(None, use_errno=True)


def last_error(what: str) -> OSError:
    """Return the OSError for errno, with `what` as its filename."""
    number = ctypes.get_errno()
    return OSError(number, os.strerror(number), what)


def syscall(what: str, number: int, *args: int | bytes | None) -> int:
    """Make a system call. Raises OSError.

    Integers are passed as long: a variadic call takes 64-bit registers as they are.
    """
    words = [ctypes.c_long(x) if isinstance(x, int) else ctypes.c_char_p(x) for x in args]
    result = int(libc().syscall(ctypes.c_long(number), *words))
    if result < 0:
        raise last_error(what)
    return result


def pidfd_open(pid: int) -> int:
    """Return a descriptor that is readable once the process has ended. Raises OSError.

    `os.pidfd_open` is missing in interpreters that were built with old headers.
    """
    return syscall("pidfd_open", PIDFD_OPEN, pid, 0)


def prctl(option: int, value: int = 0, more: int = 0) -> None:
    """Call prctl(2). Raises OSError."""
    words = [ctypes.c_ulong(word) for word in (value, more, 0, 0)]
    if libc().prctl(ctypes.c_int(option), *words) < 0:
        raise last_error(f"prctl {option}")


def unshare(flags: int) -> None:
    """Call unshare(2). Raises OSError."""
    if libc().unshare(ctypes.c_int(flags)) != 0:
        raise last_error("unshare")


# -- mounts ---------------------------------------------------------------------------------------


def mount(kind: str | None, target: str, flags: int, options: str | None = None) -> None:
    """Mount a new file system of a kind, or with None change the flags of a mount."""
    name = kind.encode() if kind else None
    more = options.encode() if options else None
    if libc().mount(name, target.encode(), name, ctypes.c_ulong(flags), more) != 0:
        raise last_error(f"mount {kind or 'flags'}")


def bind(source: str, target: str, attributes: int) -> None:
    """Attach a copy of the mounts at `source` to `target`.

    The attributes are set before the copy is visible.
    """
    attach(clone_mount(source, attributes), target)


def clone_mount(source: str, attributes: int, *, follow: bool = True) -> int:
    """Return a descriptor of a detached copy of the mounts at `source`.

    A symlink as the last part of `source` is refused unless `follow`.
    """
    flags = OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE
    flags |= 0 if follow else AT_SYMLINK_NOFOLLOW
    tree = syscall("open_tree", OPEN_TREE, AT_FDCWD, os.fsencode(source), flags)
    return _with_attributes(tree, attributes)


def bind_name(folder: int, name: str, attributes: int) -> None:
    """Put a copy of the mounts at a name of an open folder over it; no link is followed.

    `attributes`: beside those of the mount that it is in.
    """
    flags = OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE | AT_SYMLINK_NOFOLLOW
    tree = syscall("open_tree", OPEN_TREE, folder, os.fsencode(name), flags)
    attach_at(_with_attributes(tree, attributes) if attributes else tree, folder, name)


def attach_at(tree: int, folder: int, name: str) -> None:
    """Attach a detached copy of mounts at a name of an open folder, and close its descriptor."""
    try:
        where = os.fsencode(name)
        syscall("move_mount", MOVE_MOUNT, tree, b"", folder, where, MOVE_MOUNT_F_EMPTY_PATH)
    finally:
        os.close(tree)


def _with_attributes(tree: int, attributes: int) -> int:
    """Set attributes of a detached copy of mounts and return it; on an error it is closed."""
    try:
        change = struct.pack("=QQQQ", attributes, 0, 0, 0)
        syscall("mount_setattr", MOUNT_SETATTR, tree, b"", AT_EMPTY_PATH | AT_RECURSIVE, change, 32)
    except OSError:
        os.close(tree)
        raise
    return tree


def attach(tree: int, target: str) -> None:
    """Attach a detached copy of mounts to `target`, and close its descriptor."""
    where = os.fsencode(target)
    try:
        syscall("move_mount", MOVE_MOUNT, tree, b"", AT_FDCWD, where, MOVE_MOUNT_F_EMPTY_PATH)
    finally:
        os.close(tree)


def freeze(target: str) -> None:
    """Make one mount read-only."""
    change = struct.pack("=QQQQ", ATTR_RDONLY | ATTR_NOSUID | ATTR_NODEV, 0, 0, 0)
    syscall("mount_setattr", MOUNT_SETATTR, AT_FDCWD, os.fsencode(target), 0, change, 32)


def pivot(target: str) -> None:
    """Make `target` the root and detach the old one, as in the last example of pivot_root(2)."""
    os.chdir(target)
    syscall("pivot_root", NUMBERS[arch()]["pivot_root"], b".", b".")
    detach(".")
    os.chdir("/")


def detach(target: str) -> None:
    """Detach the mounts at `target`."""
    if libc().umount2(os.fsencode(target), MNT_DETACH) != 0:
        raise last_error("umount2")


# -- Landlock -------------------------------------------------------------------------------------


@functools.cache
def landlock_abi() -> int:
    """Return the kernel's Landlock version, 0 if it has none.

    Kept, because the filter of tools refuses to make rule sets, and this call with it.
    """
    try:
        return syscall("landlock", LANDLOCK_CREATE, None, 0, 1)
    except OSError:
        return 0


def landlock(rules: Iterable[tuple[str, int]], *, network: bool, connect: int = 0) -> int:
    """Return the descriptor of a rule set. `rules`: (path, rights at and below it).

    Missing paths are skipped. Without `network` TCP is denied, except connections to the port
    `connect`; signals and abstract sockets are limited to the sandbox. Older kernels have only a
    part of this.
    """
    abi = landlock_abi()
    tcp = 3 if abi >= 4 and not network else 0
    scopes = 3 if abi >= 6 else 0
    size = 8 if abi < 4 else 16 if abi < 6 else 24  # older kernels refuse later fields
    attributes = struct.pack("=QQQ", handled_rights(abi), tcp, scopes)
    ruleset = syscall("landlock_create_ruleset", LANDLOCK_CREATE, attributes, size, 0)
    for path, rights in rules:
        with contextlib.suppress(FileNotFoundError):
            landlock_allow(ruleset, path, rights & handled_rights(abi))
    if tcp and connect:
        port = struct.pack("=QQ", CONNECT_TCP, connect)
        syscall("landlock_add_rule", LANDLOCK_ADD, ruleset, 2, port, 0)
    return ruleset


def handled_rights(abi: int) -> int:
    """Return the rights to files that a version of Landlock has."""
    later = sum(right for right, first in SINCE.items() if abi >= first)
    return (1 << 13) - 1 | later


def landlock_allow(ruleset: int, path: str, rights: int) -> None:
    """Add a rule: these rights, which the kernel must have, at and below a path."""
    place = os.open(path, os.O_PATH | os.O_CLOEXEC)
    try:
        landlock_allow_open(ruleset, place, rights)
    finally:
        os.close(place)


def landlock_allow_open(ruleset: int, place: int, rights: int) -> None:
    """Add a rule as `landlock_allow`, for what the descriptor `place` is open on."""
    if not stat.S_ISDIR(os.fstat(place).st_mode):
        rights &= OF_FILES
    syscall("landlock_add_rule", LANDLOCK_ADD, ruleset, 1, struct.pack("=Qi", rights, place), 0)


def landlock_restrict(ruleset: int) -> None:
    """Restrict this process and its descendants to the rules."""
    syscall("landlock_restrict_self", LANDLOCK_RESTRICT, ruleset, 0)


# -- seccomp and capabilities ---------------------------------------------------------------------


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_char_p))


def seccomp(filter: bytes) -> None:
    """Install a filter of 8-byte instructions (seccomp.py) for this process."""
    program = _Program(len(filter) // 8, filter)
    prctl(PR_SET_SECCOMP, 2, ctypes.addressof(program))


def drop_capabilities() -> None:
    """Empty all capability sets except the bounding set.

    With no_new_privs nothing can be gained from that one, and emptying it costs 41 calls (0.4 ms).
    """
    prctl(PR_CAP_AMBIENT, CLEAR_ALL)
    header = struct.pack("=Ii", 0x20080522, 0)
    syscall("capset", NUMBERS[arch()]["capset"], header, bytes(24))


def become_user(uid: int) -> None:
    """Change to this user for good, with its own group only."""
    os.setgroups([])
    os.setresgid(uid, uid, uid)
    os.setresuid(uid, uid, uid)


def map_user(uid: int, gid: int) -> None:
    """Map the user and group to themselves in a new user namespace.

    The process must be dumpable: otherwise its files in /proc/self belong to root.
    """
    for name, text in (
        ("setgroups", "deny"),
        ("uid_map", f"{uid} {uid} 1"),
        ("gid_map", f"{gid} {gid} 1"),
    ):
        descriptor = os.open(f"/proc/self/{name}", os.O_WRONLY | os.O_CLOEXEC)
        try:
            os.write(descriptor, text.encode())
        finally:
            os.close(descriptor)
