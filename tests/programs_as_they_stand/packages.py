"""A package of several modules that import each other, with its state in one of them."""

from tests.programs_as_they_stand import a_package
from tests.programs_as_they_stand.a_package import Ocean, model, physics, state
from tests.programs_as_they_stand.a_package.operators import mean_to_faces
from tests.programs_as_they_stand.record import Field

program = Field("a package")


def only_tendencies(drag):
    state.reset(0.2)
    state.u[:] = drag
    physics.tendencies(0.1, drag)
    return (state.tendencies["u"] ** 2).sum() + mean_to_faces(state.eta)[3]


def by_name(wind, scheme):
    return getattr(a_package, "Ocean")(scheme=scheme, steps=3)(wind)


program("the fields are a module's arrays", lambda: a_package.run, 0.7, 0.3, 0.2, argnums=(0, 1, 2))
program("a module's array is bound anew", lambda: model.counted_run, 0.7, effects=True)
program("a model object with a table of its methods", Ocean, 0.5)
program("the other scheme, made within the call", lambda: by_name, 0.5, "euler")
program("helpers that share scratch of a module", lambda: only_tendencies, 0.4)
