# %%
from dataclasses import dataclass, field

import numpy as np


# %%
@dataclass
class Tank:
    area: float
    level: float = 1.0
    record: np.ndarray = field(default_factory=lambda: np.zeros(5))

    def drain(self, hole):
        level = self.level
        for k in range(5):
            level = level - 0.1 * hole / self.area * np.sqrt(19.62 * level)
            self.record[k] = level
        return self.record


# %%
tanks = [Tank(2.0), Tank(3.0, level=1.5)]
weights = {"mean": np.mean, "last": lambda r: r[-1]}


# %%
def objective(hole):
    total = 0
    for tank in tanks:
        for name, f in weights.items():
            total += f(tank.drain(hole)) * (2 if name == "last" else 1)
    return total


# %%
before = objective(0.1)
print(f"before: {before:.3f}")
