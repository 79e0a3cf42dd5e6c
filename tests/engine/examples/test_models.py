"""Examples of models, executed as they are shipped."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from codefy_engine.graph.document import parse_graph

EXAMPLES = Path(__file__).parents[3] / "examples"

LEAST = {
    "residual-net": {"test_accuracy": 0.94, "val_accuracy": 0.94},
    "vit": {"test_accuracy": 0.88, "val_accuracy": 0.88},
    "mixture-of-experts": {"test_accuracy": 0.88, "val_accuracy": 0.88},
    "lstm-series": {"test_r2": 0.95},
    "char-gpt": {"val_accuracy": 0.55},
}
MOST = {
    "lstm-series": {"val_loss": 0.05},
    # A picture that is the mean of all would have 0.07.
    "autoencoder": {"val_loss": 0.025},
    # 27 is what the best constant picture has.
    "vae": {"val_loss": 25.0},
    # A guess of no noise has 1.
    "unet-diffusion": {"val_loss": 0.3},
    "char-gpt": {"val_loss": 2.0, "perplexity": 5.0},
}


@pytest.mark.parametrize("name", sorted(LEAST.keys() | MOST.keys()))
def test_an_example_learns(name: str, harness: Any, capsys: pytest.CaptureFixture[str]) -> None:
    document = parse_graph((EXAMPLES / f"{name}.json").read_bytes())
    outcome, kept = harness.execute(document)
    assert outcome.status == "succeeded", outcome.error
    assert set(kept.last_status().values()) == {"succeeded"}
    assert kept.warnings == []
    points = {p["name"]: p["value"] for body in kept.metrics for p in body["points"]}
    for metric, least in LEAST.get(name, {}).items():
        assert points[metric] >= least, (metric, points[metric])
    for metric, most in MOST.get(name, {}).items():
        assert points[metric] <= most, (metric, points[metric])
    CHECKS.get(name, lambda printed: None)(capsys.readouterr().out)


def check_experts(printed: str) -> None:
    numbers = printed[printed.index("([") + 2 : printed.index("])")]
    shares = [float(number) for number in numbers.split(",")]
    assert sum(shares) == pytest.approx(1, abs=1e-3)
    # The balance keeps every expert in work.
    assert len(shares) == 6
    assert min(shares) > 0.03


def check_error(printed: str) -> None:
    assert float(printed.split()[-1]) < 0.025


def check_new_pictures(printed: str) -> None:
    # As bright as real digits: their mean is 0.305.
    assert 0.22 < float(printed.split()[-1]) < 0.4


def check_samples(printed: str) -> None:
    numbers = {line.split(":")[0]: printed.splitlines()[index + 2] for index, line in enumerate(printed.splitlines())
               if line.startswith("Mean")}  # fmt: skip
    assert abs(float(numbers["Mean of new pictures"]) - float(numbers["Mean of the data"])) < 0.15


def check_writing(printed: str) -> None:
    assert "GPT" in printed
    assert "4-gram model" in printed
    assert printed.count("The lamp") >= 2
    # Words of the story come out, although only letters went in.
    assert " the " in printed[printed.index("GPT") :]


CHECKS: dict[str, Any] = {
    "mixture-of-experts": check_experts,
    "autoencoder": check_error,
    "vae": check_new_pictures,
    "unet-diffusion": check_samples,
    "char-gpt": check_writing,
}
