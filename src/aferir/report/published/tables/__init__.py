"""Declarations of all published tables, in the order in which reports show them."""

from __future__ import annotations

from aferir.report.published.model import Table
from aferir.report.published.tables import (
    allocation_latency,
    clock_gps_vs_tsc,
    clock_read_cost,
    coloc_gain,
    distribution_effect,
    io_energy,
    nic_aggregation,
    ntp_corrections,
    ocean_rgap_vs_ntp,
    rgap_sync,
    server_power,
    virtual_cluster,
    virtual_cluster_concurrency,
    vod_blocking,
    vod_streams_per_host,
)

TABLES: tuple[Table, ...] = (
    vod_streams_per_host.TABLE,
    allocation_latency.TABLE,
    vod_blocking.TABLE,
    server_power.TABLE,
    clock_read_cost.TABLE,
    clock_gps_vs_tsc.TABLE,
    ntp_corrections.TABLE,
    rgap_sync.TABLE,
    ocean_rgap_vs_ntp.TABLE,
    nic_aggregation.TABLE,
    coloc_gain.TABLE,
    virtual_cluster.TABLE,
    virtual_cluster_concurrency.TABLE,
    distribution_effect.TABLE,
    io_energy.TABLE,
)
