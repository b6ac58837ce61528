"""`python -m ddl_oracle ARGUMENTS` is `ddl-oracle ARGUMENTS`."""

import os
import sys

from ddl_oracle import OracleError, program

try:
    os.execv(program(), ["ddl-oracle", *sys.argv[1:]])
except OracleError as problem:
    sys.exit(f"error: {problem}")
