/** Who the caller is: bearer tokens and TLS. */
import { ChannelCredentials } from "@grpc/grpc-js";
import { ConnectionLostError, errorOf } from "./errors.js";

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
}

const REFRESH_BEFORE_MS = 30_000;

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
    const { tokenUrl, clientId, clientSecret } = this.options;
    const basic = Buffer.from(
      `${encodeURIComponent(clientId)}:${encodeURIComponent(clientSecret)}`,
    );
    let response: Response;
    try {
      response = await fetch(tokenUrl, {
        method: "POST",
        headers: { authorization: `Basic ${basic.toString("base64")}` },
        body: new URLSearchParams({ grant_type: "client_credentials" }),
        signal: AbortSignal.timeout(REFRESH_BEFORE_MS),
      });
    } catch (cause) {
      throw new ConnectionLostError(`no answer from ${tokenUrl}`, {
        code: "CONNECTION_LOST",
        retryable: true,
        cause,
      });
    }
    if (response.status === 429 || response.status >= 500) {
      const text = `${tokenUrl} answered ${response.status}`;
      throw new ConnectionLostError(text, { code: "CONNECTION_LOST", retryable: true });
    }
    if (!response.ok) {
      const text = `${tokenUrl} refused the client ${clientId}: ${response.status}`;
      throw errorOf(text, { code: "UNAUTHORIZED" });
    }
    const granted = (await response.json()) as { access_token: string; expires_in?: number };
    const lifetime = (granted.expires_in ?? 300) * 1000;
    const until = Date.now() + Math.max(lifetime - REFRESH_BEFORE_MS, lifetime / 2);
    this.current = { token: granted.access_token, until };
    return granted.access_token;
  }
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
