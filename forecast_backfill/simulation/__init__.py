"""Replays nights and a campaign on one machine's slots, under several policies, with SimPy."""
