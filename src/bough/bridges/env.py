"""Environments for learning: many robots as one `gymnasium.vector.VectorEnv`, or one as a `gymnasium.Env`.

Actions lie between -1 and 1, one for each motor: shares of its effort, or with `servo` shares of `reach` about where it
starts. Rows terminate, are truncated, fail and restart by themselves; none stops another. The same code serves arrays
of numpy and tensors on a GPU: states, observations and rewards stay where they are.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from importlib import import_module
from importlib.util import find_spec
from typing import Any, NamedTuple, TypeAlias, cast

import numpy as np
import numpy.typing as npt

from bough.arguments import explained
from bough.compile.executions import device_of
from bough.compile.run.libraries import asarray, full, is_on_gpu, library_of, on_host
from bough.dynamics.parameters import own_values
from bough.errors import ModelError, NonFiniteError, OptionError, ShapeError, required
from bough.model import Model
from bough.simulate import Contacts, Ensemble
from bough.types import FloatArray

gymnasium = required("gymnasium", "env", at_least="1.0")
vector: Any = gymnasium.vector
Env: Any = gymnasium.Env

__all__ = ["RobotEnv", "RobotState", "RobotVectorEnv"]

Array: TypeAlias = Any  # of numpy, or on a GPU of PyTorch or CuPy


class RobotState(NamedTuple):
    """Arguments of rewards, observations and terminations; a row for each robot."""

    q: Array
    v: Array
    action: Array  # (batch, motors) that led here, zero after a reset
    force: Array | None  # (batch, contacts, 3) mean forces on contacts in the last step, in newtons
    time: Array  # (batch,) seconds since the start of the row
    previous: Array  # (batch, motors) the action before, zero after a reset

    @property
    def xp(self) -> Any:
        """The module of these arrays: numpy, torch or cupy."""
        return import_module(library_of(self.q))


Start: TypeAlias = npt.ArrayLike | Callable[[np.random.Generator, int], tuple[Array, Array]]
RowFunction: TypeAlias = Callable[[RobotState], Array]
Draw: TypeAlias = npt.ArrayLike | Callable[[np.random.Generator, int], Array]


@explained
class RobotVectorEnv(vector.VectorEnv):  # type: ignore[misc]
    """`num_envs` robots, stepped `substeps` times by `dt` for each action; next-step autoreset.

    `start` is a configuration (nq,), or a function of (generator, count) that gives q and v of so many rows. `reward`,
    `ended` and `observe` are functions of a `RobotState`; without `observe`, q and v are seen. Rows are truncated after
    `horizon` actions. With `servo` = (kp, kd) the servos of `Ensemble` draw each motor to its target. These gains,
    `friction` of contacts and `parameters` of the model by name (`inertia`, `armature`, `gravity`, `placement`: see
    `Dynamics`) may differ from row to row; friction and parameters may be functions of (generator, count), drawn anew
    at each reset. `info["failed"]` says which rows lost their state (they end, with their last finite observation),
    `info["contact_residual"]` how well contacts were solved.

    With device="cuda" all of these are tensors of PyTorch on the GPU in the precision `dtype` (arrays of CuPy where
    PyTorch is not installed), actions are such tensors, and their numbers are not checked. The generator is numpy's on
    both devices: equal seeds draw equal rows. Functions of `RobotState` that use its `xp` serve both devices.
    """

    metadata = {"render_modes": [], "autoreset_mode": vector.AutoresetMode.NEXT_STEP}  # noqa: RUF012

    def __init__(
        self,
        model: Model,
        num_envs: int,
        *,
        start: Start | None = None,
        reward: RowFunction | None = None,
        ended: RowFunction | None = None,
        observe: RowFunction | None = None,
        contacts: Contacts | None = None,
        friction: Draw | None = None,
        parameters: Mapping[str, Draw] | None = None,
        servo: tuple[npt.ArrayLike, npt.ArrayLike] | None = None,
        reach: float = 0.5,
        dt: float = 2e-3,
        substeps: int = 10,
        horizon: int = 1000,
        without: Any = (),
        dtype: Any = np.float32,
        device: str | None = None,
    ) -> None:
        self._arguments = {name: x for name, x in locals().items() if name not in ("self", "__class__")}
        if num_envs < 1 or substeps < 1 or horizon < 1:
            raise ShapeError(f"num_envs, substeps and horizon are at least 1, got {num_envs}, {substeps}, {horizon}")
        if not 0.0 < reach < np.inf:
            raise ShapeError(f"reach must be positive, and finite, got {reach}")
        self.model, self.num_envs, self.substeps, self.horizon = model, num_envs, substeps, horizon
        self.dtype, self.on_gpu = np.dtype(dtype), device_of(device, "rows").is_gpu
        # states are float64 on the CPU, and as precise as observations on a GPU
        self._like = _zero_on_gpu(self.dtype.name) if self.on_gpu else np.zeros(1)
        self._xp: Any = import_module(library_of(self._like))
        self.start, self.reward, self.ended, self.observe = start, reward, ended, observe
        self.friction, self.reach, self.parameters = friction, reach, dict(parameters or {})
        motors = _motors(model, servo is not None)
        self.motors = asarray(motors, self._like, "int64")
        self._coordinates = asarray(_coordinates(model, motors), self._like, "int64")
        self._effort = asarray(model.limits.effort[motors], self._like)
        self._random = np.random.default_rng()
        q, v = self._begin(num_envs)
        self._home = q + 0
        rows = {"dt": dt, "without": without, "inputs": tuple(self.parameters)}
        gains = None if servo is None else _gains(servo, motors, (num_envs, model.nv))
        self.robots: Any = Ensemble(model, q, v, contacts=contacts, servo=gains, **rows)
        self._drive, self._has_servo = full((num_envs, model.nv), 0.0, self._like), gains is not None
        self._action = full((num_envs, len(motors)), 0.0, self._like)
        self._steps, self._over = (full((num_envs,), 0, self._like, kind) for kind in ("int64", "bool"))
        self._seen = self._observed(self._state(self._action))
        box = gymnasium.spaces.Box
        self.single_observation_space = box(-np.inf, np.inf, tuple(self._seen.shape[1:]), self.dtype.type)
        self.single_action_space = box(-1.0, 1.0, (len(motors),), self.dtype.type)
        self.observation_space = vector.utils.batch_space(self.single_observation_space, num_envs)
        self.action_space = vector.utils.batch_space(self.single_action_space, num_envs)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Array, dict[str, Any]]:
        """Start all rows; with options={"reset_mask": mask} only those of the mask."""
        super().reset(seed=seed)
        if seed is not None:
            self._random = np.random.default_rng(seed)
        mask = asarray((options or {}).get("reset_mask", np.ones(self.num_envs, bool)), self._like, "bool")
        if tuple(mask.shape) != (self.num_envs,):
            raise ShapeError(f"reset_mask has shape ({self.num_envs},), got {tuple(mask.shape)}")
        self._restart(mask)
        return self._seen + 0, self._info(~self._is_finite())

    def step(self, actions: Array) -> tuple[Any, ...]:
        """(observations, rewards, terminations, truncations, infos); rows that are over restart instead."""
        action, again = self._checked(actions), self._over
        self._advance(action)
        failed = self.robots.failed & ~again
        self._steps += 1
        if failed.any():
            self.robots.reset(failed)  # its state is gone; what was seen of it last is shown
        state = self._state(action)
        rewards = self._of_rows("reward", self.reward, state, 0.0)
        terminated = (failed | (self._of_rows("ended", self.ended, state, 0.0) != 0)) & ~again
        truncated = (self._steps >= self.horizon) & ~terminated & ~again
        seen = self._observed(state)
        lost = ~self._xp.isfinite(seen).all(1) & ~again & ~failed  # too large for the precision of observations
        if lost.any():
            self.robots.reset(lost)
            failed, terminated, truncated = failed | lost, terminated | lost, truncated & ~lost
        self._seen = self._xp.where(failed[:, None], self._seen, seen)
        self._action = action
        self._restart(again)
        self._over = terminated | truncated
        rewards[again | failed] = 0.0
        return self._seen + 0, rewards, terminated, truncated, self._info(failed | (again & ~self._is_finite()))

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickled as its arguments and all numbers; what is compiled is found again."""
        if self.on_gpu:
            raise OptionError("an environment on a GPU cannot be pickled: make it anew, or use the CPU")
        return _restored, (type(self), self._arguments, _numbers(self))

    # Rows

    def _is_finite(self) -> Array:
        """Whether each row is a state that can be observed."""
        return self._xp.isfinite(self._xp.concatenate([self._seen, self.robots.q, self.robots.v], 1)).all(1)

    def _restart(self, mask: Array) -> None:
        rows = mask.nonzero()
        rows = rows[0] if isinstance(rows, tuple) else rows[:, 0]
        if not len(rows):
            return
        q, v = self._begin(len(rows))
        self.robots.reset(rows, q, v)
        self._home[rows], self._steps[rows], self._action[rows], self._over = q, 0, 0.0, self._over & ~mask
        for name, value in self.parameters.items():
            self.robots.assign(rows, **{name: self._drawn(value, rows, np.ndim(own_values(self.model, name)))})
        if self.robots.contacts is not None and self.friction is not None:
            self.robots.assign(rows, friction=self._drawn(self.friction, rows, 0))
        state = self._state(full(tuple(self._action.shape), 0.0, self._like))
        self._seen[rows] = self._observed(state)[rows]

    def _drawn(self, value: Any, rows: Array, dimensions: int) -> Array:
        """The values for these rows of something that is drawn, the same for all, or one for each of all rows."""
        found = value(self._random, len(rows)) if callable(value) else value
        found = found if is_on_gpu(found) else np.asarray(found)  # what is on the host is examined there
        if callable(value) or found.ndim <= dimensions:
            return found
        if len(found) != self.num_envs:
            raise ShapeError(f"a value for each of {self.num_envs} rows has as many rows, got shape {found.shape}")
        return found[rows if is_on_gpu(found) else on_host(rows)]

    def _begin(self, count: int) -> tuple[Array, Array]:
        """q and v of so many new rows."""
        if callable(self.start):
            q, v = (asarray(x, self._like) for x in self.start(self._random, count))
        else:
            one = self.model.neutral if self.start is None else self.start
            q, v = full((count, self.model.nq), 0.0, self._like), full((count, self.model.nv), 0.0, self._like)
            q += asarray(one, self._like)
        if tuple(q.shape) != (count, self.model.nq) or tuple(v.shape) != (count, self.model.nv):
            expected = f"({count}, {self.model.nq}) and ({count}, {self.model.nv})"
            raise ShapeError(f"start gives q and v of shape {expected}, got {tuple(q.shape)} and {tuple(v.shape)}")
        return q, v

    def _checked(self, actions: Array) -> Array:
        """Actions between -1 and 1."""
        action = asarray(actions.detach() if hasattr(actions, "detach") else actions, self._like)
        if tuple(action.shape) != tuple(self._action.shape):
            raise ShapeError(f"actions have shape {tuple(self._action.shape)}, got {tuple(action.shape)}")
        if not self.on_gpu:
            bad = np.flatnonzero(~np.isfinite(action).all(1))
            if len(bad):
                raise NonFiniteError(f"actions must be finite, got {action[bad[0]]} in row {bad[0]}")
        return action.clip(-1.0, 1.0)

    def _advance(self, action: Array) -> None:
        """Steps under the efforts of an action, or with servos at the targets of it."""
        if self._has_servo:
            self._drive[:, self.motors] = self._home[:, self._coordinates] + self.reach * action
            self.robots.step(self.substeps, target=self._drive)
        else:
            self._drive[:, self.motors] = action * self._effort
            self.robots.step(self.substeps, tau=self._drive)

    # Observations and rewards

    def _state(self, action: Array) -> RobotState:
        force = self.robots.force
        if force is not None and len(force) != self.num_envs:
            force = full((self.num_envs, *force.shape[1:]), 0.0, self._like)
        time = self._steps * (self.substeps * self.robots.dt)
        return RobotState(self.robots.q + 0, self.robots.v + 0, action, force, time, self._action)

    def _observed(self, state: RobotState) -> Array:
        found = self._xp.concatenate([state.q, state.v], 1) if self.observe is None else self.observe(state)
        with np.errstate(over="ignore"):  # infinite where the precision has no such number
            found = asarray(found, self._like, self.dtype.name)
        if found.ndim != 2 or len(found) != self.num_envs:
            raise ShapeError(f"observe returned shape {tuple(found.shape)}, expected ({self.num_envs}, k)")
        return found

    def _of_rows(self, name: str, function: RowFunction | None, state: RobotState, default: float) -> Array:
        """(batch,) numbers of a function of the state."""
        if function is None:
            return full((self.num_envs,), default, self._like)
        found = asarray(function(state), self._like)
        if tuple(found.shape) not in ((), (self.num_envs,)):
            raise ShapeError(f"{name} returned shape {tuple(found.shape)}, expected ({self.num_envs},)")
        return found + full((self.num_envs,), 0.0, self._like)

    def _info(self, failed: Array) -> dict[str, Any]:
        info: dict[str, Any] = {"failed": failed}
        if self.robots.contacts is not None:
            residual = self.robots.residual
            known = len(residual) == self.num_envs
            info["contact_residual"] = residual if known else full((self.num_envs,), 0.0, self._like)
        return info


@explained
class RobotEnv(Env):  # type: ignore[misc]
    """One robot as a plain environment; arguments are those of `RobotVectorEnv`."""

    metadata: dict[str, Any] = {"render_modes": ["rgb_array"]}  # noqa: RUF012

    def __init__(self, model: Model, *, render_mode: str | None = None, **options: Any) -> None:
        if render_mode not in (None, *self.metadata["render_modes"]):
            raise OptionError(f"render_mode is 'rgb_array' or None, got {render_mode!r}")
        if device_of(options.get("device"), "rows").is_gpu:
            raise OptionError("RobotEnv is for the CPU: on a GPU use RobotVectorEnv")
        self.render_mode, self._scene = render_mode, cast(Any, None)
        self.rows = RobotVectorEnv(model, 1, **options)
        self.observation_space, self.action_space = self.rows.single_observation_space, self.rows.single_action_space

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """The first observation."""
        super().reset(seed=seed)
        seen, info = self.rows.reset(seed=seed)
        return seen[0], {name: value[0] for name, value in info.items()}

    def step(self, action: npt.ArrayLike) -> tuple[Any, ...]:
        """(observation, reward, terminated, truncated, info)."""
        seen, reward, ended, cut, info = self.rows.step(np.asarray(action)[None])
        return seen[0], float(reward[0]), bool(ended[0]), bool(cut[0]), {k: x[0] for k, x in info.items()}

    def render(self, size: tuple[int, int] = (640, 400)) -> npt.NDArray[np.uint8]:
        """A picture (height, width, 3) of the robot as it is now."""
        from bough.view import picture, scene

        if self._scene is None:
            self._scene = scene(self.rows.model)
        return picture(replace(self._scene, q=self.rows.robots.q[0].copy()), size)


def _restored(kind: Any, arguments: dict[str, Any], numbers: dict[str, Any]) -> Any:
    """An environment as it was when it was pickled."""
    found = kind.__new__(kind)
    RobotVectorEnv.__init__(found, **arguments)
    _restore(found, numbers)
    return found


def _restore(thing: Any, numbers: dict[str, Any]) -> None:
    """Put numbers where `_numbers` found them."""
    members = thing if isinstance(thing, dict) else vars(thing)
    for name, x in numbers.items():
        if not isinstance(x, dict):
            members[name] = x
        elif x and name in members:
            _restore(members[name], x)


def _numbers(thing: Any) -> dict[str, Any]:
    """The state of an environment and its simulation: numbers, arrays of them and generators, by name."""
    found: dict[str, Any] = {}
    for name, x in (thing if isinstance(thing, dict) else getattr(thing, "__dict__", {})).items():
        if name == "_arguments":
            continue
        if _is_data(x):
            found[name] = x
        elif isinstance(x, dict) or type(x).__module__.startswith("bough.simulate."):
            found[name] = _numbers(x)
    return found


def _is_data(x: Any) -> bool:
    if isinstance(x, list | tuple):
        return bool(x) and all(map(_is_data, x))
    return isinstance(x, np.ndarray | np.generic | int | float | np.random.Generator)


def _zero_on_gpu(dtype: str) -> Array:
    """An array on the GPU, like which all others are made: of PyTorch, or of CuPy where PyTorch has no GPU."""
    torch: Any = import_module("torch") if find_spec("torch") else None
    if torch is not None and torch.cuda.is_available():
        return torch.zeros(1, dtype=getattr(torch, dtype), device="cuda")
    return cast(Any, import_module("cupy")).zeros(1, dtype)


def _motors(model: Model, servo: bool) -> Any:
    """DoFs with a motor; without servos their efforts must be known, and servos act on joints of one DoF."""
    found = np.flatnonzero(model.actuated)
    if not len(found):
        raise ModelError(f"no joint of {model.name!r} has a motor: there is nothing to act with")
    single = set(model.scalar_joints.v.tolist())
    for v in found.tolist():
        if servo and v not in single:
            raise ModelError(f"servos act on revolute and prismatic joints, not on {model.dof_names[v]!r}")
        if not servo and not np.isfinite(model.limits.effort[v]):
            raise ModelError(f"{model.dof_names[v]!r} has no effort to take shares of: give it one, or servo=(kp, kd)")
    return found


def _coordinates(model: Model, motors: Any) -> Any:
    """Where in q the motors are; -1 for one of a joint of several DoFs, which has no servo."""
    places = dict(zip(model.scalar_joints.v.tolist(), model.scalar_joints.q.tolist(), strict=True))
    return np.array([places.get(v, -1) for v in motors.tolist()])


def _gains(servo: tuple[Any, Any], motors: Any, shape: tuple[int, int]) -> tuple[FloatArray, FloatArray]:
    """(kp, kd) for each row and DoF from those of motors."""
    gains = [np.asarray(g, float) for g in servo]
    one, all_rows = (len(motors),), (shape[0], len(motors))
    if not all(g.shape in ((), one, all_rows) and (np.isfinite(g) & (g >= 0.0)).all() for g in gains):
        raise ModelError(f"servo=(kp, kd) are gains from zero: numbers, {one} or {all_rows}, got {servo!r}")
    found = np.zeros((2, *shape))
    for whole, g in zip(found, gains, strict=True):
        whole[:, motors] = g
    return found[0], found[1]


def __dir__() -> list[str]:
    return sorted(__all__)
