"""Programs whose loops call methods, read and set attributes and items, and call functions with free variables."""

from __future__ import annotations

import abc
import dataclasses
from collections import namedtuple
from contextlib import suppress
from functools import partial

import numpy as np

from tests.loops_in_c.programs import compiled, python, raising


class Simulation:
    """Diffusion, with an array for the fluxes."""

    diffusivity = 0.4

    def __init__(self, u, dt):
        self.u, self.dt, self.t, self.count = u, dt, 0.0, 0
        self.flux = np.zeros_like(u)
        self.verbose, self.log = False, None

    def rhs(self):
        self.flux[1:-1] = self.u[2:] - 2.0 * self.u[1:-1] + self.u[:-2]
        return self.flux * self.diffusivity

    def step(self):
        self.u[1:-1] += self.dt * self.rhs()[1:-1]
        self.t += self.dt
        self.count += 1
        if self.verbose:
            print(self.t)

    def run(self, steps):
        for _ in range(steps):
            self.step()
        return self.u


class Explicit(Simulation):
    def step(self):
        self.u = self.u + self.dt * self.rhs()
        self.t = self.t + self.dt
        self.last = self.u[0]


@compiled
def a_simulation(A, v, a):
    one = Simulation(v * 1.0, 0.1 * a)
    one.run(4)
    return np.sum(one.u) * one.t + one.count


@compiled
def a_simulation_that_rebinds_its_array(A, v, a):
    one, other = Explicit(v, 0.1 * a), Explicit(A[0], 0.2)
    for _ in range(3):
        one.step()
        other.step()
        one.u[1] = other.u[0] * a
    return np.sum(one.u) * one.t + np.sum(other.u) * other.last + np.sum(v)


@dataclasses.dataclass
class Particles:
    x: np.ndarray
    p: np.ndarray
    t: float = 0.0


def leapfrog(state, dt, rate=1.0, *, damping=0.0):
    state.p -= 0.5 * dt * rate * state.x
    state.x += dt * state.p
    state.p -= 0.5 * dt * rate * state.x + damping * state.p
    state.t += dt


@compiled
def a_dataclass(A, v, a):
    state = Particles(v.copy(), A[0])
    for _ in range(4):
        leapfrog(state, 0.1 * a, damping=0.1)
        leapfrog(state, rate=a, dt=0.1)
    return np.sum(state.x * state.p) * state.t


class Slotted:
    __slots__ = ("factor", "u")

    def __init__(self, u, factor):
        self.u, self.factor = u, factor

    def advance(self):
        self.u[0] = self.u[1] * self.factor
        self.factor = self.factor * 0.5
        self.u = self.u * 1.1


Pair = namedtuple("Pair", "x rate")


@compiled
def slots_and_named_tuples(A, v, a):
    one, pair = Slotted(v * 1.0, a), Pair(A[0], a)
    for i in range(3):
        one.advance()
        pair.x[i] += pair.rate * pair[0][i + 1] * one.u[i]
    return np.sum(one.u) * one.factor + np.sum(A)


@compiled
def dictionaries_and_lists(A, v, a):
    state, arrays = {"u": v * 1.0, "t": 0.0, "in": {"rate": a}}, [v, A[0] * a, 3]
    for i in range(4):
        state["u"][i] *= state["in"]["rate"] + state["t"]
        state["t"] += 0.1
        state["u"] = state["u"] * 0.9
        arrays[0][i] = arrays[1][i] * arrays[-2][0]
        arrays[1] = arrays[1] + arrays[0]
        arrays[2] += len(arrays)
    return np.sum(state["u"]) * state["t"] + np.sum(arrays[0] * arrays[1]) * arrays[2]


class Layer:
    def __init__(self, weights, bias):
        self.weights, self.bias = weights, bias

    def __call__(self, x):
        return np.tanh(self.weights @ x + self.bias)


class Network:
    def __init__(self, *layers):
        self.layers = layers

    def forward(self, x):
        for k, layer in enumerate(self.layers):
            x = layer(x) * (k + 1)
        return x


@compiled
def a_network(A, v, a):
    network = Network(Layer(A, v), Layer(A.T, v * a))
    x, total = np.ones(4), 0.0
    for _ in range(3):
        x = network.forward(x)
        total += np.sum(x)
    return total


class Kalman:
    def __init__(self, F, H, Q, R):
        self.F, self.H, self.Q, self.R, self.x, self.P = F, H, Q, R, np.zeros(4), np.eye(4)

    def predict(self):
        self.x = self.F @ self.x
        self.P = self.F @ self.P @ self.F.T + self.Q

    def update(self, z):
        residual = z - self.H @ self.x
        variance = self.H @ self.P @ self.H + self.R
        gain = self.P @ self.H / variance
        self.x = self.x + gain * residual
        self.P = self.P - np.outer(gain, self.H @ self.P)
        return residual * residual / variance + np.log(variance)


@compiled
def a_kalman_filter(A, v, a):
    one = Kalman(np.eye(4) + 0.1 * A, np.array([1.0, 0.0, 0.5, 0.0]), 0.1 * np.eye(4), a)
    likelihood = 0.0
    for z in v:
        one.predict()
        likelihood -= 0.5 * one.update(z)
    return likelihood + np.sum(one.P)


class Cell:
    """An LSTM."""

    def __init__(self, weights, bias):
        self.weights, self.bias, self.h, self.c = weights, bias, np.zeros(4), np.zeros(4)

    @staticmethod
    def sigmoid(x):
        return 1.0 / (1.0 + np.exp(-x))

    def step(self, x):
        z = self.weights @ (self.h + x) + self.bias
        self.c = self.sigmoid(z) * self.c + self.sigmoid(z + 1.0) * np.tanh(z)
        self.h = self.sigmoid(z - 1.0) * np.tanh(self.c)
        return self.h


@compiled
def a_cell_of_a_network(A, v, a):
    cell, loss = Cell(A, v), 0.0
    for t in range(4):
        loss += np.sum(cell.step(A[t]) ** 2)
    return loss * a


class Body:
    count = 0

    def __init__(self, x, mass):
        self.x, self.mass, self.v = x, mass, 0.0


@compiled
def a_list_of_bodies(A, v, a):
    bodies = [Body(v[i], 1.0 + a * i) for i in range(3)]
    for _ in range(4):
        for body in bodies:
            body.x += 0.1 * body.v
            body.count += 1
        for body, other in zip(bodies, reversed(bodies), strict=True):
            body.v -= 0.1 * (body.x - other.x * 0.5) / body.mass
    return bodies[0].x * bodies[1].v + bodies[2].x * bodies[2].v * body.count


def attracted(bodies, dt):
    n = len(bodies)
    for i in range(n):
        for j in range(i + 1, n):
            one, other = bodies[i], bodies[j]
            distance = one.x - other.x
            force = distance / (distance * distance + 0.1)
            one.v -= other.mass * force * dt
            bodies[j].v += one.mass * force * dt
    for body in bodies:
        if body.x > 2.0:
            continue
        body.x += body.v * dt


@compiled
def bodies_at_indices(A, v, a):
    bodies = [Body(v[i], 1.0 + a * i) for i in range(3)]
    for _ in range(4):
        attracted(bodies, 0.1)
        for k in range(2, -1, -2):
            bodies[k].x *= a
        bodies[k].v += 0.1
    return bodies[0].x * bodies[1].v + bodies[2].x * k


class Keeper:
    factor = 0.5

    def __init__(self, u):
        self.u = u

    def keep(self, u, w):
        self.u = u
        return u


@compiled
def arrays_that_copies_of_a_body_rebind(A, v, a):
    keepers = [Keeper(v), Keeper(A[0]), Keeper(A[1])]
    x, y = v * 1.0, A[2] * a
    for _ in range(2):
        for one in keepers:
            y = one.keep(x * 2.0, y) + y
            x, y = x * one.factor, x + y
            for other in keepers:
                x, y = y * 0.5, x + other.factor
    return np.sum(x) + np.sum(y * keepers[0].u) + np.sum(keepers[1].u * keepers[2].u)


@python("a loop over a list, with a break or of more than 64 iterations")
def many_bodies(A, v, a):
    bodies = [Body(v[i % 4], 1.0) for i in range(10)]
    for _ in range(2):
        for one in bodies:
            for other in bodies:
                one.v += other.x * a
    return bodies[0].v


class Private:
    __rate = 0.5

    def __init__(self, u):
        self.__u = u
        self.__dict__["__u"] = np.ones(4)

    def __scaled(self, x):
        return x * self.__rate

    def run(self):
        for _ in range(3):
            self.__u = self.__u + self.__scaled(self.__u)
            self.__rate = self.__rate * 0.5
        return self.__u


@compiled
def private_attributes(A, v, a):
    one = Private(v * a)
    one.run()
    for i in range(3):
        one.__u[i] += A[0, i]
    return np.sum(one.run()) + np.sum(one.__u)


class Ode(abc.ABC):
    scale = 0.1

    def __init__(self, x, k):
        self.x, self.k = x, k

    @abc.abstractmethod
    def rate(self, x): ...

    @classmethod
    def scaled(cls, x):
        return x * cls.scale

    def step(self):
        self.x = self.x + self.scaled(self.rate(self.x))


class Damped(Ode):
    @property
    def damping(self):
        return 1.0 / (1.0 + np.sum(self.x * self.x))

    def rate(self, x):
        return -x * self.damping


class Driven(Damped):
    def rate(self, x):
        return super().rate(x) + self.k

    def step(self):
        super().step()
        self.k = self.k * 0.5

    @classmethod
    def scaled(cls, x):
        return super().scaled(x) * 2.0


@compiled
def methods_of_bases(A, v, a):
    one, other = Driven(v, a), Damped(A[0], 1.0)
    for i in range(3):
        one.step()
        other.step()
        v[i] = one.damping * other.damping
    return np.sum(one.x * other.x) + np.sum(v) * one.k


def decay(x, rate, power=1.0, *, shift=0.0):
    return -x * rate * power + shift


@compiled
def partial_functions(A, v, a):
    model = Linear(A[0], a)
    first, second, third = partial(decay, rate=a), partial(decay, v, shift=0.1), partial(model.rate)
    fourth = partial(first, power=2.0)
    for _ in range(3):
        v = v + 0.1 * (first(v, shift=a) + second(0.3) + third(v) + fourth(v) + fourth(v, power=a))
    return np.sum(v)


class Linear(Ode):
    def rate(self, x):
        return -self.k * x


class Logistic(Ode):
    scale = 0.2

    def rate(self, x):
        return self.k * x * (1.0 - x)


@compiled
def objects_of_several_classes(A, v, a):
    total = 0.0
    for n in (0, 1):
        model = Linear(v, a) if n else Logistic(A[0], 2.0)
        for _ in range(3):
            model.step()
        total = total + np.sum(model.x)
    return total


def rk4(f, y, dt):
    k1 = f(y)
    k2 = f(y + 0.5 * dt * k1)
    k3 = f(y + 0.5 * dt * k2)
    return y + dt / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + f(y + dt * k3))


@compiled
def functions_with_free_variables(A, v, a):
    rate = 0.5 * a

    def f(y, shift=v):
        return A @ y * rate + shift

    model, square = Linear(v, a), lambda x, power=a: x * x * power
    y, z = v, A[0]
    for i in range(3):
        y = rk4(f, y, 0.1)
        z = rk4(model.rate, z, 0.1)
        v[i] = square(y[i])
    return np.sum(y * z) + np.sum(v)


def taken_twice(one, other):
    one.factor = one.factor * 2.0
    other.factor += one.factor
    one.u = one.u * other.factor
    other.u[0] = one.u[1]


@compiled
def one_object_or_two(A, v, a):
    total = 0.0
    for number in (0, 1, 0):
        one = Slotted(v * 1.0, a)
        other = one if number else Slotted(A[0] * 1.0, 1.0)
        total = total + taken_in_a_loop(one, other)
    return total


def taken_in_a_loop(one, other):
    for _ in range(3):
        taken_twice(one, other)
    return np.sum(one.u) * other.factor + np.sum(other.u) * one.factor


@compiled
def a_dictionary_of_attributes(A, v, a):
    one = Simulation(v * 1.0, a)
    state = vars(one)
    for _ in range(3):
        one.u = one.u * state["dt"]
        state["u"][0] = 4.0
        state["dt"] += 0.1
        state["u"] = state["u"] + one.dt
    return np.sum(one.u)


@compiled
def two_attributes_of_one_array(A, v, a):
    one, other = Slotted(v, a), Slotted(v, 1.0)
    for i in range(3):
        one.u[i] *= other.u[i + 1] * a
        other.u[i] += 1.0
        one.factor, other.factor = other.factor, one.factor * a
    return np.sum(one.u) * one.factor


class Builder:
    def __init__(self, u):
        self.u, self.k = u, 1.0

    def add(self, x):
        self.u = self.u + x
        return self

    def scale(self, x):
        self.u, self.k = self.u * x, self.k * x
        return self


@compiled
def methods_that_return_their_object(A, v, a):
    one = Builder(v * 1.0)
    for i in range(3):
        one.add(a).scale(0.5).add(A[i])
        one.u[0] = one.scale(a).u[1] * one.k
    return np.sum(one.u) * one.k


@python("a call in an expression of scale, which writes what the expression reads")
def an_attribute_that_is_read_before_a_method_sets_it(A, v, a):
    one = Builder(v * 1.0)
    for i in range(3):
        v[i] = one.k + one.scale(a).k
    return np.sum(v)


@python("a call in an expression of counted, which writes what the expression reads")
def an_attribute_that_is_read_before_the_target_sets_it(A, v, a):
    one = Simulation(v, a)
    for _ in range(3):
        v[counted(one)] = one.count * a
    return np.sum(v)


def counted(one):
    one.count += 1
    return one.count


@python("a call in an expression of counted, which writes what the expression reads")
def a_call_that_sets_what_is_read_before_it(A, v, a):
    one = Simulation(v, a)
    for i in range(3):
        v[i] *= one.count + counted(one)
    return np.sum(v)


@compiled
def a_call_that_sets_what_is_read_after_it(A, v, a):
    one = Simulation(v, a)
    for i in range(3):
        v[i] *= counted(one) + one.count * a
    return np.sum(v)


@python("other.u may be another array, or a view of it, when the loop is over")
def an_attribute_that_becomes_an_array_of_another(A, v, a):
    one, other = Slotted(v * 1.0, a), Slotted(A[0] * 1.0, a)
    for i in range(3):
        other.u = one.u
        other.u[i] = 5.0
    return np.sum(one.u * other.u)


@python("may be another array, or a view of it, when the loop is over")
def attributes_of_one_array_that_the_loop_makes(A, v, a):
    one, other = Slotted(v * 1.0, a), Slotted(A[0] * 1.0, a)
    for i in range(3):
        one.u = one.u * a
        other.u = one.u
        other.u[i] = 5.0
    return np.sum(one.u * other.u)


class Computed:
    def __init__(self, u):
        self.hidden = u

    @property
    def u(self):
        return self.hidden * 2.0

    def __getattr__(self, name):
        return self.hidden

    def __setattr__(self, name, value):
        object.__setattr__(self, name, value * 2.0)


@compiled
def a_property_of_an_array(A, v, a):
    one = Computed(v)
    for i in range(3):
        v[i] *= one.u[i]
    return np.sum(v)


@python("the attribute other, which may be computed")
def an_attribute_that_a_method_computes(A, v, a):
    one = Computed(v)
    for i in range(3):
        v[i] *= one.other[i]
    return np.sum(v)


@python("a store into one.hidden")
def an_attribute_that_a_method_sets(A, v, a):
    one = Computed(v)
    for _ in range(3):
        one.hidden = one.hidden * a
    return np.sum(one.hidden)


@compiled
def an_array_of_the_class(A, v, a):
    class Tables:
        table = np.ones(4)

        def change(self):
            self.table += 1.0

    one = Tables()
    for _ in range(3):
        one.change()
    return np.sum(v * one.table) * len(vars(one))


@python("a call of f, which reads a variable that the loop binds")
def a_free_variable_that_the_loop_binds(A, v, a):
    t, total = a, 0.0

    def f(x):
        return x * t

    for i in range(3):
        total = total + f(v[i])
        t = t * 2.0
    return total


class Failing:
    def __init__(self, u):
        self.u, self.count, self.total = u, 3, 0.0

    def step(self):
        self.total = self.total + self.u[self.count]
        self.u = self.u * 2.0
        self.count -= 1
        self.u[self.count] = 1.0 / self.count


@compiled
def a_method_that_raises(A, v, a):
    one = Failing(v * a)
    with suppress(ZeroDivisionError):
        for _ in range(5):
            one.step()
    return np.sum(one.u) * one.total + one.count


@raising
def an_error_of_a_method(A, v, a):
    one = Failing(v * a)
    for _ in range(5):
        one.step()
    return np.sum(one.u)


@raising
def too_few_arguments(A, v, a):
    one = Slotted(v, a)
    for _ in range(5):
        taken_twice(one)
    return np.sum(one.u)


@compiled
def texts_and_none_in_attributes(A, v, a):
    class Filter:
        likelihood, state = 0.5, "new"

        def __init__(self):
            self.likelihood, self.state, self.x = 0.5, "new", 0.0

        def update(self, z):
            self.x = self.x * 0.5 + z
            self.likelihood, self.state = None, "updated"

    one = Filter()
    for i in range(4):
        one.update(v[i])
        if one.likelihood is None and one.state == "updated":
            a = a + one.x
    return a * (one.likelihood is None)
