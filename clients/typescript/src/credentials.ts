/** Who the caller is: bearer tokens and TLS. */
import { request } from "node:https";
import { text } from "node:stream/consumers";
import { ChannelCredentials } from "@grpc/grpc-js";
import { ConnectionLostError, errorOf, type InterlockError } from "./errors.js";

/** Gives the bearer token for each stream that is opened. */
export interface TokenSource {
  /** A token that is valid now. */
  token(): Promise<string>;
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

/** What `clientCredentials` needs. */
export interface ClientCredentialsOptions {
  /** The token endpoint, for instance `https://host/api/oauth/token`. */
  tokenUrl: string;
  clientId: string;
  clientSecret: string;
  /** The certificates of the authorities that are trusted, as PEM; by default those of Node. */
  ca?: string | Buffer;
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

  constructor(private readonly options: ClientCredentialsOptions) {}

  async token(): Promise<string> {
    if (this.current !== undefined && Date.now() < this.current.until) return this.current.token;
    this.fetching ??= this.fetch().finally(() => {
      this.fetching = undefined;
    });
    return await this.fetching;
  }

  refused(token: string): void {
    if (this.current?.token === token) this.current = undefined;
  }

  private async fetch(): Promise<string> {
    const { token, lifetimeMs } = grantedBy(await this.ask(), this.options.tokenUrl);
    const until = Date.now() + Math.max(lifetimeMs - REFRESH_BEFORE_MS, lifetimeMs / 2);
    this.current = { token, until };
    return token;
  }

  /** What the endpoint answers if it does not refuse the client. */
  private async ask(): Promise<unknown> {
    const { tokenUrl, clientId, clientSecret, ca } = this.options;
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
      answered = await post(tokenUrl, headers, "grant_type=client_credentials", ca);
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

/** Sends a form. Only the requests of `node:https` can trust an authority of their own. */
async function post(
  url: string,
  headers: Record<string, string>,
  body: string,
  ca: string | Buffer | undefined,
): Promise<Answered> {
  const signal = AbortSignal.timeout(ANSWER_TIMEOUT_MS);
  if (ca === undefined || !url.startsWith("https:")) {
    const response = await fetch(url, { method: "POST", headers, body, signal });
    return { status: response.status, text: await response.text() };
  }
  return await new Promise((resolve, reject) => {
    const sent = request(url, { method: "POST", headers, ca, signal }, (response) => {
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
  const lifetimeMs = Number(memberOf(answer, "expires_in") ?? LIFETIME_S) * 1000;
  // Only these characters can be sent in a header.
  const isToken = typeof token === "string" && /^[!-~]+$/.test(token);
  if (!isToken || !(lifetimeMs >= 0 && lifetimeMs < Number.POSITIVE_INFINITY)) {
    throw passing(`${tokenUrl} does not answer with a token`);
  }
  return { token, lifetimeMs };
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
