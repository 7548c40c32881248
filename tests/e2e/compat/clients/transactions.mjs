// What clients make of a transaction, which Holdfast has not: an error each time, and nothing taken. Prints what was
// found as lines of JSON.
import Redis from "ioredis";
import { createClient } from "redis";

const port = Number(process.argv[2]);

async function tell(what, promise) {
    const answer = await promise.catch((error) => `error: ${error.message}`);
    console.log(JSON.stringify([what, answer]));
}

const io = new Redis({ port, host: "127.0.0.1" });
await tell("ioredis", io.multi().set("io", "me", "PX", 30_000, "NX").exec());
await io.multi({ pipeline: false });
await tell("ioredis queued", io.set("io", "me", "PX", 30_000, "NX"));
await tell("ioredis exec", io.exec());
await tell("ioredis taken", io.exists("io"));
await tell("ioredis after", io.set("io", "me", "PX", 30_000, "NX"));
await io.quit();

const node = createClient({ socket: { port, host: "127.0.0.1" } });
await node.connect();
await tell("node-redis", node.multi().set("node", "me", { PX: 30_000, NX: true }).exec());
await tell("node-redis taken", node.exists("node"));
await tell("node-redis after", node.set("node", "me", { PX: 30_000, NX: true }));
await node.close();
