"""Adapters that send notices to people."""
