"""Nodes that find structure without targets: projections and clusters."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from codefy_engine.nodes.base import Node, NodeContext, input, node, output, param

if TYPE_CHECKING:
    from torch import Tensor

    from codefy_engine.training.data import TensorDataset


@node(type="PCA", title="PCA", category="classical", icon="axis-3d")
class PCA(Node):
    """Turn the features so that few of them hold most of the spread.

    Samples `[n, …]` are flattened to `[n, features]` and become `[n, components]`; targets stay. As
    `sklearn.decomposition.PCA`.
    """

    data: TensorDataset = input("dataset", doc="What to turn.")
    components: int = param(2, ge=1, le=10_000, doc="How many features to keep.")
    whiten: bool = param(False, doc="Give every new feature deviation 1.", advanced=True)
    dataset: TensorDataset = output("dataset", doc="The same samples, `[n, components]`.")
    directions: Tensor = output("tensor", doc="float32 `[components, features]`: one new feature per row.")
    explained: Tensor = output("tensor", doc="float32 `[components]`: share of the spread that each holds.")

    def run(self, ctx: NodeContext) -> Any:
        from codefy_engine.training.structure import project_pca

        return project_pca(
            ctx, self.data, components=self.components, whiten=self.whiten, seed=(ctx.seed or 0) % 2**32
        )


@node(type="TSNE", title="t-SNE", category="classical", icon="scatter-chart")
class TSNE(Node):
    """Lay samples out in the plane so that similar ones are neighbours.

    Samples `[n, …]` become `[n, dimensions]`; targets stay. As `sklearn.manifold.TSNE`. It takes long for thousands
    of samples: take some of them first.
    """

    data: TensorDataset = input("dataset", doc="What to lay out.")
    dimensions: int = param(2, ge=1, le=3, doc="Of the map.")
    perplexity: float = param(30.0, gt=0, le=1000, doc="About how many neighbours a sample has.")
    dataset: TensorDataset = output("dataset", doc="The same samples, `[n, dimensions]`.")

    def run(self, ctx: NodeContext) -> Any:
        from codefy_engine.training.structure import project_tsne

        return project_tsne(
            ctx,
            self.data,
            dimensions=self.dimensions,
            perplexity=self.perplexity,
            seed=(ctx.seed or 0) % 2**32,
        )


@node(type="KMeans", title="k-means", category="classical", icon="target")
class KMeans(Node):
    """Divide samples into groups around centers.

    Samples `[n, …]`; as `sklearn.cluster.KMeans`. **Metrics**: `inertia`, the sum of squared distances to the
    centers, and `silhouette` from -1 to 1 (1: clear groups).
    """

    data: TensorDataset = input("dataset", doc="What to divide; targets are not looked at.")
    clusters: int = param(3, ge=1, le=10_000, doc="How many groups.")
    tries: int = param(10, ge=1, le=1000, doc="How often to start anew; the best is kept.", advanced=True)
    groups: Tensor = output("tensor", doc="int64 `[n]`: the group of each sample.")
    centers: Tensor = output("tensor", doc="float32 `[clusters, features]`.")
    report: dict[str, Any] = output("metrics", name="metrics", doc="Inertia and silhouette.")

    def run(self, ctx: NodeContext) -> Any:
        from codefy_engine.training.structure import cluster_kmeans

        return cluster_kmeans(
            ctx, self.data, clusters=self.clusters, tries=self.tries, seed=(ctx.seed or 0) % 2**32
        )


@node(type="DBSCAN", title="DBSCAN", category="classical", icon="scatter-chart")
class DBSCAN(Node):
    """Find groups of any shape as crowded regions; what lies alone belongs to none.

    Samples `[n, …]`; as `sklearn.cluster.DBSCAN`. **Metrics**: `clusters` and `outliers`, how many there are.
    """

    data: TensorDataset = input("dataset", doc="What to divide; targets are not looked at.")
    radius: float = param(0.5, gt=0, le=1e6, doc="How near a neighbour is.")
    neighbours: int = param(5, ge=1, le=10_000, doc="How many of them make a crowd, itself included.")
    groups: Tensor = output("tensor", doc="int64 `[n]`: the group of each sample, -1 for none.")
    report: dict[str, Any] = output("metrics", name="metrics", doc="How many groups and outliers.")

    def run(self, ctx: NodeContext) -> Any:
        from codefy_engine.training.structure import cluster_dbscan

        return cluster_dbscan(ctx, self.data, radius=self.radius, neighbours=self.neighbours)
