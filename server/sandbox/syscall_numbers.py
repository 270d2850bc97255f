"""System call numbers used by the filter (seccomp.py) and by syscalls.py, from kernel headers.

One table for each architecture: asm/unistd_64.h, asm-generic/unistd.h. A call that is missing in a
table does not exist on that architecture.
"""

from __future__ import annotations

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
    },
}
# fmt: on
