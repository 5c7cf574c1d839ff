import type { Answer } from "./answer.js";
import { answerOf, type CloudEvent } from "./envelope.js";
import type { OperationTypes } from "./generated/operations.js";
import type { Json, JsonInput } from "./json.js";

/** What can be said of any request. */
export interface RequestOptions {
  /** Cancels the request: it rejects with the signal's reason, and the server stops what it can. */
  signal?: AbortSignal;
  /** A repeat with the same key is answered as the first was, and done once. */
  idempotencyKey?: string;
  /** The W3C trace context that the request belongs to; the current one of OpenTelemetry if absent. */
  traceparent?: string;
}

/** Sends requests: a connection, or the transaction of a calculation. */
export interface Asker {
  ask(type: string, payload: object, options?: RequestOptions): Promise<Answer>;
  askStreamed(
    type: string,
    payload: object,
    options?: RequestOptions,
  ): AsyncGenerator<CloudEvent, void, undefined>;
  listen(
    type: string,
    payload: object,
    options?: RequestOptions,
  ): AsyncGenerator<CloudEvent, void, undefined>;
}

type Types = OperationTypes;
type Payload = { readonly [member: string]: JsonInput | undefined };

/** Sends requests by the names of their types. */
export class Requester {
  constructor(private readonly asker: Asker) {}

  /** Sends a request that is answered once. */
  call<T extends keyof Types>(
    type: T,
    request: Types[T]["request"],
    options?: RequestOptions,
  ): Promise<Types[T]["response"]>;
  call(type: string, request: Payload, options?: RequestOptions): Promise<Record<string, Json>>;
  async call(type: string, request: object, options?: RequestOptions): Promise<unknown> {
    const answer = await this.asker.ask(type, request, options);
    try {
      const event = await answer.next();
      return event === undefined ? {} : answerOf(event);
    } finally {
      answer.leave();
    }
  }

  /**
   * Sends a request that is answered by any number of events, on a call of its own, so that the loop
   * over them may send requests; within the transaction of a calculation on the member's stream.
   * Leaving early cancels it.
   */
  stream<T extends keyof Types>(
    type: T,
    request: Types[T]["request"],
    options?: RequestOptions,
  ): AsyncGenerator<Types[T]["response"], void, undefined>;
  stream(
    type: string,
    request: Payload,
    options?: RequestOptions,
  ): AsyncGenerator<Record<string, Json>, void, undefined>;
  async *stream(
    type: string,
    request: object,
    options?: RequestOptions,
  ): AsyncGenerator<unknown, void, undefined> {
    for await (const event of this.asker.askStreamed(type, request, options)) yield answerOf(event);
  }

  /** Sends a request whose answer never ends, on a call of its own. Leaving cancels it. */
  listen<T extends keyof Types>(
    type: T,
    request: Types[T]["request"],
    options?: RequestOptions,
  ): AsyncGenerator<Types[T]["response"], void, undefined>;
  listen(
    type: string,
    request: Payload,
    options?: RequestOptions,
  ): AsyncGenerator<Record<string, Json>, void, undefined>;
  async *listen(
    type: string,
    request: object,
    options?: RequestOptions,
  ): AsyncGenerator<unknown, void, undefined> {
    for await (const event of this.asker.listen(type, request, options)) yield answerOf(event);
  }
}
