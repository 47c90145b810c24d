"""Loops as people write them, whose number of steps and whose arrays can be of any size."""

import numpy as np


def stencil(steps, u):
    """A heat equation: every step writes the whole array by slices."""
    for _ in range(steps):
        u[1:-1] += 0.1 * (u[2:] - 2.0 * u[1:-1] + u[:-2])


def sweep(steps, u):
    """Gauss and Seidel: two loops, over single elements."""
    for _ in range(steps):
        for i in range(1, len(u) - 1):
            u[i] = (u[i - 1] + u[i] + u[i + 1]) / 3.0


def branches(steps, u):
    """A branch on a value in every step, and scalars that are carried."""
    speed = 0.1
    for k in range(steps):
        i = k % len(u)
        if u[i] > 0.5:
            u[i] -= 0.1 * speed
        else:
            speed = 0.9 * speed + 0.1 * u[i]
    return speed


def pendulum(steps, u):
    """A loop whose number of steps is known at run time only."""
    angle, velocity, step, time = u[0], u[1], 0.01, 0.0
    while time < steps * step:
        velocity -= step * np.sin(angle)
        angle += step * velocity
        time += step
    return angle + velocity


def writes(steps, u):
    """A small part of the array is scaled in every step."""
    for k in range(steps):
        u[3 * k : 3 * k + 8] *= 0.9


def moves(steps, u):
    """A small part of the array is read beside the one that is written."""
    for k in range(steps):
        u[2 * k + 1 : 2 * k + 9] += 0.5 * u[2 * k : 2 * k + 8]
