"""Nodes that draw. Each writes a picture as an artifact of the run, readable on light and dark pages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from codefy_engine.nodes.base import Node, NodeContext, input, node, output, param

if TYPE_CHECKING:
    from torch import Tensor


class _View(Node):
    """Base: a title and the path of the picture."""

    title: str = param("", doc="Written above the picture, and the name of its file.")
    picture: str = output("value", doc="Path of the picture.")

    def heading(self) -> str:
        """The title, else what the node is called."""
        return self.title.strip() or self.spec.definition.title


@node(type="LineChart", title="Line chart", category="views", icon="chart-line")
class LineChart(_View):
    """Draw numbers as lines.

    Takes a tensor `[n]` or `[series, n]`, a list of numbers, or the metrics of a training, whose losses and accuracies
    by epoch are drawn. Writes an SVG.
    """

    value: Any = input("any", doc="What to draw.")
    x_name: str = param("", label="Across", doc="Name of the axis across.", advanced=True)
    y_name: str = param("", label="Up", doc="Name of the axis upwards.", advanced=True)

    def run(self, ctx: NodeContext) -> Any:
        from codefy_engine.training.showing import line_svg, write_svg

        title = self.heading()
        return write_svg(ctx, title, line_svg(self.value, title=title, x=self.x_name, y=self.y_name))


@node(type="Histogram", title="Histogram", category="views", icon="chart-column")
class Histogram(_View):
    """Count how often numbers of which size occur.

    Takes a tensor of any shape, or a data set (its samples). Writes an SVG; numbers that are not finite are left out.
    """

    value: Any = input("any", doc="The numbers.")
    bins: int = param(30, ge=1, le=500, doc="How many bars.")
    counts: Tensor = output("tensor", doc="int64 `[bins]`: how many numbers fell into each.")

    def run(self, ctx: NodeContext) -> Any:
        import torch

        from codefy_engine.training.showing import histogram_svg, write_svg

        title = self.heading()
        svg, counts = histogram_svg(self.value, bins=self.bins, title=title)
        return {"picture": write_svg(ctx, title, svg), "counts": torch.tensor(counts)}


@node(type="ScatterPlot", title="Scatter plot", category="views", icon="chart-scatter")
class ScatterPlot(_View):
    """Draw samples as points by two of their features.

    Takes a tensor `[n, features]` or a data set, whose classes give the colours unless *groups* are wired. Writes an
    SVG.
    """

    points: Any = input("any", doc="The samples.")
    groups: Tensor | None = input("tensor", required=False, doc="int64 `[n]`: which points share a colour.")
    first: int = param(1, ge=1, le=100_000, label="Across", doc="Feature that is drawn across, from 1.")
    second: int = param(2, ge=1, le=100_000, label="Up", doc="Feature that is drawn upwards, from 1.")

    def run(self, ctx: NodeContext) -> Any:
        from codefy_engine.training.showing import scatter_svg, write_svg

        title = self.heading()
        svg = scatter_svg(self.points, self.groups, first=self.first, second=self.second, title=title)
        return write_svg(ctx, title, svg)


@node(type="HeatMap", title="Heat map", category="views", icon="grid-3x3")
class HeatMap(_View):
    """Draw a matrix of numbers, the larger the deeper.

    Takes a tensor `[rows, columns]` of at most 10,000 numbers. Writes an SVG.
    """

    value: Any = input("any", doc="The matrix.")

    def run(self, ctx: NodeContext) -> Any:
        from codefy_engine.training.showing import heat_svg, write_svg

        title = self.heading()
        return write_svg(ctx, title, heat_svg(self.value, title=title))


@node(type="ImageGrid", title="Image grid", category="views", icon="images")
class ImageGrid(_View):
    """Show images side by side.

    Takes a tensor `[n, channels, height, width]` with 1 or 3 channels, `[n, height, width]`, or a data set of images.
    Writes a PNG whose gaps let the page through.
    """

    images: Any = input("any", doc="The images.")
    count: int = param(32, ge=1, le=1024, doc="How many to show, from the first.")
    columns: int = param(8, ge=1, le=64, doc="How many in a row.")
    zoom: int = param(4, ge=1, le=32, doc="Pixels of the picture for one of an image.")
    scale: Literal["unit", "all", "each"] = param(
        "unit",
        choices=[("unit", "0 to 1"), ("all", "Range of all"), ("each", "Range of each")],
        label="Brightness",
        doc="Which numbers are black and white.",
    )

    def run(self, ctx: NodeContext) -> Any:
        from codefy_engine.training.showing import grid_png

        return grid_png(
            ctx,
            self.images,
            count=self.count,
            columns=self.columns,
            zoom=self.zoom,
            scale=self.scale,
            title=self.heading(),
        )


@node(type="ConfusionMatrix", title="Confusion matrix", category="views", icon="grid-3x3")
class ConfusionMatrix(_View):
    """Draw how often each class was taken for which.

    Takes int64 `[classes, classes]`, true classes down, predicted across, as **Evaluate** and **Class scores** give
    it. Writes an SVG.
    """

    confusion: Tensor = input("tensor", doc="The counts.")
    names: str = param("", doc="Names of the classes, with commas. Empty: their numbers.")

    def run(self, ctx: NodeContext) -> Any:
        from codefy_engine.training.showing import confusion_chart, write_svg

        names = [part.strip() for part in self.names.split(",")] if self.names.strip() else []
        title = self.heading()
        return write_svg(ctx, title, confusion_chart(self.confusion, names, title))
