"""Runs `ddl-oracle serve`, and sends requests as a test writes them."""

import contextlib
import http.client
import os
import signal
import socket
import subprocess

SKIPPED = 77


def environment():
    """Returns the environment without the user's own measurements on this machine."""
    return {**os.environ, "DDL_ORACLE_DATA": "/nonexistent/data"}


class Server:
    """`with Server(program, "--port", "0") as server`: the server is interrupted at the end."""

    def __init__(self, program, *arguments, folder=None):
        command = [program, "serve", "--port", "0", *arguments]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=folder, env=environment())
        self.url = self.process.stdout.readline().decode().strip()
        if not self.url:
            raise AssertionError(self.process.communicate()[1].decode())
        self.host, port = self.url.removeprefix("http://").rstrip("/").rsplit(":", 1)
        self.port = int(port)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.communicate(timeout=30)
        if self.process.poll() is None:
            self.process.kill()
            self.process.communicate()

    def connection(self, timeout=60):
        return http.client.HTTPConnection(self.host.strip("[]"), self.port, timeout=timeout)

    def ask(self, path, method="GET", headers=None, body=None, timeout=60):
        """Returns status, headers and text of an answer. The path is sent unchanged."""
        connection = self.connection(timeout)
        try:
            connection.putrequest(method, path, skip_host=headers is not None and "Host" in headers)
            for name, value in (headers or {}).items():
                connection.putheader(name, value)
            if body is not None:
                connection.putheader("Content-Length", str(len(body)))
            connection.endheaders()
            if body is not None:
                with contextlib.suppress(OSError):
                    connection.send(body)
            answer = connection.getresponse()
            return answer.status, dict(answer.getheaders()), answer.read().decode()
        finally:
            connection.close()

    def raw(self, timeout=60):
        return socket.create_connection((self.host.strip("[]"), self.port), timeout=timeout)


def is_built_in(program):
    ran = subprocess.run([program, "serve", "--host", "256.0.0.1"], capture_output=True, check=False, timeout=60)
    return b"without libevent" not in ran.stderr
