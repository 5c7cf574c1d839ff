/** Who the caller is: bearer tokens and TLS. */
import { request } from "node:https";
import { text } from "node:stream/consumers";
import { ChannelCredentials } from "@grpc/grpc-js";
import { ConnectionLostError, errorOf, type InterlockError } from "./errors.js";

/** Gives the bearer token for each stream that is opened. */
export interface TokenSource {
  /** A token that is valid now. The signal is aborted when nobody waits for it any more. */
  token(signal?: AbortSignal): Promise<string>;
  /** Called when the server has refused a token: the next one must be another. */
  refused?(token: string): void;
}

/** TLS. */
export interface TlsOptions {
  /** The certificates of the authorities that are trusted, as PEM; by default those of Node. */
  ca?: string | Buffer;
  /** The certificate of the client, as PEM, for servers that require one. */
  cert?: string | Buffer;
  /** The private key of the client, as PEM. */
  key?: string | Buffer;
}

/** What `clientCredentials` needs, and the TLS of the endpoint where its address is `https`. */
export interface ClientCredentialsOptions extends TlsOptions {
  /** The token endpoint, for instance `https://host/api/oauth/token`. */
  tokenUrl: string;
  clientId: string;
  clientSecret: string;
}

const REFRESH_BEFORE_MS = 30_000;

/** How long a token endpoint may take to answer. */
const ANSWER_TIMEOUT_MS = 10_000;

/** Of a token whose endpoint does not say how long it lives. */
const LIFETIME_S = 300;

/** With what, and an error of OAuth, a token endpoint says that a client is not accepted. */
const REFUSED: readonly number[] = [400, 401, 403];

/** Tokens by the client credentials grant of OAuth 2.0, each used until shortly before it expires. */
export function clientCredentials(options: ClientCredentialsOptions): TokenSource {
  return new ClientCredentials(options);
}

class ClientCredentials implements TokenSource {
  private current: { token: string; until: number } | undefined;
  private fetching: Promise<string> | undefined;
  private waiting = 0;
  /** Ends the request for a token that nobody waits for: it would keep the program from ending. */
  private unwanted = new AbortController();

  constructor(private readonly options: ClientCredentialsOptions) {}

  async token(signal?: AbortSignal): Promise<string> {
    signal?.throwIfAborted();
    if (this.current !== undefined && Date.now() < this.current.until) return this.current.token;
    if (this.fetching === undefined) {
      this.unwanted = new AbortController();
      this.fetching = this.fetch(this.unwanted.signal).finally(() => {
        this.fetching = undefined;
      });
    }
    const leave = (): void => {
      this.waiting -= 1;
      if (this.waiting === 0) this.unwanted.abort();
    };
    this.waiting += 1;
    signal?.addEventListener("abort", leave, { once: true });
    try {
      return await this.fetching;
    } finally {
      signal?.removeEventListener("abort", leave);
      if (signal?.aborted !== true) this.waiting -= 1;
    }
  }

  refused(token: string): void {
    if (this.current?.token === token) this.current = undefined;
  }

  private async fetch(unwanted: AbortSignal): Promise<string> {
    const { token, lifetimeMs } = grantedBy(await this.ask(unwanted), this.options.tokenUrl);
    const until = Date.now() + Math.max(lifetimeMs - REFRESH_BEFORE_MS, lifetimeMs / 2);
    this.current = { token, until };
    return token;
  }

  /** What the endpoint answers if it does not refuse the client. */
  private async ask(unwanted: AbortSignal): Promise<unknown> {
    const { tokenUrl, clientId, clientSecret } = this.options;
    if (!URL.canParse(tokenUrl)) {
      throw errorOf(`${tokenUrl} is no address`, { code: "INVALID_OPTIONS" });
    }
    const basic = Buffer.from(
      `${encodeURIComponent(clientId)}:${encodeURIComponent(clientSecret)}`,
    );
    const headers = {
      authorization: `Basic ${basic.toString("base64")}`,
      "content-type": "application/x-www-form-urlencoded",
    };
    let answered: Answered;
    try {
      answered = await post(headers, "grant_type=client_credentials", this.options, unwanted);
    } catch (cause) {
      throw passing(`no answer from ${tokenUrl}: ${reasonOf(cause)}`, cause);
    }
    const answer = jsonOf(answered.text);
    if (answered.status < 200 || answered.status > 299) throw this.refusal(answered.status, answer);
    return answer;
  }

  /**
   * What it means that the endpoint has answered with a status that is no success. Only what the
   * endpoint itself says is final: anything else may come from a proxy, and pass.
   */
  private refusal(status: number, answer: unknown): InterlockError {
    const { tokenUrl, clientId } = this.options;
    const said = `${tokenUrl} answers with status ${status}`;
    // A server answers so whatever the path is, unless it is that of its token endpoint.
    const code = memberOf(memberOf(answer, "properties"), "errorCode");
    if (status === 404 || (status === 401 && code === "UNAUTHORIZED")) {
      const text = `${said}: there is no token endpoint; check the address`;
      return errorOf(text, { code: "INVALID_OPTIONS" });
    }
    const reason = memberOf(answer, "error");
    if (REFUSED.includes(status) && typeof reason === "string" && /^[a-z_]{1,64}$/.test(reason)) {
      const text = `${tokenUrl} refuses the client ${clientId}: ${reason}`;
      return errorOf(text, { code: "UNAUTHORIZED" });
    }
    return passing(said);
  }
}

interface Answered {
  status: number;
  text: string;
}

/** Sends a form. Only the requests of `node:https` can have an authority and a certificate. */
async function post(
  headers: Record<string, string>,
  body: string,
  { tokenUrl: url, ca, cert, key }: ClientCredentialsOptions,
  unwanted: AbortSignal,
): Promise<Answered> {
  const signal = AbortSignal.any([AbortSignal.timeout(ANSWER_TIMEOUT_MS), unwanted]);
  if ((ca ?? cert ?? key) === undefined || !url.startsWith("https:")) {
    const response = await fetch(url, { method: "POST", headers, body, signal });
    return { status: response.status, text: await response.text() };
  }
  return await new Promise((resolve, reject) => {
    const options = { method: "POST", headers, ca, cert, key, signal };
    const sent = request(url, options, (response) => {
      text(response).then(
        (read) => resolve({ status: response.statusCode ?? 0, text: read }),
        reject,
      );
    });
    sent.on("error", reject);
    sent.end(body);
  });
}

/** Why there is no answer: what `fetch` throws has that in its cause. */
function reasonOf(error: unknown): string {
  const { cause = error } = error instanceof Error ? error : {};
  return cause instanceof Error ? cause.message : String(cause);
}

/** The token of an answer, and how long it lives. */
function grantedBy(answer: unknown, tokenUrl: string): { token: string; lifetimeMs: number } {
  const token = memberOf(answer, "access_token");
  // Only these characters can be sent in a header.
  if (typeof token !== "string" || !/^[!-~]+$/.test(token)) {
    throw passing(`${tokenUrl} does not answer with a token`);
  }
  return { token, lifetimeMs: lifetimeOf(memberOf(answer, "expires_in")) * 1000 };
}

/** How many seconds a token lives; some endpoints write that as a text. */
function lifetimeOf(given: unknown): number {
  const isWritten = typeof given === "number" || (typeof given === "string" && given !== "");
  const seconds = isWritten ? Number(given) : Number.NaN;
  return seconds >= 0 && seconds < Number.POSITIVE_INFINITY ? seconds : LIFETIME_S;
}

/** A failure that another try may not meet. */
function passing(text: string, cause?: unknown): ConnectionLostError {
  return new ConnectionLostError(text, { code: "CONNECTION_LOST", retryable: true, cause });
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function memberOf(value: unknown, name: string): unknown {
  const isObject = typeof value === "object" && value !== null;
  return isObject ? (value as Record<string, unknown>)[name] : undefined;
}

/** Makes a source of whatever a caller gives as one. */
export function tokenSource(
  given: string | (() => string | Promise<string>) | TokenSource,
): TokenSource {
  if (typeof given === "string") return { token: () => Promise.resolve(given) };
  if (typeof given === "function") return { token: async () => await given() };
  return given;
}

/** The credentials of a channel. */
export function channelCredentials(tls: boolean | TlsOptions | undefined): ChannelCredentials {
  if (tls === undefined || tls === false) return ChannelCredentials.createInsecure();
  const { ca, key, cert } = tls === true ? {} : tls;
  const bytes = (pem: string | Buffer | undefined): Buffer | null =>
    pem === undefined ? null : Buffer.from(pem);
  return ChannelCredentials.createSsl(bytes(ca), bytes(key), bytes(cert));
}
