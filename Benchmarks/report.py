"""Rows of the table of measurements."""


def row(name, ours, theirs, ratio, limit, holds):
    """Prints a row of the table."""
    print(f"| {name} | {ours} | {theirs} | {ratio} | {limit} | {'yes' if holds else 'NO'} |", flush=True)
