"""Settings of the whole test run."""

from hypothesis import HealthCheck, settings

settings.register_profile(
    "esewatch", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("esewatch")
