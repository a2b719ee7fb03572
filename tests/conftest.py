"""Settings that all tests share."""

from hypothesis import HealthCheck, settings

# Compiling on first use would break any deadline; examples are the same in every run.
settings.register_profile("bough", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("bough")
