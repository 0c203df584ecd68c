"""The end of a process while threads call: by `sys.exit` in the main thread, at its end, by SIGTERM."""

import os
import signal
import subprocess
import sys

import pytest

RUNS = 20 if "HLOGRAPH_NIGHTLY" in os.environ else 1

SCRIPT = """
import sys, threading, time, warnings
warnings.simplefilter("ignore")
import jax.numpy as jnp, numpy as np
import hlograph

outputs, how, number = sys.argv[1], sys.argv[2], int(sys.argv[3])
fn = hlograph.jit(lambda x: jnp.tanh(x @ x.T).sum(0), dims={"x": ("n", 8)}, outputs=outputs)
stop = threading.Event()

def work(thread):
    count = 0
    while not stop.is_set():
        count += 1
        fn(np.ones((300 + count % 3 * 10, 8), np.float32))

for thread in range(4):
    threading.Thread(target=work, args=(thread,)).start()
time.sleep(0.3 + 0.05 * number)
print("calling", flush=True)
if how == "term":
    time.sleep(60)
threading.Timer(0.1, stop.set).start()
if how == "exit":
    sys.exit(3)
"""


@pytest.mark.sampled(3)
@pytest.mark.parametrize("number", range(RUNS))
@pytest.mark.parametrize(("outputs", "how", "code"), [("jax", "exit", 3), ("numpy", "end", 0), ("jax", "term", -15)])
def test_exit_code(outputs: str, how: str, code: int, number: int) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", SCRIPT, outputs, how, str(number)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "calling\n"
    if how == "term":
        process.send_signal(signal.SIGTERM)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == code, errors
    assert not errors
