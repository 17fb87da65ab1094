"""Pure decisions of Forecast Backfill: standard library only, no I/O, no clock, no randomness."""
