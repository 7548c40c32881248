"""Bad wires: TCP proxies between nodes that delay what is said, stall, lose it, and break connections, by a seed."""

import asyncio
import random
import socket
import threading

from real_cluster import PATIENCE

CHUNK = 16 * 1024
WAITING_MAX = 256  # chunks on their way in one direction; beyond it the sender is not read from


class Direction:
    """What holds for one direction of a wire."""

    def __init__(self):
        self.behave()

    def behave(self):
        """As a good wire does."""
        self.delay_max = 0.0   # seconds; each chunk takes a random part of it, and none overtakes another
        self.stalled = False   # what is said waits
        self.loses = 0         # so many chunks are gone: the rest of the stream makes no sense


class Wire:
    """Listens at an address of `near`, and passes on to `far_address` from there. Everything in it runs in one loop."""

    def __init__(self, near, port, far_address, seed):
        self.near, self.far_address = near, far_address
        self.random = random.Random(seed)
        self.there, self.back = Direction(), Direction()
        self.writers = set()
        with near:
            self.listener = socket.create_server((near.address, port))

    async def serve(self):
        self.server = await asyncio.start_server(self._connected, sock=self.listener)

    async def _connected(self, reader, writer):
        with self.near:
            onward = socket.socket()
        onward.setblocking(False)
        self.writers.add(writer)
        tasks = []
        try:
            await asyncio.get_running_loop().sock_connect(onward, self.far_address)
            far_reader, far_writer = await asyncio.open_connection(sock=onward)
            self.writers.add(far_writer)
            tasks = self._pass(self.there, reader, far_writer) + self._pass(self.back, far_reader, writer)
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        except OSError:
            pass  # the far end is away
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            for one in [writer] + ([far_writer] if tasks else []):
                self.writers.discard(one)
                one.transport.abort()
            onward.close()

    def _pass(self, direction, reader, writer):
        chunks = asyncio.Queue(WAITING_MAX)
        return [asyncio.ensure_future(self._take(direction, reader, chunks)),
                asyncio.ensure_future(self._deliver(direction, chunks, writer))]

    async def _take(self, direction, reader, chunks):
        now = asyncio.get_running_loop().time
        while chunk := await reader.read(CHUNK):
            await chunks.put((now() + self.random.random() * direction.delay_max, chunk))

    async def _deliver(self, direction, chunks, writer):
        now = asyncio.get_running_loop().time
        while True:
            due, chunk = await chunks.get()
            if due > now():
                await asyncio.sleep(due - now())
            while direction.stalled:
                await asyncio.sleep(0.01)
            if direction.loses > 0:
                direction.loses -= 1
                continue
            writer.write(chunk)
            await writer.drain()

    def break_connections(self):
        for writer in list(self.writers):
            writer.transport.abort()

    def behave(self):
        self.there.behave()
        self.back.behave()


class Wires:
    """The loop in which wires live, in a thread of its own."""

    def __init__(self, wires):
        self.wires = wires
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self.loop.run_forever)
        self.thread.start()
        for wire in wires:
            self.run(wire.serve())

    def run(self, coroutine):
        return asyncio.run_coroutine_threadsafe(coroutine, self.loop).result(PATIENCE)

    def do(self, function, *arguments):
        """Calls a function in the loop."""
        async def call():
            return function(*arguments)
        return self.run(call())

    def close(self):
        self.run(self._end())
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join(PATIENCE)
        self.loop.close()

    async def _end(self):
        for wire in self.wires:
            wire.server.close()
            wire.break_connections()
        tasks = asyncio.all_tasks() - {asyncio.current_task()}
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
