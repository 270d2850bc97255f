"""An owner's tool file that tries to get out: run by test_battery.py inside the sandbox, one call
for each attempt. An attempt raises where it is stopped; what it returns is the evidence that it
was not. Nothing here may be unbounded or do harm where it succeeds."""

import ctypes
import errno
import fcntl
import mmap
import os
import platform
import resource
import signal
import socket
import struct
import subprocess

from yaa import tool

C = ctypes.CDLL(None, use_errno=True)
X86 = platform.machine() == "x86_64"
FACTS = {}
ATTACKS = {}


class Stopped(Exception):
    pass


def attack(function):
    ATTACKS[function.__name__] = function
    return function


def call(x86, arm, *args):
    """A system call by number; raises where it is refused."""
    number = x86 if X86 else arm
    words = [
        ctypes.c_long(a) if isinstance(a, int) else ctypes.c_char_p(a) if a is not None else None
        for a in args
    ]
    found = C.syscall(ctypes.c_long(number), *words)
    if found < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return f"returned {found}"


def shell(command):
    done = subprocess.run(["sh", "-c", command], capture_output=True, timeout=5)
    if done.returncode or not done.stdout.strip():
        raise Stopped(done.stderr.decode(errors="replace")[:80])
    return done.stdout.decode(errors="replace")[:80]


def many(prefix, cases):
    """One attempt for each case: name → function without arguments."""
    for name, function in cases.items():
        ATTACKS[f"{prefix} {name}"] = function


def reads(path):
    return lambda: f"{len(open(path(), 'rb').read(64))} bytes"


def opens_for_writing(path):
    def attempt():
        os.close(os.open(path(), os.O_WRONLY))
        return "opened"

    return attempt


def secret():
    return FACTS["secret"]


def server(name=""):
    return f"/proc/{FACTS['server']}/{name}"


def folder():
    return os.path.dirname(secret())


# -- files ----------------------------------------------------------------------------------------

many(
    "read",
    {
        "secret": reads(secret),
        "other session": reads(lambda: FACTS["other"]),
        "shadow": reads(lambda: "/etc/shadow"),
        "secret by proc root": reads(lambda: f"/proc/1/root{secret()}"),
        "secret by own root": reads(lambda: f"/proc/self/root{secret()}"),
        "secret by dots": reads(lambda: "../" * 20 + secret()),
        "kernel memory": reads(lambda: "/dev/mem"),
        "kernel log": reads(lambda: "/dev/kmsg"),
        "kcore": reads(lambda: "/proc/kcore"),
        "disk": reads(lambda: FACTS["disk"]),
        "server environ": reads(lambda: server("environ")),
        "server maps": reads(lambda: server("maps")),
        "server mem": opens_for_writing(lambda: server("mem")),
        "server cwd": lambda: str(os.listdir(server("cwd"))),
        "server root": lambda: str(os.listdir(server("root"))),
        "server fd": reads(lambda: server("fd/0")),
        "server syscall": reads(lambda: server("syscall")),
        "server auxv": reads(lambda: server("auxv")),
    },
)
many(
    "write",
    {
        "secret": opens_for_writing(secret),
        "other session": opens_for_writing(lambda: FACTS["other"]),
        "passwd": opens_for_writing(lambda: "/etc/passwd"),
        "program": opens_for_writing(lambda: "/usr/bin/env"),
        "server code": opens_for_writing(lambda: FACTS["code"]),
        "new beside secret": lambda: open(f"{folder()}/planted", "x").name,
        "new in etc": lambda: open("/etc/yaa-planted", "x").name,
        "new in usr": lambda: open("/usr/yaa-planted", "x").name,
        "new in root": lambda: open("/yaa-planted", "x").name,
        "sysctl": opens_for_writing(lambda: "/proc/sys/kernel/core_pattern"),
        "hostname": opens_for_writing(lambda: "/proc/sys/kernel/hostname"),
        "sysrq": opens_for_writing(lambda: "/proc/sysrq-trigger"),
        "server oom": opens_for_writing(lambda: server("oom_score_adj")),
        "cgroup": lambda: os.mkdir("/sys/fs/cgroup/yaa-planted") or "made",
    },
)
many(
    "change",
    {
        "truncate secret": lambda: os.truncate(secret(), 1) or "cut",
        "unlink secret": lambda: os.unlink(secret()) or "gone",
        "rename secret": lambda: os.rename(secret(), "stolen") or "moved",
        "rename over secret": lambda: (
            open("mine", "w").close(),
            os.rename("mine", secret()),
            "put",
        ),
        "link secret": lambda: os.link(secret(), "linked") or "linked",
        "link out": lambda: (open("a", "w").close(), os.link("a", f"{folder()}/planted"), "linked"),
        "symlink read": lambda: (os.symlink(secret(), "way"), open("way").read()),
        "symlink out": lambda: os.symlink("/", f"{folder()}/planted") or "planted",
        "mkdir out": lambda: os.mkdir(f"{folder()}/planted") or "made",
        "rmdir other": lambda: os.rmdir(os.path.dirname(FACTS["other"])) or "gone",
        "fifo out": lambda: os.mkfifo(f"{folder()}/planted") or "made",
        "device": lambda: os.mknod("disk", 0o60600, os.makedev(254, 0)) or "made",
        "memory device": lambda: os.mknod("mem", 0o20600, os.makedev(1, 1)) or "made",
        "xattr program": lambda: os.setxattr("/usr/bin/env", "user.x", b"1") or "set",
        "chown mine to root": lambda: (
            (open("o", "w").close(), os.chown("o", 0, 0), "given")[2] if os.getuid() else "is root"
        ),
        "set-user-id": lambda: (open("s", "w").close(), os.chmod("s", 0o4755), "set")[2],
        "set-group-id": lambda: (open("g", "w").close(), os.chmod("g", 0o2755), "set")[2],
        "set-id by open": lambda: os.open("so", os.O_CREAT | os.O_WRONLY, 0o4755) and "made",
        "set-id by mknod": lambda: os.mknod("sm", 0o104755) or "made",
        "set-id by fchmodat2": lambda: (
            open("s2", "w").close(),
            call(452, 452, -100, b"s2", 0o4755, 0),
        )[1],
        "openat2": lambda: call(437, 437, -100, secret().encode(), b"\0" * 24, 24),
        "by handle": lambda: call(304, 265, -100, b"\0" * 64, 0),
        "name to handle": lambda: call(303, 264, -100, b".", b"\x80" + b"\0" * 255, b"\0" * 4, 0),
    },
)
many(
    "metadata",
    {
        "stat secret": lambda: os.stat(secret()).st_size,
        "list outside": lambda: str(os.listdir(folder())),
        "chmod secret": lambda: os.chmod(secret(), 0o777) or "changed",
        "utime secret": lambda: os.utime(secret(), (1, 1)) or "changed",
        "chdir outside": lambda: os.chdir(folder()) or "there",
        "server cmdline": reads(lambda: server("cmdline")),
    },
)

# -- processes ------------------------------------------------------------------------------------


def signalled(number):
    def attempt():
        os.kill(FACTS["server"], number)
        return "delivered"

    return attempt


def delivered_by_owner():
    one, _two = socket.socketpair()
    fcntl.fcntl(one, fcntl.F_SETOWN, FACTS["server"])
    return "owner set" if fcntl.fcntl(one, fcntl.F_GETOWN) == FACTS["server"] else None


IOVEC = b"\0" * 16
many(
    "process",
    {
        "signal 0": signalled(0),
        "signal cont": signalled(signal.SIGCONT),
        "zygote": lambda: os.kill(FACTS["zygote"], 0) or "delivered",
        "group": lambda: os.killpg(FACTS["server"], 0) or "delivered",
        "tgkill": lambda: call(234, 131, FACTS["server"], FACTS["server"], 0),
        "sigqueue": lambda: call(129, 138, FACTS["server"], 0, b"\0" * 128),
        "pidfd": lambda: call(424, 424, os.pidfd_open(FACTS["server"]), 0, None, 0),
        "pidfd getfd": lambda: call(438, 438, os.pidfd_open(os.getppid() or 1), 0, 0),
        "supervisor": lambda: (
            (os.kill(os.getppid(), signal.SIGSTOP), os.getppid())
            and (open(f"/proc/{os.getppid()}/stat").read().split(")")[1].split()[0] == "T" or None)
        ),
        "ptrace attach": lambda: call(101, 117, 16, FACTS["server"], 0, 0),
        "ptrace seize": lambda: call(101, 117, 0x4206, FACTS["server"], 0, 0),
        "ptrace supervisor": lambda: call(101, 117, 16, os.getppid(), 0, 0),
        "ptrace me": lambda: call(101, 117, 0, 0, 0, 0),
        "vm read": lambda: call(310, 270, FACTS["server"], IOVEC, 1, IOVEC, 1, 0),
        "vm write": lambda: call(311, 271, FACTS["server"], IOVEC, 1, IOVEC, 1, 0),
        "madvise": lambda: call(440, 440, 3, IOVEC, 1, 20, 0),
        "kcmp": lambda: call(312, 272, os.getpid(), FACTS["server"], 0, 0, 0),
        "prlimit": lambda: str(resource.prlimit(FACTS["server"], resource.RLIMIT_CPU)),
        "prlimit supervisor": lambda: str(resource.prlimit(os.getppid(), resource.RLIMIT_CPU)),
        "affinity": lambda: os.sched_setaffinity(FACTS["server"], {0}) or "set",
        "scheduler": lambda: os.sched_setscheduler(FACTS["server"], 0, os.sched_param(0)) or "set",
        "renice": lambda: os.setpriority(os.PRIO_PROCESS, FACTS["server"], 19) or "set",
        "ioprio": lambda: call(251, 30, 1, FACTS["server"], 3 << 13),
        "raise own cpu": lambda: resource.setrlimit(resource.RLIMIT_CPU, (-1, -1)) or "raised",
        "raise own files": lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (-1, -1)) or "raised",
        "perf": lambda: call(298, 241, b"\0" * 128, FACTS["server"], -1, -1, 0),
    },
)

# -- sockets and other ways to talk ----------------------------------------------------------------


def sock(family, kind=socket.SOCK_STREAM, protocol=0):
    return lambda: socket.socket(family, kind, protocol).fileno()


def connects():
    with socket.create_connection(("127.0.0.1", FACTS["port"]), 2):
        return "connected"


def udp():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
        return one.sendto(b"x", ("127.0.0.1", FACTS["port"]))


def fast_open():
    with socket.socket() as one:
        return one.sendto(b"x", 0x20000000, ("127.0.0.1", FACTS["port"]))


def multipath():
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM, 262) as one:
        one.connect(("127.0.0.1", FACTS["port"]))
        return "connected"


def listens():
    with socket.create_server(("0.0.0.0", 0)) as one:
        return one.getsockname()


def abstract():
    with socket.socket(socket.AF_UNIX) as one:
        one.connect("\0" + FACTS["name"])
        return "connected"


def by_path():
    with socket.socket(socket.AF_UNIX) as one:
        one.connect(FACTS["path"])
        return "connected"


many(
    "socket",
    {
        "tcp": connects,
        "udp": udp,
        "fast open": fast_open,
        "multipath": multipath,
        "listen": listens,
        "tcp6": sock(socket.AF_INET6),
        "raw": sock(socket.AF_INET, socket.SOCK_RAW, 1),
        "packet": sock(17, socket.SOCK_RAW),
        "netlink": sock(16, socket.SOCK_RAW),
        "vsock": sock(40),
        "alg": sock(38, socket.SOCK_SEQPACKET),
        "bluetooth": sock(31, 3),
        "can": sock(29, 3),
        "tipc": sock(30),
        "xdp": sock(44, 3),
        "key": sock(15, 3, 2),
        "abstract": abstract,
        "path": by_path,
        "pair of ip": lambda: socket.socketpair(socket.AF_INET),
        "dns": lambda: socket.getaddrinfo("example.com", 80),
        "bash tcp": lambda: shell(
            f"bash -c 'echo x > /dev/tcp/127.0.0.1/{FACTS['port']} && echo in'"
        ),
    },
)
many(
    "ipc",
    {
        "shm": lambda: call(29, 194, FACTS["shm"], 0, 0),
        "shm new": lambda: call(29, 194, 0, 4096, 0o1600),
        "semaphore": lambda: call(64, 190, 0, 1, 0o1600),
        "message queue": lambda: call(68, 186, 0, 0o1600),
        "posix queue": lambda: call(240, 180, b"yaa", 0o102, 0o600, None),
        "add key": lambda: call(248, 217, b"user", b"yaa", b"x", 1, -3),
        "keyctl": lambda: call(250, 219, 0, -3, 1),
        "request key": lambda: call(249, 218, b"user", b"yaa", None, 0),
        "memfd": lambda: call(319, 279, b"yaa", 0),
        "memfd secret": lambda: call(447, 447, 0),
    },
)

# -- the kernel -----------------------------------------------------------------------------------

many(
    "kernel",
    {
        "io_uring": lambda: call(425, 425, 1, b"\0" * 120),
        "bpf": lambda: call(321, 280, 0, b"\0" * 128, 128),
        "userfaultfd": lambda: call(323, 282, 1),
        "personality": lambda: call(135, 92, 0x0040000),
        "unshare user": lambda: call(272, 97, 0x10000000),
        "unshare mount": lambda: call(272, 97, 0x20000),
        "clone user": lambda: call(56, 220, 0x10000000 | signal.SIGCHLD, 0, 0, 0, 0),
        "clone3": lambda: call(435, 435, struct.pack("=11Q", 0x10000000, *[0] * 10), 88),
        "setns": lambda: call(308, 268, os.open("/proc/self/ns/net", os.O_RDONLY), 0),
        "mount": lambda: call(165, 40, b"tmpfs", b".", b"tmpfs", 0, None),
        "remount": lambda: call(165, 40, None, b"/", None, 32, None),
        "umount": lambda: call(166, 39, b"/proc", 2),
        "open tree": lambda: call(428, 428, -100, b".", 1),
        "fsopen": lambda: call(430, 430, b"tmpfs", 0),
        "mount setattr": lambda: call(442, 442, -100, b"/", 0, b"\0" * 32, 32),
        "pivot root": lambda: call(155, 41, b".", b"."),
        "chroot": lambda: os.chroot(".") or "moved",
        "hostname": lambda: call(170, 161, b"owned", 5),
        "clock": lambda: call(227, 112, 0, b"\0" * 16),
        "reboot": lambda: call(169, 142, 0xFEE1DEAD, 672274793, 0, None),
        "swap": lambda: call(168, 225, b"none"),
        "module": lambda: call(175, 105, b"", 0, b""),
        "kexec": lambda: call(246, 104, 0, 0, None, 0),
        "syslog": lambda: call(103, 116, 3, ctypes.create_string_buffer(64).raw, 64),
        "quota": lambda: call(179, 60, 0, None, 0, None),
        "newest": lambda: call(463, 463, -100, b".", 0, b"user.x", b"\0" * 16, 16),
        "x32": lambda: call(0x40000000 + 39, 9999),
        "terminal": lambda: fcntl.ioctl(0, 0x5412, b"x"),
    },
)
many(
    "rights",
    {
        "setuid 0": lambda: os.setresuid(0, 0, 0) or "root",
        "setgid 0": lambda: os.setresgid(0, 0, 0) or "root",
        "groups": lambda: os.setgroups([0]) or "set",
        "su": lambda: shell("su -c id root </dev/null"),
        "sudo": lambda: shell("sudo -n id"),
        "capabilities": lambda: next(
            (
                line
                for line in open("/proc/self/status")
                if line.startswith(("CapEff", "CapPrm")) and int(line.split()[1], 16)
            ),
            None,
        ),
        "capset": lambda: call(126, 91, struct.pack("=Ii", 0x20080522, 0), b"\xff" * 24),
        "privileges to come": lambda: next(
            (line for line in open("/proc/self/status") if line.startswith("NoNewPrivs:\t0")), None
        ),
        "no filter": lambda: next(
            (line for line in open("/proc/self/status") if line.startswith("Seccomp:\t0")), None
        ),
        "drop the filter": lambda: call(317, 277, 1, 0, b"\0" * 16),
        "uid map": opens_for_writing(lambda: f"/proc/{os.getppid()}/uid_map"),
    },
)


@attack
def inherited_descriptors():
    """Files or sockets of the server's that came along."""
    strange = []
    for name in range(3, 1024):
        try:
            target = os.readlink(f"/proc/self/fd/{name}")
        except OSError:
            continue
        if not target.startswith(("pipe:", "/proc", "/dev/null")):
            strange.append(target)
    return strange or None


@attack
def secrets_in_the_environment():
    return [name for name in os.environ if FACTS["word"] in os.environ[name]] or None


@attack
def old_system_calls():
    """int 0x80: the 32-bit table, past a filter of 64-bit numbers."""
    if not X86:
        raise Stopped
    child = os.fork()
    if child == 0:
        code = mmap.mmap(-1, 4096, prot=7)
        code.write(b"\xb8\x14\x00\x00\x00\xcd\x80\xc3")  # mov eax, getpid; int 0x80; ret
        ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(code)))()
        os._exit(0)
    return None if os.WIFSIGNALED(os.waitpid(child, 0)[1]) else "ran"


@tool
def attempt(name: str, facts: dict[str, object]) -> dict[str, str]:
    """Try one. "" for what was stopped, and by what."""
    FACTS.update(facts)
    os.makedirs("try", exist_ok=True)
    os.chdir("try")
    try:
        found = ATTACKS[name]()
    except OSError as error:
        return {"came": "", "by": errno.errorcode.get(error.errno or 0, str(error))}
    except (Stopped, subprocess.SubprocessError, ValueError, StopIteration) as error:
        return {"came": "", "by": str(error)}
    return {"came": "" if found is None else str(found)[:100] or "done", "by": ""}


@tool
def names() -> list[str]:
    """All attempts."""
    return list(ATTACKS)
