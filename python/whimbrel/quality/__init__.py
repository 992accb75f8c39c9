"""Media quality: clips, H.264 over RTP, and the scores of the received video.

`video` is the whole chain; the other modules are its parts, each usable alone: `clips` -> `encode` -> `rtp`
-> (a network) -> `decode` -> `scores`, with `strip` for visual inspection.

Opinion models need no pictures: `emodel` (ITU-T G.107) with `codecs` and `opinion`, `simplified` (its linear
form), `g1070` for video; `playout` converts arrivals into loss and delay, `voip` rates a call, `voice`
generates a talker's packets, and `sources` reads records and captures for `whimbrel quality`.
"""
