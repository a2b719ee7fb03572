"""Identification: masses, inertias and friction from measured motions.

Belongs here: the measurements as linear equations, base parameters, fits that stay physical, corrected files.
Does not belong here: the regressor itself (`dynamics`), simulation of measurements (`simulate`).
"""

from __future__ import annotations

from bough.identification.base import BaseParameters, base_parameters
from bough.identification.corrected import write_urdf
from bough.identification.fit import Identification, identify

__all__ = ["BaseParameters", "Identification", "base_parameters", "identify", "write_urdf"]
