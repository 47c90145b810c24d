"""Statements of Python around arrays: exceptions, objects, containers, closures, callbacks, threads."""

from __future__ import annotations

from tests.random_programs import expressions as e
from tests.random_programs.workshop import Declined, Workshop


def raising(shop: Workshop) -> None:
    """A write that is done, or done in part, and then an error that the program catches."""
    name = shop.choose(shop.writable(lambda a: a.ndim == 1))
    size = shop.scope[name].size
    divisor = [shop.choose([0.0, 0.5, 2.0]) for _ in range(size)]
    strictly = "with np.errstate(all='raise'):\n    "
    done = shop.choose([f"{name}[0] *= 0.5", f"{name} *= 0.7", "pass"])
    failing = [
        (f"{name}[{size}] = 1.0", "IndexError"),
        (f"np.add.at({name}, [0, {size}], 0.25)", "IndexError"),
        (f"np.put({name}, [0, {size}], 0.25)", "IndexError"),
        (f"{name}[:] = np.zeros({size + 1})", "ValueError"),
        (f"np.add({name}, numpy.zeros({size + 1}), out={name})", "ValueError"),
        (f"{strictly}np.divide({name}, numpy.array({divisor}), out={name})", "FloatingPointError"),
        (f"{strictly}np.sqrt({name}, out={name})", "FloatingPointError"),
        (f"{strictly}np.log({name}, out={name})", "FloatingPointError"),
        (f"{name} @ numpy.zeros({size + 1})", "ValueError"),
    ]
    line, kind = shop.choose(failing)
    body = "\n".join("    " + part for part in f"{done}\n{line}".splitlines())
    repair = f"{name}[~np.isfinite({name})] = 0.5"
    shop.write(f"try:\n{body}\nexcept {kind}:\n    {name} += 0.1\n{repair}")


def attributes(shop: Workshop) -> None:
    """An object that holds an array: written in place, and rebound."""
    name, box = shop.choose(shop.writable()), shop.fresh("o")
    shop.write(f"{box} = Box()\n{box}.a = {name}\n{box}.n = 1")
    steps = [f"{box}.a *= 0.5", f"{box}.a = np.sin({box}.a)", f"{box}.a[0] = {shop.number()}", f"{box}.n += 1",
             f"{box}.a[...] = {box}.a * {box}.n", f"{box}.a += {box}.n", f"{box}.b = {box}.a[::-1]"]  # fmt: skip
    for _ in range(shop.integer(1, 3)):
        shop.write(shop.choose(steps))
    shop.write(f"{shop.fresh()} = {box}.a")


def containers(shop: Workshop) -> None:
    """A list or dict of arrays and plain scratch that are written, replaced, appended, taken out."""
    name, held = shop.choose(shop.writable()), shop.fresh("d")
    shape = shop.scope[name].shape
    scratch = f"np.zeros({shape}, dtype=x.dtype)"
    if shop.integer(0, 1):
        shop.write(f"{held} = [{name}, {scratch}]")
        steps = [f"{held}[1][...] = {held}[0] * 0.5", f"{held}.append(np.sin({held}[-1]))",
                 f"{held}[0] = {held}[-1] + 0.5", f"{held}.reverse()", f"{held}[-1] += {held}[0]",
                 f"for each in {held}:\n    each *= 0.9",
                 f"{held}[0], {held}[-1] = {held}[-1], {held}[0]", f"{held}.insert(0, {held}.pop())"]  # fmt: skip
        last = f"sum({held})"
    else:
        shop.write(f"{held} = {{'a': {name}, 'b': {scratch}}}")
        steps = [f"{held}['b'][...] = {held}['a'] * 0.5", f"{held}['a'] = {held}['a'] * {held}['b'] + 0.5",
                 f"{held}['b'] += {held}['a']", f"{held}.update(a={held}['b'])", f"{held}.setdefault('c', {name}[...])",
                 f"{held}['a'], {held}['b'] = {held}['b'], {held}['a']"]  # fmt: skip
        last = f"{held}['a'] + {held}['b']"
    for _ in range(shop.integer(1, 4)):
        shop.write(shop.choose(steps))
    shop.write(f"{shop.fresh()} = {last}")
    shop.scope.pop("each", None)


def callbacks(shop: Workshop) -> None:
    """Functions that NumPy or Python calls, with state that moves between their calls, or after them."""
    name, k, new = shop.choose(shop.writable()), shop.fresh("n"), shop.fresh()
    a = shop.scope[name]
    axis = shop.integer(0, a.ndim - 1)
    mask = e.mask_for(shop, a.shape)
    shop.write(f"{k} = [0.5]")
    count = f"{k}.append({k}.pop() * 0.9 + 0.1)"
    calls = [
        f"np.apply_along_axis(lambda r: r * {k}[0], {axis}, {name})",
        f"np.apply_along_axis(lambda r: ({count}, r * {k}[0])[1], {axis}, {name})",
        f"np.apply_along_axis(lambda r: np.sum(r ** 2) * {k}[0], {axis}, {name})",
        f"np.piecewise({name}, [{mask}], [lambda v: v * {k}[0], lambda v: np.sin(v)])",
        f"np.apply_over_axes(lambda b, ax: np.sum(b, axis=ax, keepdims=True) * {k}[0], {name}, [{axis}])",
        f"np.stack(list(map(lambda r: ({count}, np.sin(r) * {k}[0])[1], {name})))",
        f"np.stack([r * {k}[0] for r in {name}])",
        f"np.stack(sorted({name}, key=np.sum))",
        f"max({name}.ravel().tolist()) * {name}",
        f"sum(v * {k}[0] for v in {name}.ravel())",
    ]
    row = f"def {k}_row(r):\n    r[0] *= 0.5\n    return np.sum(r)"
    writing = f"{row}\n{new} = np.apply_along_axis({k}_row, {axis}, {name})"
    shop.write(shop.choose([writing, *(f"{new} = {call}" for call in calls)]))
    shop.write(f"{k}[0] = 2.0")


def closures(shop: Workshop) -> None:
    """A function that changes what it closes over, called more than once."""
    name, called, total = shop.choose(shop.writable()), shop.fresh("g"), shop.fresh("a")
    shop.write(f"{total} = [np.sum({name})]")
    steps = [f"{total}[0] = {total}[0] * 0.5 + np.sum({name} * v)", f"{name}[...] = {name} * v"]
    steps += [f"{total}.append({total}[-1] * v)"]
    shop.write(f"def {called}(v):\n    {shop.choose(steps)}\n    return {total}[-1]")
    shop.write(f"{shop.fresh('s')} = {called}(0.5) + {called}({shop.number()})")


def threads(shop: Workshop) -> None:
    """Work that is handed to another thread, whose errors nobody may ask for."""
    if shop.integer(0, 4):
        # It ends most programs, by name.
        raise Declined
    name, job = shop.choose(shop.writable()), shop.fresh("j")
    work = shop.choose([f"{name}[...] = {name} * 0.5", "pass"])
    shop.write(f"def {job}():\n    {work}\n    return np.sum({name} * {name})")
    run = shop.choose([f"{shop.fresh('s')} = pool.submit({job}).result()", f"pool.submit({job})"])
    shop.write(f"with ThreadPoolExecutor(1) as pool:\n    {run}")
    shop.scope.pop("pool", None)


HOSTS = (raising, attributes, containers, callbacks, closures, threads)
