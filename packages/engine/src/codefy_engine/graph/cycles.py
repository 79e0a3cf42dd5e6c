"""Cycles of a graph, each once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from codefy_engine.graph.plan import topological_order


def find_cycles(ids: Sequence[str], edges: Iterable[tuple[str, str]]) -> list[list[str]]:
    """One cycle for each knot of nodes that reach each other, in wire order from the node that comes first.

    Cycles that share no node are all found; where several share nodes, one of them is.
    """
    position = {node_id: index for index, node_id in enumerate(ids)}
    wires = [(position[a], position[b]) for a, b in edges if a in position and b in position]
    # What is left when nothing can go first has a cycle in it or behind it; the same from the other side leaves
    # only nodes on a way between cycles.
    order = topological_order(len(ids), wires)
    if len(order) == len(ids):
        return []
    left = set(range(len(ids))) - set(order)
    left -= set(topological_order(len(ids), [(b, a) for a, b in wires if a in left and b in left]))
    targets: dict[int, list[int]] = {}
    for source, target in wires:
        targets.setdefault(source, []).append(target)
    found: list[list[str]] = []
    for start in sorted(left):
        if start not in left:
            continue
        cycle = _cycle_from(start, targets, left)
        if cycle is not None:
            found.append([ids[index] for index in cycle])
            left -= set(cycle)
    return found


def _cycle_from(start: int, targets: dict[int, list[int]], within: set[int]) -> list[int] | None:
    """The shortest cycle through ``start`` (breadth first), or ``None``."""
    before: dict[int, int] = {}
    frontier = [start]
    while frontier:
        following: list[int] = []
        for index in frontier:
            for target in targets.get(index, ()):
                if target == start:
                    cycle = [index]
                    while cycle[-1] != start:
                        cycle.append(before[cycle[-1]])
                    return cycle[::-1]
                if target in within and target not in before:
                    before[target] = index
                    following.append(target)
        frontier = following
    return None
