"""Signals of production's health that ship, and how all signals are looked at."""
