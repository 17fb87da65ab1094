"""PostgreSQL: server, connections, migrations, ledger, partitions, leases, control."""
