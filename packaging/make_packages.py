#!/usr/bin/env python3
"""Packs an installed tree as NAME.tar.gz, Debian package and Python wheel, and lists its libraries (SBOM). Equal trees give equal bytes.

    make_packages.py --tree TREE --version 0.1.0 --architecture amd64 --module packaging/ddl_oracle --time SECONDS --to FOLDER

`cmake --install --prefix TREE` makes the tree. SECONDS since 1970 become the time of every file in the packages. The script needs only
Python 3.8.
"""

import argparse
import base64
import csv
import email.utils
import gzip
import hashlib
import io
import lzma
import sys
import tarfile
import time
import zipfile
from pathlib import Path

from bill_of_materials import bill_of_materials

SUMMARY = "Predicts time and memory of parallel DNN training before it is run"
DESCRIPTION = """ddl-oracle compares data, tensor, pipeline and other kinds of parallelism
and their hybrids. It says how long a training takes on a machine, whether
it fits in the memory of its GPUs, and why one plan is faster than another."""
MAINTAINER = "the ddl-oracle authors <ddl-oracle@localhost>"
# Architectures by their name in dpkg, with the platform tags of wheels. A static program needs no C library, so its wheel may
# have the tags of glibc and of musl.
PLATFORMS = {
    "amd64": ["manylinux_2_17_x86_64", "manylinux2014_x86_64", "musllinux_1_1_x86_64"],
    "arm64": ["manylinux_2_17_aarch64", "manylinux2014_aarch64", "musllinux_1_1_aarch64"],
}


class Files:
    """The files of a package: content and mode by path."""

    def __init__(self):
        self.files = {}

    def add(self, path, content, mode=0o644):
        self.files[path] = (content, mode)

    def __iter__(self):
        return iter(sorted(self.files.items()))

    def folders(self):
        """All folders that contain the files, each folder before its subfolders."""
        found = set()
        for path in self.files:
            parts = path.split("/")[:-1]
            found.update("/".join(parts[: i + 1]) for i in range(len(parts)))
        return sorted(found)


def read_tree(tree):
    files = Files()
    for path in sorted(tree.rglob("*")):
        if path.is_file():
            name = path.relative_to(tree).as_posix()
            files.add(name, path.read_bytes(), 0o755 if name.startswith("bin/") else 0o644)
    return files


def gzipped(content):
    """The content in gzip's format, without file name and time."""
    out = io.BytesIO()
    with gzip.GzipFile(filename="", mode="wb", compresslevel=9, fileobj=out, mtime=0) as packed:
        packed.write(content)
    return out.getvalue()


def tar_of(files, prefix, seconds):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.GNU_FORMAT) as tar:

        def entry(name, mode):
            info = tarfile.TarInfo(prefix + name)
            info.mode, info.mtime, info.uname, info.gname = mode, seconds, "root", "root"
            return info

        for folder in files.folders():
            info = entry(folder, 0o755)
            info.type = tarfile.DIRTYPE
            tar.addfile(info)
        for name, (content, mode) in files:
            info = entry(name, mode)
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))
    return out.getvalue()


def ar_of(members, seconds):
    out = b"!<arch>\n"
    for name, content in members:
        out += f"{name:<16}{seconds:<12}{0:<6}{0:<6}{'100644':<8}{len(content):<10}`\n".encode()
        out += content + (b"\n" if len(content) % 2 else b"")
    return out


def license_files(tree):
    """The license files of the program and its libraries: content by path."""
    return {name: content for name, (content, _) in tree if "/licenses/" in name or name.endswith("/LICENSE")}


def debian_package(tree, version, architecture, seconds):
    files = Files()
    copyright_text = b""
    for name, (content, mode) in tree:
        if name.endswith("/LICENSE"):
            copyright_text = content
            continue
        if name.startswith("share/man/") or name.endswith("/README.md"):
            name, content = name + ".gz", gzipped(content)
        # Debian keeps completions of packages in vendor-completions; site-functions belongs to the administrator.
        name = name.replace("share/zsh/site-functions", "share/zsh/vendor-completions")
        files.add("usr/" + name, content, mode)
    files.add(
        "usr/share/doc/ddl-oracle/copyright",
        b"ddl-oracle\n\n" + copyright_text + b"\nThe libraries in the program: see the folder licenses next to this file.\n",
    )
    changes = f"ddl-oracle ({version}) unstable; urgency=medium\n\n  * Version {version}.\n\n"
    changes += f" -- {MAINTAINER}  {email.utils.formatdate(seconds)}\n"
    files.add("usr/share/doc/ddl-oracle/changelog.gz", gzipped(changes.encode()))
    sums = "".join(f"{hashlib.md5(content).hexdigest()}  {name}\n" for name, (content, _) in files)
    size = (sum(len(content) + 512 for _, (content, _) in files) + 1023) // 1024
    paragraphs = "\n".join(" " + line for line in DESCRIPTION.splitlines())
    control = Files()
    control.add(
        "control",
        (
            f"Package: ddl-oracle\nVersion: {version}\nArchitecture: {architecture}\nMaintainer: {MAINTAINER}\n"
            f"Installed-Size: {size}\nSection: science\nPriority: optional\nDescription: {SUMMARY}\n{paragraphs}\n"
        ).encode(),
    )
    control.add("md5sums", sums.encode())
    packed = [
        (name, lzma.compress(tar_of(part, "./", seconds), format=lzma.FORMAT_XZ, check=lzma.CHECK_CRC64, preset=9))
        for name, part in (("control.tar.xz", control), ("data.tar.xz", files))
    ]
    return ar_of([("debian-binary", b"2.0\n"), *packed], seconds)


def wheel(tree, module, version, architecture, seconds):
    """File name and content of the wheel. The program is a script of the wheel; the module finds the program next to the interpreter."""
    info = f"ddl_oracle-{version}.dist-info"
    data = f"ddl_oracle-{version}.data"
    files = Files()
    for path in sorted(module.iterdir()):
        if path.suffix in (".py", ".typed") or path.name == "py.typed":
            files.add(f"ddl_oracle/{path.name}", path.read_bytes())
    for name, (content, mode) in tree:
        if name == "bin/ddl-oracle":
            files.add(f"{data}/scripts/ddl-oracle", content, mode)
        elif not name.startswith("share/doc/"):
            files.add(f"{data}/data/{name}", content, mode)
    licenses = license_files(tree)
    for name, content in licenses.items():
        files.add(f"{info}/licenses/{name.split('/doc/ddl-oracle/')[1]}", content)
    readme = dict(tree)["share/doc/ddl-oracle/README.md"][0].decode()
    files.add(
        f"{info}/METADATA",
        (
            f"Metadata-Version: 2.1\nName: ddl_oracle\nVersion: {version}\nSummary: {SUMMARY}\nLicense: MIT\n"
            "Classifier: Operating System :: POSIX :: Linux\nClassifier: Topic :: Scientific/Engineering\nClassifier: Typing :: Typed\n"
            "Requires-Python: >=3.9\nProvides-Extra: pandas\nRequires-Dist: pandas; extra == 'pandas'\n"
            f"Description-Content-Type: text/markdown\n\n{readme}"
        ).encode(),
    )
    tags = [f"py3-none-{platform}" for platform in PLATFORMS[architecture]]
    lines = "".join(f"Tag: {tag}\n" for tag in tags)
    files.add(f"{info}/WHEEL", f"Wheel-Version: 1.0\nGenerator: ddl-oracle\nRoot-Is-Purelib: false\n{lines}".encode())
    record = io.StringIO()
    rows = csv.writer(record, lineterminator="\n")
    for name, (content, _) in files:
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        rows.writerow([name, f"sha256={digest}", len(content)])
    rows.writerow([f"{info}/RECORD", "", ""])
    files.add(f"{info}/RECORD", record.getvalue().encode())

    out = io.BytesIO()
    # Zip files cannot express times before 1980.
    stamp = time.gmtime(max(seconds, 315532800))[:6]
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as packed:
        # The record comes last, as the specification of wheels recommends.
        for name, (content, mode) in sorted(files, key=lambda each: (each[0].startswith(info), each[0].endswith("RECORD"), each[0])):
            entry = zipfile.ZipInfo(name, stamp)
            entry.create_system = 3
            entry.external_attr = (0o100000 | mode) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            packed.writestr(entry, content)
    return f"ddl_oracle-{version}-py3-none-{'.'.join(PLATFORMS[architecture])}.whl", out.getvalue()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tree", type=Path, required=True)
    parser.add_argument("--module", type=Path, required=True)
    parser.add_argument("--version", required=True)
    parser.add_argument("--architecture", choices=sorted(PLATFORMS), required=True)
    parser.add_argument("--time", type=int, required=True)
    parser.add_argument("--to", type=Path, required=True)
    asked = parser.parse_args()
    tree = read_tree(asked.tree)
    if "bin/ddl-oracle" not in dict(tree):
        sys.exit(f"error: {asked.tree} has no bin/ddl-oracle")
    name = f"ddl-oracle-{asked.version}-linux-{asked.architecture}"
    made = {
        f"{name}.tar.gz": gzipped(tar_of(tree, name + "/", asked.time)),
        f"ddl-oracle_{asked.version}_{asked.architecture}.deb": debian_package(tree, asked.version, asked.architecture, asked.time),
    }
    wheel_name, content = wheel(tree, asked.module, asked.version, asked.architecture, asked.time)
    made[wheel_name] = content
    files = dict(tree)
    made[f"{name}.spdx.json"] = bill_of_materials(
        files["share/doc/ddl-oracle/licenses/libraries.txt"][0].decode(), asked.version,
        hashlib.sha256(files["bin/ddl-oracle"][0]).hexdigest(), asked.time
    ).encode()
    made["SHA256SUMS"] = "".join(f"{hashlib.sha256(made[each]).hexdigest()}  {each}\n" for each in sorted(made)).encode()
    asked.to.mkdir(parents=True, exist_ok=True)
    for each, content in made.items():
        (asked.to / each).write_bytes(content)
        print(f"{len(content):>10}  {asked.to / each}")


if __name__ == "__main__":
    main()
