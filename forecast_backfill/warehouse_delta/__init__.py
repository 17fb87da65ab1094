"""`daily_demand` as a Delta table; PostgreSQL stays the ledger and the arbiter."""
