/** What a token endpoint may answer. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer as createHttpsServer } from "node:https";
import { type AddressInfo, createServer } from "node:net";
import { it } from "node:test";
import { fileURLToPath } from "node:url";
import {
  ConnectionLostError,
  clientCredentials,
  InvalidOptionsError,
  Member,
  silentLogger,
} from "interlock-client";

/** Runs an endpoint that always says the same. */
async function listening(answer: string): Promise<{ tokenUrl: string; close: () => void }> {
  const server = createServer((socket) => {
    socket.on("error", () => undefined);
    socket.once("data", () => socket.end(answer));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const tokenUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}/token`;
  return { tokenUrl, close: () => server.close() };
}

/** Asks such an endpoint for a token. */
async function askedOf(answer: string): Promise<string> {
  const { tokenUrl, close } = await listening(answer);
  try {
    return await clientCredentials({ tokenUrl, clientId: "shop", clientSecret: "s" }).token();
  } finally {
    close();
  }
}

/** How long tokens live, in all clients. */
function lifetimes(): { expiresIn: string | null; seconds: number }[] {
  const path = new URL("../../../token-lifetimes.json", import.meta.url);
  return JSON.parse(readFileSync(path, "utf8")).lifetimes;
}

function pem(name: string): string {
  const path = fileURLToPath(new URL(`../../../../tests/keys/${name}`, import.meta.url));
  return readFileSync(path, "utf8");
}

function http(status: string, body: string, missing = 0): string {
  const length = Buffer.byteLength(body) + missing;
  return `HTTP/1.1 ${status}\r\ncontent-length: ${length}\r\nconnection: close\r\n\r\n${body}`;
}

it("what is no answer of an endpoint is worth another try", async () => {
  for (const answer of [
    "",
    "garbage\r\n\r\n",
    http("200 OK", '{"access_token"', 100),
    http("200 OK", "<html>maintenance</html>"),
    http("200 OK", "[]"),
    http("200 OK", "null"),
    http("200 OK", '{"access_token": "a\\nb", "expires_in": 300}'),
    http("400 Bad Request", "<html>no</html>"),
    http("401 Unauthorized", '{"error": "invalid_client"}', 100),
    http("429 Too Many Requests", ""),
    http("502 Bad Gateway", "<html>no</html>"),
  ]) {
    await assert.rejects(askedOf(answer), (error) => {
      assert(error instanceof ConnectionLostError, `${answer}: ${error}`);
      assert.equal(error.retryable, true);
      return true;
    });
  }
});

it("a refusal of the endpoint is final", async () => {
  for (const status of ["400 Bad Request", "401 Unauthorized", "403 Forbidden"]) {
    const answer = http(status, '{"error": "invalid_client"}');
    await assert.rejects(askedOf(answer), { code: "UNAUTHORIZED", reason: /: invalid_client$/ });
  }
});

it("an address without an endpoint is a mistake", async () => {
  const missing = askedOf(http("404 Not Found", "<html>no</html>"));
  await assert.rejects(missing, (error) => {
    assert(error instanceof InvalidOptionsError);
    assert.match(error.reason, /there is no token endpoint; check the address/);
    return true;
  });
  const none = clientCredentials({ tokenUrl: "shop", clientId: "shop", clientSecret: "s" });
  await assert.rejects(none.token(), { code: "INVALID_OPTIONS" });
});

it("a wrong path of a server is a mistake, too", async () => {
  const problem = '{"status": 401, "properties": {"errorCode": "UNAUTHORIZED"}}';
  const asked = askedOf(http("401 Unauthorized", problem));
  await assert.rejects(asked, { code: "INVALID_OPTIONS", reason: /there is no token endpoint/ });
});

it("an endpoint may have an authority of its own", async () => {
  const [key, cert] = [pem("tls-server.key"), pem("tls-server.pem")];
  const server = createHttpsServer({ key, cert }, (request, response) => {
    request.resume();
    response.end('{"access_token": "a"}');
  });
  server.listen(0, "localhost");
  await once(server, "listening");
  const tokenUrl = `https://localhost:${(server.address() as AddressInfo).port}/token`;
  const options = { tokenUrl, clientId: "shop", clientSecret: "s" };
  try {
    assert.equal(await clientCredentials({ ...options, ca: pem("tls-ca.pem") }).token(), "a");
    await assert.rejects(clientCredentials(options).token(), {
      code: "CONNECTION_LOST",
      reason: /no answer from .*: .*certificate/,
    });
  } finally {
    server.closeAllConnections();
    server.close();
  }
});

it("an endpoint may need a certificate of its client", async () => {
  const [key, cert, ca] = [pem("tls-server.key"), pem("tls-server.pem"), pem("tls-ca.pem")];
  const required = { key, cert, ca, requestCert: true, rejectUnauthorized: true };
  const server = createHttpsServer(required, (request, response) => {
    request.resume();
    response.end('{"access_token": "a"}');
  });
  server.listen(0, "localhost");
  await once(server, "listening");
  const tokenUrl = `https://localhost:${(server.address() as AddressInfo).port}/token`;
  const options = { tokenUrl, clientId: "shop", clientSecret: "s", ca };
  try {
    assert.equal(await clientCredentials({ ...options, cert, key }).token(), "a");
    const without = clientCredentials(options).token();
    await assert.rejects(without, { code: "CONNECTION_LOST", reason: /certificate/ });
  } finally {
    server.closeAllConnections();
    server.close();
  }
});

for (const { expiresIn, seconds } of lifetimes()) {
  it(`a token is used whatever the endpoint says about its life: ${expiresIn}`, async (test) => {
    let now = Date.now();
    test.mock.method(Date, "now", () => now);
    const said = expiresIn === null ? "" : `, "expires_in": ${expiresIn}`;
    const endpoint = await listening(http("200 OK", `{"access_token": "a"${said}}`));
    const source = clientCredentials({ ...endpoint, clientId: "shop", clientSecret: "s" });
    assert.equal(await source.token(), "a");
    // The endpoint has gone, so whether the token is still used shows.
    endpoint.close();
    now += Math.max(seconds - 31, 0) * 1000;
    if (seconds > 0) assert.equal(await source.token(), "a");
    now += 2_000;
    await assert.rejects(source.token(), { code: "CONNECTION_LOST" });
  });
}

it("an endpoint is left when nobody waits for its answer", { timeout: 5_000 }, async () => {
  const sockets: Promise<unknown>[] = [];
  const server = createServer((socket) => {
    socket.resume();
    sockets.push(once(socket, "close"));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const tokenUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}/token`;
  const token = clientCredentials({ tokenUrl, clientId: "shop", clientSecret: "s" });
  const members = ["a", "b"].map(() => new Member("127.0.0.1:1", { token, logger: silentLogger }));
  const running = members.map((member) => member.run());
  await once(server, "connection");
  await Promise.all(members.map((member) => member.stop()));
  await Promise.all(running);
  await Promise.all(sockets);
  server.close();
});

it("a member stops although its token does not come", async () => {
  let ask: () => void = () => undefined;
  const asked = new Promise<void>((resolve) => {
    ask = resolve;
  });
  const token = (): Promise<string> => {
    ask();
    return new Promise(() => undefined);
  };
  const member = new Member("127.0.0.1:1", { token, logger: silentLogger });
  const running = member.run();
  await asked;
  await member.stop();
  await running;
});
