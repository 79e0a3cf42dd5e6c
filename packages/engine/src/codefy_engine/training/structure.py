"""Projections and clusters of data sets, by scikit-learn."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import torch

from codefy_engine.nodes.base import NodeContext
from codefy_engine.training.data import TensorDataset
from codefy_engine.training.estimators import convergence_ignored, flat_array, sklearn
from codefy_engine.training.fitting import fit
from codefy_engine.training.synthetic import tensor_of

_SILHOUETTE_SAMPLES = 2000
"""The silhouette compares all pairs: above this many samples it looks at some of them."""


def project_pca(
    ctx: NodeContext, data: TensorDataset, *, components: int, whiten: bool, seed: int
) -> dict[str, Any]:
    """The samples in the directions of their largest spread, these directions, and their shares of the spread.

    Raises:
        ValueError: fewer samples or features than components.
    """
    samples = flat_array(data.inputs)
    if components > min(samples.shape):
        raise ValueError(
            f"{samples.shape[0]} samples of {samples.shape[1]} features have no {components} components"
        )
    model = sklearn("decomposition").PCA(n_components=components, whiten=whiten, random_state=seed)
    model, found = fit(ctx, model, samples, method="fit_transform")
    turned = tensor_of(found, torch.float32)
    names = tuple(f"component {index + 1}" for index in range(components))
    return {
        "dataset": replace(data, inputs=turned, feature_names=names, batching=None, alterations=()),
        "directions": tensor_of(model.components_, torch.float32),
        "explained": tensor_of(model.explained_variance_ratio_, torch.float32),
    }


def project_tsne(
    ctx: NodeContext, data: TensorDataset, *, dimensions: int, perplexity: float, seed: int
) -> TensorDataset:
    """A map on which similar samples are neighbours.

    Raises:
        ValueError: the perplexity is not below the number of samples.
    """
    if perplexity >= len(data):
        raise ValueError(f"a perplexity of {perplexity:g} needs more than the {len(data)} samples there are")
    method = "barnes_hut" if dimensions < 4 else "exact"
    model = sklearn("manifold").TSNE(
        n_components=dimensions, perplexity=perplexity, random_state=seed, init="pca", method=method
    )
    _, found = fit(ctx, model, flat_array(data.inputs), method="fit_transform")
    placed = tensor_of(found, torch.float32)
    names = tuple(f"t-SNE {index + 1}" for index in range(dimensions))
    return replace(data, inputs=placed, feature_names=names, batching=None, alterations=())


def cluster_kmeans(
    ctx: NodeContext, data: TensorDataset, *, clusters: int, tries: int, seed: int
) -> dict[str, Any]:
    """Groups, centers and metrics of k-means.

    Raises:
        ValueError: fewer samples than groups.
    """
    if clusters > len(data):
        raise ValueError(f"{len(data)} samples cannot be divided into {clusters} groups")
    samples = flat_array(data.inputs)
    made = sklearn("cluster").KMeans(n_clusters=clusters, n_init=tries, random_state=seed)
    model, _ = convergence_ignored(lambda: fit(ctx, made, samples))
    report = {"inertia": float(model.inertia_), **_silhouette(samples, model.labels_, seed)}
    for name, value in report.items():
        ctx.metric(name, value, 0, scope="epoch")
    return {
        "groups": tensor_of(model.labels_, torch.int64),
        "centers": tensor_of(model.cluster_centers_, torch.float32),
        "metrics": report,
    }


def cluster_dbscan(
    ctx: NodeContext, data: TensorDataset, *, radius: float, neighbours: int
) -> dict[str, Any]:
    """Groups and metrics of DBSCAN."""
    samples = flat_array(data.inputs)
    model, _ = fit(ctx, sklearn("cluster").DBSCAN(eps=radius, min_samples=neighbours), samples)
    groups = tensor_of(model.labels_, torch.int64)
    report = {"clusters": float(groups.max() + 1), "outliers": float((groups < 0).sum())}
    for name, value in report.items():
        ctx.metric(name, value, 0, scope="epoch")
    return {"groups": groups, "metrics": report}


def _silhouette(samples: Any, labels: Any, seed: int) -> dict[str, float]:
    if not 1 < len(set(labels.tolist())) < len(samples):
        return {}
    size = None if len(samples) <= _SILHOUETTE_SAMPLES else _SILHOUETTE_SAMPLES
    value = sklearn("metrics").silhouette_score(samples, labels, sample_size=size, random_state=seed)
    return {"silhouette": float(value)}
