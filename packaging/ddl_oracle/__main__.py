"""`python -m ddl_oracle ARGUMENTS` is `ddl-oracle ARGUMENTS`."""

import os
import sys

from ddl_oracle import OracleError, _started, program

try:
    path = program()
    with _started(path):
        os.execv(path, ["ddl-oracle", *sys.argv[1:]])
except OracleError as problem:
    print(f"error: {problem}", file=sys.stderr)
    sys.exit(2)
