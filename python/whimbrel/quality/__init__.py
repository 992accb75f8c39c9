"""What a viewer would see: clips, H.264 over RTP, and the scores of what arrived.

`video` is the whole chain; the other modules are its links, each usable alone:
`clips` -> `encode` -> `rtp` -> (a network) -> `decode` -> `scores`, with `strip` for the eye.

What people would say of it, by models instead of pictures: `emodel` (ITU-T G.107) with `codecs` and
`opinion`, `simplified` (its one line), `g1070` for video; `playout` makes loss and delay of arrivals,
`voip` rates a call, `voice` talks, and `sources` reads records and captures for `whimbrel quality`.
"""
