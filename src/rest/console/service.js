// Requests to the service. Each is a CloudEvent, as it would be on the gRPC stream.

const TOKEN = "interlock-token";

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
  set: (value) => sessionStorage.setItem(TOKEN, value),
  forget: () => sessionStorage.removeItem(TOKEN),
};

// Gets a token for a client and keeps it until the browser tab is closed.
export async function login(id, secret) {
  const response = await fetch(url("/oauth/token"), {
    method: "POST",
    headers: { authorization: `Basic ${btoa(`${encodeURIComponent(id)}:${encodeURIComponent(secret)}`)}` },
    body: new URLSearchParams({ grant_type: "client_credentials" }),
  });
  const answer = await response.json().catch(() => ({}));
  if (!response.ok) {
    throw new Refused(answer.error_description ?? answer.detail ?? `status ${response.status}`, answer.error);
  }
  token.set(answer.access_token);
}

// Numbers that would lose digits stay as they were written, where the browser can do that.
function reviver(name, value, context) {
  const isRounded = typeof value === "number" && context?.source && String(value) !== context.source;
  return isRounded && JSON.rawJSON ? JSON.rawJSON(context.source) : value;
}

// The answers to a request, of which there are several if it has a streamed answer.
export async function askAll(type, data = {}) {
  const id = Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) =>
    byte.toString(16).padStart(2, "0"),
  ).join("");
  const headers = { "content-type": "application/cloudevents+json" };
  if (token.get()) headers.authorization = `Bearer ${token.get()}`;
  const response = await fetch(url("/events"), {
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
  const text = await response.text();
  if (response.status === 401) throw new Refused("Log in to see this.", "UNAUTHORIZED", true);
  let body;
  try {
    body = JSON.parse(text, reviver);
  } catch {
    throw new Refused(`The answer, of status ${response.status}, is not JSON.`);
  }
  if (!response.ok) throw new Refused(body.detail ?? `status ${response.status}`, body.properties?.errorCode);
  const events = Array.isArray(body) ? body : [body];
  const failed = events.find(({ data }) => data.success === false)?.data.error;
  // The message begins with the code.
  if (failed) throw new Refused(failed.message, failed.message.split(":")[0]);
  return events.filter((event) => event.type !== "EventStreamEnd").map((event) => event.data);
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
