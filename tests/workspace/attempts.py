"""`attempts.py BASE MODE TIER`: a tool in one of the folders of BASE, which tries to leave it.

Prints {name: what came of it}; "" for an attempt that failed. BASE has the folders of the server:
home, notes, project, big, outside.
"""

import ctypes
import json
import os
import socket
import stat
import sys
from collections.abc import Callable
from pathlib import Path

BASE, MODE, TIER = sys.argv[1:]
OUT = Path(BASE, "outside")
LIBC = ctypes.CDLL(None, use_errno=True)
TABLE: dict[str, Callable[[], object]] = {}


def attempt(function: Callable[[], object]) -> Callable[[], object]:
    TABLE[function.__name__] = function
    return function


def call(number: int, *args: object) -> int:
    words = [ctypes.c_long(a) if isinstance(a, int) else ctypes.c_char_p(a) for a in args]
    found = int(LIBC.syscall(ctypes.c_long(number), *words))
    if found < 0:
        raise OSError(ctypes.get_errno(), "refused")
    return found


def text(path: object) -> str:
    return Path(str(path)).read_text()


# -- see what is outside


@attempt
def descriptors_of_folders() -> object:
    for name in os.listdir("/proc/self/fd"):
        try:
            if int(name) > 2 and stat.S_ISDIR(os.fstat(int(name)).st_mode):
                return os.listdir(int(name))
        except OSError:
            continue
    return ""


@attempt
def read_by_path() -> object:
    return text(OUT / "file")


@attempt
def read_by_dots() -> object:
    return text("../outside/file")


@attempt
def read_by_many_dots() -> object:
    return text("../" * 40 + BASE.lstrip("/") + "/outside/file")


@attempt
def read_by_link() -> object:
    return linked("link1", OUT / "file", text)


@attempt
def read_by_relative_link() -> object:
    return linked("link2", "../outside/file", text)


@attempt
def read_by_link_to_folder() -> object:
    return linked("link3", OUT, lambda path: text(f"{path}/file"))


@attempt
def list_by_link() -> object:
    return linked("link4", OUT, os.listdir)


@attempt
def list_the_base() -> object:
    return os.listdir(BASE)


@attempt
def list_the_parent() -> object:
    return set(os.listdir("..")) - set(os.listdir("/"))


@attempt
def walk_up() -> object:
    here = os.open(".", os.O_RDONLY)
    for _ in range(20):
        up = os.open("..", os.O_RDONLY | os.O_DIRECTORY, dir_fd=here)
        here = up
        try:
            return os.read(os.open("outside/file", os.O_RDONLY, dir_fd=here), 10)
        except OSError:
            continue
    return ""


@attempt
def change_up() -> object:
    try:
        os.chdir("..")
        return text("outside/file")
    finally:
        os.chdir(HERE)


@attempt
def read_by_own_root() -> object:
    return text(f"/proc/self/root{OUT}/file")


@attempt
def read_by_first_root() -> object:
    return text(f"/proc/1/root{OUT}/file")


@attempt
def read_by_first_folder() -> object:
    return text("/proc/1/cwd/../outside/file")


@attempt
def read_by_parent_root() -> object:
    return text(f"/proc/{os.getppid()}/root{OUT}/file")


@attempt
def read_by_all_roots() -> object:
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                return text(f"/proc/{name}/root{OUT}/file")
            except OSError:
                continue
    return ""


@attempt
def read_by_descriptors() -> object:
    for name in os.listdir("/proc/self/fd"):
        try:
            return os.read(os.open("../outside/file", os.O_RDONLY, dir_fd=int(name)), 10)
        except OSError:
            continue
    return ""


@attempt
def read_by_task() -> object:
    return text(f"/proc/self/task/{os.getpid()}/root{OUT}/file")


@attempt
def other_sessions() -> object:
    return os.listdir(f"{BASE}/home/workspaces")


@attempt
def states() -> object:
    return os.listdir(f"{BASE}/home/workspace_state")


@attempt
def objects() -> object:
    return os.listdir(f"{BASE}/home/objects")


@attempt
def files_of_skills() -> object:
    return os.listdir(f"{BASE}/home/skill_files")


@attempt
def places_of_others() -> object:
    found = []
    for name in ("state", "objects", "folder", "skills"):
        try:
            found += os.listdir(f"/{name}")
        except OSError:
            continue
    return found


@attempt
def the_stage() -> object:
    for number in range(8):
        for place in ("/workspace", "/session", "/folder"):
            try:
                return os.listdir(f"{place}/{number}")
            except OSError:
                continue
    return ""


@attempt
def other_real_folder() -> object:
    other = "notes" if MODE == "write" else "project"
    return text(f"{BASE}/{other}/file")


@attempt
def mounted_places() -> object:
    """What of the base is told by the list of mounts, besides the mounted folders' own sources."""
    lines = Path("/proc/self/mounts").read_text().splitlines() if TIER == "A" else []
    return [line for line in lines if "/outside" in line or "workspace_state" in line]


# -- change what is outside


@attempt
def write_by_link() -> object:
    return linked("link5", OUT / "file", lambda path: Path(path).write_text("changed"))


@attempt
def make_by_dangling_link() -> object:
    return linked("link6", OUT / "new", lambda path: Path(path).write_text("new"))


@attempt
def truncate_by_link() -> object:
    return linked("link7", OUT / "file", lambda path: os.truncate(path, 0) or "done")


@attempt
def append_by_path() -> object:
    with (OUT / "file").open("a") as file:
        return file.write("more")


@attempt
def link_in() -> object:
    os.link(OUT / "file", "hard")
    return text("hard")


@attempt
def link_in_by_descriptor() -> object:
    place = os.open(OUT / "file", os.O_PATH)
    os.link(f"/proc/self/fd/{place}", "hard2", follow_symlinks=True)
    return text("hard2")


@attempt
def link_out() -> object:
    os.link("file", OUT / "hard")
    return "done"


@attempt
def rename_out() -> object:
    Path("mine").write_text("x")
    Path("mine").rename(OUT / "mine")
    return "done"


@attempt
def rename_in() -> object:
    (OUT / "file").rename("theirs")
    return "done"


@attempt
def symlink_out() -> object:
    (OUT / "link").symlink_to("/")
    return "done"


@attempt
def make_folder_out() -> object:
    (OUT / "folder").mkdir()
    return "done"


@attempt
def remove_out() -> object:
    (OUT / "file").unlink()
    return "done"


@attempt
def fifo_out() -> object:
    os.mkfifo(OUT / "fifo")
    return "done"


@attempt
def socket_out() -> object:
    with socket.socket(socket.AF_UNIX) as one:
        one.bind(f"{OUT}/socket")
    return "done"


@attempt
def replace_the_folder() -> object:
    os.rename(f"{BASE}/project", f"{BASE}/moved")
    return "done"


@attempt
def remove_the_folder() -> object:
    os.rename("/workspace", "/elsewhere")
    return "done"


@attempt
def change_the_root() -> object:
    Path("/made").touch()
    return "done"


@attempt
def make_in_places() -> object:
    for name in ("state", "objects", "folder", "session/../state"):
        try:
            Path(f"/{name}/made").touch()
            return name
        except OSError:
            continue
    return ""


# -- the kernel's own ways


@attempt
def open_by_handle() -> object:
    handle = ctypes.create_string_buffer(136)
    ctypes.c_uint.from_buffer(handle).value = 128
    mount_id = ctypes.c_int()
    call(303, -100, b".", ctypes.addressof(handle), ctypes.addressof(mount_id), 0)
    place = os.open(".", os.O_RDONLY)
    return call(304, place, ctypes.addressof(handle), os.O_RDONLY)


@attempt
def open_second_way() -> object:
    how = (ctypes.c_uint64 * 3)(os.O_RDONLY, 0, 0)
    return call(437, -100, os.fsencode(OUT / "file"), ctypes.addressof(how), 24)


@attempt
def mount_over() -> object:
    return call(165, os.fsencode(OUT), b"/workspace", b"", 4096, 0) == 0 and "mounted"


@attempt
def mount_writable() -> object:
    return call(165, b"", b"/workspace", b"", 32 | 4096, 0) == 0 and "remounted"


@attempt
def mount_attributes() -> object:
    change = (ctypes.c_uint64 * 4)(0, 1, 0, 0)
    return call(442, -100, b"/workspace", 0x8000, ctypes.addressof(change), 32) == 0 and "cleared"


@attempt
def unmount() -> object:
    return call(166, b"/workspace", 2) == 0 and "unmounted"


@attempt
def copy_of_the_tree() -> object:
    return call(428, -100, b"/workspace/..", 1 | 0x8000)


@attempt
def new_mounts() -> object:
    return call(272, 0x20000 | 0x10000000) == 0 and "own namespace"


@attempt
def others_namespace() -> object:
    return call(308, os.open("/proc/1/ns/mnt", os.O_RDONLY), 0x20000) == 0 and "entered"


@attempt
def another_root() -> object:
    return call(161, b"/proc/1/root") == 0 and "changed"


@attempt
def turned_root() -> object:
    return call(155, b"/workspace", b"/workspace") == 0 and "turned"


@attempt
def device() -> object:
    os.mknod("disk", stat.S_IFBLK | 0o600, os.makedev(8, 0))
    return "made"


# -- a folder that may only be read


def change(function: Callable[[], object]) -> None:
    if MODE == "read":
        TABLE[f"change {function.__name__}"] = function


@change
def by_writing() -> object:
    return Path("file").write_text("changed")


@change
def by_appending() -> object:
    return os.open("file", os.O_WRONLY | os.O_APPEND)


@change
def by_truncating() -> object:
    return os.truncate("file", 0) or "done"


@change
def by_removing() -> object:
    return os.unlink("file") or "done"


@change
def by_renaming() -> object:
    return os.rename("file", "moved") or "done"


@change
def by_making() -> object:
    return os.open("new", os.O_CREAT | os.O_WRONLY)


@change
def by_linking() -> object:
    return os.link("file", "hard") or "done"


@change
def by_symlink() -> object:
    return os.symlink("/", "link") or "done"


@change
def by_folder() -> object:
    return os.mkdir("folder") or "done"


@change
def by_nameless_file() -> object:
    return os.open(".", os.O_TMPFILE | os.O_WRONLY)


@change
def by_own_descriptor() -> object:
    place = os.open("file", os.O_RDONLY)
    return os.open(f"/proc/self/fd/{place}", os.O_WRONLY)


@change
def by_home() -> object:
    os.link("file", os.path.expanduser("~/hard"))
    return "linked"


@change
def by_moving_home() -> object:
    Path("~/moving").expanduser().write_text("x")
    os.rename(os.path.expanduser("~/moving"), "moving")
    return "moved"


def linked(name: str, target: object, use: Callable[[str], object]) -> object:
    """Use a link to a target, made in the folder, or in the home if that may not be."""
    try:
        os.symlink(str(target), name)
    except OSError:
        name = os.path.expanduser(f"~/{name}")
        if not os.path.islink(name):
            os.symlink(str(target), name)
    return use(name)


HERE = os.getcwd()


def main() -> None:
    found = {}
    for name, function in TABLE.items():
        try:
            result = function()
            found[name] = "" if not result else str(result)[:100]
        except (OSError, ValueError):
            found[name] = ""
    print(json.dumps(found))


main()
