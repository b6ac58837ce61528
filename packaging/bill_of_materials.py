"""The software bill of materials of a static program, in SPDX 2.3 [https://spdx.github.io/spdx-spec/v2.3/]."""

import json
import re
import subprocess
import time

# Libraries by their name in `ddl-oracle --licenses`, with the Debian package that has their version.
DEBIAN_PACKAGES = {
    "CLI11": "libcli11-dev",
    "Eigen": "libeigen3-dev",
    "fmt": "libfmt-dev",
    "JSON for Modern C++": "nlohmann-json3-dev",
    "libevent": "libevent-dev",
    "toml++": "libtomlplusplus-dev",
    "yaml-cpp": "libyaml-cpp-dev",
    "libstdc++": "libstdc++6",
    "glibc": "libc6",
}
LINE = re.compile(r"(?P<name>[^:(]+?)(?P<use> \([^)]*\))?: (?P<license>[^,]+), copyright (?P<owner>.*), (?P<address>[^ ;]+)(;.*)?")


def installed_version(library):
    """The upstream version of a library on this system, without Debian's revision; NOASSERTION if it is not known."""
    debian = DEBIAN_PACKAGES.get(library)
    if debian is None:
        return "NOASSERTION"
    command = ["dpkg-query", "--show", "--showformat=${Version}", debian]
    try:
        found = subprocess.run(command, check=False, capture_output=True, text=True)
    except OSError:
        return "NOASSERTION"
    version = re.sub(r"^\d+:", "", found.stdout).rsplit("-", 1)[0]
    return version if found.returncode == 0 and version else "NOASSERTION"


def package(name, version, license_name, owner, address):
    return {
        "name": name,
        "SPDXID": "SPDXRef-" + re.sub(r"[^A-Za-z0-9.]+", "-", name).strip("-"),
        "versionInfo": version,
        "downloadLocation": address,
        "filesAnalyzed": False,
        "licenseConcluded": license_name,
        "licenseDeclared": license_name,
        "copyrightText": owner,
    }


def bill_of_materials(licenses, version, checksum, seconds):
    """The bill as text. `licenses`: the output of `ddl-oracle --licenses`. `checksum`: SHA-256 of the program. `seconds` since 1970:
    the time of the bill. Libraries of modules are left out, because packages contain no modules."""
    packages = []
    for line in licenses.splitlines():
        found = LINE.fullmatch(line)
        if not found or "(module " in line:
            continue
        name = found["name"]
        own = name == "ddl-oracle"
        packages.append(
            package(
                name,
                version if own else installed_version(name),
                found["license"],
                found["owner"],
                "NOASSERTION" if own else found["address"],
            )
        )
    program, *libraries = packages
    program["checksums"] = [{"algorithm": "SHA256", "checksumValue": checksum}]
    bill = {
        "spdxVersion": "SPDX-2.3",
        "dataLicense": "CC0-1.0",
        "SPDXID": "SPDXRef-DOCUMENT",
        "name": f"ddl-oracle-{version}",
        "documentNamespace": f"https://spdx.org/spdxdocs/ddl-oracle-{version}-{checksum}",
        "creationInfo": {
            "created": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds)),
            "creators": ["Tool: ddl-oracle-make_packages"],
        },
        "packages": packages,
        "relationships": [
            {"spdxElementId": "SPDXRef-DOCUMENT", "relationshipType": "DESCRIBES", "relatedSpdxElement": program["SPDXID"]},
            *(
                {"spdxElementId": program["SPDXID"], "relationshipType": "STATIC_LINK", "relatedSpdxElement": each["SPDXID"]}
                for each in libraries
            ),
        ],
    }
    return json.dumps(bill, indent=2) + "\n"
