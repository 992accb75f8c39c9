"""A sensor sends its latest readings; a station prints how many arrived and how the path was.

python examples/aio/telemetry.py
"""

from __future__ import annotations

import asyncio
import secrets

from whimbrel import aio

#: The DCCP port of the service, behind the UDP port of the listener.
PORT = 5004
READINGS = 100
INTERVAL_S = 0.005


async def _serve(listener: aio.Listener) -> int:
    async with await listener.accept() as sensor:
        # Ends when the sensor closes the connection.
        return len([datagram async for datagram in sensor])


async def _measure(address: tuple[str, int], protection: aio.Protection) -> aio.Stats:
    async with await aio.connect(address, PORT, protection=protection) as station:
        for number in range(READINGS):
            # A reading is worth nothing when three newer ones exist.
            await station.send(f"{number}: 21.5 C".encode(), lifetime=3 * INTERVAL_S)
            await asyncio.sleep(INTERVAL_S)
        return station.stats()


async def main() -> None:
    """Runs both ends."""
    # Both ends need the same: from a file, for instance.
    protection = aio.Protection.secret(secrets.token_bytes(32))
    async with aio.listen("127.0.0.1:0", PORT, protection=protection) as listener:
        received, stats = await asyncio.gather(_serve(listener), _measure(listener.address, protection))
    dropped = stats.datagrams_dropped
    print(f"{received + dropped} readings: {received} received, {dropped} too old to be sent")


if __name__ == "__main__":
    asyncio.run(main())
