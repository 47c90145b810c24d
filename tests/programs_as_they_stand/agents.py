"""Agents: objects that move, books of orders, queues of events, tournaments."""

import copy
import heapq
import itertools
import random
from collections import deque

import numpy as np

from tests.programs_as_they_stand.record import Field

program = Field("agents")


def boids(cohesion, separation):
    rng = np.random.RandomState(4)
    pos, vel = rng.rand(6, 2) * 5, rng.randn(6, 2) * 0.1
    for step in range(5):
        new = np.zeros_like(vel)
        for i in range(len(pos)):
            others = [j for j in range(len(pos)) if j != i]
            centre = pos[others].mean(axis=0)
            push = np.zeros(2)
            for j in others:
                gap = pos[i] - pos[j]
                push += gap / (gap @ gap + 0.5)
            new[i] = 0.9 * vel[i] + cohesion * (centre - pos[i]) + separation * push
        vel[:] = new
        pos += vel
    return np.linalg.norm(pos - pos.mean(0), axis=1).sum()


program("a flock", lambda: boids, 0.02, 0.05, argnums=(0, 1))


class Person:
    def __init__(self, opinion, stubborn=0.0):
        self.opinion = opinion
        self.stubborn = stubborn
        self.friends = []

    def befriend(self, other):
        self.friends.append(other)
        other.friends.append(self)

    def listen(self, trust):
        close = [f.opinion for f in self.friends if abs(f.opinion - self.opinion) < 0.6]
        if not close:
            return self.opinion
        return self.stubborn * self.opinion + (1 - self.stubborn) * (
            (1 - trust) * self.opinion + trust * sum(close) / len(close)
        )


def opinions(start, trust):
    people = [Person(x, stubborn=0.1 * k) for k, x in enumerate(start)]
    for a, b in itertools.combinations(people, 2):
        if (people.index(a) + people.index(b)) % 3 != 0:
            a.befriend(b)
    for _ in range(4):
        heard = [p.listen(trust) for p in people]
        for p, new in zip(people, heard):
            p.opinion = new
    return np.var([p.opinion for p in people])


program(
    "opinions of persons that know each other",
    lambda: opinions,
    np.array([0.1, 0.5, 0.45, 0.95, 0.3]),
    0.4,
    argnums=(0, 1),
    step=1e-3,
)


class Car:
    """The intelligent driver model."""

    __slots__ = ("x", "v", "leader")

    def __init__(self, x, v):
        self.x, self.v, self.leader = x, v, None

    def acceleration(self, T, a_max):
        if self.leader is None:
            return a_max * (1 - (self.v / 30.0) ** 4)
        gap = self.leader.x - self.x - 5.0
        wanted = 2.0 + max(0.0, self.v * T + self.v * (self.v - self.leader.v) / (2 * (a_max * 1.5) ** 0.5))
        return a_max * (1 - (self.v / 30.0) ** 4 - (wanted / gap) ** 2)


def traffic(T, a_max):
    cars = [Car(x=40.0 * k, v=20.0 - k) for k in range(4)]
    for follower, leader in zip(cars, cars[1:]):
        follower.leader = leader
    for _ in range(10):
        accelerations = [car.acceleration(T, a_max) for car in cars]
        for car, acc in zip(cars, accelerations):
            car.v = max(car.v + 0.25 * acc, 0.0)
            car.x += 0.25 * car.v
    return min(c.leader.x - c.x for c in cars if c.leader)


program("cars with slots", lambda: traffic, 1.5, 1.2, argnums=(0, 1), step=1e-3)


class OrderBook:
    def __init__(self):
        self.bids, self.asks = deque(), deque()
        self.trades = []

    def submit(self, side, price, size):
        book, other = (self.bids, self.asks) if side == "bid" else (self.asks, self.bids)
        while other and size > 0:
            best, available = other[0]
            if (side == "bid" and price < best) or (side == "ask" and price > best):
                break
            traded = min(size, available)
            self.trades.append((best, traded))
            size -= traded
            if traded == available:
                other.popleft()
            else:
                other[0] = (best, available - traded)
        if size > 0:
            book.append((price, size))

    @property
    def turnover(self):
        return sum(p * q for p, q in self.trades)


def market(mid, spread):
    book = OrderBook()
    book.submit("ask", mid + spread, 3)
    book.submit("bid", mid - spread, 2)
    book.submit("bid", mid + 2 * spread, 4)
    book.submit("ask", mid - 0.5 * spread, 2)
    return book.turnover / sum(q for _, q in book.trades)


program("an order book of deques", lambda: market, 10.0, 0.1, argnums=(0, 1), step=1e-3)


def elo(k_factor, scale):
    ratings = dict.fromkeys("abcd", 1500.0)
    games = [("a", "b", 1), ("c", "a", 0), ("b", "d", 0.5), ("d", "c", 1), ("a", "d", 1), ("b", "c", 0)]
    surprise = 0
    for home, away, score in games * 3:
        expected = 1 / (1 + 10 ** ((ratings[away] - ratings[home]) / scale))
        surprise -= score * np.log(expected) + (1 - score) * np.log(1 - expected)
        ratings[home] += k_factor * (score - expected)
        ratings[away] -= k_factor * (score - expected)
    best = max(ratings, key=ratings.get)
    return surprise + ratings[best] / 1000


program("Elo ratings in a dictionary", lambda: elo, 32.0, 400.0, argnums=(0, 1))


def swarm(inertia, pull, n=6, steps=8):
    random.seed(1)
    x = np.array([[random.uniform(-2, 2) for _ in range(2)] for _ in range(n)])
    v = np.zeros_like(x)

    def objective(p):
        return (p[0] - 1) ** 2 + 3 * (p[1] + 0.5) ** 2 + 0.1 * p[0] * p[1]

    best, best_value = x.copy(), [objective(p) for p in x]
    g = best[np.argmin(best_value)].copy()
    for _ in range(steps):
        for i in range(n):
            r1, r2 = random.random(), random.random()
            v[i] = inertia * v[i] + pull * r1 * (best[i] - x[i]) + pull * r2 * (g - x[i])
            x[i] = x[i] + v[i]
            value = objective(x[i])
            if value < best_value[i]:
                best[i], best_value[i] = x[i], value
                if value < objective(g):
                    g = x[i].copy()
    return objective(g)


program("a particle swarm", lambda: swarm, 0.6, 1.3, argnums=(0, 1), step=1e-5)


def queue_simulation(service, gap):
    events, clock, waiting, total_wait = [], 0.0, deque(), 0.0
    for k in range(6):
        heapq.heappush(events, (k * gap, k, "arrive"))
    busy = False
    while events:
        clock, who, what = heapq.heappop(events)
        if what == "arrive":
            waiting.append((who, clock))
        else:
            busy = False
        if waiting and not busy:
            who, since = waiting.popleft()
            total_wait += clock - since
            busy = True
            heapq.heappush(events, (clock + service * (1 + 0.1 * who), who, "leave"))
    return total_wait + clock**2 / 100


program("a queue, event by event, in a heap", lambda: queue_simulation, 1.3, 0.9, argnums=(0, 1), step=1e-3)


def pheromones(evaporation, deposit):
    lengths = {("nest", "left"): 1.0, ("left", "food"): 2.0, ("nest", "right"): 2.0, ("right", "food"): 2.5}
    trail = {edge: 1.0 for edge in lengths}
    for _ in range(6):
        weights = {via: trail["nest", via] / lengths["nest", via] for via in ("left", "right")}
        norm = sum(weights.values())
        trail = {edge: (1 - evaporation) * t for edge, t in trail.items()}
        for via, w in weights.items():
            path = [("nest", via), (via, "food")]
            length = sum(lengths[e] for e in path)
            for e in path:
                trail[e] += deposit * (w / norm) / length
    return trail["nest", "left"] / (trail["nest", "left"] + trail["nest", "right"])


program("ants' trails keyed by edges", lambda: pheromones, 0.1, 0.8, argnums=(0, 1))


class Household:
    wage = 1.0

    def __init__(self, wealth):
        self.wealth = wealth

    def consume(self, propensity):
        spent = propensity * self.wealth
        self.wealth -= spent
        return spent


class Firm:
    def __init__(self):
        self.till = 0.0

    def pay(self, households, tax):
        share = self.till * (1 - tax) / len(households)
        for h in households:
            h.wealth += share * h.wage
        collected, self.till = self.till * tax, 0.0
        return collected


def gini(values):
    ordered = sorted(values)
    n = len(ordered)
    return sum((2 * (k + 1) - n - 1) * v for k, v in enumerate(ordered)) / (n * sum(ordered))


def economy(propensity, tax):
    template = [Household(w) for w in (1.0, 2.0, 5.0, 9.0)]
    households = copy.deepcopy(template)
    firm, treasury = Firm(), 0.0
    for month in range(6):
        for h in households:
            firm.till += h.consume(propensity)
        treasury += firm.pay(households, tax)
        if month % 3 == 2:
            grant, treasury = treasury / len(households), 0.0
            for h in households:
                h.wealth += grant
    return gini([h.wealth for h in households]) + treasury


program("households and a firm, sorted by wealth", lambda: economy, 0.3, 0.2, argnums=(0, 1))


def epidemic_on_a_grid(infectivity, recovery):
    p = np.zeros((6, 6))
    p[2, 3] = 1.0
    immune = np.zeros((6, 6))
    for day in range(5):
        q = np.ones_like(p)
        for (i, j), infected in np.ndenumerate(p):
            for di, dj in [(0, 1), (1, 0), (0, -1), (-1, 0)]:
                a, b = i + di, j + dj
                if 0 <= a < 6 and 0 <= b < 6:
                    q[a, b] *= 1 - infectivity * infected
        susceptible = 1 - p - immune
        immune += recovery * p
        p = p * (1 - recovery) + susceptible * (1 - q)
    return immune.sum() + p[0, 0]


program("an epidemic on a grid, with ndenumerate", lambda: epidemic_on_a_grid, 0.3, 0.2, argnums=(0, 1))
