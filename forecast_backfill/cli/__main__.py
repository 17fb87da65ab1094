"""`python -m forecast_backfill.cli` is `forecast-backfill`."""

from forecast_backfill.cli.main import main

main()
