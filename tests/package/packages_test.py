"""Tests the content of packages, and that they can be installed without a network: python3 packages_test.py FOLDER."""

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import unittest
import zipfile
from pathlib import Path

PACKAGES = Path(sys.argv.pop())
VERSION = os.environ["PACKAGES_VERSION"]
STATIC = os.environ["PACKAGES_STATIC"] == "1"
ROOT = Path(__file__).resolve().parents[2]


def output(*command, **options):
    return subprocess.run([str(each) for each in command], check=True, capture_output=True, text=True, **options).stdout


def only(pattern):
    (found,) = PACKAGES.glob(pattern)
    return found


class Packages(unittest.TestCase):
    def setUp(self):
        self.folder = Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)

    def check_program(self, program):
        """Checks that a program prints its version and answers without any environment."""
        self.assertTrue(output("env", "-i", program, "--version").startswith(f"ddl-oracle {VERSION}\n"))
        answer = output("env", "-i", program, "recommend", "resnet50", "--gpus", "8", cwd=self.folder)
        self.assertIn("FITS", answer)

    def test_sums_are_those_of_the_files(self):
        listed = dict(reversed(line.split("  ")) for line in (PACKAGES / "SHA256SUMS").read_text().splitlines())
        self.assertEqual(set(listed), {each.name for each in PACKAGES.iterdir() if each.is_file() and each.name != "SHA256SUMS"})
        for name, digest in listed.items():
            self.assertEqual(hashlib.sha256((PACKAGES / name).read_bytes()).hexdigest(), digest)

    def test_the_same_tree_gives_the_same_bytes(self):
        deb = only("*.deb")
        with tarfile.open(only("*.tar.gz")) as archive:
            (time,) = {each.mtime for each in archive}
        output(
            ROOT / "packaging/make_packages.py", "--tree", PACKAGES / "tree", "--module", ROOT / "packaging/ddl_oracle",
            "--version", VERSION, "--architecture", deb.stem.split("_")[-1], "--time", time, "--to", self.folder / "again",
        )  # fmt: skip
        for each in (self.folder / "again").iterdir():
            self.assertEqual(each.read_bytes(), (PACKAGES / each.name).read_bytes(), each.name)

    def test_the_bill_of_materials_lists_the_libraries_of_the_program(self):
        bill = json.loads(only("*.spdx.json").read_text())
        program, *libraries = bill["packages"]
        licenses = (PACKAGES / "tree/share/doc/ddl-oracle/licenses/libraries.txt").read_text()
        listed = [line.split(":")[0].split(" (")[0] for line in licenses.splitlines() if ", copyright " in line and "(module " not in line]
        self.assertEqual([each["name"] for each in bill["packages"]], listed)
        self.assertIn("glibc", [each["name"] for each in libraries])
        digest = hashlib.sha256((PACKAGES / "tree/bin/ddl-oracle").read_bytes()).hexdigest()
        self.assertEqual(program["checksums"][0]["checksumValue"], digest)
        self.assertEqual(program["versionInfo"], VERSION)
        linked = [each["relatedSpdxElement"] for each in bill["relationships"] if each["relationshipType"] == "STATIC_LINK"]
        self.assertEqual(linked, [each["SPDXID"] for each in libraries])
        self.assertEqual(len(set(linked)), len(linked))
        if shutil.which("dpkg-query"):
            self.assertRegex(libraries[0]["versionInfo"], r"^\d")

    def test_the_archive_runs_where_it_is_unpacked(self):
        archive = only("*.tar.gz")
        with tarfile.open(archive) as packed:
            packed.extractall(self.folder)
        (top,) = self.folder.iterdir()
        self.assertEqual(top.name, archive.name[: -len(".tar.gz")])
        self.check_program(top / "bin/ddl-oracle")
        for name in ("share/man/man1/ddl-oracle.1", "share/doc/ddl-oracle/LICENSE", "share/doc/ddl-oracle/licenses/libraries.txt"):
            self.assertGreater((top / name).stat().st_size, 500, name)

    @unittest.skipUnless(STATIC, "of the preset 'package' alone")
    def test_the_program_needs_no_library(self):
        program = PACKAGES / "tree/bin/ddl-oracle"
        headers = output("readelf", "--program-headers", "--dynamic", program)
        self.assertNotIn("INTERP", headers)
        self.assertNotIn("NEEDED", headers)
        self.assertIn("DYN", output("readelf", "--file-header", program))  # position-independent
        for folder in (ROOT, PACKAGES.parent):
            self.assertNotIn(str(folder).encode(), program.read_bytes())
        backends = output(program, "backends")
        self.assertIn("this is the static ddl-oracle, which loads no modules", backends)

    @unittest.skipUnless(shutil.which("dpkg-deb"), "needs dpkg-deb")
    def test_the_debian_package_is_one(self):
        deb = only("*.deb")
        fields = output("dpkg-deb", "--field", deb)
        for line in ("Package: ddl-oracle", f"Version: {VERSION}", f"Architecture: {deb.stem.split('_')[-1]}"):
            self.assertIn(line, fields)
        self.assertNotIn("Depends", fields)
        output("dpkg-deb", "--extract", deb, self.folder / "root")
        output("dpkg-deb", "--control", deb, self.folder / "control")
        output("md5sum", "--check", "--quiet", self.folder / "control/md5sums", cwd=self.folder / "root")
        self.check_program(self.folder / "root/usr/bin/ddl-oracle")
        share = self.folder / "root/usr/share"
        for name in (
            "man/man1/ddl-oracle.1.gz", "bash-completion/completions/ddl-oracle", "zsh/vendor-completions/_ddl-oracle",
            "fish/vendor_completions.d/ddl-oracle.fish", "doc/ddl-oracle/copyright", "doc/ddl-oracle/licenses/libraries.txt",
        ):  # fmt: skip
            self.assertTrue((share / name).is_file(), name)

    def test_the_wheel_holds_what_its_record_says(self):
        with zipfile.ZipFile(only("*.whl")) as wheel:
            self.assertIsNone(wheel.testzip())
            names = wheel.namelist()
            (record,) = [each for each in names if each.endswith("/RECORD")]
            self.assertEqual(sorted(line.split(",")[0] for line in wheel.read(record).decode().splitlines()), sorted(names))
            for name in ("ddl_oracle/__init__.py", "ddl_oracle/py.typed", f"ddl_oracle-{VERSION}.data/scripts/ddl-oracle"):
                self.assertIn(name, names)
            self.assertTrue(any("/licenses/" in each for each in names))

    @unittest.skipUnless(shutil.which("pip3") or shutil.which("pip"), "needs pip")
    def test_the_wheel_installs_and_its_module_answers(self):
        environment = self.folder / "environment"
        made = subprocess.run([sys.executable, "-m", "venv", environment], capture_output=True, text=True, check=False)
        if made.returncode != 0:
            self.skipTest("needs Python's venv")
        python = environment / "bin/python"
        output(python, "-m", "pip", "install", "--no-index", "--no-deps", "--disable-pip-version-check", only("*.whl"))
        self.check_program(environment / "bin/ddl-oracle")
        clean = {key: value for key, value in os.environ.items() if key not in ("DDL_ORACLE", "PYTHONPATH")}
        clean["PATH"] = "/usr/bin:/bin"
        found = output(python, "-c", "import ddl_oracle; print(ddl_oracle.program())", env=clean, cwd=self.folder).strip()
        self.assertEqual(Path(found).resolve(), (environment / "bin/ddl-oracle").resolve())
        subprocess.run([python, os.environ["MODULE_TEST"]], env={**clean, "DDL_ORACLE": found}, cwd=self.folder, check=True)


if __name__ == "__main__":
    unittest.main()
