// What a driver of a JavaScript client prints: for every call what came back, or what was raised.

/** Makes the calls in their order, or only those that CALLS names, and prints one JSON object. */
async function report(calls) {
    const chosen = process.env.CALLS ? process.env.CALLS.split(" ") : Object.keys(calls);
    const outcomes = {};
    for (const name of chosen) {
        outcomes[name] = await outcome(calls[name]);
    }
    process.stdout.write(JSON.stringify(outcomes));
}

async function outcome(call) {
    try {
        return { returned: await call() };
    } catch (error) {
        return {
            raised: error.constructor.name,
            status_code: error.statusCode,
            body: error.body,
            request_id: error.requestId,
            trace: error.stack,
        };
    }
}

/** All bytes of a stream of the web or of Node, as base64. */
async function bytes(stream) {
    const chunks = [];
    for await (const chunk of stream) {
        chunks.push(chunk);
    }
    return Buffer.concat(chunks).toString("base64");
}

/** How many bytes a stream brings. */
async function length(stream) {
    return Buffer.from(await bytes(stream), "base64").length;
}

/** All items of an asynchronous iterable. */
async function all(items) {
    const list = [];
    for await (const item of items) {
        list.push(item);
    }
    return list;
}

module.exports = { report, bytes, length, all };
