"""Runs on the workers of a Dask cluster, or on threads of this process."""

from whimbrel._campaigns.cluster import Cluster, connected
from whimbrel._campaigns.scheduler import Local, Scheduler, Session

__all__ = ["Cluster", "Local", "Scheduler", "Session", "connected"]
