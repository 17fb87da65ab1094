"""The lakehouse: Delta commits beside the ledger, moves, and what is refused."""
