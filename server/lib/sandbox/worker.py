"""A worker: prepared before its call is known, used for one process of a tool, then gone.

There are two processes. The first (`serve` from `ready` on) is pid 1 in namespaces of its own; it
builds the root, waits for the call and supervises it. The second takes on the restrictions, most of
them before it receives the call, and becomes the tool (child.work). In tiers B and C the first is a
subreaper instead of pid 1.

A step that fails before the tool runs is reported to the server and ends the worker; no step is
skipped. The control socket is the lifeline: when it closes, everything ends.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import functools
import gc
import json
import os
import resource
import select
import signal
import socket
import stat
import struct
import subprocess
import time
from pathlib import Path
from typing import Any, NoReturn

from . import child, host_programs, supervisor, syscalls
from .policy import (
    DEVICES,
    PLACES,
    PROXY_BACKLOG,
    PROXY_PORT,
    SCRATCH,
    SCRATCH_FILES,
    SCRATCH_MB,
    SCRATCH_NAME,
    SESSION,
    SETTINGS,
    STATE,
    SYSTEM,
    WORKSPACE,
    SandboxPolicy,
)
from .supervisor import Supervisor
from .tool_context import Context

# -- mounts ---------------------------------------------------------------------------------------
# The file system of a tool in tier A, built in a mount namespace of its own.
#
# `build_root` runs before there is a call: it makes everything but the call's folders and detaches
# the old root. All folders that some call may get are staged at one place, which `mount_folders`
# detaches as a whole once it has copied those of the call. No mount point is ever made below a path
# that a tool could have written to (CVE-2026-87766): the root is new and used once.

# Possible places for the new root while it is built; what is mounted must not be below it.
NEW_ROOTS = ("/sys", "/mnt", "/media", "/srv")
FILES = syscalls.ATTR_RDONLY | syscalls.ATTR_NOSUID
SCRATCH_FLAGS = syscalls.MS_NOSUID | syscalls.MS_NODEV
OWN = syscalls.ATTR_NOSUID | syscalls.ATTR_NODEV
STAGE = WORKSPACE  # until there is a call
# A program that asks for its own name finds its address. Without the host's network the files that
# name hosts hold nothing else.
HOST_NAME = "localhost"
NAMES = {
    "/etc/hosts": "127.0.0.1 localhost\n::1 localhost\n",
    "/etc/resolv.conf": "",
}
O_PLACE = os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC
FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
MAX_CONFIG = 64 << 10
MOST_PROTECTED = 200  # mounts; what is beyond is taken back after the call
LINKS = {"fd": "fd", "stdin": "fd/0", "stdout": "fd/1", "stderr": "fd/2"}


def build_root(policy: SandboxPolicy) -> None:
    """Make the new root and change to it for good.

    Needs the capabilities of the mount namespace. Raises OSError.
    """
    os.umask(0o022)
    syscalls.mount(None, "/", syscalls.MS_REC | syscalls.MS_PRIVATE)
    new = place_of_root((*policy.read, *policy.staged))
    syscalls.mount("tmpfs", new, SCRATCH_FLAGS, "size=1m,mode=755")
    for name in ("proc", "tmp", "dev", "dev/shm", *(place.lstrip("/") for place in PLACES)):
        Path(new, name).mkdir()
    scratch = f"size={SCRATCH_MB}m,nr_inodes={SCRATCH_FILES},mode=1777"
    syscalls.mount("tmpfs", f"{new}/tmp", SCRATCH_FLAGS, scratch)
    replaced = () if policy.network == "full" else NAMES
    for name in replaced:
        Path(new, "etc").mkdir(exist_ok=True)
        Path(new + name).write_text(NAMES[name])
    for path in (*SYSTEM, *SETTINGS, *policy.read):
        if path not in replaced:
            mount_copy(path, new, FILES | syscalls.ATTR_NODEV)
    for path, target in policy.links:  # after all that they may lie in
        place = Path(new + path)
        if not os.path.lexists(place):
            place.parent.mkdir(parents=True, exist_ok=True)
            place.symlink_to(target)
    for path in DEVICES:
        mount_copy(path, new, syscalls.ATTR_NOSUID | syscalls.ATTR_NOEXEC)
    for name, target in LINKS.items():
        Path(new, "dev", name).symlink_to(f"/proc/self/{target}")
    syscalls.mount("tmpfs", f"{new}/dev/shm", SCRATCH_FLAGS | syscalls.MS_NOEXEC, scratch)
    syscalls.mount("proc", f"{new}/proc", SCRATCH_FLAGS | syscalls.MS_NOEXEC)
    stage(policy.staged, new + STAGE)
    syscalls.pivot(new)
    syscalls.freeze("/")


def place_of_root(needed: tuple[str, ...]) -> str:
    """Return a folder that holds nothing of what is needed. Raises OSError if there is none."""
    for place in NEW_ROOTS:
        if Path(place).is_dir() and not any(Path(path).is_relative_to(place) for path in needed):
            return place
    raise OSError(errno.ENOENT, os.strerror(errno.ENOENT), " ".join(NEW_ROOTS))


def mount_copy(path: str, new: str, attributes: int) -> None:
    """Repeat a path in the new root, if it exists: symlinks of SYSTEM as such, all else mounted."""
    source, target = Path(path), Path(new + path)
    target.parent.mkdir(parents=True, exist_ok=True)
    if source.is_symlink() and path in SYSTEM:
        target.symlink_to(source.readlink())
    elif source.is_dir():
        target.mkdir(exist_ok=True)
        syscalls.bind(path, str(target), attributes)
    elif source.exists():
        target.touch()
        syscalls.bind(path, str(target), attributes)


def stage(folders: tuple[str, ...], at: str) -> None:
    """Mount each of these folders below `at`, under its number.

    A folder that cannot be mounted now is left out: a call that wants it fails, others do not.
    """
    syscalls.mount("tmpfs", at, SCRATCH_FLAGS, "size=1m,mode=755")
    for number, folder in enumerate(folders):
        place = Path(at, str(number))
        place.mkdir()
        with contextlib.suppress(OSError):
            syscalls.bind(folder, str(place), OWN)


def mount_folders(mounts: list[dict[str, Any]], staged: tuple[str, ...]) -> None:
    """Mount the folders of the call at their places, and detach the stage with all others.

    `mounts`: see policy.Mount.request. Raises OSError if a folder is not staged, or is another one
    than the server saw: it was replaced since `build_root`.
    """
    copies = []
    for mount in mounts:
        number, name = staged_place(mount["path"], staged)
        attributes = OWN if mount["writable"] else OWN | syscalls.ATTR_RDONLY
        copy = syscalls.clone_mount(
            f"{STAGE}/{number}/{name}".rstrip("/"), attributes, follow=False
        )
        check_identity(copy, mount)
        copies.append((copy, mount["at"]))
    syscalls.detach(STAGE)
    for copy, at in copies:
        if at not in PLACES:
            raise OSError(errno.EINVAL, os.strerror(errno.EINVAL), at)
        syscalls.attach(copy, at)
    for mount in mounts:
        if mount["protected"] is not None:
            protect(mount["at"], mount["protected"])


def protect(top: str, places: list[str]) -> None:
    """Make what the owner's programs run read-only: what is at the top, and these places below.

    What is not there can still be made: the workspace process takes that back (workspace/guard.py).
    A repository is mounted over itself, since the kernel lets nobody rename a mount.
    """
    names: dict[tuple[str, ...], set[str]] = {(".git",): set(host_programs.REPOSITORY)}
    for text in places[:MOST_PROTECTED]:
        *above, name = text.split("/")
        if above:
            names.setdefault(tuple(above), set()).add(name)
    with os.scandir(top) as entries:
        folders = {entry.name: entry.is_dir(follow_symlinks=False) for entry in entries}
    found = host_programs.protected_names("", folders, folders.__getitem__)
    opened = os.open(top, O_PLACE)
    try:
        for name in found:
            bind_name(opened, name, syscalls.ATTR_RDONLY)
        for place in sorted(names, key=len):
            if folders.get(place[0]):
                protect_below(opened, place, names[place])
    finally:
        os.close(opened)


def protect_below(top: int, place: tuple[str, ...], names: set[str]) -> None:
    """Make some names of a folder below `top` read-only, where they are, by way of no link."""
    opened = [top]
    try:
        for name in place[:-1]:
            opened.append(os.open(name, O_PLACE, dir_fd=opened[-1]))
        if place[-1] in host_programs.PARTS or not names.isdisjoint(host_programs.REPOSITORY):
            bind_name(opened[-1], place[-1])
        opened.append(os.open(place[-1], O_PLACE, dir_fd=opened[-1]))  # the mount, if it is one
        for name in names:
            bind_name(opened[-1], name, syscalls.ATTR_RDONLY)
        if "config" in names and "modules" in place:
            cover_config(opened[-1])
    except (FileNotFoundError, NotADirectoryError, PermissionError):
        pass  # gone since, or closed to calls as well
    finally:
        for descriptor in opened[1:]:
            os.close(descriptor)


def bind_name(folder: int, name: str, attributes: int = 0) -> None:
    """Mount a name of an open folder over itself, unless it is a link. Raises OSError."""
    try:
        syscalls.bind_name(folder, name, attributes)
    except (FileNotFoundError, NotADirectoryError, PermissionError):
        pass  # gone since, or closed to calls as well
    except OSError:
        if not stat.S_ISLNK(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode):
            raise  # nothing can be mounted over a link


def cover_config(folder: int) -> None:
    """Mount a copy of a submodule's config without `core.worktree` over it. Raises OSError.

    `git submodule update` sets it again where it is set, which no mount allows. Git finds the
    worktree without it.
    """
    with os.fdopen(os.open("config", FILE, dir_fd=folder), "rb") as file:
        lines = file.read(MAX_CONFIG).splitlines(keepends=True)
        kept = [line for line in lines if not line.strip().startswith(b"worktree =")]
        if len(kept) == len(lines) or file.read(1):
            return
    copy = Path(SCRATCH[0], os.urandom(8).hex())
    copy.write_bytes(b"".join(kept))
    try:
        syscalls.attach_at(syscalls.clone_mount(str(copy), FILES), folder, "config")
    finally:
        copy.unlink()


def staged_place(path: str, staged: tuple[str, ...]) -> tuple[int, str]:
    """Return (the number of the staged folder that holds `path`, the name in it).

    The name is "" for the folder itself. Raises OSError if no staged folder holds it directly.
    """
    for number, folder in enumerate(staged):
        if path == folder:
            return number, ""
    parent, _, name = path.rpartition("/")
    if parent not in staged or name in ("", ".", ".."):
        raise OSError(errno.ENOENT, os.strerror(errno.ENOENT), path.rpartition("/")[2])
    return staged.index(parent), name


def check_identity(descriptor: int, mount: dict[str, Any]) -> None:
    """Raise OSError if the open folder is not the one that the server saw."""
    about = os.fstat(descriptor)
    if [about.st_dev, about.st_ino] != mount["identity"] or not stat.S_ISDIR(about.st_mode):
        name = mount["path"].rpartition("/")[2]
        raise OSError(errno.ESTALE, os.strerror(errno.ESTALE), name)


# -- warmup ---------------------------------------------------------------------------------------
# Warm up a worker before its call, so that the call finds its memory ready.
#
# A fork shares the zygote's memory; each page is copied when it is first written, while a call
# waits. Most pages that a call touches are the same for all calls: JSON, messages, the environment,
# starting a program. Doing that once without effect saves 1.2 ms for a call that does nothing and 2
# ms for one that starts a program. It leaves nothing behind.

LIKE_A_CALL = {
    "where": ["module", "", ""],
    "args": {"command": "true"},
    "limits": {"wall_s": 1.5, "cpu_s": 1},
    "state": {},
    "umask": 0o022,
    "env": {"HOME": "/", "LANG": "C.UTF-8", "PATH": os.defpath},
    "source": None,
}


def warm_up() -> None:
    """Do without effect what every call does."""
    request = json.loads(json.dumps(LIKE_A_CALL))
    reader, writer = os.pipe()
    context = Context(request["state"], functools.partial(child.send, writer), request["limits"])
    context.log("")
    child.send(writer, {"result": {"exit_code": 0, "output": ""}, "keep": context.keep})
    os.read(reader, 1024)
    os.environ.update(request["env"])
    with contextlib.suppress(OSError):
        subprocess.Popen([os.devnull], stdin=reader, stdout=writer)  # not a program
    os.environ.clear()
    os.close(reader)
    os.close(writer)


def warm_up_mounts(empty: str) -> None:
    """Look for what would be protected in a folder that holds nothing of it."""
    protect(empty, [".git/config"])
    opened = os.open(empty, O_PLACE)
    protect_below(opened, (".git",), {"config"})
    os.close(opened)


# -- worker ---------------------------------------------------------------------------------------

SPARE_MB = 1024  # of RLIMIT_DATA above the limit, so that the measurement finds the breach first
PREPARED, GO = "prepared", b"\1"
RESULTS, RULES, CALLS = 3, 4, 5  # the tool's descriptors besides its output; CALLS if stateful
PENDING = 4096  # timers and queued signals of a user: 400 bytes of kernel memory each
HEADER = 8  # bytes of the length before a call
SIOCSIFFLAGS, IFF_UP = 0x8914, 1  # netdevice(7)


def serve(control: int, policy: SandboxPolicy, filter: bytes, zygote: int) -> NoReturn:
    """Prepare, wait for a call, run it, exit. `zygote`: in tier A its pidfd."""
    try:
        isolate(policy, zygote)
        tool, door = fork_tool(control, policy, filter)
        report_ready(control, policy)
        warm_up()
        if policy.tier == "A":
            warm_up_mounts(STAGE)
    except OSError as error:
        send_message(control, {"failed": f"{error.filename or 'start'}: {error.strerror}"})
        os._exit(1)
    try:
        data, descriptors = receive_call(control)
    except OSError:  # the server closed with a message unread
        os._exit(0)
    forward_call(door, data, descriptors)  # the tool parses it while the folder is mounted here
    request: dict[str, Any] = json.loads(data)
    try:
        if policy.tier == "A":
            mount_folders(request["mounts"], policy.staged)
    except OSError as error:
        send_message(control, {"failed": f"{error.filename}: {error.strerror}"})
        os._exit(1)
    # Without this message the server concludes that nothing was run.
    send_message(control, {"taken": True})
    with door, contextlib.suppress(OSError):
        door.sendall(GO)
    limits = request["limits"]
    locate_folders(request, policy.tier)
    scratch = SCRATCH if policy.tier == "A" else ()
    disks = limited_folders(request)
    alone = policy.tier == "A" and policy.network != "full"
    supervision = Supervisor(tool, control, limits, disks, scratch, network=alone)
    send_message(control, {"end": supervision.run()})
    os._exit(0)


def locate_folders(request: dict[str, Any], tier: str) -> None:
    """Set `here`, where the call finds a mount, and `folder` and `home`, two of these."""
    for mount in request["mounts"]:
        mount["here"] = mount["at"] if tier == "A" else mount["path"]
    places = {mount["at"]: mount["here"] for mount in request["mounts"]}
    request["folder"] = places[WORKSPACE]
    request["home"] = places.get(SESSION) or places.get(STATE) or places[WORKSPACE]


def limited_folders(request: dict[str, Any]) -> list[supervisor.Disk]:
    """Return the folders whose size the call's limits hold for; [] without such a limit."""
    limit = request["limits"].get("disk_mb")
    return [
        supervisor.Disk(mount["here"], limit, adds=not mount["own"])
        for mount in request["mounts"]
        if limit is not None and mount["writable"]
    ]


# -- before there is a call -----------------------------------------------------------------------


def isolate(policy: SandboxPolicy, zygote: int) -> None:
    """Make the namespaces and the new root in tier A. Returns in the supervisor only.

    The process that makes them is not in the namespace of pids: it forks pid 1 and ends, which
    makes that a child of the zygote, whose end it follows.
    """
    syscalls.prctl(syscalls.PR_SET_NO_NEW_PRIVS, 1)
    if policy.tier != "A":
        syscalls.prctl(syscalls.PR_SET_CHILD_SUBREAPER, 1)
        return
    uid, gid = os.geteuid(), os.getegid()
    flags = syscalls.NEWNS | syscalls.NEWPID | syscalls.NEWIPC | syscalls.NEWUTS
    flags |= 0 if policy.network == "full" else syscalls.NEWNET
    if uid != 0:
        syscalls.prctl(syscalls.PR_SET_DUMPABLE, 1)
        flags |= syscalls.NEWUSER
    syscalls.unshare(flags)
    if uid != 0:
        syscalls.map_user(uid, gid)
    with contextlib.suppress(PermissionError):  # systemd's ProtectHostname: the host's name stays
        socket.sethostname(HOST_NAME)
    maker = syscalls.pidfd_open(os.getpid())
    if os.fork():
        os._exit(0)
    select.select([maker], [], [])  # before its end, the signal would be for that
    os.close(maker)
    # Not earlier: a change of credentials clears it.
    syscalls.prctl(syscalls.PR_SET_PDEATHSIG, signal.SIGKILL)
    if select.select([zygote], [], [], 0)[0]:  # it ended before the signal was asked for
        os._exit(0)
    os.close(zygote)
    build_root(policy)
    syscalls.prctl(syscalls.PR_SET_DUMPABLE, 0)


def report_ready(control: int, policy: SandboxPolicy) -> None:
    """Report that the worker is ready.

    With the network `proxy` the listening socket for the server's proxy is sent along. It is the
    only one that listens in the new network.
    """
    message = json.dumps({"ready": os.getpid()}).encode() + b"\n"
    if policy.network != "proxy" or policy.tier != "A":
        os.write(control, message)
        return
    with socket.socket() as any_one:
        loopback = struct.pack("16sH14x", b"lo", IFF_UP)
        fcntl.ioctl(any_one, SIOCSIFFLAGS, loopback)
    with (
        socket.create_server(("127.0.0.1", PROXY_PORT), backlog=PROXY_BACKLOG) as gate,
        socket.socket(fileno=os.dup(control)) as target,
    ):
        socket.send_fds(target, [message], [gate.fileno()])


def fork_tool(control: int, policy: SandboxPolicy, filter: bytes) -> tuple[int, socket.socket]:
    """Fork the process that becomes the tool. Returns (its pid, the socket for its call).

    Raises OSError if that process could not be prepared.
    """
    ours, theirs = socket.socketpair()
    tool = os.fork()
    if tool == 0:
        ours.close()
        os.close(control)
        become_tool(theirs, policy, filter)
    theirs.close()
    answer = ours.recv(200).decode()
    if answer != PREPARED:
        raise OSError(0, answer or "it ended", "prepare")
    return tool, ours


def become_tool(door: socket.socket, policy: SandboxPolicy, filter: bytes) -> NoReturn:
    """Prepare, receive the call, wait for GO and run the tool."""
    try:
        ruleset = restrict(policy, filter)
    except OSError as error:
        door.sendall(f"{error.filename or ''} {error.strerror}".encode()[:200])
        os._exit(1)
    door.sendall(PREPARED.encode())
    warm_up()
    data, descriptors = receive_call(door.fileno())
    request: dict[str, Any] = json.loads(data)
    locate_folders(request, policy.tier)
    if door.recv(len(GO)) != GO:
        os._exit(1)
    output, results, *calls = descriptors
    place_descriptors(output, results, ruleset, *calls)
    confined = functools.partial(confine, policy=policy)
    child.work(request, RESULTS, confined, CALLS if calls else -1)


def forward_call(door: socket.socket, data: bytes, descriptors: list[int]) -> None:
    """Send the call to the tool's process. If that has ended, the supervisor sees it later."""
    with contextlib.suppress(OSError):
        socket.send_fds(door, [len(data).to_bytes(HEADER, "big")], descriptors)
        door.sendall(data)
    for descriptor in descriptors:
        os.close(descriptor)


def receive_call(control: int) -> tuple[bytes, list[int]]:
    """Return (the call, the descriptors for its output and results). Exits if no call comes."""
    with socket.socket(fileno=os.dup(control)) as source:
        head, descriptors, _, _ = socket.recv_fds(source, HEADER, 3)
        while 0 < len(head) < HEADER:
            more = source.recv(HEADER - len(head))
            head = head + more if more else b""
        if not head:
            os._exit(0)
        data = bytearray()
        while (left := int.from_bytes(head, "big") - len(data)) > 0:
            if not (part := source.recv(min(left, 1 << 20))):
                os._exit(0)
            data += part
    return bytes(data), descriptors


def send_message(control: int, message: dict[str, Any]) -> None:
    """Send a message to the server, if it still listens."""
    try:
        os.write(control, json.dumps(message).encode() + b"\n")
    except OSError:  # the server is gone, and the lifeline ends this worker
        pass


# -- the tool -------------------------------------------------------------------------------------


def place_descriptors(output: int, results: int, ruleset: int, *calls: int) -> None:
    """Move the tool's descriptors to their fixed numbers and close all others."""
    high = [fcntl.fcntl(one, fcntl.F_DUPFD_CLOEXEC, 64) for one in (results, ruleset, *calls)]
    places = (1, 2, RESULTS, RULES, CALLS)[: 2 + len(high)]
    for source, target in zip((output, output, *high), places, strict=True):
        os.dup2(source, target, inheritable=target < RESULTS)
    os.closerange(places[-1] + 1, 1 << 20)


def restrict(policy: SandboxPolicy, filter: bytes) -> int:
    """Apply every restriction that does not depend on the call. Raises OSError.

    Returns a descriptor: Landlock's rules so far, or /dev/null if Landlock is not used.
    """
    syscalls.prctl(syscalls.PR_SET_PDEATHSIG, signal.SIGKILL)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    lower_limit(resource.RLIMIT_MEMLOCK, 64 * 1024)
    lower_limit(resource.RLIMIT_MSGQUEUE, 0)
    lower_limit(resource.RLIMIT_SIGPENDING, PENDING)
    if os.geteuid() == 0:
        syscalls.become_user(policy.run_as)
        if policy.tier == "A":
            # A user namespace of its own makes the kernel count processes for each call.
            syscalls.prctl(syscalls.PR_SET_DUMPABLE, 1)
            syscalls.unshare(syscalls.NEWUSER)
            syscalls.map_user(policy.run_as, policy.run_as)
    syscalls.prctl(syscalls.PR_SET_DUMPABLE, 1)
    syscalls.prctl(syscalls.PR_SET_PDEATHSIG, signal.SIGKILL)
    syscalls.drop_capabilities()
    rules = os.open("/dev/null", os.O_RDONLY)
    os.dup2(rules, 0)
    if policy.tier == "B" or (policy.tier == "A" and syscalls.landlock_abi()):
        gate = PROXY_PORT if policy.network == "proxy" else 0
        network = policy.network == "full"
        rules = syscalls.landlock(policy.rules(), network=network, connect=gate)
    if policy.tier != "C":
        syscalls.seccomp(filter)  # last: no rule set can be made after it
    return rules


def confine(request: dict[str, Any], *, policy: SandboxPolicy) -> None:
    """Apply the restrictions that depend on the call: limits, folder, environment.

    Raises OSError; then the tool does not run.
    """
    gc.enable()
    limits = request["limits"]
    crowd = 0 if policy.tier == "A" else supervisor.user_task_count(os.getuid())
    child.set_limits(request)
    lower_limit(resource.RLIMIT_DATA, round((limits["memory_mb"] + SPARE_MB) * 1024 * 1024))
    # Twice the limit and room for threads: measurement finds a breach, this stops a fork bomb.
    lower_limit(resource.RLIMIT_NPROC, crowd + 2 * round(limits["processes"]) + 64)
    if policy.tier != "C" and syscalls.landlock_abi():
        rights = syscalls.handled_rights(syscalls.landlock_abi())
        for mount in request["mounts"]:
            wanted = syscalls.CHANGE if mount["writable"] else syscalls.READ
            place = os.open(mount["here"], os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC)
            check_identity(place, mount)
            syscalls.landlock_allow_open(RULES, place, (wanted | syscalls.EXECUTE) & rights)
            os.close(place)
        syscalls.landlock_restrict(RULES)
    os.close(RULES)
    os.environ.clear()
    os.environ.update(request["env"])
    time.tzset()  # the zygote was started without TZ
    if policy.tier != "A":
        os.environ["TMPDIR"] = f"{request['home']}/{SCRATCH_NAME}"
        with contextlib.suppress(OSError):  # full disk, or a file of that name: tools can mend it
            os.makedirs(os.environ["TMPDIR"], exist_ok=True)  # noqa: PTH103
    os.environ["HOME"] = request["home"]


def lower_limit(kind: int, value: int) -> None:
    """Set both limits of a resource to `value`, or to the hard limit if that is lower."""
    hard = resource.getrlimit(kind)[1]
    wanted = value if hard == resource.RLIM_INFINITY else min(value, hard)
    resource.setrlimit(kind, (wanted, wanted))
