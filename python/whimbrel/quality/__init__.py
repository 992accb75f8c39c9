"""What a viewer would see: clips, H.264 over RTP, and the scores of what arrived.

`video` is the whole chain; the other modules are its links, each usable alone:
`clips` -> `encode` -> `rtp` -> (a network) -> `decode` -> `scores`, with `strip` for the eye.
"""
