/** The connection to a server: at most one open stream, and another one when that is lost. */
import { once, setMaxListeners } from "node:events";
import { setTimeout as delay } from "node:timers/promises";
import {
  type ChannelOptions,
  Client,
  type ClientDuplexStream,
  connectivityState,
  Metadata,
  type ServiceError,
  status,
} from "@grpc/grpc-js";
import { Ahead } from "./ahead.js";
import type { Answer } from "./answer.js";
import {
  channelCredentials,
  type TlsOptions,
  type TokenSource,
  tokenSource,
} from "./credentials.js";
import { ATTRIBUTE, type CloudEvent, deserialize, envelop, serialize } from "./envelope.js";
import { ClientClosedError, ConnectionLostError, errorOf, InterlockError } from "./errors.js";
import { type Logger, stderrLogger } from "./logger.js";
import type { Asker, RequestOptions } from "./requester.js";
import { checkSize, failureOf, failureOfAnswer, lost, Stream } from "./stream.js";
import { currentTrace } from "./tracing.js";
import { isUnderstood, understood, VERSION } from "./version.js";

/** How a client or a member connects. */
export interface ConnectionOptions {
  /** The bearer token, a function that makes it for every stream, or `clientCredentials(…)`. */
  token?: string | (() => string | Promise<string>) | TokenSource;
  /** TLS; without it the connection is not encrypted. */
  tls?: boolean | TlsOptions;
  /** Further metadata that is sent when a stream is opened. */
  metadata?: Readonly<Record<string, string>>;
  /** How many requests may be unanswered; further ones wait. 256 by default, as servers allow. */
  inFlight?: number;
  /** The largest request that is sent; 16 MiB by default, as servers allow. */
  maxMessageBytes?: number;
  /** How long a request waits for a connection, in ms; 10,000 by default. */
  connectTimeoutMs?: number;
  /** Where reconnections and the like are logged; JSON lines on standard error by default. */
  logger?: Logger;
}

/** What the owner of a connection does with its streams. */
export interface StreamHooks {
  /** Makes a new stream ready for use. */
  greet: (stream: Stream) => Promise<void>;
  /** Called with every event that answers no request. */
  receive: (stream: Stream, event: CloudEvent) => void;
}

/** Says what it means that a call has ended. */
type Meaning = (error: ServiceError) => InterlockError;

/** How a separate call is read. */
interface Separate {
  /** Called when the server has accepted the call. */
  accepted: () => void;
  meaning: Meaning;
  signal: AbortSignal | undefined;
}

/** The longest time that timers take; they end at once for a longer one. */
export const LONGEST_TIMER_MS = 2 ** 31 - 1;

const SERVICE = "/org.cyoda.cloud.api.grpc.CloudEventsService";
const GREETING_TIMEOUT_MS = 10_000;
const CLOSE_TIMEOUT_MS = 10_000;

// Between two attempts to open a stream: doubling, with jitter.
const FIRST_DELAY_MS = 100;
const LONGEST_DELAY_MS = 5_000;

const CHANNEL_OPTIONS: ChannelOptions = {
  // gRPC reconnects the channel with its own delays; they are kept below ours.
  "grpc.initial_reconnect_backoff_ms": 100,
  "grpc.max_reconnect_backoff_ms": 1_000,
  // A peer that vanished is noticed within 30 s. Servers tolerate a ping every 10 s.
  "grpc.keepalive_time_ms": 20_000,
  "grpc.keepalive_timeout_ms": 10_000,
  "grpc.max_receive_message_length": -1,
  "grpc.max_send_message_length": -1,
};

/** Opens streams to one server, one after the other. */
export class Connection implements Asker {
  readonly logger: Logger;
  private readonly tokens: TokenSource | undefined;
  private readonly channel: Client;
  private readonly connectTimeoutMs: number;
  private readonly maxMessageBytes: number;
  private readonly closing = new AbortController();
  private readonly ahead = new Ahead();
  private current: Stream | undefined;
  private opening: Promise<Stream> | undefined;
  private waiting = 0;
  private delayMs = 0;
  /** No attempt to open a stream is made before. */
  private notBefore = 0;
  /** Why there is no stream, as far as it is known. */
  private lost: ConnectionLostError | undefined;

  constructor(
    readonly target: string,
    private readonly options: ConnectionOptions,
    private readonly hooks: StreamHooks = {
      greet: (stream) => stream.opened,
      receive: () => undefined,
    },
  ) {
    checkTarget(target);
    atLeastOne("inFlight", options.inFlight ?? 256);
    this.logger = options.logger ?? stderrLogger;
    this.tokens = options.token === undefined ? undefined : tokenSource(options.token);
    this.connectTimeoutMs = Math.min(options.connectTimeoutMs ?? 10_000, LONGEST_TIMER_MS);
    // One for each separate call: Node warns of more than ten.
    setMaxListeners(0, this.closing.signal);
    this.maxMessageBytes = options.maxMessageBytes ?? 16 << 20;
    this.channel = new Client(target, channelCredentials(options.tls), CHANNEL_OPTIONS);
  }

  /** Sends a request on the open stream, or on a new one. */
  async ask(type: string, payload: object, options: RequestOptions = {}): Promise<Answer> {
    options.signal?.throwIfAborted();
    const event = envelop(type, payload, attributesOf(options));
    return await (await this.stream(options.signal)).ask(event, undefined, options.signal);
  }

  /**
   * Sends a request with a streamed answer on a separate call: reading it slowly delays nothing else.
   * It is read ahead, until the server has to wait.
   */
  askStreamed(
    type: string,
    payload: object,
    options: RequestOptions = {},
  ): AsyncGenerator<CloudEvent, void, undefined> {
    const open = (signal: AbortSignal): AsyncGenerator<CloudEvent, void, undefined> =>
      this.askSeparately(type, payload, { ...options, signal }, failureOfAnswer);
    return this.ahead.read(open, options.signal);
  }

  /**
   * Sends a request with an endless answer on a separate call. Whatever ends the answer is a lost
   * connection: a feed resumes.
   */
  listen(
    type: string,
    payload: object,
    options: RequestOptions = {},
  ): AsyncGenerator<CloudEvent, void, undefined> {
    return this.askSeparately(type, payload, options, failureOf);
  }

  private async *askSeparately(
    type: string,
    payload: object,
    options: RequestOptions,
    meaning: Meaning,
  ): AsyncGenerator<CloudEvent, void, undefined> {
    const event = envelop(type, payload, attributesOf(options));
    checkSize(event, this.maxMessageBytes);
    await this.connect(options.signal);
    for (let isAgain = false; ; isAgain = true) {
      const { metadata, token } = await this.metadata();
      let isAccepted = false;
      const accepted = (): void => {
        isAccepted = true;
      };
      try {
        yield* this.streamed(event, metadata, { accepted, meaning, signal: options.signal });
        return;
      } catch (error) {
        const isRefused = error instanceof InterlockError && error.code === "UNAUTHORIZED";
        if (!isRefused || token === undefined || this.tokens?.refused === undefined) throw error;
        this.tokens.refused(token);
        // The token was revoked meanwhile. The same request would have the answer begin again:
        // a caller that resumes asks for the rest, with another token.
        if (isAccepted) throw lost(error);
        if (isAgain) throw error;
      }
    }
  }

  private async *streamed(
    event: CloudEvent,
    metadata: Metadata,
    { accepted, meaning, signal }: Separate,
  ): AsyncGenerator<CloudEvent, void, undefined> {
    signal?.throwIfAborted();
    this.throwIfClosed();
    const path = `${SERVICE}/entitySearchCollection`;
    const call = this.channel.makeServerStreamRequest(
      path,
      serialize,
      deserialize,
      event,
      metadata,
    );
    call.once("metadata", (answered: Metadata) => {
      accepted();
      try {
        checkVersion(answered.get("interlock-version")[0]?.toString());
      } catch (error) {
        call.destroy(error as Error);
      }
    });
    const stops = [this.closing.signal, ...(signal ? [signal] : [])];
    const cancel = (): void => call.cancel();
    for (const stop of stops) stop.addEventListener("abort", cancel, { once: true });
    try {
      for await (const answer of call) yield answer as CloudEvent;
    } catch (error) {
      signal?.throwIfAborted();
      this.throwIfClosed();
      throw isServiceError(error) ? meaning(error) : error;
    } finally {
      for (const stop of stops) stop.removeEventListener("abort", cancel);
      // What an ended call still reports is of no interest.
      call.on("error", () => undefined);
      call.cancel();
    }
  }

  /**
   * Waits until the server can be reached. No stream is opened: a server ends silent ones.
   * @throws ConnectionLostError if that takes too long.
   */
  async connect(signal?: AbortSignal): Promise<void> {
    this.throwIfClosed();
    const ready = new Promise<void>((resolve, reject) => {
      const late = (): void => void this.learnWhy().then(() => reject(this.unreachable()));
      const deadline = Date.now() + this.connectTimeoutMs;
      this.channel.waitForReady(deadline, (error) => (error === undefined ? resolve() : late()));
    });
    await until(ready, signal);
  }

  /** Takes note of why the server cannot be reached: only a call is told, which fails at once. */
  private async learnWhy(): Promise<void> {
    const channel = this.channel.getChannel();
    if (channel.getConnectivityState(false) !== connectivityState.TRANSIENT_FAILURE) return;
    const call = this.channel.makeServerStreamRequest(
      `${SERVICE}/entitySearchCollection`,
      serialize,
      deserialize,
      envelop("AccountGetRequest", {}),
      { deadline: Date.now() + 200 },
    );
    call.resume();
    const [error] = (await once(call, "error").catch(() => [])) as [ServiceError?];
    if (error?.code === status.UNAVAILABLE) {
      const failure = failureOf(error);
      if (failure instanceof ConnectionLostError) this.lost = failure;
    }
  }

  /**
   * The open stream, or a new one.
   * @throws ConnectionLostError if there is none within the connect timeout.
   * @throws InterlockError if the server refuses this caller.
   */
  async stream(signal?: AbortSignal): Promise<Stream> {
    if (this.current !== undefined && this.current.failure === undefined) return this.current;
    const timeout = AbortSignal.timeout(this.connectTimeoutMs);
    try {
      return await this.streamEventually(AbortSignal.any([timeout, ...(signal ? [signal] : [])]));
    } catch (error) {
      throw error === timeout.reason && timeout.aborted ? this.unreachable() : error;
    }
  }

  /** The open stream, or a new one, however long that takes. */
  async streamEventually(signal?: AbortSignal): Promise<Stream> {
    this.waiting += 1;
    try {
      this.opening ??= this.open().finally(() => {
        this.opening = undefined;
      });
      this.opening.catch(() => undefined);
      return await until(this.opening, signal);
    } finally {
      this.waiting -= 1;
    }
  }

  /** Waits for outstanding answers on the stream, then ends it and all other calls. */
  async close(): Promise<void> {
    this.closing.abort(new ClientClosedError("the client was closed", { code: "CLIENT_CLOSED" }));
    await this.current?.close(CLOSE_TIMEOUT_MS);
    this.channel.close();
  }

  private async open(): Promise<Stream> {
    for (;;) {
      this.throwIfClosed();
      if (this.current !== undefined && this.current.failure === undefined) return this.current;
      // Of a pause that is longer than a caller waits, the next one waits for the rest only.
      const restMs = this.notBefore - performance.now();
      if (restMs > 0) await this.pause(restMs);
      if (this.waiting === 0) throw this.unreachable();
      try {
        this.current = await this.attempt();
        this.lost = undefined;
        this.postpone();
        return this.current;
      } catch (error) {
        this.postpone();
        if (!(error instanceof ConnectionLostError)) throw error;
        this.lost = error;
        const fields = { target: this.target, reason: error.message };
        this.logger.warn("the server cannot be reached; retrying", fields);
      }
    }
  }

  /** Has the next attempt wait: longer than this one did, and never quite as long. */
  private postpone(): void {
    this.delayMs = Math.min(LONGEST_DELAY_MS, Math.max(FIRST_DELAY_MS, 2 * this.delayMs));
    const jitteredMs = this.delayMs / 2 + (Math.random() * this.delayMs) / 2;
    this.notBefore = performance.now() + jitteredMs;
  }

  private async pause(ms: number): Promise<void> {
    // Waking early because the client was closed is noticed by the caller.
    await delay(ms, undefined, { signal: this.closing.signal }).catch(() => undefined);
    this.throwIfClosed();
  }

  /** Opens a stream; a token that is refused is replaced once. */
  private async attempt(): Promise<Stream> {
    const first = await this.metadata();
    try {
      return await this.openStream(first.metadata);
    } catch (error) {
      const isRefused = error instanceof InterlockError && error.code === "UNAUTHORIZED";
      if (!isRefused || this.tokens?.refused === undefined) throw error;
      this.tokens.refused(first.token ?? "");
      return await this.openStream((await this.metadata()).metadata);
    }
  }

  private async openStream(metadata: Metadata): Promise<Stream> {
    const path = `${SERVICE}/startStreaming`;
    const call: ClientDuplexStream<CloudEvent, CloudEvent> = this.channel.makeBidiStreamRequest(
      path,
      serialize,
      deserialize,
      metadata,
    );
    const stream = new Stream(call, {
      inFlight: this.options.inFlight ?? 256,
      maxMessageBytes: this.maxMessageBytes,
      receive: this.hooks.receive,
    });
    let version: string | undefined;
    call.once("metadata", (answered: Metadata) => {
      version = answered.get("interlock-version")[0]?.toString();
    });
    const timer = setTimeout(() => stream.abandon(), GREETING_TIMEOUT_MS);
    try {
      // A server that is late greets nobody who has left: the call ends with the stream.
      await until(this.hooks.greet(stream), this.closing.signal);
      checkVersion(version);
    } catch (error) {
      stream.abandon();
      throw error;
    } finally {
      clearTimeout(timer);
    }
    void this.watch(stream);
    return stream;
  }

  private async watch(stream: Stream): Promise<void> {
    const begun = Date.now();
    const failure = await stream.ended;
    // A stream that ends as soon as it is opened is no reason to hurry.
    if (Date.now() - begun > LONGEST_DELAY_MS) {
      this.delayMs = 0;
      this.notBefore = 0;
    }
    if (!this.closing.signal.aborted) {
      const fields = { target: this.target, reason: failure.message };
      this.logger.warn("the stream has ended", fields);
    }
  }

  private async metadata(): Promise<{ metadata: Metadata; token: string | undefined }> {
    const metadata = new Metadata();
    for (const [name, value] of Object.entries(this.options.metadata ?? {})) {
      metadata.set(name, value);
    }
    // A token endpoint that hangs must not delay the end of a program.
    const { signal } = this.closing;
    const token = this.tokens && (await until(this.tokens.token(signal), signal));
    if (token !== undefined) metadata.set("authorization", `Bearer ${token}`);
    return { metadata, token };
  }

  private throwIfClosed(): void {
    if (this.closing.signal.aborted) throw this.closing.signal.reason;
  }

  private unreachable(): ConnectionLostError {
    const because = this.lost === undefined ? "" : `: ${this.lost.reason}`;
    const text = `no answer from ${this.target} within ${this.connectTimeoutMs / 1000} s${because}`;
    const cause = this.lost;
    return new ConnectionLostError(text, { code: "CONNECTION_LOST", retryable: true, cause });
  }
}

/** The resolvers of gRPC have names of their own, such as `unix:/run/interlock`. */
const RESOLVERS = /^(dns|ipv4|ipv6|unix|xds):/;

/** @throws InvalidOptionsError for what gRPC would only fail to connect to. */
function checkTarget(target: string): void {
  if (/^https?:\/\//.test(target)) {
    const reason =
      `${target} is a URL; the target is host:port of the gRPC port, such as localhost:9090, ` +
      "and TLS is enabled by `tls`";
    throw errorOf(reason, { code: "INVALID_OPTIONS" });
  }
  const [, , port] = /^(\[[^\]]+\]|[^:]+):(\d+)$/.exec(target) ?? [];
  if (RESOLVERS.test(target) || (Number(port) > 0 && Number(port) < 2 ** 16)) return;
  const reason = `"${target}" is not host:port of the gRPC port, such as localhost:9090 or [::1]:9090`;
  throw errorOf(reason, { code: "INVALID_OPTIONS" });
}

/** @throws InvalidOptionsError if there may be none of something. */
export function atLeastOne(name: string, value: number): void {
  if (Number.isInteger(value) && value >= 1) return;
  throw errorOf(`${name} is ${value}; use 1 or more`, { code: "INVALID_OPTIONS" });
}

/** A server that does not say its version is accepted. */
function checkVersion(version: string | undefined): void {
  if (version === undefined || version === "" || isUnderstood(version)) return;
  const text = `the server is of version ${version}; this client understands ${understood(VERSION)}`;
  throw errorOf(text, { code: "SERVER_NOT_UNDERSTOOD" });
}

function isServiceError(error: unknown): error is ServiceError {
  return error instanceof Error && "code" in error && "details" in error;
}

/** The extension attributes of a request. */
export function attributesOf(
  options: RequestOptions,
  token?: string,
): Record<string, string | undefined> {
  const { idempotencyKey, traceparent } = options;
  // It would be sent as U+FFFD, and be the same as other such keys.
  if (idempotencyKey !== undefined && Buffer.from(idempotencyKey).toString() !== idempotencyKey) {
    throw new RangeError("the idempotency key has half of a surrogate pair, which is no character");
  }
  return {
    [ATTRIBUTE.idempotencyKey]: idempotencyKey,
    ...(traceparent === undefined ? currentTrace() : { [ATTRIBUTE.traceparent]: traceparent }),
    [ATTRIBUTE.token]: token,
  };
}

/** Waits for a promise until the signal is aborted; the promise goes on. */
export async function until<T>(promise: Promise<T>, signal?: AbortSignal): Promise<T> {
  if (signal === undefined) return await promise;
  signal.throwIfAborted();
  let leave: () => void = () => undefined;
  const aborted = new Promise<never>((_resolve, reject) => {
    leave = () => reject(signal.reason);
    signal.addEventListener("abort", leave, { once: true });
  });
  try {
    return await Promise.race([promise, aborted]);
  } finally {
    signal.removeEventListener("abort", leave);
  }
}
