"""Set Julia up: choose one, or let juliapkg install one; check it, compile what a session needs."""

from __future__ import annotations

import os
from pathlib import Path

from bridge.errors import ArgumentError
from bridge.julia import config
from bridge.julia.discovery import CHOOSE, Candidate, discover, existing
from bridge.julia.preparation import prepare
from bridge.julia.session import forget_failure
from bridge.julia.status import Status, status


def setup(
    exe: str | os.PathLike[str] | None = None, project: str | os.PathLike[str] | None = None, *, forget: bool = False
) -> Status:
    """Get Julia ready, and return what `status` says then.

    Parameters
    ----------
    exe, project : a Julia of your own and the folder of its project, which has PythonCall, Zygote, ChainRules,
        ChainRulesCore and ForwardDiff (MutationBridge comes with this package). They are tried, and then kept in the
        user's configuration, which comes before everything else. Without them, the Julia that would be used is
        prepared: the configuration's, the one of PYTHON_JULIACALL_EXE and _PROJECT, or what juliapkg installs.
    forget : remove the configuration instead; nothing is prepared.

    Raises
    ------
    JuliaNotAvailable
        With what is wrong with it; the configuration stays as it was.
    ArgumentError
        If only one of `exe` and `project` is given, or one together with `forget`.
    """
    if (exe is None) != (project is None) or (forget and exe is not None):
        raise ArgumentError("exe and project are given together, and without forget", remedy=CHOOSE)
    if forget:
        config.forget()
    elif exe is not None and project is not None:
        chosen = existing(Candidate("choice", "what was given to setup", Path(exe), Path(project)))
        chosen = prepare(chosen, again=True)
        assert chosen.exe is not None and chosen.project is not None
        config.write(config.Choice(chosen.exe, chosen.project))
    else:
        prepare(discover(), again=True)
    forget_failure()
    return status()
