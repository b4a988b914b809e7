// Opens sockets as a page does: with the browser's own WebSocket, which can send no header.

const { report } = require("./report.cjs");

const [address, ...messages] = process.argv.slice(2);

/** Sends the messages one after the other, and keeps what comes back until the close. */
function conversation() {
    return new Promise((resolve) => {
        const frames = [];
        const socket = new WebSocket(address);
        socket.onopen = () => messages.forEach((message) => socket.send(message));
        socket.onmessage = (event) => frames.push(JSON.parse(event.data));
        socket.onclose = (event) => resolve({ frames, code: event.code, reason: event.reason, clean: event.wasClean });
    });
}

report({ conversation });
