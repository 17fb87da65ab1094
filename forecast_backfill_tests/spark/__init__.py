"""Partitions on Spark: a standalone cluster and a Connect server, both real."""
