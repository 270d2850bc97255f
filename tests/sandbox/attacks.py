"""An owner's tool file that tries to get out: run by test_battery.py inside the sandbox, one call
for each attempt, and without any sandbox as the control. An attempt raises where it is stopped;
what it returns is the evidence that it was not. Since in the control nearly all succeed, nothing
here may be unbounded or do harm where it does: what is made is taken away again, settings are set
to what they are, mounts are made apart, and calls that would do harm to the machine are made so
that they cannot work, and count when the kernel has looked at them (`reached`)."""

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
import time

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


def reached(x86, arm, *args):
    """A call that can do nothing: what says other than that it is not allowed or not there has
    looked at its arguments."""

    def attempt():
        try:
            return call(x86, arm, *args)
        except OSError as error:
            if error.errno in (errno.EPERM, errno.EACCES, errno.ENOSYS):
                raise
            return f"answered {errno.errorcode.get(error.errno)}"

    return attempt


def apart():
    """Away from the machine's own mounts and name, where that is possible: in namespaces of its
    own. Where it is not, nothing happens in the control."""
    os.makedirs("m", exist_ok=True)
    if C.unshare(0x10000000 | 0x20000 | 0x4000000) != 0 and FACTS["control"]:
        raise Stopped("no namespace of its own")


def mounting(function):
    def attempt():
        apart()
        return function()

    return attempt


def tmpfs(place):
    return call(165, 40, b"tmpfs", os.path.abspath(place).encode(), b"tmpfs", 0, None)


def on_a_mount(function):
    """With a mount of its own, if it gets one: there the refusal of another call shows."""

    def attempt():
        apart()
        try:
            tmpfs("m")
        except OSError:
            pass
        return function(os.path.abspath("m").encode())

    return attempt


def any_of(attempts):
    """Many attempts of a kind in one call: the names of those that were not stopped."""

    def attempt():
        through = []
        for name, one in attempts().items():
            try:
                if one() is not None:
                    through.append(name)
            except (OSError, ValueError):
                continue
        return ", ".join(through) or None

    return attempt


def raw_child(x86, arm, *args):
    """A call that returns twice."""

    def attempt():
        number = ctypes.c_long(x86 if X86 else arm)
        words = [ctypes.c_char_p(a) if isinstance(a, bytes) else ctypes.c_long(a) for a in args]
        found = C.syscall(number, *words)
        if found == 0:
            os._exit(0)
        if found < 0:
            raise OSError(ctypes.get_errno(), "refused")
        os.waitpid(found, 0)
        return "made"

    return attempt


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


def planting(path):
    """Make a file that is not ours to make, and take it away."""

    def attempt():
        with open(path, "x"):
            os.unlink(path)
        return "made"

    return attempt


def making(function, undo):
    """What it does is undone at once."""

    def attempt():
        found = function()
        undo()
        return str(found) if found is not None else "done"

    return attempt


def server(name=""):
    return f"/proc/{FACTS['server']}/{name}"


def folder():
    return os.path.dirname(secret())


def buffer(start, size=256):
    """Memory that the kernel may write to, by its address."""
    kept.append(ctypes.create_string_buffer(start, size))
    return ctypes.addressof(kept[-1])


kept = []


# -- files ----------------------------------------------------------------------------------------


def others():
    """What tells of the server and the processes above this one, or lets them be changed."""
    pids, at = {FACTS["server"], 1}, os.getppid()
    while at > 1:
        pids.add(at)
        at = int(open(f"/proc/{at}/stat").read().rpartition(")")[2].split()[1])
    inner = ("mem", "environ", "maps", "pagemap", "syscall", "stack", "auxv", "clear_refs")
    return {f"{pid} {name}": can_open(f"/proc/{pid}/{name}") for pid in pids for name in inner}


def can_open(path, flags=os.O_RDONLY | os.O_NONBLOCK):
    def attempt():
        os.close(os.open(path, flags))
        return "opened"

    return attempt


def settings():
    """Every setting of the kernel."""
    paths = [f"{at}/{name}" for at, _, names in os.walk("/proc/sys") for name in names]
    return {path: can_open(path, os.O_WRONLY) for path in paths}


# None that does something when it is opened, as watchdogs do.
DEVICES = """kvm fuse net/tun net/tap loop-control loop0 ptmx console kmsg mem port kmem hpet
    userfaultfd vhost-net vhost-vsock uinput uhid mapper/control btrfs-control vfio/vfio snapshot
    cuse ppp rfkill vda sda nvme0n1 dm-0 mqueue hugepages shm/x input/event0 dri/card0 snd/seq
    cpu/0/msr""".split()
many(
    "each",
    {
        "process outside": any_of(others),
        "setting": any_of(settings),
        "device": any_of(lambda: {name: can_open(f"/dev/{name}") for name in DEVICES}),
        "socket family": any_of(
            lambda: {
                f"{family} {kind}": sock(family, kind)
                for family in range(1, 47)
                for kind in (1, 2, 3, 5)
            }
        ),
        "namespace": any_of(
            lambda: {
                hex(flag): raw_child(56, 220, flag | signal.SIGCHLD, 0, 0, 0, 0)
                for flag in (0x20000, 0x2000000, 0x4000000, 0x8000000, 1 << 29, 1 << 30)
            }
        ),
        "unshare": any_of(
            lambda: {hex(flag): lambda flag=flag: unshared(flag) for flag in NAMESPACES}
        ),
        "link of a namespace": any_of(
            lambda: {
                name: lambda name=name: os.readlink(server(f"ns/{name}"))
                for name in ("mnt", "net", "pid", "user", "time")
            }
        ),
        "new call": any_of(lambda: {str(n): reached(n, n, -1, 0, 0, 0) for n in range(463, 480)}),
        "mount call": any_of(
            lambda: {
                str(n): reached(n, n, -1, None, 0, None, 0) for n in (428, 429, 430, 431, 432, 433)
            }
        ),
        "asynchronous call": any_of(
            lambda: {f"{x}": reached(x, arm, 0, 0, None, None) for x, arm in AIO}
        ),
    },
)


def unshared(flag):
    """In a child, so that the next attempt is where it was."""
    child = os.fork()
    if child == 0:
        os._exit(0 if C.unshare(flag) == 0 else 1)
    return None if os.waitpid(child, 0)[1] else "made"


NAMESPACES = (0x80, 0x20000, 0x2000000, 0x4000000, 0x8000000, 1 << 28, 1 << 29, 1 << 30)
AIO = ((207, 1), (208, 4), (209, 2), (210, 3), (333, 292))

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
        "server fd": reads(lambda: server(f"fd/{FACTS['fd']}")),
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
        "new in etc": planting("/etc/yaa-planted"),
        "new in usr": planting("/usr/yaa-planted"),
        "new in root": planting("/yaa-planted"),
        "new in var": planting("/var/yaa-planted"),
        "new in shared tmp": planting(f"/var/tmp/yaa-planted-{os.getpid()}"),
        "sysctl": opens_for_writing(lambda: "/proc/sys/kernel/core_pattern"),
        "hostname": opens_for_writing(lambda: "/proc/sys/kernel/hostname"),
        "sysrq": opens_for_writing(lambda: "/proc/sysrq-trigger"),
        "server oom": opens_for_writing(lambda: server("oom_score_adj")),
        "cgroup": making(
            lambda: os.mkdir("/sys/fs/cgroup/yaa-planted"),
            lambda: os.rmdir("/sys/fs/cgroup/yaa-planted"),
        ),
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
        "rmdir other": lambda: os.rmdir(f"{folder()}/empty") or "gone",
        "fifo out": lambda: os.mkfifo(f"{folder()}/planted") or "made",
        "device": lambda: os.mknod("disk", 0o60600, os.makedev(254, 0)) or "made",
        "memory device": lambda: os.mknod("mem", 0o20600, os.makedev(1, 1)) or "made",
        "xattr program": making(
            lambda: os.setxattr("/usr/bin/env", "user.yaa", b"1"),
            lambda: os.removexattr("/usr/bin/env", "user.yaa"),
        ),
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
        "by handle": reached(304, 265, -100, b"\0" * 64, 0),
        "name to handle": lambda: call(303, 264, -100, b".", buffer(b"\x80\0\0\0"), buffer(b""), 0),
    },
)


def watches(path):
    """inotify_init1 and inotify_add_watch, for whatever happens there."""

    def attempt():
        watch = int(call(294, 26, 0).split()[1])
        try:
            return call(254, 27, watch, path().encode(), 0xFFF)
        finally:
            os.close(watch)

    return attempt


def notified():
    place = os.open("/usr/bin", os.O_RDONLY)
    try:
        fcntl.fcntl(place, 1026, 16)  # F_NOTIFY, DN_RENAME
    finally:
        os.close(place)
    return "watched"


many(
    "metadata",
    {
        "stat secret": lambda: os.stat(secret()).st_size,
        "list outside": lambda: str(os.listdir(folder())),
        "chmod secret": lambda: os.chmod(secret(), 0o777) or "changed",
        "xattr secret": lambda: os.setxattr(secret(), "user.x", b"1") or "changed",
        "xattr of a file open to all": lambda: (
            os.setxattr(FACTS["anyone"], "user.x", b"1") or "changed"
        ),
        "list xattr": lambda: str(os.listxattr(FACTS["anyone"])),
        "get xattr": lambda: str(os.getxattr(FACTS["anyone"], "user.origin")),
        "remove xattr": lambda: os.removexattr(FACTS["anyone"], "user.origin") or "gone",
        "inotify outside": watches(folder),
        "inotify system": watches(lambda: "/usr/bin"),
        "fanotify": lambda: call(300, 262, 0x200, 0),
        "directory notify": notified,
        "utime secret": lambda: os.utime(secret(), (1, 1)) or "changed",
        "chdir outside": lambda: os.chdir(folder()) or "there",
        "server cmdline": reads(lambda: server("cmdline")),
        "host name": lambda: os.uname().nodename if os.uname().nodename != "localhost" else None,
        "hosts file": lambda: (
            "named" if FACTS["host"] in open("/etc/hosts").read().split() else None
        ),
        "folders in command lines": lambda: next(
            (
                pid
                for pid in (1, os.getppid())
                if folder() in open(f"/proc/{pid}/cmdline", errors="replace").read()
            ),
            None,
        ),
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


def signals_supervisor():
    """A moment to stop in, on another processor; the control's keeper does not wait for ever."""
    parent, stopped, end = os.getppid(), False, time.monotonic() + 0.5
    os.kill(parent, signal.SIGSTOP)
    while not stopped and time.monotonic() < end:
        stopped = open(f"/proc/{parent}/stat").read().rpartition(")")[2].split()[0] == "T"
        os.sched_yield()
    os.kill(parent, signal.SIGCONT)
    return "stopped" if stopped else None


def traces(pid, request=16):
    """PTRACE_ATTACH or SEIZE, and let go of it again."""

    def attempt():
        found = call(101, 117, request, pid(), 0, 0)
        if request == 16:
            os.waitpid(pid(), 0x40000000)
            call(101, 117, 17, pid(), 0, 0)
        return found

    return attempt


def vector(address):
    """A struct iovec for one byte."""
    return struct.pack("=QQ", address, 1)


def cold():
    page = FACTS["address"] & ~(mmap.PAGESIZE - 1)
    handle = os.pidfd_open(FACTS["server"])
    return call(440, 440, handle, struct.pack("=QQ", page, mmap.PAGESIZE), 1, 20, 0)


def byte_of_server(x86, arm):
    """The byte is copied here, or put back as it is."""
    return lambda: call(
        x86, arm, FACTS["server"], vector(buffer(b"?")), 1, vector(FACTS["address"]), 1, 0
    )


# perf_event_attr: a software clock, user mode only
PERF = struct.pack("=IIQQQQQ", 1, 64, 0, 0, 0, 0, 1 << 5 | 1 << 6) + b"\0" * 16
many(
    "process",
    {
        "signal 0": signalled(0),
        "signal cont": signalled(signal.SIGCONT),
        "zygote": lambda: os.kill(FACTS["zygote"], 0) or "delivered",
        "group": lambda: os.killpg(FACTS["server"], 0) or "delivered",
        "tgkill": lambda: call(234, 131, FACTS["server"], FACTS["server"], 0),
        "sigqueue": lambda: call(
            129, 138, FACTS["server"], 0, struct.pack("=iii", 0, 0, -1) + b"\0" * 116
        ),
        "pidfd": lambda: call(424, 424, os.pidfd_open(FACTS["server"]), 0, None, 0),
        "pidfd getfd": lambda: call(438, 438, os.pidfd_open(os.getppid() or 1), 0, 0),
        "supervisor": signals_supervisor,
        "ptrace attach": traces(lambda: FACTS["server"]),
        "ptrace seize": traces(lambda: FACTS["server"], 0x4206),
        "ptrace supervisor": traces(os.getppid, 0x4206),
        "ptrace me": lambda: call(101, 117, 0, 0, 0, 0),
        "vm read": byte_of_server(310, 270),
        "vm write": byte_of_server(311, 271),
        "madvise": cold,
        "kcmp": lambda: call(312, 272, os.getpid(), FACTS["server"], 0, 0, 0),
        "prlimit": lambda: str(resource.prlimit(FACTS["server"], resource.RLIMIT_CPU)),
        "prlimit supervisor": lambda: str(resource.prlimit(os.getppid(), resource.RLIMIT_CPU)),
        "affinity": lambda: os.sched_setaffinity(FACTS["server"], FACTS["cores"]) or "set",
        "scheduler": lambda: os.sched_setscheduler(FACTS["server"], 0, os.sched_param(0)) or "set",
        "renice": lambda: os.setpriority(os.PRIO_PROCESS, FACTS["server"], FACTS["nice"]) or "set",
        "ioprio": lambda: call(251, 30, 1, FACTS["server"], 2 << 13 | 4),
        # Of a user without processes: nothing changes, and the kernel says that it found none.
        "renice a user": reached(141, 140, 2, 54321, 0),
        "renice a group": reached(141, 140, 1, 54321, 0),
        "ioprio of a user": reached(251, 30, 3, 54321, 2 << 13 | 4),
        "ioprio of a group": reached(251, 30, 2, 54321, 2 << 13 | 4),
        "everybody": lambda: os.kill(-1, 0) or "delivered",
        "release memory": lambda: reached(448, 448, os.pidfd_open(FACTS["server"]), 0)(),
        "namespace by pidfd": lambda: fcntl.ioctl(os.pidfd_open(os.getppid()), 0xFF03) and "got",
        "raise own cpu": lambda: resource.setrlimit(resource.RLIMIT_CPU, (-1, -1)) or "raised",
        "raise own files": lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (-1, -1)) or "raised",
        "perf": lambda: call(298, 241, PERF, FACTS["server"], -1, -1, 0),
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


def loose_pair(kind):
    """Half of a pair that is connected for now, sent elsewhere."""

    def attempt():
        one, _two = socket.socketpair(socket.AF_UNIX, kind)
        return one.sendto(b"x", FACTS["letters"])

    return attempt


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
        "pair": loose_pair(socket.SOCK_DGRAM),
        "raw pair": loose_pair(socket.SOCK_RAW),
        "bash tcp": lambda: shell(
            f"bash -c 'echo x > /dev/tcp/127.0.0.1/{FACTS['port']} && echo in'"
        ),
    },
)


def removed(x86, arm, made):
    """Take an object of System V away again: IPC_RMID is 0, and so are the words about it."""
    call(x86, arm, int(made.split()[1]), 0, 0)
    return made


many(
    "ipc",
    {
        "shm": lambda: call(29, 194, FACTS["shm"], 0, 0),
        "shm new": lambda: removed(31, 195, call(29, 194, 0, 4096, 0o1600)),
        "semaphore": lambda: removed(66, 191, call(64, 190, 0, 1, 0o1600)),
        "message queue": lambda: removed(71, 187, call(68, 186, 0, 0o1600)),
        "posix queue": lambda: (
            call(240, 180, b"yaa", 0o102, 0o600, None),
            call(241, 181, b"yaa"),
            "made",
        ),
        "add key": lambda: call(248, 217, b"user", b"yaa", b"x", 1, -2),
        "keyctl": lambda: call(250, 219, 0, -2, 1),
        "request key": reached(249, 218, b"user", b"yaa-none", None, 0),
        "memfd": lambda: call(319, 279, b"yaa", 0),
        "memfd secret": lambda: call(447, 447, 0),
    },
)

# -- the kernel -----------------------------------------------------------------------------------


def held_in_a_pipe():
    kept_here = mmap.mmap(-1, 4096)
    address = ctypes.addressof(ctypes.c_char.from_buffer(kept_here))
    return call(278, 75, os.pipe()[1], struct.pack("=QQ", address, 1), 1, 0)


def from_a_file(x86, arm):
    """One byte of a file, to a pipe: splice(2), or sendfile(2)."""

    def attempt():
        with open("page", "wb+") as file:
            file.write(b"x" * 4096)
            file.flush()
            if x86 == 40:
                return call(x86, arm, os.pipe()[1], file.fileno(), buffer(b"", 8), 1)
            return call(x86, arm, file.fileno(), buffer(b"", 8), os.pipe()[1], None, 1, 0)

    return attempt


def between_pipes():
    one, other = os.pipe(), os.pipe()
    os.write(one[1], b"x")
    return call(276, 77, one[0], other[1], 1, 0)


def socket_filter():
    program = struct.pack("=HBBI", 6, 0, 0, 0xFFFF)
    one, _two = socket.socketpair()
    one.setsockopt(1, 26, struct.pack("@HP", 1, buffer(program)))
    return "attached"


def contexts():
    place = buffer(b"", 8)
    call(206, 0, 1, place)
    return call(207, 1, ctypes.c_ulong.from_address(place).value)


many(
    "hold",
    {
        "page in a pipe": held_in_a_pipe,
        "page of a file": from_a_file(275, 76),
        "page by sendfile": from_a_file(40, 71),
        "page of a pipe": between_pipes,
        "socket filter": socket_filter,
        "aio": contexts,
        "rule set": lambda: call(444, 444, struct.pack("=Q", 1), 8, 0),
        "policy of memory": lambda: call(238, 237, 0, None, 0),
        "policy of a range": reached(237, 235, None, 0, 0, None, 0, 0),
        "futex table": lambda: call(157, 167, 78, 1, 4, 0, 0),
        "huge page": lambda: str(len(mmap.mmap(-1, 2 << 20, mmap.MAP_PRIVATE | 0x40020))),
        "core": lambda: call(157, 167, 62, 0, 0, 0, buffer(b"", 8)),
        "queued signals": lambda: (
            str(resource.getrlimit(resource.RLIMIT_SIGPENDING))
            if resource.getrlimit(resource.RLIMIT_SIGPENDING)[1] > 4096
            else None
        ),
    },
)
many(
    "kernel",
    {
        "io_uring": lambda: call(425, 425, 1, buffer(b"")),
        "bpf": lambda: call(321, 280, 0, struct.pack("=IIII", 2, 4, 4, 1) + b"\0" * 112, 128),
        "userfaultfd": lambda: call(323, 282, 1),
        "personality": lambda: call(135, 92, 0x0040000),
        "unshare user": lambda: call(272, 97, 0x10000000),
        "unshare mount": lambda: call(272, 97, 0x10000000 | 0x20000),
        "unshare network": lambda: call(272, 97, 0x10000000 | 0x40000000),
        "clone user": raw_child(56, 220, 0x10000000 | signal.SIGCHLD, 0, 0, 0, 0),
        "clone3": raw_child(
            435, 435, struct.pack("=11Q", 0x10000000, 0, 0, 0, signal.SIGCHLD, *[0] * 6), 88
        ),
        "setns": mounting(
            lambda: call(308, 268, os.open("/proc/self/ns/uts", os.O_RDONLY), 0x4000000)
        ),
        "mount": mounting(lambda: tmpfs("m")),
        "bind": mounting(lambda: call(165, 40, b"/etc", os.getcwdb(), None, 4096, None)),
        "remount": on_a_mount(lambda place: call(165, 40, None, place, None, 32 | 4096, None)),
        "umount": on_a_mount(lambda place: call(166, 39, place, 2)),
        "move mount": on_a_mount(lambda place: call(429, 429, -100, place, -100, os.getcwdb(), 0)),
        "open tree": mounting(lambda: call(428, 428, -100, b".", 1)),
        "fsopen": mounting(lambda: call(430, 430, b"tmpfs", 0)),
        "mount setattr": on_a_mount(
            lambda place: call(442, 442, -100, place, 0, struct.pack("=QQQQ", 1, 0, 0, 0), 32)
        ),
        "pivot root": on_a_mount(lambda place: (os.chdir(place), call(155, 41, b".", b"."))[1]),
        "chroot": mounting(lambda: os.chroot(".") or "moved"),
        "hostname": mounting(lambda: call(170, 161, b"owned", 5)),
        "domain name": mounting(lambda: call(171, 162, b"owned", 5)),
        # No such nanosecond, no such magic number, no such file, too many segments.
        "clock": reached(227, 112, 0, struct.pack("=qq", 0, 2 * 10**9)),
        "time of day": reached(164, 170, struct.pack("=qq", 0, 2 * 10**9), None),
        "reboot": reached(169, 142, 1, 2, 3, None),
        "swap": reached(168, 225, b"none"),
        "module": reached(175, 105, b"", 0, b""),
        "kexec": reached(246, 104, 0, 17, None, 0),
        "quota": reached(179, 60, 0, None, 0, None),
        "accounting": reached(163, 89, b"none"),
        "syslog": lambda: call(103, 116, 3, buffer(b""), 64),
        "newest": lambda: call(463, 463, -100, b".", 0, b"user.x", b"\0" * 16, 16),
        "x32": lambda: call(0x40000000 + 39, 9999),
        "terminal": lambda: str(fcntl.ioctl(os.openpty()[1], 0x5412, b"x")),
        "console": lambda: str(fcntl.ioctl(os.openpty()[1], 0x541C, b"\x0c")),
        "time offsets": opens_for_writing(lambda: "/proc/self/timens_offsets"),
        "local table": lambda: call(154, -1, 0, buffer(b""), 8),
        "ports": lambda: call(172, -1, 0),
        "adjust clock": lambda: call(159, 171, buffer(b"", 256)),
        "move pages": lambda: reached(279, 239, FACTS["server"], 0, None, None, None, 0)(),
        "migrate pages": lambda: reached(256, 238, FACTS["server"], 0, None, None)(),
        "lsm": reached(460, 460, 9999, b"", 0, 0),
        "statmount": reached(457, 457, b"\0" * 8, buffer(b""), 8, 0),
        "listmount": reached(458, 458, b"\0" * 8, buffer(b""), 8, 0),
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
        "capset": lambda: call(
            126, 91, struct.pack("=Ii", 0x20080522, 0), struct.pack("=6I", 1, 1, 0, 0, 0, 0)
        ),
        "privileges to come": lambda: next(
            (line for line in open("/proc/self/status") if line.startswith("NoNewPrivs:\t0")), None
        ),
        "no filter": lambda: next(
            (line for line in open("/proc/self/status") if line.startswith("Seccomp:\t0")), None
        ),
        "another filter": reached(317, 277, 1, 0, b"\0" * 16),
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
