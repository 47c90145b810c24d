"""`python -m tests.julia_stress COUNT`: COUNT gradients of Julia functions from 8 threads and the main one, disturbed.

Garbage is collected on both sides, functions and callbacks raise, Ctrl-C arrives, the process forks, arrays are freed
while pulls are kept. Each gradient is compared with its closed form. A crash ends the process with the stacks of all
threads.
"""

from __future__ import annotations

import argparse
import faulthandler
import itertools
import os
import signal
import sys
import threading
import time
import warnings
from collections import Counter
from random import Random

import numpy as np

import bridge
from bridge.errors import JuliaNotAvailable
from tests.julia_stress.jobs import Functions, jobs

THREADS = 8


class Stress:
    """Jobs in threads until `count` were begun.

    Attributes
    ----------
    done : how often each job ended well.
    failures : what went wrong, at most twenty of them.
    """

    def __init__(self, count: int, seed: int, forks: int) -> None:
        self.count, self.seed, self.forks = count, seed, forks
        self.functions = Functions()
        self.jobs = jobs(self.functions)
        self.numbers = itertools.count()
        self.done: Counter[str] = Counter()
        self.failures: list[str] = []
        self.lock = threading.Lock()
        self.interruptible = False

    def run(self) -> None:
        """The main thread works as well: it alone is interrupted, and forks."""
        for name, job in self.jobs.items():  # compiled one after another, so that the rest is quick
            self.attempt(name, lambda job=job: job(Random(self.seed)))
        threads = [threading.Thread(target=self.work, args=(k,)) for k in range(THREADS)]
        for thread in threads:
            thread.start()
        signal.signal(signal.SIGINT, self.interrupt)
        interrupter = threading.Thread(target=self.send_interrupts, daemon=True)
        interrupter.start()
        self.work(THREADS, in_main_thread=True)
        for thread in threads:
            thread.join()
        self.interruptible = False

    def work(self, worker: int, in_main_thread: bool = False) -> None:
        random = Random(self.seed + worker)
        names = list(self.jobs)
        while (number := next(self.numbers)) < self.count:
            name = random.choice(names)
            if not in_main_thread:
                self.attempt(name, lambda name=name: self.jobs[name](random))
                continue
            if self.forks and number % max(1, self.count // self.forks) < THREADS:
                self.attempt("fork", self.fork)
            self.interrupted(name, random)

    def attempt(self, name: str, job) -> None:
        try:
            job()
        except Exception as error:
            with self.lock:
                if len(self.failures) < 20:
                    self.failures.append(f"{name}: {type(error).__name__}: {error}")
        else:
            with self.lock:
                self.done[name] += 1

    def interrupted(self, name: str, random: Random) -> None:
        """A job of the main thread, in which Ctrl-C may arrive at any moment."""
        try:
            self.interruptible = True
            self.jobs[name](random)
            self.interruptible = False
        except KeyboardInterrupt:
            with self.lock:
                self.done["Ctrl-C"] += 1
        except Exception as error:
            self.interruptible = False
            with self.lock:
                self.failures.append(f"{name}, in the main thread: {type(error).__name__}: {error}")
        else:
            with self.lock:
                self.done[name] += 1

    def interrupt(self, *_: object) -> None:
        if self.interruptible:
            self.interruptible = False
            raise KeyboardInterrupt

    def send_interrupts(self) -> None:
        random = Random(self.seed)
        while True:
            time.sleep(random.uniform(0.01, 0.1))
            os.kill(os.getpid(), signal.SIGINT)

    def fork(self) -> None:
        """A child that asks for a gradient gets an error by name, while other threads of the parent are anywhere."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # "may lead to deadlocks in the child"
            child = os.fork()
        if child == 0:
            status = 1
            try:
                signal.alarm(20)
                bridge.grad(self.functions.squares)(np.ones(5))
            except JuliaNotAvailable as error:
                status = 0 if "fork" in str(error) else 2
            finally:
                os._exit(status)
        _, status = os.waitpid(child, 0)
        assert status == 0, f"the child ended with {status}: a signal's number, or 256 times its exit status"


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.julia_stress", description=__doc__)
    parser.add_argument("count", type=int, help="how many gradients")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--forks", type=int, default=20, help="about how many (20)")
    options = parser.parse_args()
    faulthandler.enable()
    start = time.monotonic()
    stress = Stress(options.count, options.seed, options.forks if hasattr(os, "fork") else 0)
    compiled = time.monotonic()
    stress.run()
    took = time.monotonic() - compiled
    for name, count in sorted(stress.done.items()):
        print(f"{count:7d}  {name}")
    print(*stress.failures, sep="\n")
    print(f"{sum(stress.done.values())} ended well, {len(stress.failures)} failures, {took:.0f} s", end="")
    print(f", after {compiled - start:.0f} s in which Julia started")
    return 1 if stress.failures else 0


if __name__ == "__main__":
    sys.exit(main())
