"""Make a release: `python3 -m tests.tooling.release FOLDER`.

Writes the wheel, the source archive and the one file into an empty folder, with SHA256SUMS and a
bill of materials (CycloneDX 1.6). Each is then tried: installed where nothing else is, without a
network. Exits with 1, and says what failed, if one of them does not do what a checkout does.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import subprocess
import sys
import tarfile
import tempfile
import time
import uuid
import zipfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from server import VERSION

from . import builds, tools
from .api import Api
from .child import Yaa

SUMS, BILL = "SHA256SUMS", f"yaa-{VERSION}.cdx.json"
NOT_OF_PACKAGE = re.compile(r"__main__\.py|[^/]+\.dist-info/.*")  # starter, metadata
# Settings under which the answer of the demo model does not depend on the machine.
ALONE = {
    "YAA_SERVER__DISCOVER": "false",
    "YAA_SERVER__SANDBOX__REQUIRE": "none",
    "YAA_PORT": "0",
}
PAGE = 'id="app"'  # the element of the page that the client draws into
PROVIDER = {
    "YAA_PROVIDER_API_URL": "http://127.0.0.1:9/v1",  # nothing asks it
    "YAA_PROVIDER_MODEL_NAME": "some-model",
}


def main(arguments: list[str] | None = None) -> int:
    """Run the command line and return the exit code."""
    parser = argparse.ArgumentParser(prog="python3 -m tests.tooling.release")
    parser.add_argument("folder", type=Path, help="an empty folder, or one to make")
    parser.add_argument("--changed", action="store_true", help="files may differ from the commit")
    options = parser.parse_args(arguments)
    if options.folder.exists() and any(options.folder.iterdir()):
        parser.error(f"{options.folder} is not empty")
    if not options.changed and (changed := _changed()):
        parser.error(f"not committed: {', '.join(changed)}; commit first, or say --changed")
    try:
        for file in make(options.folder, say=print):
            print(f"{file.stat().st_size >> 10:>7,} KiB  {file}")
    except builds.BuildFailed as error:
        print(f"release: {error}", file=sys.stderr)
        return 1
    return 0


def make(
    folder: Path,
    *,
    root: Path = tools.ROOT,
    seconds: int | None = None,
    say: Callable[[str], object] = lambda text: None,
    starts: bool = True,
) -> list[Path]:
    """Build, list and check everything and return the files. Raises BuildFailed.

    `root`: the checkout. `seconds`: the time of the build, by default that of the last commit.
    `starts`: whether what was built is installed and started.
    """
    folder.mkdir(parents=True, exist_ok=True)
    folder = folder.resolve()
    when = builds.epoch(root) if seconds is None else seconds
    with tempfile.TemporaryDirectory(prefix="yaa-release-") as name:
        source = builds.stage(Path(name), root)
        wheel = builds.build_wheel(source, folder, when)
        sdist = builds.build_sdist(source, folder, when)
        pyz = builds.build_pyz(source, folder)
    bill = folder / BILL
    bill.write_text(json.dumps(bill_of(wheel, [wheel, sdist, pyz], when), indent=1) + "\n")
    files = [wheel, sdist, pyz, bill]
    sums = folder / SUMS
    sums.write_text("".join(f"{sha256(file.read_bytes())}  {file.name}\n" for file in files))
    check_contents(wheel, pyz)
    check_source(sdist, wheel, when)
    say("the source archive builds the same wheel")
    with tempfile.TemporaryDirectory(prefix="yaa-clean-") as name:
        place = Path(name)
        place.chmod(0o755)
        for begin, file in ((builds.start_wheel, wheel), (builds.start_pyz, pyz)):
            if not starts:
                break
            start = begin(file, place)
            check_start(start, place / f"home-{start.name}")
            say(f"the {start.name} answers, serves and is healthy")
    return [*files, sums]


def sha256(data: bytes) -> str:
    """Return the SHA-256 of some bytes in hexadecimal digits."""
    return hashlib.sha256(data).hexdigest()


# -- what is in it --------------------------------------------------------------------------------


def members(archive: Path) -> dict[str, bytes]:
    """Return {name: content} of the package in a wheel or in the one file."""
    with zipfile.ZipFile(archive) as opened:
        names = [name for name in opened.namelist() if not NOT_OF_PACKAGE.fullmatch(name)]
        return {name: opened.read(name) for name in sorted(names)}


def bill_of(wheel: Path, files: Sequence[Path], seconds: int) -> dict[str, Any]:
    """Return the bill of materials: the files of the release, and those of the package.

    There are no dependencies, and the bill says so.
    """
    package = f"pkg:generic/yaa@{VERSION}"
    sums = {file.name: sha256(file.read_bytes()) for file in files}
    about = {
        "type": "application",
        "bom-ref": package,
        "name": "yaa",
        "version": VERSION,
        "licenses": [{"license": {"id": "MIT"}}],
        "purl": package,
    }
    inside = [_file(name, sha256(data), "package/") for name, data in members(wheel).items()]
    made = [_file(name, digest, "release/") for name, digest in sums.items()]
    whole = "\n".join(f"{digest}  {name}" for name, digest in sums.items())
    return {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, whole)}",
        "version": 1,
        "metadata": {
            "timestamp": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds)),
            "component": about,
        },
        "components": made + inside,
        "dependencies": [{"ref": package, "dependsOn": []}],
    }


def _file(name: str, digest: str, kind: str) -> dict[str, Any]:
    hashes = [{"alg": "SHA-256", "content": digest}]
    return {"type": "file", "bom-ref": kind + name, "name": name, "hashes": hashes}


# -- whether it works -----------------------------------------------------------------------------


def check_contents(wheel: Path, pyz: Path) -> None:
    """Check that the one file holds the wheel's package, byte for byte. Raises BuildFailed.

    Files that the server never reads or sends are only in the wheel.
    """
    whole, packed = members(wheel), members(pyz)
    different = [name for name, data in packed.items() if whole.get(name) != data]
    read = {".py", ".json", ".html", ".css", ".js", ".txt"}
    missing = [
        name
        for name in whole.keys() - packed.keys()
        if Path(name).suffix in read and Path(name).name != "jsconfig.json"
    ]
    if different or missing:
        raise builds.BuildFailed(f"{pyz.name} differs from {wheel.name}: {different + missing}")


def check_source(sdist: Path, wheel: Path, seconds: int) -> None:
    """Check that a source archive builds the same wheel. Raises BuildFailed."""
    with tempfile.TemporaryDirectory(prefix="yaa-sdist-") as name:
        with tarfile.open(sdist) as archive:
            archive.extractall(name, filter="data")
        (source,) = Path(name).iterdir()
        built = builds.build_wheel(source, Path(name), seconds)
        if built.read_bytes() != wheel.read_bytes():
            raise builds.BuildFailed(f"{sdist.name} builds another {wheel.name}")


def check_start(start: builds.Start, home: Path) -> None:
    """Check version, an answer, `doctor` and the page of an installation. Raises BuildFailed."""

    def ask(*arguments: str, **env: str) -> str:
        command = [*start.command, *arguments]
        return builds.run(command, start.cwd, {"HOME": str(home), **ALONE, **start.env, **env})

    home.mkdir()
    for wanted, said in _answers(ask):
        if wanted not in said:
            raise builds.BuildFailed(f"{start.name}: expected {wanted!r} in\n{said}")
    with Yaa(command=start.command, cwd=start.cwd, env={**ALONE, **start.env}) as yaa:
        status, page = Api(yaa.url).request("GET", "/", accept="text/html")
        if status != 200 or PAGE not in page:
            raise builds.BuildFailed(f"{start.name}: serves another page ({status})")


def _answers(ask: Callable[..., str]) -> Iterator[tuple[str, str]]:
    """Yield (words, text that must have them)."""
    yield f"yaa {VERSION}\n", ask("--version")
    yield "42", ask("run", "--text", "--say", "calc 6*7")
    yield "Everything works", ask("doctor", **PROVIDER)


def _changed() -> list[str]:
    command = ["git", "-C", str(tools.ROOT), "status", "--porcelain", "--", *builds.SHIPPED]
    said = subprocess.run(command, capture_output=True, text=True, check=False).stdout
    return [line[3:] for line in said.splitlines()]


if __name__ == "__main__":
    sys.exit(main())
