"""The rewind: derivatives of programs that overwrite arrays, all of it, in about a hundred lines.

Reverse mode walks a program backwards, and asks of each operation how its output depends on its inputs.
The answer takes the values that the operation saw: the derivative of `x * y` is made of `x` and `y`.
Where a program overwrites its arrays, those values are gone by then. So most systems forbid mutation,
or copy whatever might change.

The way out is to undo it. An operation that overwrites memory keeps the bytes that were there, and the
backward pass puts them back on its way. Then, at each operation, memory holds what it held when the
operation ran. No operand has to be kept, and `x[2:5] = y` is an operation like any other: it costs what
it touches, forward and back, however large `x` is.

`bridge` is this file grown up, in the same words. From here, read on in `bridge/rewind/context.py`.
"""

from copy import deepcopy

import numpy as np

# --- Memory and its shadow -----------------------------------------------------------------------
#
# Beside each piece of memory lies its *shadow*, an array of the same shape, for cotangents: the
# derivatives of the final result with respect to each number of the memory.
#
# A *place* is a part of the memory, and finds the same part of the shadow. Slices, transposes, slices
# of transposes: NumPy makes them of the shadow as it makes them of the memory. So views need no rules.
# Two names for one memory are two names for one shadow, so aliasing needs no thought.


class Place:
    """A view of memory; `region` is the same view of the shadow."""

    def __init__(self, region: np.ndarray):
        self.region = region

    def take(self) -> np.ndarray:
        """Hand over the cotangent and leave zeros: the value that lay here before has none so far."""
        ct, self.region[...] = self.region.copy(), 0
        return ct

    def accumulate(self, ct: np.ndarray):
        """Add a cotangent; a number that broadcasting used many times gets the sum."""
        shape = (1,) * (ct.ndim - self.region.ndim) + self.region.shape
        ct = ct.sum(tuple(axis for axis, n in enumerate(shape) if n == 1), keepdims=True)
        self.region += ct.reshape(self.region.shape)


class Root(Place):
    """A whole memory: the copy of an argument, or the result of an operation."""

    def __init__(self, value: np.ndarray):
        self.region = self.shadow = np.zeros_like(value)


# Integers, masks and index arrays pick elements as a copy, and an index array may name one of them
# twice. Read twice, it gets both cotangents. Written twice, it keeps the last value, and only that one
# has a cotangent: to learn which these are, we write their numbers and look which of them remain.


class Picked(Place):
    """The elements of a view that a key picks."""

    def __init__(self, region: np.ndarray, key):
        self.region, self.key = region, key

    def take(self) -> np.ndarray:
        ct, self.region[self.key] = self.region[self.key], 0
        written = np.empty(self.region.shape, int)
        number = written[self.key] = np.arange(ct.size).reshape(ct.shape)
        return np.where(written[self.key] == number, ct, 0)

    def accumulate(self, ct: np.ndarray):
        np.add.at(self.region, self.key, ct)


# --- The log -------------------------------------------------------------------------------------
#
# An *entry* is one operation. `out` is the place that it wrote. Its *pull* is given the cotangent of
# that, and says what each place that the operation read gets. `undo` brings back what was overwritten.


class Entry:
    def __init__(self, out: Place, pull, undo=lambda: None):
        self.out, self.pull, self.undo = out, pull, undo


# A *context* is one differentiation. Forward, the program runs as it is; its arrays report two events
# to the context, a result and a write, and each becomes an entry of the log. Backward, the log is walked
# from its end. From each entry the cotangent of what it wrote is taken, and what it overwrote is put back.
# Now memory holds what it held when the operation ran, and its pull finds there whatever it needs.


class Context:
    def __init__(self):
        self.log: list[Entry] = []

    def result(self, value, pull) -> "Buffer":
        """An operation has computed `value`."""
        out = Buffer(self, value, Root(value))
        self.log.append(Entry(out.place, pull))
        return out

    def write(self, target: "Buffer", key, value):
        """`target[key] = value`: the one event that saves something, and no more than it overwrites."""
        array, saved = target.value, target.value[key].copy()
        array[key] = value_of(value)

        def undo():
            array[key] = saved

        self.log.append(Entry(target.at(key), lambda ct: [(value.place, ct)] if type(value) is Buffer else [], undo))

    def gradient(self, y: "Buffer", wrt: "Buffer") -> np.ndarray:
        """The rewind: take, undo, pull, add."""
        y.place.accumulate(np.ones(()))
        while self.log:
            entry = self.log.pop()
            ct = entry.out.take()
            entry.undo()
            for place, cotangent in entry.pull(ct):
                place.accumulate(cotangent)
        return wrt.place.take()


# --- Arrays --------------------------------------------------------------------------------------
#
# A program that is written for NumPy meets *Buffers* in place of its arrays. NumPy hands them every
# operator, ufunc and function that is called on them, by two protocols. The numbers in them are Buffers
# too; only comparisons give plain values. What has no rule raises: no gradient is lost in silence.


class Buffer(np.lib.mixins.NDArrayOperatorsMixin):
    """A tracked array or number: its value, and the place where its cotangent is."""

    def __init__(self, context: Context, value, place: Place):
        self.context, self.value, self.place = context, value, place

    def __array_function__(self, function, types, args, kwargs):
        """Run a function, and tell the context of its result."""
        rules = PULLS[function]
        # A plain array may change later, and nobody would undo that.
        args = [x if type(x) is Buffer else deepcopy(x) for x in args]
        value = function(*map(value_of, args), **kwargs)
        if value.dtype.kind in "bi":
            return value

        # The operands are looked up when the pull runs: they are in memory, and memory will be right. So
        # will the output, which the pull of `exp` reads, and which the program may have scaled in place.
        def pull(ct):
            for x, rule in zip(args, rules, strict=False):
                if type(x) is Buffer:
                    yield x.place, rule(ct, value, *map(value_of, args), **kwargs)

        return self.context.result(value, pull)

    def __array_ufunc__(self, ufunc, method, *args, out=None, **kwargs):
        """Run a ufunc; `x += y` is `np.add(x, y, out=x)`, and writes what comes out."""
        result = self.__array_function__(ufunc if method == "__call__" else method, (), args, kwargs)
        # A number has no memory of its own: `s += 1` gives another number.
        if out is None or isinstance(out[0].value, np.generic):
            return result
        out[0][...] = result
        return out[0]

    def at(self, key) -> Place:
        """Where `self[key]` lies; whether NumPy makes a view of it or a copy, its bytes tell."""
        part = self.place.region[key]
        return Place(part) if np.may_share_memory(part, self.place.region) else Picked(self.place.region, key)

    def __getitem__(self, key) -> "Buffer":
        value, place = self.value[key], self.at(deepcopy(key))
        if type(place) is Place:
            return Buffer(self.context, value, place)
        return self.context.result(value, lambda ct: [(place, ct)])

    def __setitem__(self, key, value):
        # After `x[2:5] += y`, Python stores the view into itself. Its cotangent is taken, and comes back.
        self.context.write(self, deepcopy(key), value)

    def __len__(self) -> int:
        return len(self.value)

    copy, dot, mean, sum = np.copy, np.dot, np.mean, np.sum
    T = property(lambda self: Buffer(self.context, self.value.T, Place(self.place.region.T)))
    shape = property(lambda self: self.value.shape)


def value_of(x):
    return x.value if type(x) is Buffer else x


# --- Rules ---------------------------------------------------------------------------------------
#
# The rest is calculus: for each operand of a function, its pull. None of them knows of mutation.

PULLS = {
    np.add: (lambda ct, out, x, y: ct, lambda ct, out, x, y: ct),
    np.subtract: (lambda ct, out, x, y: ct, lambda ct, out, x, y: -ct),
    np.multiply: (lambda ct, out, x, y: ct * y, lambda ct, out, x, y: ct * x),
    np.divide: (lambda ct, out, x, y: ct / y, lambda ct, out, x, y: -ct * out / y),
    np.power: (lambda ct, out, x, y: ct * y * x ** (y - 1), lambda ct, out, x, y: ct * out * np.log(x)),
    np.negative: (lambda ct, out, x: -ct,),
    np.sin: (lambda ct, out, x: ct * np.cos(x),),
    np.exp: (lambda ct, out, x: ct * out,),
    np.tanh: (lambda ct, out, x: ct * (1 - out * out),),
    np.copy: (lambda ct, out, x: ct,),
    np.sum: (lambda ct, out, x, axis=(): np.broadcast_to(np.expand_dims(ct, axis), x.shape),),
    np.mean: (lambda ct, out, x: np.broadcast_to(ct / x.size, x.shape),),
    np.dot: (  # of vectors and matrices
        lambda ct, out, x, y: np.dot(ct, y.T) if y.ndim == 2 else np.multiply.outer(ct, y),
        lambda ct, out, x, y: np.dot(x.T, ct) if x.ndim == 2 else np.multiply.outer(x, ct),
    ),
}
PULLS[np.matmul] = PULLS[np.dot]
PULLS |= dict.fromkeys((np.zeros_like, np.empty_like, np.less, np.less_equal, np.greater, np.greater_equal), ())


def grad(f):
    """The gradient of `f` with respect to its first argument. `f` may write into its arguments: it gets copies."""

    def gradient(*args) -> np.ndarray:
        context, args = Context(), [deepcopy(x) for x in args]
        args = [Buffer(context, x, Root(x)) if isinstance(x, np.ndarray) and x.dtype.kind == "f" else x for x in args]
        return context.gradient(f(*args), wrt=args[0])

    return gradient


# --- What is left out ----------------------------------------------------------------------------
#
# In `bridge`, arguments that share memory share a root. A shadow is made when the first cotangent
# arrives, and a plain array is copied only if it may change. Undo swaps bytes, so that a log that was
# walked back can be played forward, and walked again. Memory can be that of another context, which then
# differentiates the backward pass, or XLA's, which compiles it. And an error says where, and what to do.
#
# Each turn of this loop overwrites the very numbers that its pulls need:

if __name__ == "__main__":

    def program(x):
        for _ in range(3):
            x[1:] *= np.sin(x[:-1])
        return np.sum(x)

    print(grad(program)(np.array([1.0, 2.0, 3.0, 4.0])))
    # [ 3.79686019 -0.0098914  -0.15461172  0.02369231]
