"""Tests of what the benches make of their measurements."""
