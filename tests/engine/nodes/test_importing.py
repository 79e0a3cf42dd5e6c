"""Imports of files by strangers: what they may raise, and what is said of one that does not end."""

from __future__ import annotations

import logging
import signal
import threading
from pathlib import Path

import pytest

from codefy_engine.nodes import importing
from codefy_engine.nodes.importing import ImportFailed, guarded
from codefy_engine.nodes.registry import Registry, load_registry, reload_files

RAISES = ["KeyboardInterrupt", "GeneratorExit", "SystemExit", "BaseException", "RuntimeError"]


@pytest.mark.parametrize("name", RAISES)
def test_a_file_that_raises_anything_is_a_failure_at_the_start(tmp_path: Path, name: str) -> None:
    (tmp_path / "bad.py").write_text(f"raise {name}('on purpose')\n")
    (failure,) = load_registry([], tmp_path).failures
    assert (failure.source, failure.error) == ("nodes/bad.py", f"{name}: on purpose")


@pytest.mark.parametrize("name", RAISES)
def test_a_file_that_raises_anything_is_a_failure_when_loaded_again_in_a_thread(
    tmp_path: Path, name: str
) -> None:
    (tmp_path / "bad.py").write_text(f"raise {name}('on purpose')\n")
    registry = Registry(())
    thread = threading.Thread(target=reload_files, args=(registry, tmp_path))
    thread.start()
    thread.join()
    assert [failure.error for failure in registry.failures] == [f"{name}: on purpose"]


def test_ctrl_c_during_an_import_still_ends_the_program() -> None:
    # A shell starts background jobs with Ctrl-C ignored, and these tests may be one.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            guarded("nodes/slow.py", lambda: signal.raise_signal(signal.SIGINT))
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    finally:
        signal.signal(signal.SIGINT, before)


def test_an_exception_that_cannot_tell_itself_is_told_by_its_type(tmp_path: Path) -> None:
    (tmp_path / "bad.py").write_text(
        "class Mute(Exception):\n    def __str__(self):\n        raise ValueError\nraise Mute\n"
    )
    assert [failure.error for failure in load_registry([], tmp_path).failures] == ["Mute"]


def test_an_import_that_takes_long_is_named_with_what_to_do(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    said = threading.Event()

    class Told(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            said.set()

    monkeypatch.setattr(importing, "SLOW_SECONDS", 0.01)
    logger = logging.getLogger(importing.__name__)
    handler = Told()
    logger.addHandler(handler)
    try:
        assert guarded("nodes/endless.py", lambda: said.wait(30))
    finally:
        logger.removeHandler(handler)
    (record,) = caplog.records
    assert record.levelno == logging.WARNING
    assert "nodes/endless.py" in record.getMessage()
    assert "move it away" in record.getMessage()


def test_what_an_import_raised_is_the_cause() -> None:
    def load() -> None:
        raise KeyboardInterrupt

    with pytest.raises(ImportFailed) as caught:
        guarded("nodes/bad.py", load)
    assert isinstance(caught.value.__cause__, KeyboardInterrupt)


def test_a_refused_file_leaves_the_settings_of_torch_as_they_were(tmp_path: Path) -> None:
    import torch

    (tmp_path / "bad.py").write_text(
        "import torch\n"
        "torch.set_default_dtype(torch.float64)\n"
        "torch.set_default_device('meta')\n"
        "torch.use_deterministic_algorithms(True, warn_only=True)\n"
        "torch.set_float32_matmul_precision('medium')\n"
        "torch.backends.cudnn.benchmark = True\n"
        "torch.set_grad_enabled(False)\n"
    )
    (failure,) = load_registry([], tmp_path).failures
    assert failure.error == "NodeDefinitionError: bad.py defines no node class"
    made = torch.zeros(1) + 1.0
    assert (made.dtype, made.device.type) == (torch.float32, "cpu")
    assert not torch.are_deterministic_algorithms_enabled()
    assert not torch.is_deterministic_algorithms_warn_only_enabled()
    assert torch.get_float32_matmul_precision() == "highest"
    assert not torch.backends.cudnn.benchmark
    assert torch.is_grad_enabled()
