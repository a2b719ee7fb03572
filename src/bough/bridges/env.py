"""Environments for learning: many robots as one `gymnasium.vector.VectorEnv`, or one as a `gymnasium.Env`.

Actions lie between -1 and 1, one for each freedom with a motor: shares of its effort, or with `servo` shares of `reach`
about where it starts. Rows end, are truncated, fail and start anew by themselves, none stops another.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, NamedTuple, TypeAlias, cast

import numpy as np
import numpy.typing as npt

from bough.dynamics.parameters import own_values
from bough.errors import ModelError, NonFiniteError, OptionError, ShapeError, required
from bough.model import Model
from bough.simulate import Contacts, Ensemble
from bough.types import FloatArray

gymnasium = required("gymnasium", "env", at_least="1.0")
vector: Any = gymnasium.vector
Env: Any = gymnasium.Env

__all__ = ["RobotEnv", "RobotState", "RobotVectorEnv"]


class RobotState(NamedTuple):
    """What rewards, observations and ends are made of; a row for each robot."""

    q: FloatArray
    v: FloatArray
    action: FloatArray  # (batch, motors) that led here, zero after a reset
    force: FloatArray | None  # (batch, contacts, 3) mean forces on contacts in the last step, in newtons
    time: FloatArray  # (batch,) seconds since the start of the row


Start: TypeAlias = npt.ArrayLike | Callable[[np.random.Generator, int], tuple[FloatArray, FloatArray]]
Judge: TypeAlias = Callable[[RobotState], npt.ArrayLike]
Draw: TypeAlias = npt.ArrayLike | Callable[[np.random.Generator, int], npt.ArrayLike]


class RobotVectorEnv(vector.VectorEnv):  # type: ignore[misc]
    """`num_envs` robots, stepped `substeps` times by `dt` for each action; next-step autoreset.

    `start` is a configuration (nq,), or a function of (generator, count) that gives q and v of so many rows. `reward`,
    `ended` and `observe` are functions of a `RobotState`; without `observe`, q and v are seen. Rows are truncated after
    `horizon` actions. `friction` of contacts, the gains `servo` = (kp, kd) and `parameters` of the model by name
    (`inertia`, `armature`, `gravity`, `placement`: see `Dynamics`) may differ from row to row; friction and parameters
    may be functions of (generator, count), drawn anew at each reset. `info["failed"]` says which rows lost their state
    (they end, with their last finite observation), `info["contact_residual"]` how well contacts were solved.
    """

    metadata = {"render_modes": [], "autoreset_mode": vector.AutoresetMode.NEXT_STEP}  # noqa: RUF012

    def __init__(
        self,
        model: Model,
        num_envs: int,
        *,
        start: Start | None = None,
        reward: Judge | None = None,
        ended: Judge | None = None,
        observe: Judge | None = None,
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
    ) -> None:
        self._arguments = {name: x for name, x in locals().items() if name not in ("self", "__class__")}
        if num_envs < 1 or substeps < 1 or horizon < 1:
            raise ShapeError(f"num_envs, substeps and horizon are at least 1, got {num_envs}, {substeps}, {horizon}")
        self.model, self.num_envs, self.substeps, self.horizon = model, num_envs, substeps, horizon
        self.motors = _motors(model, servo is not None)
        self.start, self.reward, self.ended, self.observe = start, reward, ended, observe
        self.friction, self.reach, self.dtype = friction, reach, np.dtype(dtype)
        self.parameters = dict(parameters or {})
        self.servo = _gains(servo, (num_envs, len(self.motors)))
        self._random = np.random.default_rng()
        q, v = self._begin(num_envs)
        self._home = q.copy()
        rows = {"dt": dt, "without": without, "inputs": tuple(self.parameters)}
        self.robots: Any = Ensemble(model, q, v, contacts=contacts, **rows)
        self._steps, self._over = np.zeros(num_envs, np.int64), np.zeros(num_envs, bool)
        self._seen = self._observed(self._state(np.zeros((num_envs, len(self.motors)))))
        box = gymnasium.spaces.Box
        self.single_observation_space = box(-np.inf, np.inf, self._seen.shape[1:], self.dtype.type)
        self.single_action_space = box(-1.0, 1.0, (len(self.motors),), self.dtype.type)
        self.observation_space = vector.utils.batch_space(self.single_observation_space, num_envs)
        self.action_space = vector.utils.batch_space(self.single_action_space, num_envs)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[FloatArray, dict[str, Any]]:
        """Start all rows; with options={"reset_mask": mask} only those of the mask."""
        super().reset(seed=seed)
        if seed is not None:
            self._random = np.random.default_rng(seed)
        chosen = (options or {}).get("reset_mask", np.ones(self.num_envs, bool))
        self._restart(np.asarray(chosen, bool))
        state = np.concatenate([self.robots.q, self.robots.v], axis=1)
        return self._seen.copy(), self._info(~(np.isfinite(state).all(axis=1) & np.isfinite(self._seen).all(axis=1)))

    def step(self, actions: npt.ArrayLike) -> tuple[Any, ...]:
        """(observations, rewards, terminations, truncations, infos); rows that are over start anew instead."""
        given = np.asarray(actions, float)
        if given.shape != (self.num_envs, len(self.motors)):
            raise ShapeError(f"actions have shape ({self.num_envs}, {len(self.motors)}), got {given.shape}")
        bad = np.flatnonzero(~np.isfinite(given).all(axis=1))
        if len(bad):
            raise NonFiniteError(f"actions must be finite, got {given[bad[0]]} in row {bad[0]}")
        given = np.clip(given, -1.0, 1.0)
        again = self._over.copy()
        for _ in range(self.substeps):
            self.robots.step(tau=self._torque(given))
        failed = np.asarray(self.robots.failed) & ~again
        self._steps += 1
        if failed.any():
            self.robots.reset(failed)  # its state is gone; what was seen of it last is shown
        state = self._state(given)
        rewards = self._judged(self.reward, state, 0.0)
        terminated = np.where(failed, True, self._judged(self.ended, state, False)).astype(bool) & ~again
        truncated = (self._steps >= self.horizon) & ~terminated & ~again
        seen = self._observed(state)
        lost = ~np.isfinite(seen).all(axis=1) & ~again & ~failed  # too large for the precision of observations
        if lost.any():
            self.robots.reset(lost)
            failed, terminated, truncated = failed | lost, terminated | lost, truncated & ~lost
        self._seen = np.where(failed[:, None], self._seen, seen)
        self._restart(again)
        self._over = terminated | truncated
        rewards[again | failed] = 0.0
        return self._seen.copy(), rewards, terminated, truncated, self._info(failed)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickled as its arguments and all numbers; what is compiled is found again."""
        return _restored, (type(self), self._arguments, _numbers(self))

    # Rows

    def _restart(self, rows: npt.NDArray[np.bool_]) -> None:
        count = int(np.count_nonzero(rows))
        if not count:
            return
        q, v = self._begin(count)
        self.robots.reset(rows, q, v)
        self._home[rows], self._steps[rows], self._over[rows] = q, 0, False
        for name, value in self.parameters.items():
            self.robots.assign(rows, **{name: self._drawn(value, rows, np.ndim(own_values(self.model, name)))})
        if self.robots.contacts is not None and self.friction is not None:
            drawn = self._drawn(self.friction, rows, 0)
            if np.shape(drawn) not in ((), (count,)) or not (np.isfinite(drawn) & (np.asarray(drawn) >= 0.0)).all():
                raise ShapeError(f"friction is a coefficient from zero for each of {count} rows, got {drawn!r}")
            self.robots.friction[rows] = drawn
        state = self._state(np.zeros((self.num_envs, len(self.motors))))
        self._seen[rows] = self._observed(state)[rows]

    def _drawn(self, given: Any, rows: npt.NDArray[np.bool_], dimensions: int) -> Any:
        """What these rows get of something that is drawn, the same for all, or given for each of all rows."""
        if callable(given):
            return given(self._random, int(np.count_nonzero(rows)))
        value = np.asarray(given, float)
        if value.ndim > dimensions and len(value) != self.num_envs:
            raise ShapeError(f"a value for each of {self.num_envs} rows has as many rows, got shape {value.shape}")
        return value[rows] if value.ndim > dimensions else value

    def _begin(self, count: int) -> tuple[FloatArray, FloatArray]:
        """q and v of so many new rows."""
        if callable(self.start):
            q, v = (np.asarray(x, float) for x in self.start(self._random, count))
        else:
            one = self.model.neutral if self.start is None else np.asarray(self.start, float)
            q, v = np.tile(one, (count, 1)), np.zeros((count, self.model.nv))
        if q.shape != (count, self.model.nq) or v.shape != (count, self.model.nv):
            wanted = f"({count}, {self.model.nq}) and ({count}, {self.model.nv})"
            raise ShapeError(f"start gives q and v of shape {wanted}, got {q.shape} and {v.shape}")
        return q, v

    def _torque(self, action: FloatArray) -> FloatArray:
        """(batch, nv): efforts, or servos that draw to targets with no more than their effort."""
        tau, at = np.zeros((self.num_envs, self.model.nv)), self.motors
        effort = self.model.limits.effort[at]
        if self.servo is None:
            tau[:, at] = action * effort
            return tau
        where = self._coordinates
        target = self._home[:, where] + self.reach * action
        kp, kd = self.servo
        pull = kp * (target - self.robots.q[:, where]) - kd * self.robots.v[:, at]
        tau[:, at] = np.nan_to_num(np.clip(pull, -effort, effort))
        return tau

    @property
    def _coordinates(self) -> Any:
        places = dict(zip(self.model.scalar_joints.v.tolist(), self.model.scalar_joints.q.tolist(), strict=True))
        return np.array([places[v] for v in self.motors.tolist()])

    # What is seen and judged

    def _state(self, action: FloatArray) -> RobotState:
        force = self.robots.force
        if force is not None and len(force) != self.num_envs:
            force = np.zeros((self.num_envs, *force.shape[1:]))
        time = self._steps * (self.substeps * self.robots.dt)
        return RobotState(self.robots.q.copy(), self.robots.v.copy(), action, force, time)

    def _observed(self, state: RobotState) -> FloatArray:
        if self.observe is None:
            return _rounded(np.concatenate([state.q, state.v], axis=1), self.dtype)
        found = _rounded(self.observe(state), self.dtype)
        if found.ndim != 2 or len(found) != self.num_envs:
            raise ShapeError(f"observe returned shape {found.shape}, expected ({self.num_envs}, k)")
        return found

    def _judged(self, judge: Judge | None, state: RobotState, default: Any) -> Any:
        found = np.asarray(default if judge is None else judge(state))
        try:
            return np.array(np.broadcast_to(found, (self.num_envs,)))
        except ValueError:
            raise ShapeError(f"a judge returned shape {found.shape}, expected ({self.num_envs},)") from None

    def _info(self, failed: npt.NDArray[np.bool_]) -> dict[str, Any]:
        info: dict[str, Any] = {"failed": failed}
        if self.robots.contacts is not None:
            residual = self.robots.residual
            info["contact_residual"] = residual if len(residual) == self.num_envs else np.zeros(self.num_envs)
        return info


class RobotEnv(Env):  # type: ignore[misc]
    """One robot as a plain environment; arguments are those of `RobotVectorEnv`."""

    metadata: dict[str, Any] = {"render_modes": ["rgb_array"]}  # noqa: RUF012

    def __init__(self, model: Model, *, render_mode: str | None = None, **options: Any) -> None:
        if render_mode not in (None, *self.metadata["render_modes"]):
            raise OptionError(f"render_mode is 'rgb_array' or None, got {render_mode!r}")
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
    """What changes in an environment and the simulation under it: numbers, arrays of them and generators, by name."""
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


def _rounded(x: npt.ArrayLike, dtype: Any) -> Any:
    """x in the precision of observations, infinite where that has no such number."""
    with np.errstate(over="ignore"):
        return np.asarray(x).astype(dtype)


def _motors(model: Model, servo: bool) -> Any:
    """Freedoms with a motor; their efforts must be known, and servos act on joints of one freedom."""
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


def _gains(servo: tuple[npt.ArrayLike, npt.ArrayLike] | None, shape: tuple[int, int]) -> tuple[Any, ...] | None:
    """(kp, kd) for each row and motor."""
    if servo is None:
        return None
    kp, kd = (np.asarray(g, float) for g in servo)
    fits = all(g.shape in ((), shape[1:], shape) for g in (kp, kd))
    if not fits or not all((np.isfinite(g) & (g >= 0.0)).all() for g in (kp, kd)):
        raise ModelError(f"servo=(kp, kd) are gains from zero: numbers, {shape[1:]} or {shape}, got {servo!r}")
    return np.broadcast_to(kp, shape), np.broadcast_to(kd, shape)


def __dir__() -> list[str]:
    return sorted(__all__)
