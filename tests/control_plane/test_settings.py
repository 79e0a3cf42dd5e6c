"""Settings: every one has a variable, a default and a help; a bad value is refused by name."""

from __future__ import annotations

from pathlib import Path

import pytest

from codefy_control_plane.settings import SETTINGS, BadSetting, Settings, load_settings, parse_slot_overrides


def test_every_field_can_be_set_and_tells_what_it_does() -> None:
    fields = {setting.field for setting in SETTINGS}
    assert fields == set(Settings.__struct_fields__) - {"warnings"}
    assert len({setting.variable for setting in SETTINGS}) == len(SETTINGS)
    for setting in SETTINGS:
        assert setting.variable.startswith("CODEFY_")
        assert setting.help.endswith(".")
        assert setting.default


def test_the_defaults_in_the_help_are_the_real_ones(tmp_path: Path) -> None:
    settings = load_settings({}, data_dir=tmp_path)
    for setting in SETTINGS:
        if setting.field == "data_dir" or setting.default == "none":
            continue
        assert getattr(settings, setting.field) == setting.parse(setting.default), setting.field


def test_options_win_over_variables_and_variables_over_defaults(tmp_path: Path) -> None:
    environ = {"CODEFY_PORT": "9000", "CODEFY_HOST": "10.0.0.1", "CODEFY_DATA_DIR": str(tmp_path / "env")}
    settings = load_settings(environ, data_dir=tmp_path, port=None, host="::1")
    assert (settings.port, settings.host, settings.data_dir) == (9000, "::1", tmp_path)
    assert settings.database_path == tmp_path / "codefy.db"
    assert load_settings({"CODEFY_PORT": " "}, data_dir=tmp_path).port == 8000


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("CODEFY_PORT", "eighty"),
        ("CODEFY_PORT", "70000"),
        ("CODEFY_MAX_BODY_BYTES", "-1"),
        ("CODEFY_WORKER_RESUME_GRACE_S", "nan"),
        ("CODEFY_WORKER_GRACE_S", "-3"),
        ("CODEFY_QUEUE_ON_RESTART", "maybe"),
        ("CODEFY_RUN_QUEUE_MAX_CONCURRENT_CPU", "0"),
    ],
)
def test_a_bad_value_is_refused_and_named(tmp_path: Path, variable: str, value: str) -> None:
    with pytest.raises(BadSetting, match=variable):
        load_settings({variable: value}, data_dir=tmp_path)


def test_slot_overrides_warn_of_malformed_entries_and_keep_the_others(tmp_path: Path) -> None:
    text = "cuda:0=2, gpu-box-1/cuda:0=3,,cpu=0,=4,cuda:1,cuda:2=x"
    limits, warnings = parse_slot_overrides(text)
    assert limits == {"cuda:0": 2, "gpu-box-1/cuda:0": 3, "cpu": 1}
    assert [warning.params["entry"] for warning in warnings] == ["=4", "cuda:1", "cuda:2=x"]
    settings = load_settings({"CODEFY_RUN_QUEUE_MAX_CONCURRENT": text}, data_dir=tmp_path)
    assert settings.slot_overrides == limits
    assert [warning.code for warning in settings.warnings] == ["malformed_override"] * 3
