"""Model objects that are built once, long before anybody differentiates; their methods change them."""

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import spsolve

from tests.programs_as_they_stand.record import Field

program = Field("state")


class HeatSolver:
    def __init__(self, n=10, dt=0.1):
        self.n, self.dt = n, dt
        self.u = np.zeros(n)
        self.un = np.zeros(n)
        self.hist = []
        self.time = 0.0

    def step(self, k):
        self.un[:] = self.u
        self.u[1:-1] = self.un[1:-1] + self.dt * k * (self.un[2:] - 2 * self.un[1:-1] + self.un[:-2])

    def run(self, k, left):
        self.u[:] = 0.0
        self.u[0] = left
        for _ in range(8):
            self.step(k)
        return np.sum(self.u**2)


program("scratch in attributes", lambda: HeatSolver().run, 0.9, 2.0, argnums=(0, 1))


class SwappingSolver(HeatSolver):
    def step(self, k):
        self.u, self.un = self.un, self.u
        self.u[1:-1] = self.un[1:-1] + self.dt * k * (self.un[2:] - 2 * self.un[1:-1] + self.un[:-2])
        self.u[0], self.u[-1] = self.un[0], self.u[-2]

    def run(self, k, left):
        base = super().run(k, left)
        return base + self.u[-1]


program("two buffers swapped, and super()", lambda: SwappingSolver().run, 0.9, 2.0, argnums=(0, 1))


class Recorder:
    def __init__(self):
        self.samples = []
        self.trace = np.zeros((6, 3))

    def simulate(self, gain):
        self.samples = []
        x = np.ones(3)
        for k in range(6):
            x = x + 0.1 * gain * np.array([x[1] - x[0], x[2] - x[1] * x[0], -x[2]])
            self.samples.append(x)
            self.trace[k] = x
        return self

    def score(self):
        return np.std(np.stack(self.samples), axis=0).sum() + self.trace[2:, 1].prod()


def score_of_recorder():
    recorder = Recorder()
    return lambda gain: recorder.simulate(gain).score()


program("a recorder that is cleared in each run", score_of_recorder, 1.3)


class ShallowIce:
    """Fields in a dictionary."""

    def __init__(self, m=8):
        self.fields = {"h": np.full(m, 1.0), "b": np.linspace(0.5, 0, m), "q": np.zeros(m + 1)}
        self.parameters = dict(dt=0.01, dx=1.0)

    def __getitem__(self, name):
        return self.fields[name]

    def __setitem__(self, name, value):
        self.fields[name][...] = value

    def advance(self, A):
        s = self["h"] + self["b"]
        q = self["q"]
        q[1:-1] = -A * (0.5 * (self["h"][1:] + self["h"][:-1])) ** 3 * np.diff(s) / self.parameters["dx"]
        self["h"] = self["h"] - self.parameters["dt"] * np.diff(q) / self.parameters["dx"]

    def volume_below(self, A, snow):
        self["h"] = 1.0
        for _ in range(10):
            self.advance(A)
            self.fields["h"][:3] += snow * self.parameters["dt"]
        return self["h"][4:].sum()


program(
    "fields in a dictionary, __getitem__ and __setitem__", lambda: ShallowIce().volume_below, 2.0, 0.3, argnums=(0, 1)
)


class RunningMoments:
    def __init__(self, momentum=0.9):
        self.momentum = momentum
        self.running_mean = np.zeros(3)
        self.running_var = np.ones(3)

    def __call__(self, x, gamma, beta):
        mean, var = x.mean(axis=0), x.var(axis=0)
        self.running_mean = self.momentum * self.running_mean + (1 - self.momentum) * mean
        self.running_var *= self.momentum
        self.running_var += (1 - self.momentum) * var
        return gamma * (x - mean) / np.sqrt(var + 1e-5) + beta


def normalised_loss():
    norm = RunningMoments()
    data = np.random.default_rng(0).standard_normal((5, 3))

    def loss(w, gamma):
        y = norm(data @ w, gamma, 0.1)
        return np.sum(y**3)

    return loss


program(
    "running moments, rebound and in place, not used by the loss",
    normalised_loss,
    np.eye(3) + 0.2,
    np.array([1.0, 0.8, 1.2]),
    argnums=(0, 1),
    step=1e-3,
)


class Particle:
    count = 0
    box = np.array([1.0, 1.0])

    def __init__(self, x):
        self._x = np.asarray(x, dtype=float)
        self._force = np.zeros(2)
        Particle.count += 1

    @property
    def x(self):
        return self._x

    @x.setter
    def x(self, value):
        self._x = value - np.floor(value / self.box) * self.box

    def reset(self):
        self._force.fill(0.0)

    def pull(self, other, k):
        d = other.x - self._x
        self._force += k * d
        other._force -= k * d

    @classmethod
    def ring(cls, n):
        return [cls([0.5 + 0.3 * np.cos(t), 0.5 + 0.3 * np.sin(t)]) for t in 2 * np.pi * np.arange(n) / n]


class Ensemble:
    def __init__(self):
        self.particles = Particle.ring(4)
        self.start = [p.x.copy() for p in self.particles]

    def energy(self, k):
        for p, x in zip(self.particles, self.start):
            p.x = x
        for _ in range(3):
            for p in self.particles:
                p.reset()
            for a, b in zip(self.particles, self.particles[1:] + self.particles[:1]):
                a.pull(b, k)
            for p in self.particles:
                p.x = p.x + 0.1 * p._force
        return sum(float(np.prod(self.particles[0].box)) * (p.x @ p.x) for p in self.particles)


program("a list of objects with properties and forces", lambda: Ensemble().energy, 0.8, step=1e-3)


class Reservoir:
    def __init__(self, capacity, outflow):
        self.capacity, self.outflow = capacity, outflow
        self.storage = 0.0
        self.spilled = 0.0

    def receive(self, inflow):
        self.storage += inflow
        if self.storage > self.capacity:
            self.spilled += self.storage - self.capacity
            self.storage = self.capacity
        released = self.outflow * self.storage
        self.storage -= released
        return released


class Cascade:
    def __init__(self, *reservoirs):
        self.reservoirs = reservoirs

    def __iter__(self):
        return iter(self.reservoirs)

    def __len__(self):
        return len(self.reservoirs)

    def route(self, rain):
        for r in self:
            r.storage = r.spilled = 0.0
        out = []
        for inflow in rain:
            for r in self:
                inflow = r.receive(inflow)
            out.append(inflow)
        return max(out) + sum(r.spilled for r in self) / len(self)


program(
    "reservoirs with tracked numbers in attributes",
    lambda: Cascade(Reservoir(3.0, 0.4), Reservoir(1.5, 0.3), Reservoir(9.0, 0.5)).route,
    np.array([1.0, 4.0, 0.5, 3.0, 0.2]),
    step=1e-3,
)


class LinearSolverCache:
    def __init__(self, n=8):
        self.n = n
        self.rhs = np.zeros(n)
        self.laplacian = sparse.diags([-1.0, 2.0, -1.0], [-1, 0, 1], shape=(n, n), format="csc")
        self._cached = None

    @property
    def matrix(self):
        if self._cached is None:
            self._cached = self.laplacian + 0.1 * sparse.identity(self.n, format="csc")
        return self._cached

    def objective(self, source, width):
        x = np.arange(self.n)
        self.rhs[:] = source * np.exp(-(((x - 3.2) / width) ** 2))
        u = spsolve(self.matrix, self.rhs)
        flux = self.laplacian @ u
        return u[5] + flux @ flux


program(
    "a sparse matrix made at first use", lambda: LinearSolverCache().objective, 1.2, 1.5, argnums=(0, 1), effects=True
)


class Stepper:
    """Template method: the base class loops, the others say what a step is."""

    order = 1

    def __init__(self, f, h):
        self.f, self.h = f, h
        self.stages = np.zeros((4, 2))

    def integrate(self, y, n):
        for k in range(n):
            y = self.step(k * self.h, y)
        return y

    def step(self, t, y):
        raise NotImplementedError


class Heun(Stepper):
    order = 2

    def step(self, t, y):
        self.stages[0] = self.f(t, y)
        self.stages[1] = self.f(t + self.h, y + self.h * self.stages[0])
        return y + self.h * self.stages[:2].mean(axis=0)


class Kutta(Heun):
    order = 3

    def step(self, t, y):
        k, h, f = self.stages, self.h, self.f
        k[0] = f(t, y)
        k[1] = f(t + h / 2, y + h / 2 * k[0])
        k[2] = f(t + h, y - h * k[0] + 2 * h * k[1])
        return y + h * np.dot([1 / 6, 2 / 3, 1 / 6], k[:3])


def methods_compared():
    def van_der_pol(t, y):
        return np.array([y[1], mu * (1 - y[0] ** 2) * y[1] - y[0]])

    mu = 1.0
    steppers = [Heun(van_der_pol, 0.1), Kutta(van_der_pol, 0.1)]

    def disagreement(start):
        nonlocal mu
        mu = start[0]
        a, b = (s.integrate(start, 5) for s in steppers)
        mu = 1.0
        return 1e3 * np.sum((a - b) ** 2)

    return disagreement


program(
    "steppers in a hierarchy, stages in an attribute, nonlocal", methods_compared, np.array([1.5, 0.4]), tolerance=1e-5
)


class Diverging(HeatSolver):
    def run(self, k, left):
        self.u[0] = left
        for n in range(50):
            self.step(k)
            if np.abs(self.u).max() > 100:
                raise FloatingPointError(f"diverged in step {n}")
        return self.u.sum()


program(
    "a solver that raises in the middle",
    lambda: Diverging().run,
    9.0,
    2.0,
    argnums=(0, 1),
    expected="FloatingPointError: diverged in step",
)


class Ledger:
    """Accounts that reach each other in a circle."""

    def __init__(self, name, parent=None):
        self.name, self.parent, self.children = name, parent, {}
        self.balance = np.zeros(3)

    def open(self, name):
        return self.children.setdefault(name, Ledger(name, self))

    def post(self, period, amount):
        self.balance[period] += amount
        if self.parent is not None:
            self.parent.post(period, amount)


def consolidated():
    root = Ledger("world")
    for region in ("north", "south"):
        for city in range(2):
            root.open(region).open(f"{region}{city}")

    def result(growth):
        stack = [root]
        while stack:
            node = stack.pop()
            node.balance[:] = 0
            stack.extend(node.children.values())
        for k, region in enumerate(root.children.values()):
            for j, city in enumerate(region.children.values()):
                for period in range(3):
                    city.post(period, (k + 1) * (j + 1) * growth**period)
        return root.balance @ root.open("north").balance

    return result


program("a tree of accounts with parents", consolidated, 1.05)
