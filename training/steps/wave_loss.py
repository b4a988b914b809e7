"""How far a synthesised wave is from the teacher's: a spectral loss, and discriminators weighed by their skill."""

import torch
from torch import Tensor

from steps import discriminators
from steps.discriminators import Discriminators
from steps.optimisation import GradientBalancer, autocast
from steps.spectral_loss import SpectralLoss

WEIGHTS = {"spectral": 1.0, "matching": 1.0, "adversarial": 1.2}
"""Of the losses' gradients, each scaled to norm one."""
CHANCE, SKILLED = 2.0, 1.9
"""Hinge losses: of discriminators that tell nothing apart, and of those that earn their full weight."""


class WaveLoss:
    """`trained`: the discriminators count from the first step on; new ones do when they have learned something."""

    def __init__(self, critics: Discriminators, device: torch.device, trained: bool) -> None:
        self.discriminators, self.device = critics.to(device), device
        self.spectral = SpectralLoss().to(device)
        self.balancer = GradientBalancer(dict(WEIGHTS), device)
        self.hinge = torch.full((), SKILLED if trained else CHANCE, device=device)

    def compare(self, wave: Tensor, target: Tensor) -> tuple[Tensor, dict[str, Tensor]]:
        """The gradient at the wave, a leaf, of the spectral loss alone; the loss."""
        spectral = self.spectral(wave, target)
        return self.balancer({"spectral": torch.autograd.grad(spectral, wave)[0]}), {"spectral": spectral}

    def judge(self, wave: Tensor, target: Tensor) -> tuple[Tensor, tuple[Tensor, ...], dict[str, Tensor]]:
        """The gradient at the wave, a leaf, of all losses; the gradients of the discriminators; the losses."""
        spectral = self.spectral(wave, target)
        with autocast(self.device):
            outputs = self.discriminators(torch.cat([target, wave]))
        hinge, adversarial, matching = discriminators.compute_losses(outputs)
        self._weigh_discriminators(hinge)
        hinge_gradients = torch.autograd.grad(hinge, list(self.discriminators.parameters()), retain_graph=True)
        gradients = {
            "spectral": torch.autograd.grad(spectral, wave)[0],
            "matching": torch.autograd.grad(matching, wave, retain_graph=True)[0],
            "adversarial": torch.autograd.grad(adversarial, wave)[0],
        }
        losses = {"spectral": spectral, "hinge": hinge, "matching": matching, "adversarial": adversarial}
        return self.balancer(gradients), hinge_gradients, losses

    def _weigh_discriminators(self, hinge: Tensor) -> None:
        """Gradients are scaled to one norm: otherwise new discriminators would count as much as trained ones."""
        self.hinge.lerp_(hinge.detach(), 0.01)
        skill = ((CHANCE - self.hinge) / (CHANCE - SKILLED)).clamp(0.0, 1.0)
        for name in ("matching", "adversarial"):
            self.balancer.weights[name].copy_(WEIGHTS[name] * skill)
