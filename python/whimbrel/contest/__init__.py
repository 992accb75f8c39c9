"""Congestion controls or repair policies of a class against each other: `whimbrel contest`.

A contestant is a Python file whose author nobody needs to trust. `kinds` says what is decided, told and
scored, `confined` runs a file in a process without rights, `contestant` asks that process for decisions,
`match` plays two of them over one network as a run of a campaign, `league` decides matches and order, `shown`
makes the pages, `command` is the command.
"""
