"""The example of a served model: its file is written, and requests are answered, by FastAPI where it is installed."""

import runpy
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

import hlograph

pytest.importorskip("pymc", minversion="6.4")
pytest.importorskip("nutpie")
EXAMPLE = runpy.run_path(str(Path(__file__).resolve().parent.parent / "examples" / "serve_model.py"))


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    path = str(tmp_path_factory.mktemp("served") / "radon.hlo")
    EXAMPLE["fit"](path, draws=200)
    return path


def test_requests_are_answered_and_compile_nothing(file):
    predict = hlograph.Predictor.load(file, trusted=True)
    known = EXAMPLE["answer"](predict, [0.0, 1.0], ["ANOKA", "AITKIN"])
    np.testing.assert_allclose(known["mean"], [2.0, 0.3], atol=0.25)
    again = EXAMPLE["answer"](predict, [1.0, 0.0] * 20, ["AITKIN", "ELSEWHERE"] * 20)
    widths = np.subtract(again["0.95"], again["0.05"])
    assert widths[1] > 2 * widths[0]  # a county that the model has not seen
    np.testing.assert_allclose(again["mean"][0], known["mean"][1], atol=0.1)
    assert EXAMPLE["answer"](predict, [], []) == {"mean": [], "0.05": [], "0.95": []}
    assert predict.function.stats.compiles == 0


@pytest.mark.skipif(not find_spec("fastapi") or not find_spec("httpx"), reason="FastAPI and httpx are not installed")
def test_fastapi_serves_it(file, monkeypatch):
    from fastapi.testclient import TestClient

    monkeypatch.setenv("MODEL", file)
    client = TestClient(EXAMPLE["app"]())
    request = {"floor": [0, 1], "county": ["ANOKA", "ELSEWHERE"], "seed": 3}
    found = client.post("/predict", json=request)
    assert found.status_code == 200
    wanted = EXAMPLE["answer"](hlograph.Predictor.load(file, trusted=True), [0.0, 1.0], ["ANOKA", "ELSEWHERE"], 3)
    assert found.json() == wanted
    assert client.post("/predict", json={**request, "floor": [0]}).status_code == 422
