"""The rules of scheduling, as data: ``docs/scheduling.md`` shows this table, and every rule has a planted bug that the
tests must catch (``tests/mutants/scheduling-<id>.patch``)."""

from __future__ import annotations

import msgspec


class Rule(msgspec.Struct, frozen=True):
    """One rule."""

    id: str
    requirement: str
    text: str


RULES: tuple[Rule, ...] = (
    Rule(
        "queue-order",
        "S-1, S-2",
        "Every queue key has one queue, and only its head may start.",
    ),
    Rule(
        "across-queues",
        "S-2",
        "Heads that could take the same place get it in the order of submission, whatever queue they wait in.",
    ),
    Rule(
        "next-at-once",
        "S-2",
        "A head that starts, is cancelled or is overtaken makes way at once: the next head is looked at in the same "
        "look.",
    ),
    Rule(
        "limits",
        "S-3",
        "A device never gets more runs than its limit. Lowering a limit stops nothing that runs.",
    ),
    Rule(
        "overrides",
        "S-3",
        "A limit set for one slot counts before that of its kind; a limit below 1 is 1.",
    ),
    Rule("sets-whole", "S-4", "A device set takes a place on all its devices at once or on none."),
    Rule(
        "sets-reserve",
        "S-4",
        "A set that is head and waits for nothing but busy devices keeps them from heads submitted later. "
        "A set for any keeps nothing.",
    ),
    Rule(
        "sets-let-go",
        "S-4",
        "What a set kept is free again as soon as it starts, is cancelled, is no longer head, or its worker is away.",
    ),
    Rule("one-card", "S-5", "Slots of one physical device count together, whoever offers it."),
    Rule(
        "one-card-away",
        "S-5",
        "A run keeps the card busy that it was placed on, also while its worker is away or its cards are numbered "
        "anew.",
    ),
    Rule(
        "smallest-limit",
        "S-5",
        "Of one device's providers the smallest limit counts: of those online or with a run there. A worker on the "
        "server's machine without a limit of its own takes the server's.",
    ),
    Rule(
        "same-machine",
        "S-5",
        "Only a worker that was recognised on the server's machine shares the server's cpu; a machine id alone makes "
        "workers share with each other.",
    ),
    Rule(
        "named",
        "S-7",
        "A run for a worker goes to that worker only, when it is online, up to date, takes new runs, and has "
        "reported every node type of the graph.",
    ),
    Rule(
        "any-order",
        "S-7",
        "A run for any goes to the first worker in name order that qualifies and has room; the server comes last.",
    ),
    Rule(
        "any-server",
        "S-7",
        "The server takes no run for any that wants several cards or a card other than cuda:0.",
    ),
    Rule("refused", "S-8", "What no provider seen since the start could ever run is refused."),
    Rule("reasons", "S-9", "A head that waits for more than a busy place says for what."),
    Rule("draining", "S-10", "A draining worker gets nothing new; what runs there goes on."),
    Rule(
        "closed",
        "S-16, P-9",
        "A device that a program outside of Codefy uses, or that a run did not leave clean, gets nothing.",
    ),
    Rule(
        "priority",
        "S-17",
        "A point of priority counts as ten minutes of waiting, so the order of two runs never changes and none is "
        "overtaken for ever.",
    ),
)
