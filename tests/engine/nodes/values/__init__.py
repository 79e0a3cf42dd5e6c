"""Value tests of all built-in node types, by category."""

from . import classical, data, files, flow, language, layers, tensors, training

ALL = [
    case
    for table in (layers, tensors, training, data, classical, language, files, flow)
    for case in table.CASES
]
