"""Use cases: the order of steps, built on core and ports only."""
