"""What all suites share."""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

# A wall-clock deadline would make a busy machine fail a right answer.
settings.register_profile("codefy", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile(os.environ.get("CODEFY_HYPOTHESIS_PROFILE", "codefy"))
