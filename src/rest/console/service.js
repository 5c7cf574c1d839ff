// Requests to the service. Each is a CloudEvent, as it would be on the gRPC stream.

import { firstElements } from "./elements.js";

const TOKEN = "interlock-token";

// How long a look waits for the next part of its answer: longer than a search may take.
const LOOK_MS = 35_000;

// How long a write that did not succeed keeps its key: longer than a request is served.
const KEY_MS = 15 * 60_000;

const meta = (name) => document.querySelector(`meta[name="${name}"]`).content;

// Whether a request with the key of another is the same request to the service.
const HAS_KEYS = meta("interlock-keys") === "true";

const UNKNOWN = `No answer: it is not known whether this was done. ${
  HAS_KEYS ? "If the page does not show it, press again: it is done once." : "Look whether it was: to press again may do it twice."
}`;

// No header may have other characters.
const IS_TOKEN = /^[\x21-\x7e]+$/;

const api = meta("interlock-api");

// The page may be behind a proxy that adds a prefix to all paths.
export const url = (path) => new URL(`.${api}${path}`, location.href);

// A refusal by the service, or by what is between.
export class Refused extends Error {
  constructor(message, code, needsLogin = false) {
    super(message);
    this.code = code;
    this.needsLogin = needsLogin;
  }
}

export const token = {
  get: () => sessionStorage.getItem(TOKEN),
  set(value) {
    if (!IS_TOKEN.test(value)) throw new Refused("This is not a token.");
    sessionStorage.setItem(TOKEN, value);
  },
  forget: () => sessionStorage.removeItem(TOKEN),
};

// No answer came, so it is not known what the service did.
export class Unanswered extends Error {}

// The browser says of every network error only that it failed.
async function reach(path, request, read) {
  try {
    return await read(await fetch(url(path), request));
  } catch (error) {
    const isLate = error.name === "AbortError";
    throw new Unanswered(isLate ? `The service has not answered for ${LOOK_MS / 1000} s.` : "The service cannot be reached.");
  }
}

// Gets a token for a client and keeps it until the browser tab is closed.
export async function login(id, secret) {
  const request = {
    method: "POST",
    headers: { authorization: `Basic ${btoa(`${encodeURIComponent(id)}:${encodeURIComponent(secret)}`)}` },
    body: new URLSearchParams({ grant_type: "client_credentials" }),
  };
  const [response, answer] = await reach("/oauth/token", request, async (response) => [response, await response.json().catch(() => ({}))]);
  if (!response.ok) {
    const reason = answer.error === "invalid_client" ? "The client id or the secret is wrong." : answer.error_description;
    throw new Refused(reason ?? answer.detail ?? `status ${response.status}`, answer.error);
  }
  token.set(answer.access_token);
}

// Numbers that would lose digits stay as they were written, where the browser can do that.
function reviver(name, value, context) {
  const isRounded = typeof value === "number" && context?.source && String(value) !== context.source;
  return isRounded && JSON.rawJSON ? JSON.rawJSON(context.source) : value;
}

// JSON as a person or the service wrote it.
export const parsed = (text) => JSON.parse(text, reviver);

// How many bytes of documents a list shows: a page is read again every few seconds.
const LIST_BYTES = 4 << 20;

// The answers to a request, of which there are several if it has a streamed answer.
export async function askAll(type, data = {}) {
  return (await askSome(type, data, Infinity, Infinity)).answers;
}

const random = () =>
  Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");

// The event of a request, and the answer to it as it is read.
async function send(type, data, most, bytes, key) {
  const id = random();
  const headers = { "content-type": "application/cloudevents+json" };
  const sent = token.get();
  if (sent) headers.authorization = `Bearer ${sent}`;
  const event = { specversion: "1.0", id, source: "console", type, datacontenttype: "application/json", data: { id, ...data } };
  if (key) event.idempotencykey = key;
  const stop = new AbortController();
  let timer;
  // A write may take as long as its processors do.
  const wait = () => {
    clearTimeout(timer);
    if (!key) timer = setTimeout(() => stop.abort(), LOOK_MS);
  };
  wait();
  try {
    const request = { method: "POST", headers, body: JSON.stringify(event), signal: stop.signal };
    return await reach("/events", request, async (response) => ({ sent, response, ...(await firstElements(response, most, bytes, wait)) }));
  } finally {
    clearTimeout(timer);
  }
}

// The first answers to a request, and whether there are more: further ones are not read.
export async function askSome(type, data = {}, most, bytes = LIST_BYTES, key = undefined) {
  const { sent, response, text, isCut } = await send(type, data, most, bytes, key);
  if (response.status === 401) {
    // Another may have been obtained meanwhile.
    if (sent && sent === token.get()) token.forget();
    throw new Refused(sent ? "The token is invalid or has expired; log in again." : "Log in to see this.", "UNAUTHORIZED", true);
  }
  let body;
  try {
    body = parsed(text);
  } catch {
    throw new Unanswered(`The answer, of status ${response.status}, is not JSON.`);
  }
  if (!response.ok) throw new Refused(body.detail ?? `status ${response.status}`, body.properties?.errorCode);
  const events = Array.isArray(body) ? body : [body];
  const failed = events.find(({ data }) => data.success === false)?.data.error;
  // The message begins with the code.
  if (failed) throw new Refused(failed.message, failed.message.split(":")[0]);
  return { answers: events.filter((event) => event.type !== "EventStreamEnd").map((event) => event.data), isCut };
}

export async function ask(type, data) {
  return (await askAll(type, data))[0];
}

// The keys of writes that were not answered with success, by what they ask for.
const keys = new Map();

// Sends a request that changes something, with an idempotency key: a repeat of the same request has the
// same one until it has succeeded, so that it is performed once. `seen` is what the page showed of what
// is changed: after that has changed, the same request is another one. `member` is the one of the
// payload that is the key, too, if it is absent.
export async function write(type, data, { member, seen } = {}) {
  const what = JSON.stringify([type, data, seen]);
  const now = performance.now();
  const known = keys.get(what);
  const key = known && now - known.since < KEY_MS ? known.key : random();
  keys.set(what, { key, since: now });
  try {
    const { answers } = await askSome(type, member && !data[member] ? { ...data, [member]: key } : data, Infinity, Infinity, key);
    keys.delete(what);
    return answers[0];
  } catch (error) {
    throw error instanceof Unanswered ? new Unanswered(UNKNOWN) : error;
  }
}

// Like `ask`, where the caller may lack the role: nothing then.
export async function askIfAllowed(type, data) {
  try {
    return await ask(type, data);
  } catch (error) {
    if (error.code === "FORBIDDEN") return undefined;
    throw error;
  }
}
