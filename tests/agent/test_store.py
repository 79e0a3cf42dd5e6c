"""D-8: folders of attempts, found again by the next process; names that cannot lead outside."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from codefy_agent.spool import SpoolRecord
from codefy_agent.store import AttemptStore, default_data_dir, legal_run_id


def leave(store: AttemptStore, run_id: str, attempt: int = 1, *, count: int = 3, ended: bool = False) -> None:
    spool = store.spool(run_id, attempt)
    spool.append(1, [SpoolRecord(b"x" * 10, final=ended and seq == count) for seq in range(1, count + 1)])
    spool.close()


def test_what_a_process_left_is_found(tmp_path: Path) -> None:
    store = AttemptStore(tmp_path)
    leave(store, "run-a")
    leave(store, "run-b", 3, count=2, ended=True)
    (tmp_path / "run-c").mkdir()
    (tmp_path / "not a run" / "spool").mkdir(parents=True)
    found = {
        (each.restored.run_id, each.restored.attempt): each.restored for each in AttemptStore(tmp_path).find()
    }
    assert set(found) == {("run-a", 1), ("run-b", 3)}
    assert (found["run-a", 1].sizes, found["run-a", 1].ended) == ((10, 10, 10), False)
    assert (found["run-b", 3].sizes, found["run-b", 3].ended) == ((10, 10), True)


def test_a_spool_of_a_newer_release_is_left_alone(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    store = AttemptStore(tmp_path)
    leave(store, "run-a")
    (segment,) = (tmp_path / "run-a" / "spool").glob("*.seg")
    data = bytearray(segment.read_bytes())
    data[8] = 99
    segment.write_bytes(data)
    assert store.find() == []
    assert segment.read_bytes() == data
    assert "cannot be read" in caplog.text
    store.prune(keep=0)
    assert segment.exists()


def test_delivered_folders_are_kept_up_to_a_number(tmp_path: Path) -> None:
    store = AttemptStore(tmp_path)
    leave(store, "waiting")
    for number in range(5):
        folder = tmp_path / f"run-{number}"
        folder.mkdir()
        (folder / "output.log").touch()
        os.utime(folder, (number, number))
    (tmp_path / "somebody else's").mkdir()
    store.prune(keep=2)
    assert {path.name for path in tmp_path.iterdir()} == {"run-3", "run-4", "waiting", "somebody else's"}


@pytest.mark.parametrize("run_id", ["", ".", "..", "a/b", "a\\b", "a.1", "ä", "x" * 65, "a\n", " a"])
def test_names_that_lead_elsewhere(run_id: str, tmp_path: Path) -> None:
    assert not legal_run_id(run_id)
    with pytest.raises(ValueError, match="not the key"):
        AttemptStore(tmp_path).home(run_id, 1)
    with pytest.raises(ValueError, match="not the key"):
        AttemptStore(tmp_path).home("fine", 0)


def test_the_data_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CODEFY_AGENT_DATA_DIR", str(tmp_path / "here"))
    assert default_data_dir() == tmp_path / "here"
    monkeypatch.delenv("CODEFY_AGENT_DATA_DIR")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    monkeypatch.setenv("HOME", str(tmp_path))
    assert default_data_dir().name == "codefy-agent"
