"""What all suites share."""

from __future__ import annotations

import os

from hypothesis import HealthCheck, Phase, settings

# A wall-clock deadline would make a busy machine fail a right answer.
settings.register_profile("codefy", deadline=None, suppress_health_check=[HealthCheck.too_slow])
# For planted bugs it matters that something fails, not what the smallest case is.
settings.register_profile(
    "mutants",
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    phases=[Phase.explicit, Phase.generate],
)
settings.load_profile(os.environ.get("CODEFY_HYPOTHESIS_PROFILE", "codefy"))
