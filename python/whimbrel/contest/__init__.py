"""Congestion controls of a class against each other: `whimbrel contest`.

A contestant is a Python file whose author nobody needs to trust. `confined` runs it in a process without
rights, `law` asks that process for rates, `match` plays two of them over one network as a run of a campaign,
`league` decides matches and order, `shown` makes the pages, `command` is the command.
"""
