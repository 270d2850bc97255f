"""The filter, run on made-up calls: both architectures, on any machine."""

from __future__ import annotations

import errno
import struct
import unittest

from server.lib.sandbox.seccomp import (
    ABSENT,
    ALLOW,
    ANY_BIT,
    AT_LEAST,
    ATTRIBUTES,
    EQUAL,
    ERROR,
    GREATER,
    HOLD_PAGES,
    KILL,
    LOAD,
    OF_OTHERS,
    REFUSED,
    RETURN,
    WATCHES,
    Instruction,
    compile_filter,
    pack,
)
from server.lib.sandbox.syscalls import AUDIT, NEWEST, NUMBERS

EPERM, EACCES, ENOSYS = (ERROR | n for n in (errno.EPERM, errno.EACCES, errno.ENOSYS))


def simulate(program: list[Instruction], arch: str, number: int, *args: int) -> int:
    """Return the filter's result for a call: ALLOW, KILL, or ERROR | errno."""
    values = [value % 2**64 for value in (*args, *[0] * (6 - len(args)))]
    call = struct.pack("=IIQ6Q", number % 2**32, AUDIT.get(arch, 0), 0, *values)
    accumulator = at = 0
    while True:
        code, when_true, when_false, constant = program[at]
        at += 1
        if code == RETURN:
            return constant
        if code == LOAD:
            (accumulator,) = struct.unpack_from("=I", call, constant)
            continue
        holds = {
            EQUAL: accumulator == constant,
            GREATER: accumulator > constant,
            AT_LEAST: accumulator >= constant,
            ANY_BIT: bool(accumulator & constant),
        }[code]
        at += when_true if holds else when_false


class Filter(unittest.TestCase):
    def test_what_is_refused(self) -> None:
        for arch, known in NUMBERS.items():
            program = compile_filter(arch)
            for name in REFUSED:
                if name in known:
                    with self.subTest(arch=arch, name=name):
                        self.assertEqual(simulate(program, arch, known[name]), EPERM)

    def test_by_argument(self) -> None:
        cases: list[tuple[str, tuple[int, ...], int]] = [
            ("clone", (17,), ALLOW),
            ("clone", (0x10000000 | 17,), EPERM),
            ("clone", (0x02000000,), EPERM),
            *((name, (), ENOSYS) for name in ABSENT),
            *((name, (), ERROR | errno.EINVAL) for name in HOLD_PAGES),
            ("mmap", (0, 4096, 3, 0x22), ALLOW),
            ("mmap", (0, 2 << 20, 3, 0x40022), ERROR | errno.ENOMEM),
            ("kill", (-1, 9), EPERM),
            ("kill", (0xFFFFFFFF, 9), EPERM),
            ("kill", (-2, 9), ALLOW),
            ("kill", (0, 9), ALLOW),
            ("prctl", (15,), ALLOW),
            ("prctl", (62,), ERROR | errno.EINVAL),
            ("prctl", (78,), ERROR | errno.EINVAL),
            ("personality", (0,), ALLOW),
            ("personality", (0xFFFFFFFF,), ALLOW),
            ("personality", (0x40000,), EPERM),
            ("setpriority", (0, 0), ALLOW),
            ("setpriority", (0, 77), EPERM),
            ("setpriority", (1, 0), EPERM),
            ("setpriority", (2, 0), EPERM),
            ("setpriority", (2, 77), EPERM),
            ("ioprio_set", (1, 0), ALLOW),
            ("ioprio_set", (1, 77), EPERM),
            ("ioprio_set", (2, 0), EPERM),
            ("ioprio_set", (3, 0), EPERM),
            *((name, (0,), ALLOW) for name in OF_OTHERS),
            *((name, (1,), EPERM) for name in OF_OTHERS),
            ("ioctl", (0, 0x5401), ALLOW),
            ("ioctl", (0, 0x5412), EPERM),
            ("ioctl", (0, 0xFFFFFFFF_00005412), EPERM),
            ("ioctl", (0, 0x541C), EPERM),
            ("socketpair", (1, 1), ALLOW),
            ("socketpair", (1, 1 | 0o2004000), ALLOW),
            ("socketpair", (1, 5), ALLOW),
            ("socketpair", (1, 2), EACCES),
            ("socketpair", (1, 3 | 0o2000000), EACCES),
            ("socketpair", (2, 1), EACCES),
            ("setsockopt", (3, 1, 7), ERROR),  # returns 0
            ("setsockopt", (3, 1, 8), ALLOW),
            ("setsockopt", (3, 6, 7), ALLOW),
            ("setsockopt", (3, 6, 26), ALLOW),
            *(("setsockopt", (3, 1, n), ERROR | errno.ENOPROTOOPT) for n in (26, 50, 51, 52)),
            ("socket", (1,), EACCES),
            ("socket", (2, 1), EACCES),
            ("socket", (16,), EACCES),
            ("fcntl", (3, 1), ALLOW),
            ("fcntl", (3, 1026), ERROR | errno.EINVAL),
            *((name, (), ENOSYS) for name in WATCHES if name != "inotify_init"),
            *((name, (), ERROR | errno.EOPNOTSUPP) for name in ATTRIBUTES),
            ("fchmod", (3, 0o755), ALLOW),
            ("fchmod", (3, 0o4755), EPERM),
            ("fchmodat", (0, 0, 0o2755), EPERM),
            ("fchmodat2", (0, 0, 0o4755), EPERM),
            ("mknodat", (0, 0, 0o104755), EPERM),
            ("openat", (0, 0, 0o100, 0o644), ALLOW),
            ("openat", (0, 0, 0o100, 0o4644), EPERM),
            ("openat", (0, 0, 0, 0o7777), ALLOW),  # without O_CREAT the mode is no argument
            ("openat", (0, 0, 0o20200000, 0o4644), EPERM),
        ]
        for arch, known in NUMBERS.items():
            program = compile_filter(arch)
            for name, args, verdict in cases:
                with self.subTest(arch=arch, name=name, args=args):
                    self.assertEqual(simulate(program, arch, known[name], *args), verdict)

    def test_with_watches(self) -> None:
        """Those of inotify alone, and with them no more of anything else."""
        for arch, known in NUMBERS.items():
            program = compile_filter(arch, watches=True)
            for name, verdict in (
                ("inotify_init1", ALLOW),
                ("inotify_add_watch", ALLOW),
                ("fanotify_init", ENOSYS),
                ("fanotify_mark", ENOSYS),
                ("ptrace", EPERM),
                ("socket", EACCES),
            ):
                with self.subTest(arch=arch, name=name):
                    self.assertEqual(simulate(program, arch, known[name]), verdict)

    def test_with_a_network(self) -> None:
        for arch, known in NUMBERS.items():
            for args, full, proxy in (
                ((2, 1, 0), ALLOW, ALLOW),
                ((10, 1 | 0o2004000, 6), ALLOW, ALLOW),
                ((10, 2, 17), ALLOW, EACCES),
                ((2, 2 | 0o2000000, 0), ALLOW, EACCES),
                ((2, 3, 1), ALLOW, EACCES),
                ((2, 5, 132), ALLOW, EACCES),
                ((2, 1, 262), EACCES, EACCES),
                ((1, 1, 0), EACCES, EACCES),
                ((16, 3, 0), EACCES, EACCES),
            ):
                for network, verdict in (("full", full), ("proxy", proxy), ("off", EACCES)):
                    with self.subTest(arch=arch, args=args, network=network):
                        program = compile_filter(arch, network=network)
                        self.assertEqual(simulate(program, arch, known["socket"], *args), verdict)

    def test_other_tables(self) -> None:
        for arch in NUMBERS:
            program = compile_filter(arch)
            self.assertEqual(simulate(program, "i386", 11), KILL)
            self.assertEqual(simulate(program, arch, NEWEST + 1), ENOSYS)
            self.assertEqual(simulate(program, arch, NEWEST), ALLOW)
        self.assertEqual(simulate(compile_filter("x86_64"), "x86_64", 0x40000000 + 39), ENOSYS)

    def test_everyday_calls_pass(self) -> None:
        everyday = {"x86_64": (0, 1, 3, 9, 39, 59, 61, 231), "aarch64": (56, 63, 64, 93, 221, 260)}
        for arch, numbers in everyday.items():
            for number in numbers:
                self.assertEqual(
                    simulate(compile_filter(arch), arch, number), ALLOW, (arch, number)
                )

    def test_the_kernel_takes_it(self) -> None:
        """At most 4096 instructions of 8 bytes, each jump within the program."""
        for arch in NUMBERS:
            program = compile_filter(arch)
            self.assertEqual(len(pack(program)), 8 * len(program))
            self.assertLess(len(program), 4096)
            for at, (_, when_true, when_false, _) in enumerate(program):
                self.assertLess(at + 1 + max(when_true, when_false), len(program) + 1)


if __name__ == "__main__":
    unittest.main()
