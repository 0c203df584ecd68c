"""The process that parses foreign files first, for tests: one that forks for each file, in place of a new Python each.

In: files, on the socket whose number is the argument. Out: what `hlograph.codegen.artifact.child` answers, under the
same limits, after 0.01 s in place of 0.4 s.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import tempfile
import threading
from typing import Any


class ForeignParser:
    """Starts the process; its end is the end of this one."""

    def __init__(self) -> None:
        from hlograph.codegen.artifact import foreign

        ours, theirs = socket.socketpair()
        with theirs:
            self.process = subprocess.Popen(
                [sys.executable, __file__, str(theirs.fileno())],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                env=foreign._environment(),
                start_new_session=True,
            )
        self._connection = ours.makefile("rwb")
        ours.close()  # what was made of it stays open
        self._lock = threading.Lock()

    def parse(self, data: bytes, filename: str) -> bytes:
        """As `foreign.parse`."""
        from hlograph.codegen.artifact import foreign

        with self._lock:
            for part in (data, filename.encode()):
                self._connection.write(len(part).to_bytes(8, "little") + part)
            self._connection.flush()
            status = int.from_bytes(self._connection.read(8), "little", signed=True)
            answer = self._connection.read(int.from_bytes(self._connection.read(8), "little"))
        return foreign._module(answer, b"", status, filename)

    def end(self) -> None:
        """Ends the process."""
        self._connection.close()
        self.process.wait()


def _serve(connection: Any) -> None:
    from hlograph.codegen.artifact import child
    from hlograph.codegen.ir import bindings  # noqa: F401

    while size := connection.read(8):
        data = connection.read(int.from_bytes(size, "little"))
        filename = connection.read(int.from_bytes(connection.read(8), "little")).decode()
        with tempfile.TemporaryFile() as output:
            pid = os.fork()
            if pid == 0:
                os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
                child._limit(len(data))
                output.write(child.READY)
                child._answer(data, filename, output)
                os._exit(0)
            status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
            output.seek(0)
            answer = output.read()
        connection.write(status.to_bytes(8, "little", signed=True) + len(answer).to_bytes(8, "little") + answer)
        connection.flush()


if __name__ == "__main__":
    _serve(socket.socket(fileno=int(sys.argv[1])).makefile("rwb"))
