"""A step of fourth order: half as long, twice as many steps end sixteen times nearer to the motion."""

import numpy as np
import pytest

import bough
from bough.dynamics.laws import joint_laws
from bough.dynamics.stepping import INTEGRATORS
from models import interpreted

RUNGE_KUTTA_STEP = INTEGRATORS["runge_kutta_4"].step()


def swinging(damping=0.0):
    builder = bough.Builder("double pendulum")
    for k, parent in enumerate(("world", "b0")):
        builder.add_body(f"b{k}", parent, axis=(0, 1, 0), placement=(0, 0, -0.5 * k), mass=1.0, com=(0, 0, -0.25),
                         inertia=0.02 * np.eye(3), damping=damping, stiffness=2.0 * k, rest=0.1)  # fmt: skip
    return builder.build()


def step(model, q, v, dt):
    return interpreted(RUNGE_KUTTA_STEP, model, joint_laws(model), q, v, np.array([0.3, -0.1]), [dt])


@pytest.mark.parametrize("damping", [0.0, 0.2])
def test_the_error_of_many_steps_is_of_fourth_order(damping):
    model, q, v = swinging(damping), np.array([0.7, -0.4]), np.array([1.0, 2.0])

    def after(parts, span=0.32):
        x = q, v
        for _ in range(parts):
            x = step(model, *x, span / parts)
        return np.concatenate(x)

    exact = after(256)
    errors = [np.abs(after(parts) - exact).max() for parts in (8, 16, 32)]
    assert errors[0] / errors[1] == pytest.approx(16.0, rel=0.15)
    assert errors[1] / errors[2] == pytest.approx(16.0, rel=0.15)


def test_what_rests_stays():
    model = bough.Builder("mass on a slide")
    model.add_body("cart", joint="prismatic", axis=(1, 0, 0), mass=2.0)
    model = model.build()
    q, v = interpreted(RUNGE_KUTTA_STEP, model, joint_laws(model), [0.3], [0.0], [0.0], [0.1])
    assert q == 0.3
    assert v == 0.0
