"""Packs: results that others can check, in one archive, and the check.

`contents` finds what a folder of results claims and what each claim costs, `tables` writes its numbers,
`described` its metadata for people, archives and crawlers, `making` the archive. `archive` reads one that
nobody trusts yet, `again` repeats runs, `verifying` decides what was confirmed, `command` has `whimbrel pack`
and `whimbrel verify`.
"""
