"""Runs the programs of RUN lines in forks of one process that has imported everything: 0.1 s each in place of 1.5 s.

In: `python forks.py serve SOCKET` is started once by lit.cfg.py; `python forks.py SOCKET PROGRAM ARGUMENT...` stands in
each RUN line, PROGRAM being `python` (with a script), `hlograph` or `filecheck`. Out: what the program writes, and its
exit status; a program that crashes takes the asking process with it. Decision to know: the server makes no JAX backend and
no MLIR context, so it has no threads when it forks; each program starts with nothing but imported modules.

The tests in tools/ start real processes (lit.local.cfg there).
"""

import os
import socket
import sys

_LENGTH = 8


def ask(path: str, command: list[str]) -> int:
    """Has the server run a program with this process's files, folder and environment; its exit status."""
    import pickle

    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(path)
        request = pickle.dumps((command, os.getcwd(), dict(os.environ)))
        socket.send_fds(connection, [len(request).to_bytes(_LENGTH, "little")], [0, 1, 2])
        connection.sendall(request)
        status = connection.recv(1)
    if not status:
        print(f"{command[0]} ended without a status: it crashed", file=sys.stderr, flush=True)
        os.abort()
    return status[0]


def serve(path: str) -> None:
    """Forks once for each request, until lit, which holds the other end of the standard input, is gone."""
    import contextlib
    import gc
    import select
    import signal
    import warnings

    import filecheck.main  # noqa: F401
    import jax  # noqa: F401
    import numpy  # noqa: F401

    import hlograph.tools.cli
    import hlograph.tools.explanation  # noqa: F401

    warnings.filterwarnings("ignore", "os.fork", RuntimeWarning)
    with contextlib.suppress(ImportError):  # tests of graphs say so themselves
        import pytensor.tensor  # noqa: F401
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    gc.collect()
    gc.freeze()  # a collection in a fork leaves what all share alone
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(f"{path}.new")
        listener.listen(64)
        os.rename(f"{path}.new", path)
        while True:
            ready, _, _ = select.select([listener, 0], [], [])
            if 0 in ready:
                return
            connection, _ = listener.accept()
            if os.fork() == 0:
                signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                listener.close()
                _answer(connection)
            connection.close()


def _answer(connection: socket.socket) -> None:
    import pickle

    head, files, _, _ = socket.recv_fds(connection, _LENGTH, 3)
    length, body = int.from_bytes(head, "little"), b""
    while len(body) < length:
        body += connection.recv(length - len(body))
    command, folder, environment = pickle.loads(body)
    for place, file in enumerate(files):
        os.dup2(file, place)
        os.close(file)
    sys.stdin = open(0, closefd=False)  # noqa: SIM115
    sys.stdout = open(1, "w", closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", buffering=1, closefd=False, errors="backslashreplace")  # noqa: SIM115
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    status = _run(command)
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    finally:
        connection.sendall(bytes([status]))
        os._exit(status)


def _run(command: list[str]) -> int:
    import runpy
    import traceback

    program, *arguments = command
    try:
        if program == "python":
            sys.argv = arguments
            sys.path.insert(0, os.path.dirname(os.path.abspath(arguments[0])))
            runpy.run_path(arguments[0], run_name="__main__")
            return 0
        sys.argv = command
        if program == "hlograph":
            from hlograph.tools.cli import main
        else:
            from filecheck.main import main
        sys.exit(main())
    except SystemExit as end:
        if isinstance(end.code, str):
            print(end.code, file=sys.stderr)
            return 1
        return end.code or 0
    except BaseException:
        traceback.print_exc()
        return 1


if __name__ == "__main__":
    if sys.argv[1] == "serve":
        serve(sys.argv[2])
    else:
        sys.exit(ask(sys.argv[1], sys.argv[2:]))
