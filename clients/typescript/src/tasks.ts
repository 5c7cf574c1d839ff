/** A task: an execution of an action that a server sends to a member, and the answer. */
import { Api } from "./api.js";
import { boundedWarnings } from "./bounds.js";
import { type Caller, callerOf, failureMembers, TransactionAsker, text } from "./calculation.js";
import { ATTRIBUTE, attribute, type CloudEvent, envelop, payloadOf, TYPE } from "./envelope.js";
import type { TaskCalculationRequest } from "./generated/payloads.js";
import type { GiveUp } from "./give-up.js";
import type { Json, JsonInput, WritableObject } from "./json.js";
import type { Stream } from "./stream.js";
import { type Trace, traceOf } from "./tracing.js";

/** The result of an action whose outcome is not `success`; the step's `transitions` name it. */
export class Outcome {
  constructor(
    readonly name: string,
    readonly output: WritableObject | JsonInput = {},
  ) {}
}

/**
 * The result of an action that has begun what ends later. The task stays open until its outcome is
 * reported, by `taskComplete` or `taskFail`. What was written in its transaction is committed.
 */
export class Pending {
  constructor(readonly output: WritableObject | JsonInput = {}) {}
}

/**
 * What an action may know beside its input, and what it may do. Its operations read and write in the
 * transaction that the step's outcome is committed in.
 */
export class TaskContext extends Api {
  readonly name: string;
  /** The same for every delivery of the task. */
  readonly taskId: string;
  /** From 1. */
  readonly attempt: number;
  readonly namespace: string;
  /** Undefined if the action was invoked without a run. */
  readonly runId: string | undefined;
  readonly definition: { name: string; version: string } | undefined;
  readonly step: string | undefined;
  readonly deadline: Date;
  /** The same over the executions of a step until one of them is answered. */
  readonly idempotencyKey: string;
  /** The `context` of the action, as it was registered. */
  readonly parameters: string | undefined;
  readonly caller: Caller;
  /** All operations, outside the transaction. */
  readonly outside: Api;
  /** The warnings so far. */
  readonly warnings: string[] = [];

  constructor(
    event: CloudEvent,
    payload: TaskCalculationRequest,
    stream: Stream,
    private readonly giveUp: GiveUp,
  ) {
    super(new TransactionAsker(stream, attribute(event, ATTRIBUTE.token)));
    this.name = payload.name;
    this.taskId = payload.taskId;
    this.attempt = payload.attempt;
    this.namespace = payload.namespace;
    this.runId = payload.runId;
    this.definition = payload.definition;
    this.step = payload.step;
    this.deadline = new Date(payload.deadline);
    this.idempotencyKey = payload.idempotencyKey;
    this.parameters = payload.context;
    this.caller = callerOf(event);
    this.outside = new Api(new TransactionAsker(stream));
  }

  /** Aborted when the task is given up: its answer would not be used. */
  get signal(): AbortSignal {
    return this.giveUp.signal;
  }

  /** Adds a warning to what is recorded, whether this succeeds or not. */
  warn(warning: string): void {
    this.warnings.push(warning);
  }

  /** Moves the deadline, and says how far the work is. */
  async touch(options: { extendMs?: number; progress?: JsonInput } = {}): Promise<void> {
    await this.outside.operations.taskTouch({ taskId: this.taskId, ...options });
  }
}

/** A delivery of a task to this member. */
export class TaskCall {
  readonly kind = "action";
  /** The id that the response names. */
  readonly id: string;
  readonly input: Json;
  readonly context: TaskContext;
  /** The trace of the caller. */
  readonly trace: Trace;
  /** Whether a saga calls a connector: how that has ended matters also if it was cancelled. */
  readonly isConnectorCall: boolean;
  /** Whether the server has cancelled it. */
  isCancelled = false;

  constructor(
    event: CloudEvent,
    stream: Stream,
    /** Gives the task up. */
    readonly giveUp: GiveUp,
  ) {
    const payload = payloadOf(event) as unknown as TaskCalculationRequest;
    this.id = text(payload.requestId);
    this.input = payload.input;
    this.isConnectorCall = payload.kind === "connector";
    this.context = new TaskContext(event, payload, stream, giveUp);
    this.trace = traceOf(event);
  }

  /**
   * Answers with the result of the handler.
   * @throws TypeError if that has no form in JSON.
   */
  done(result: unknown): CloudEvent {
    return this.answer({ success: true, ...outcomeMembers(result) });
  }

  /** Answers that it failed. */
  failed(error: unknown): CloudEvent {
    return this.answer(failureMembers(error));
  }

  private answer(outcome: object): CloudEvent {
    const { warnings } = this.context;
    const members = { requestId: this.id, ...outcome };
    return envelop(
      TYPE.taskAnswer,
      warnings.length > 0 ? { ...members, warnings: boundedWarnings(warnings) } : members,
    );
  }
}

function outcomeMembers(result: unknown): object {
  const isChosen = result instanceof Outcome || result instanceof Pending;
  const outcome = result instanceof Outcome ? result.name : isChosen ? "pending" : "success";
  return { outcome, output: (isChosen ? result.output : result) ?? {} };
}
