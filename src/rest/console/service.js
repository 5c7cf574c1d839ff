// Requests to the service. Each is a CloudEvent, as it would be on the gRPC stream.

import { firstElements } from "./elements.js";

const TOKEN = "interlock-token";
const NAMESPACE = "interlock-namespace";

// No header may have other characters.
const IS_TOKEN = /^[\x21-\x7e]+$/;

const api = document.querySelector('meta[name="interlock-api"]').content;

// The page may be behind a proxy that adds a prefix to all paths.
const url = (path) => new URL(`.${api}${path}`, location.href);

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

// The namespace that is looked at: the default one if none was chosen.
export const namespace = {
  get: () => sessionStorage.getItem(NAMESPACE) || undefined,
  set: (value) => sessionStorage.setItem(NAMESPACE, value),
};

// The browser says of every network error only that it failed.
async function reach(path, request) {
  try {
    return await fetch(url(path), request);
  } catch {
    throw new Refused("The service cannot be reached; what is shown may be old. The page tries again.");
  }
}

// Gets a token for a client and keeps it until the browser tab is closed.
export async function login(id, secret) {
  const response = await reach("/oauth/token", {
    method: "POST",
    headers: { authorization: `Basic ${btoa(`${encodeURIComponent(id)}:${encodeURIComponent(secret)}`)}` },
    body: new URLSearchParams({ grant_type: "client_credentials" }),
  });
  const answer = await response.json().catch(() => ({}));
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

// The first answers to a request, and whether there are more: further ones are not read.
export async function askSome(type, data = {}, most, bytes = LIST_BYTES) {
  const id = Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) =>
    byte.toString(16).padStart(2, "0"),
  ).join("");
  const headers = { "content-type": "application/cloudevents+json" };
  const sent = token.get();
  if (sent) headers.authorization = `Bearer ${sent}`;
  const response = await reach("/events", {
    method: "POST",
    headers,
    body: JSON.stringify({
      specversion: "1.0",
      id,
      source: "console",
      type,
      datacontenttype: "application/json",
      data: { id, ...data },
    }),
  });
  const { text, isCut } = await firstElements(response, most, bytes);
  if (response.status === 401) {
    // Another may have been obtained meanwhile.
    if (sent && sent === token.get()) token.forget();
    throw new Refused(sent ? "The token is invalid or has expired; log in again." : "Log in to see this.", "UNAUTHORIZED", true);
  }
  let body;
  try {
    body = parsed(text);
  } catch {
    throw new Refused(`The answer, of status ${response.status}, is not JSON.`);
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

// Like `ask`, where the caller may lack the role: nothing then.
export async function askIfAllowed(type, data) {
  try {
    return await ask(type, data);
  } catch (error) {
    if (error.code === "FORBIDDEN") return undefined;
    throw error;
  }
}
