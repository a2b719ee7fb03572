"""Proximal policy optimisation (Schulman et al. 2017) for vector environments with next-step autoreset, in PyTorch."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

CLIP, DISCOUNT, TRACE, TARGET_KL = 0.2, 0.99, 0.95, 0.01
EPOCHS, BATCHES, LARGEST_GRADIENT = 5, 4, 1.0


def network(sizes: list[int]) -> nn.Sequential:
    """Linear layers with tanh between them; the last one begins near zero."""
    layers: list[nn.Module] = []
    for a, b in pairwise(sizes):
        layers += [nn.Linear(a, b), nn.Tanh()]
    with torch.no_grad():
        layers[-2].weight *= 0.1  # type: ignore[operator]
    return nn.Sequential(*layers[:-1])


class Learner:
    """A Gaussian policy and a value function that improve on what they do in `env`.

    Observations and rewards may be numpy arrays or tensors; `steps` is how many actions a rollout has.
    """

    def __init__(self, env: Any, steps: int = 24, hidden: tuple[int, ...] = (128, 64), seed: int = 0) -> None:
        torch.manual_seed(seed)
        seen, _ = env.reset(seed=seed)
        self.env, self.steps, self.seen = env, steps, torch.as_tensor(seen)
        device, size = self.seen.device, [self.seen.shape[1], *hidden]
        actions = env.single_action_space.shape[0]
        self.policy, self.value = (network([*size, n]).to(device) for n in (actions, 1))
        self.log_std = nn.Parameter(torch.full((actions,), -1.0, device=device))
        self.parameters = [*self.policy.parameters(), *self.value.parameters(), self.log_std]
        self.optimiser = torch.optim.Adam(self.parameters, lr=1e-3)
        self.over = torch.zeros(len(self.seen), dtype=torch.bool, device=device)
        self.numpy = not isinstance(seen, Tensor)

    def iteration(self) -> dict[str, float]:
        """One rollout of all rows and some epochs of improvement; the mean reward of a step, and how rows ended."""
        with torch.no_grad():
            data, report = self.rollout()
        for batch in self.batches(data):
            self.improve(*batch)
        return report | {"rate": self.optimiser.param_groups[0]["lr"], "std": float(self.log_std.detach().exp().mean())}

    def rollout(self) -> tuple[list[Tensor], dict[str, float]]:
        """(observation, action, log probability, advantage, value to learn, mean action) of all valid transitions."""
        rows: list[tuple[Tensor, ...]] = []
        for _ in range(self.steps):
            mean = self.policy(self.seen)
            action = mean + self.log_std.exp() * torch.randn_like(mean)
            seen, reward, ended, cut = map(torch.as_tensor, self.env.step(action.numpy() if self.numpy else action)[:4])
            stay = ~self.over  # a row that was over restarts in this step: no transition
            rows.append((self.seen, action, self.log_probability(action, mean), reward.float(), ended, stay, mean))
            self.seen, self.over = seen, ended | cut
            rows[-1] = (*rows[-1], self.over)
        seen, action, log_p, reward, ended, stay, mean, over = map(torch.stack, zip(*rows, strict=True))
        value = self.value(torch.cat([seen, self.seen[None]]))[..., 0]
        advantage = self.advantages(reward, value, ended, over)
        valid, returns = stay.reshape(-1), advantage + value[:-1]
        flat = [x.reshape(-1, *x.shape[2:])[valid] for x in (seen, action, log_p, advantage, returns, mean)]
        report = {"reward": float(reward[stay].mean()), "ended": float(ended[stay].float().mean())}
        return flat, report

    @staticmethod
    def advantages(reward: Tensor, value: Tensor, ended: Tensor, over: Tensor) -> Tensor:
        """Generalised advantage estimation (Schulman et al. 2016); value has one step more than the others."""
        found, ahead = torch.zeros_like(reward), torch.zeros_like(reward[0])
        for t in range(len(reward) - 1, -1, -1):
            surprise = reward[t] + DISCOUNT * value[t + 1] * ~ended[t] - value[t]
            ahead = surprise + DISCOUNT * TRACE * ahead * ~over[t]
            found[t] = ahead
        return found

    def batches(self, data: list[Tensor]) -> Iterator[list[Tensor]]:
        data[3] = (data[3] - data[3].mean()) / (data[3].std() + 1e-8)
        for _ in range(EPOCHS):
            for rows in torch.randperm(len(data[0]), device=data[0].device).chunk(BATCHES):
                yield [x[rows] for x in data]

    def improve(self, *batch: Tensor) -> None:
        seen, action, log_p, advantage, returns, old = batch
        mean = self.policy(seen)
        ratio = (self.log_probability(action, mean) - log_p).exp()
        gain = torch.min(ratio * advantage, ratio.clip(1 - CLIP, 1 + CLIP) * advantage).mean()
        miss = ((self.value(seen)[..., 0] - returns) ** 2).mean()
        self.optimiser.zero_grad()
        (-gain + 0.5 * miss).backward()
        nn.utils.clip_grad_norm_(self.parameters, LARGEST_GRADIENT)
        self.optimiser.step()
        # the rate follows the divergence of the policy from that of the rollout
        kl = float((((mean.detach() - old) / self.log_std.detach().exp()) ** 2).sum(-1).mean() / 2)
        group = self.optimiser.param_groups[0]
        if kl > 2 * TARGET_KL:
            group["lr"] = max(group["lr"] / 1.5, 1e-5)
        elif kl < TARGET_KL / 2:
            group["lr"] = min(group["lr"] * 1.5, 1e-2)

    def log_probability(self, action: Tensor, mean: Tensor) -> Tensor:
        return (-(((action - mean) / self.log_std.exp()) ** 2) / 2 - self.log_std).sum(-1)

    def weights(self) -> dict[str, np.ndarray]:
        """The layers of the policy: W0, b0, W1, ..."""
        layers = [layer for layer in self.policy if isinstance(layer, nn.Linear)]
        arrays = [x.detach().cpu().numpy() for layer in layers for x in (layer.weight, layer.bias)]
        return {f"{'Wb'[k % 2]}{k // 2}": x.astype(np.float32) for k, x in enumerate(arrays)}
