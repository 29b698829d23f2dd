#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Questions and answers, by asyncio: many are under way at a time, from one socket.

    echo.py serve ADDRESS PORT              answers every message by itself
    echo.py ask ADDRESS PEER PORT COUNT     asks so many questions, and waits for the answers

A send waits for room, and while the other end's port is congested; so neither end has to count what is
under way, however slow the other one is.
"""
import asyncio
import sys

import rds
from rds.aio import AsyncSocket


async def serve(own, port):
    async with AsyncSocket.bound((own, int(port))) as sock:
        print("ready", flush=True)
        async for message in sock:
            await sock.send(message.data, message.sender)


async def ask(own, peer, port, count):
    congested = []
    async with AsyncSocket(rds.Socket((own, 0)), congested.append) as sock:
        async def questions():
            for number in range(int(count)):
                await sock.send(f"{number}".ljust(4000).encode(), (peer, int(port)))

        asking = asyncio.create_task(questions())
        for number in range(int(count)):
            message = await sock.receive()
            if int(message.data) != number:
                sys.exit(f"answer {int(message.data)} came for question {number}")
        await asking
    print(f"{count} answers, in order; congestion ended {len(congested)} times")


if len(sys.argv) == 4 and sys.argv[1] == "serve":
    asyncio.run(serve(*sys.argv[2:]))
elif len(sys.argv) == 6 and sys.argv[1] == "ask":
    asyncio.run(ask(*sys.argv[2:]))
else:
    sys.exit(__doc__)
