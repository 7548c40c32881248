// Runs what lock clients do, with ioredis, node-redis and redlock, and prints every answer as a line. The lines must be
// the same for every server: what differs from run to run, as a time does, is told as whether it is as it should be.
import { setTimeout as sleep } from "node:timers/promises";
import Redis from "ioredis";
import { createClient, defineScript } from "redis";
import Redlock from "redlock";

const port = Number(process.argv[2]);
const release =
    "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) else return 0 end";
const extend =
    "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('pexpire', KEYS[1], ARGV[2]) else return 0 end";

function tell(what, answer) {
    console.log(JSON.stringify([what, answer instanceof Error ? `error: ${answer.message}` : answer ?? null]));
}

/// Tells the answer, or the error that it is.
async function ask(what, promise) {
    const answer = await promise.catch((error) => error);
    tell(what, answer);
    return answer;
}

async function until(what, condition) {
    const end = Date.now() + 30_000;
    while (!(await condition())) {
        if (Date.now() > end) throw new Error(`did not happen: ${what}`);
        await sleep(10);
    }
    tell(what, true);
}

async function withIoredis(scenario, options = {}) {
    const client = new Redis({ port, host: "127.0.0.1", ...options });
    try {
        await scenario(client);
    } finally {
        tell("quit", await client.quit());
    }
}

async function withNodeRedis(scenario, options = {}) {
    const client = createClient({ socket: { port, host: "127.0.0.1" }, ...options });
    client.on("error", (error) => tell("client error", error));
    await client.connect();
    try {
        await scenario(client);
    } finally {
        await client.close();
    }
}

// ---- ioredis ----

async function ioredisLocks(client) {
    await ask("ping", client.ping());
    await ask("acquire", client.set("io", "me", "PX", 30_000, "NX"));
    await ask("acquire again", client.set("io", "you", "PX", 30_000, "NX"));
    await ask("who", client.get("io"));
    const left = await client.pttl("io");
    tell("time left", left > 0 && left <= 30_000);
    await ask("extend, not mine", client.eval(extend, 1, "io", "you", 60_000));
    await ask("extend", client.eval(extend, 1, "io", "me", 60_000));
    tell("time left", (await client.pttl("io")) > 30_000);
    await ask("release, not mine", client.eval(release, 1, "io", "you"));
    await ask("release", client.eval(release, 1, "io", "me"));
    await ask("release again", client.eval(release, 1, "io", "me"));
    await ask("exists", client.exists("io"));
}

async function ioredisCommands(client) {
    client.defineCommand("release", { numberOfKeys: 1, lua: release });
    await ask("flush", client.script("FLUSH"));
    await client.set("io", "me", "EX", 30);
    await ask("defined command", client.release("io", "you"));
    await ask("defined command", client.release("io", "me"));
    await ask("no script", client.evalsha("0".repeat(40), 1, "io", "me"));
    const sha = await ask("load", client.script("LOAD", extend));
    await ask("loaded", client.script("EXISTS", sha, "0".repeat(40)));
    await ask("run by name", client.evalsha(sha, 1, "io", "me", 1000));
    await client.sadd("io-set", "member");
    await ask("wrong type", client.get("io-set"));
    await ask("wrong type in a script", client.eval(release, 1, "io-set", "x").then(
        () => "no error", (error) => error.message.startsWith("WRONGTYPE")));
    await ask("delete", client.del("io-set", "io"));
}

async function ioredisPipeline(client) {
    const pipeline = client.pipeline();
    for (let i = 0; i < 200; ++i) pipeline.set(`pipe:${i}`, `v${i}`, "PX", 60_000, "NX");
    for (let i = 0; i < 200; ++i) pipeline.get(`pipe:${i}`);
    for (let i = 0; i < 200; ++i) pipeline.eval(release, 1, `pipe:${i}`, i % 2 ? `v${i}` : "other");
    pipeline.get("pipe:0", "too many");
    await ask("pipeline", pipeline.exec().then((answers) => answers.map(([error, value]) => error?.message ?? value)));
    const found = [];
    for await (const keys of client.scanStream({ match: "pipe:*", count: 7 })) found.push(...keys);
    tell("scan", [...new Set(found)].sort());
    await ask("delete", client.del(...found));
}

async function ioredisRace(client) {
    const others = Array.from({ length: 12 }, () => new Redis({ port, host: "127.0.0.1" }));
    for (let round = 0; round < 10; ++round) {
        const answers = await Promise.all(others.map((other, i) => other.set("race", `c${i}`, "PX", 30_000, "NX")));
        const winners = answers.flatMap((answer, i) => (answer === "OK" ? [`c${i}`] : []));
        tell("winners", winners.length);
        tell("the winner has it", (await client.get("race")) === winners[0]);
        await client.eval(release, 1, "race", winners[0]);
    }
    await Promise.all(others.map((other) => other.quit()));
}

async function ioredisDatabases(client) {
    await client.set("db", "zero", "PX", 30_000);
    await withIoredis(async (other) => {
        await ask("another database", other.get("db"));
        await ask("acquire there", other.set("db", "one", "PX", 30_000, "NX"));
        await ask("delete there", other.del("db"));
    }, { db: 1 });
    await ask("still here", client.get("db"));
    await ask("delete", client.del("db"));
}

async function ioredisExpiry(client) {
    await ask("acquire", client.set("short", "me", "PX", 120, "NX"));
    await until("it runs out", async () => (await client.get("short")) === null);
    await ask("extend too late", client.eval(extend, 1, "short", "me", 1000));
    await ask("acquire", client.set("short", "you", "PX", 5000, "NX"));
    await ask("release of the one before", client.eval(release, 1, "short", "me"));
    await ask("release", client.eval(release, 1, "short", "you"));
}

// ---- node-redis ----

async function nodeRedisLocks(client) {
    await ask("ping", client.ping());
    await ask("acquire", client.set("node", "me", { expiration: { type: "PX", value: 30_000 }, condition: "NX" }));
    await ask("acquire again", client.set("node", "you", { expiration: { type: "PX", value: 30_000 }, condition: "NX" }));
    await ask("set if there", client.set("node", "me", { expiration: { type: "EX", value: 40 }, condition: "XX" }));
    await ask("who", client.get("node"));
    await ask("ttl", client.ttl("node").then((seconds) => seconds > 10 && seconds <= 40));
    await ask("longer", client.pExpire("node", 90_000, "GT"));
    await ask("ttl", client.ttl("node").then((seconds) => seconds > 60 && seconds <= 90));
    await ask("exists", client.exists(["node", "none"]));
    await ask("type", client.type("node"));
    const sha = await ask("load", client.scriptLoad(release));
    await ask("release, not mine", client.evalSha(sha, { keys: ["node"], arguments: ["you"] }));
    await ask("release", client.evalSha(sha, { keys: ["node"], arguments: ["me"] }));
    await ask("get and delete", client.getDel("node"));
    await ask("no script", client.evalSha("0".repeat(40), { keys: ["node"], arguments: ["me"] }));
    await ask("syntax", client.sendCommand(["SET", "node", "v", "NX", "XX"]));
}

async function nodeRedisTogether(client) {
    const keys = Array.from({ length: 100 }, (_, i) => `node:${i}`);
    const set = (key) => client.set(key, "v", { expiration: { type: "PX", value: 60_000 }, condition: "NX" });
    await ask("together", Promise.all(keys.map(set)));
    const found = [];
    for await (const page of client.scanIterator({ MATCH: "node:*", COUNT: 9 })) found.push(...page);
    tell("scan", [...new Set(found)].sort());
    await ask("keys", client.keys("node:1?").then((some) => some.sort()));
    await ask("delete", client.del(keys));
}

async function nodeRedisScripts() {
    const scripts = {
        letGo: defineScript({
            SCRIPT: release,
            NUMBER_OF_KEYS: 1,
            parseCommand(parser, key, value) {
                parser.pushKey(key);
                parser.push(value);
            },
            transformReply: (reply) => reply,
        }),
    };
    await withNodeRedis(async (client) => {
        await client.scriptFlush();
        await client.set("node", "me", { expiration: { type: "PX", value: 30_000 } });
        await ask("defined script", client.letGo("node", "you"));
        await ask("defined script", client.letGo("node", "me"));
    }, { scripts });
}

// ---- redlock on today's ioredis ----

async function redlocks(client) {
    const redlock = new Redlock([client], { retryCount: 200, retryDelay: 20, retryJitter: 10 });
    const patient = new Redlock([client], { retryCount: 0 });
    const lock = await redlock.lock(["red:1", "red:2"], 20_000);
    tell("locked", lock.value.length > 0 && (await client.get("red:1")) === lock.value);
    await ask("one of two is taken", patient.lock(["red:2", "red:3"], 1000).then(() => "got it", (error) => error.name));
    await ask("and nothing else was", client.exists("red:3"));
    await lock.extend(40_000);
    tell("extended", (await client.pttl("red:2")) > 20_000);
    await ask("unlock", lock.unlock().then(() => "done"));
    await ask("unlock again", lock.unlock().then(() => "done", (error) => error.name));
    let inside = 0;
    let most = 0;
    await Promise.all(Array.from({ length: 8 }, async () => {
        const mine = await redlock.lock("red:race", 30_000);
        most = Math.max(most, ++inside);
        await sleep(5);
        --inside;
        await mine.unlock();
    }));
    tell("inside at once", most);
}

const both = { resp2: { RESP: 2 }, resp3: { RESP: 3 } };
for (const scenario of [ioredisLocks, ioredisCommands, ioredisPipeline, ioredisRace, ioredisDatabases, ioredisExpiry, redlocks]) {
    tell("scenario", scenario.name);
    await withIoredis(scenario);
}
for (const [version, options] of Object.entries(both))
    for (const scenario of [nodeRedisLocks, nodeRedisTogether]) {
        tell("scenario", `${scenario.name} ${version}`);
        await withNodeRedis(scenario, options);
    }
tell("scenario", "nodeRedisScripts");
await nodeRedisScripts();
tell("end", true);
