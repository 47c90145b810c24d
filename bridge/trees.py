"""Containers of arguments and results: tuples, lists, dicts, and whatever else optree knows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import optree

NAMESPACE = "bridge"


def leaves_of(tree: Any) -> tuple[list[Any], Any]:
    """Leaves and structure of nested containers; None is a leaf."""
    leaves, structure = optree.tree_flatten(tree, none_is_leaf=True, namespace=NAMESPACE)
    return leaves, structure


def rebuilt(structure: Any, leaves: Sequence[Any]) -> Any:
    """Containers of `structure` around `leaves`."""
    return optree.tree_unflatten(structure, leaves)
