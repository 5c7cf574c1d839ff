/** A calculation: a server's call to a compute member, and the response. Nothing here sends. */
import type { Answer } from "./answer.js";
import { Api } from "./api.js";
import { bounded, boundedWarnings, FAILURE_BYTES_MAX, WARNING_BYTES_MAX } from "./bounds.js";
import { attributesOf } from "./connection.js";
import { Entity } from "./entities.js";
import {
  ATTRIBUTE,
  answerOf,
  attribute,
  type CloudEvent,
  envelop,
  payloadOf,
  TYPE,
  textOf,
} from "./envelope.js";
import { errorOf, InterlockError } from "./errors.js";
import type { EntityMeta } from "./generated/payloads.js";
import type { GiveUp } from "./give-up.js";
import { Lane } from "./places.js";
import type { Asker, RequestOptions } from "./requester.js";
import type { Stream } from "./stream.js";
import { type Trace, traceOf } from "./tracing.js";

/** What a server may call. */
export type Kind = "processor" | "criterion" | "schedule" | "action";

/** How the types of events name the kinds. */
const WIRE = { processor: "Processor", criterion: "Criteria", schedule: "Function" } as const;

/** Where the payload of a call that cannot be read names the call. It is before the document. */
const REQUEST_ID = /"requestId"\s*:\s*"([^"\\]+)"/;

const REQUEST = /^Entity(Processor|Criteria|Function)CalculationRequest$/;

/**
 * How many requests of one calculation are sent before they are answered. The server works on those
 * of one transaction one after the other anyway.
 */
const IN_FLIGHT = 16;

/**
 * Thrown by a handler to reject the transition; the text is returned to the caller. An action that
 * throws it fails; its `code` is what a plan calls fatal or retryable.
 */
export class Rejected extends Error {
  readonly code: string | undefined;

  constructor(message: string, options: { code?: string; cause?: unknown } = {}) {
    super(message, { cause: options.cause });
    this.name = new.target.name;
    this.code = options.code;
  }
}

/**
 * Thrown by a handler that may succeed if it is repeated. The server repeats it, at another member
 * if there is one, if the workflow says `"retryPolicy": "FIXED"` of it.
 */
export class Retryable extends Rejected {}

/** The result of a criterion that does not hold, with a reason of at most 2048 bytes. */
export class No {
  constructor(readonly reason: string) {}
}

/** When a scheduled transition is due: the result of a schedule. */
export type Schedule = ({ fireAt: Date } | { fireAfterMs: number }) & {
  /** It does not fire at or after this time. */
  expireAt?: Date;
  /** It does not fire if this much time has passed since it was due. */
  expireAfterMs?: number;
};

/** Who caused a calculation. */
export interface Caller {
  kind: "user" | "service" | "system" | (string & {});
  id: string;
  roles: readonly string[];
}

/** The transition that a calculation is a part of; empty for the criterion that selects a workflow. */
export interface Transition {
  name: string;
  stateFrom: string;
  stateTo: string;
}

/**
 * What a handler may know beside the entity, and what it may do. Its operations read and write **in
 * the transaction of the calculation**: they see what it has written so far, and what they write is
 * committed or rolled back with it.
 */
export class Context extends Api {
  /** What is called, as the workflow names it. */
  readonly name: string;
  readonly entityId: string;
  /** The `context` of what is called, as it is written in the workflow. */
  readonly parameters: string | undefined;
  readonly workflow: string;
  readonly transition: Transition;
  readonly transactionId: string | undefined;
  /** The same for every attempt of one call. */
  readonly dispatchKey: string | undefined;
  readonly caller: Caller;
  /** The W3C trace context of the caller, if the server sent one. */
  readonly traceparent: string | undefined;
  /** When the server gives the call up, and `signal` is aborted; undefined if it did not say. */
  readonly deadline: Date | undefined;
  /** The warnings so far. */
  readonly warnings: string[] = [];

  constructor(
    event: CloudEvent,
    payload: Record<string, unknown>,
    asker: Asker,
    private readonly giveUp: GiveUp,
  ) {
    super(asker);
    this.name = text(payload.processorName ?? payload.criteriaName ?? payload.functionName);
    this.entityId = text(payload.entityId);
    this.parameters = payload.parameters as string | undefined;
    this.workflow = text((payload.workflow as { name?: string } | undefined)?.name);
    const none = { name: "", stateFrom: "", stateTo: "" };
    this.transition = { ...none, ...(payload.transition as Partial<Transition> | undefined) };
    this.transactionId = text(payload.transactionId) || undefined;
    this.dispatchKey = attribute(event, "dispatchkey");
    this.traceparent = attribute(event, ATTRIBUTE.traceparent);
    this.caller = callerOf(event);
    const limit = attribute(event, ATTRIBUTE.timeLimit);
    this.deadline = limit === undefined ? undefined : new Date(Date.now() + Number(limit));
  }

  /** Aborted when the calculation is given up: its answer would not be used. */
  get signal(): AbortSignal {
    return this.giveUp.signal;
  }

  /** Adds a warning to the answer that the caller gets, whether this succeeds or not. */
  warn(warning: string): void {
    this.warnings.push(warning);
  }
}

/** A request of a server to its compute member. */
export class Calculation {
  readonly kind: Exclude<Kind, "action">;
  /** The id that the response names. */
  readonly id: string;
  /** Undefined if the workflow does not attach it. */
  readonly entity: Entity<unknown> | undefined;
  readonly context: Context;
  /** The trace of the caller. */
  readonly trace: Trace;

  constructor(
    event: CloudEvent,
    stream: Stream,
    /** Gives the calculation up. */
    readonly giveUp: GiveUp,
  ) {
    const payload = payloadOf(event);
    const [, wire] = REQUEST.exec(event.type) ?? [];
    this.kind =
      wire === WIRE.processor ? "processor" : wire === WIRE.criterion ? "criterion" : "schedule";
    this.id = text(payload.requestId);
    const attached = payload.payload as { data: unknown; meta: EntityMeta } | undefined;
    this.entity = attached && new Entity<unknown>(attached.data, attached.meta);
    const asker = new TransactionAsker(stream, attribute(event, ATTRIBUTE.token));
    this.context = new Context(event, payload, asker, giveUp);
    this.trace = traceOf(event);
  }

  /** Whether an event is a calculation request. */
  static isAskedBy(event: CloudEvent): boolean {
    return REQUEST.test(event.type);
  }

  /**
   * Responds with the result of the handler.
   * @throws TypeError if that is none of what a handler of this kind returns.
   */
  done(result: unknown): CloudEvent {
    return this.answer({ success: true, ...resultOf(this.kind, result) });
  }

  /** Responds that it failed: with the text of an expected error, and the name of any other too. */
  failed(error: unknown): CloudEvent {
    return this.answer(failureMembers(error));
  }

  private answer(outcome: object): CloudEvent {
    const { warnings, entityId } = this.context;
    const members = { requestId: this.id, entityId, ...outcome };
    const type = `Entity${WIRE[this.kind]}CalculationResponse`;
    return envelop(
      type,
      warnings.length > 0 ? { ...members, warnings: boundedWarnings(warnings) } : members,
    );
  }
}

function resultOf(kind: Exclude<Kind, "action">, result: unknown): object {
  switch (kind) {
    case "processor":
      if (result === undefined || result === null) return {};
      if (isObject(result) && !(result instanceof No)) {
        return { payload: { type: "JSON", data: result } };
      }
      throw new TypeError("a processor returns the whole new document or undefined");
    case "criterion":
      if (typeof result === "boolean") return { matches: result };
      if (result instanceof No) return { matches: false, reason: result.reason };
      throw new TypeError("a criterion returns true, false or a No");
    case "schedule":
      return { resultKind: "Schedule", result: scheduleMembers(result) };
  }
}

function scheduleMembers(result: unknown): object {
  const due = isObject(result) ? (result as Partial<Record<keyof ScheduleMembers, unknown>>) : {};
  const members = Object.entries({
    fireAt: due.fireAt,
    fireAfterMs: due.fireAfterMs,
    expireAt: due.expireAt,
    expireAfterMs: due.expireAfterMs,
  }).filter(([, value]) => value !== undefined);
  if ((due.fireAt === undefined) === (due.fireAfterMs === undefined)) {
    throw new TypeError("a schedule returns either fireAt or fireAfterMs");
  }
  const times = members.map(([name, value]) => [name, Math.ceil(Number(value))] as const);
  return Object.fromEntries(times);
}

interface ScheduleMembers {
  fireAt: Date;
  fireAfterMs: number;
  expireAt: Date;
  expireAfterMs: number;
}

/** The members of a response that say that a handler failed. */
export function failureMembers(error: unknown): object {
  const isExpected = error instanceof Rejected || error instanceof InterlockError;
  const message = bounded(isExpected ? error.message : error, FAILURE_BYTES_MAX);
  const code = isExpected && error.code !== undefined && bounded(error.code, WARNING_BYTES_MAX);
  const retryable =
    error instanceof Retryable || (error instanceof InterlockError && error.retryable);
  const details = { message, ...(code && { code }), ...(retryable && { retryable }) };
  return { success: false, error: details };
}

/**
 * The answer to a call that cannot be read; undefined if not even its id is known. Another member
 * may be able to read it.
 */
export function refusal(event: CloudEvent, error: unknown): CloudEvent | undefined {
  const [, requestId] = REQUEST_ID.exec(textOf(event)) ?? [];
  if (requestId === undefined) return undefined;
  const message = bounded(`this member cannot read the call: ${error}`, FAILURE_BYTES_MAX);
  const type = event.type.replace(/Request$/, "Response");
  return envelop(type, { requestId, success: false, error: { message, retryable: true } });
}

/** Who caused a calculation or a task. */
export function callerOf(event: CloudEvent): Caller {
  return {
    kind: attribute(event, "authtype") ?? "",
    id: attribute(event, "authid") ?? "",
    roles: attribute(event, "authclaims")?.split(",") ?? [],
  };
}

/** Sends requests on the stream of a calculation, in its transaction if it has one. */
export class TransactionAsker implements Asker {
  private readonly lane: Lane | undefined;

  constructor(
    private readonly stream: Stream,
    token?: string,
  ) {
    this.lane = token === undefined ? undefined : new Lane(IN_FLIGHT, token);
  }

  async ask(type: string, payload: object, options: RequestOptions = {}): Promise<Answer> {
    const event = envelop(type, payload, attributesOf(options, this.lane?.token));
    return await this.stream.ask(event, this.lane, options.signal);
  }

  /** Only the stream has the order of the transaction. */
  async *askStreamed(
    type: string,
    payload: object,
    options?: RequestOptions,
  ): AsyncGenerator<CloudEvent, void, undefined> {
    const answer = await this.ask(type, payload, options);
    try {
      for (let event = await answer.next(); event !== undefined; event = await answer.next()) {
        if (event.type === TYPE.streamEnd) answerOf(event);
        else yield event;
      }
    } finally {
      answer.leave();
    }
  }

  // biome-ignore lint/correctness/useYield: an endless answer cannot be part of a transaction.
  async *listen(type: string): AsyncGenerator<CloudEvent, void, undefined> {
    const reason = `the endless answer to a ${type} cannot be part of a transaction; use a client`;
    throw errorOf(reason, { code: "NOT_IMPLEMENTED" });
  }
}

export function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

export function text(value: unknown): string {
  return typeof value === "string" ? value : "";
}
